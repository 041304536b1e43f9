package informer

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"governor/client"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

const (
	// A stream is asked to end after minWatch to twice as long: all streams of
	// all clients must not end, and begin anew, at the same time.
	minWatch = 5 * time.Minute
	// watchGrace is how much longer it may last before it is taken for dead.
	watchGrace = 30 * time.Second
)

// watch pushes the changes after the last seen resourceVersion, until the stream
// ends, or the consumer refuses one.
func (r *Reflector) watch(ctx context.Context) error {
	timeout := minWatch + rand.N(minWatch)
	seconds := int64(timeout / time.Second)
	r.status.watched()

	stream, cancel := context.WithTimeout(ctx, timeout+watchGrace)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	refused := r.fifo.Refused()
	wg.Go(func() {
		select {
		case <-refused:
			cancel()
		case <-stream.Done():
		}
	})

	err := r.follow(stream, metav1.ListOptions{
		ResourceVersion:     r.position.resourceVersion,
		AllowWatchBookmarks: true,
		TimeoutSeconds:      &seconds,
	})
	if refusal := r.fifo.Refusal(); refusal != nil {
		return refusal
	}
	if ctx.Err() == nil && errors.Is(stream.Err(), context.DeadlineExceeded) {
		return nil // overdue: it would have ended well by now, had it lived
	}
	return err
}

// follow pushes the events of one stream.
func (r *Reflector) follow(ctx context.Context, opts metav1.ListOptions) error {
	for event, err := range r.lw.Watch(ctx, opts) {
		if err != nil {
			return err
		}
		if err := r.take(ctx, event); err != nil {
			return err
		}
	}
	return nil
}

// take pushes one event, and moves the position when the FIFO has it.
func (r *Reflector) take(ctx context.Context, event client.Event) error {
	delta, err := r.delta(event)
	if err != nil {
		return err
	}
	at := &r.position
	if at.ordered && older(delta.ResourceVersion, at.resourceVersion) {
		return nil // history that was taken before
	}
	if !at.ordered {
		if event.Type == watch.Added {
			delta.ResourceVersion = "" // one of what exists, in any order
		} else {
			at.ordered = true
		}
	}
	if delta.Object != nil {
		if delta.Object, err = r.transform(delta.Object); err != nil {
			return err
		}
	}
	if err := r.fifo.Push(ctx, delta); err != nil {
		return err
	}
	if delta.ResourceVersion != "" {
		at.resourceVersion = delta.ResourceVersion
	}
	r.status.heard()
	return nil
}

// delta says what an event means.
func (r *Reflector) delta(event client.Event) (Delta, error) {
	if event.Object == nil {
		return Delta{}, &ObjectError{Op: "take", Err: fmt.Errorf("a %s event without an object", event.Type)}
	}
	d := Delta{Object: event.Object, ResourceVersion: event.Object.GetResourceVersion()}
	switch event.Type {
	case watch.Added:
		d.Type = Added
	case watch.Modified:
		d.Type = Updated
	case watch.Deleted:
		d.Type = Deleted
	case watch.Bookmark:
		d.Type, d.Object = Bookmark, nil
	default:
		return Delta{}, &ObjectError{Op: "take", Key: client.ObjectKeyFromObject(event.Object),
			Err: fmt.Errorf("unknown type of event %q", event.Type)}
	}
	return d, nil
}
