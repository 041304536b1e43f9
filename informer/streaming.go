package informer

import (
	"context"
	"time"

	"governor/client"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// initialPatience is how long a streaming list may go on without an object, and
// without its end. Servers that know what it is tell both in one breath; those
// that do not never say that it has ended.
const initialPatience = 30 * time.Second

// streamingList is a list that comes as the first events of a watch. What exists
// is gathered aside until the server says that it is all: then it is one
// Replaced, and the same stream goes on with the changes. A stream that ends
// before has brought nothing.
type streamingList struct {
	*watchStream
	asked     string // the resourceVersion
	opened    time.Time
	gathered  collection
	completed bool
}

// streamList lists and then watches, in one stream. It asks for a state that is
// not older than the last seen, or, before the first and with newest, for the
// newest: the server then makes sure that it is, and reads it from memory.
func (r *Reflector) streamList(ctx context.Context, newest bool) (complete bool, err error) {
	l := &streamingList{watchStream: r.newStream(), asked: r.position.resourceVersion, opened: time.Now()}
	if newest {
		l.asked = ""
	}
	l.vigil.expect(initialPatience, errNoEnd)
	l.vigil.endBy(l.ends.Add(watchGrace), time.Time{})
	r.status.streamed()
	yes := true
	err = l.run(ctx, metav1.ListOptions{
		ResourceVersion:      l.asked,
		ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
		SendInitialEvents:    &yes,
	}, l.take)
	if l.completed {
		return true, err
	}
	if err == nil {
		if err = errPremature; time.Since(l.opened) >= minWatch {
			err = errNoEnd // it had all the time that there is
		}
	}
	r.metrics.Listed(time.Since(l.opened), len(l.gathered.objects), err)
	return false, err
}

// take gathers one event, or, when the list is complete, takes it as a change.
func (l *streamingList) take(ctx context.Context, event client.Event, err error) error {
	if l.completed {
		return l.watchStream.take(ctx, event, err)
	}
	d, u, err := open(event, err)
	if err != nil {
		return err
	}
	if d.Object != nil && d.Type != Deleted {
		d.Object, u = l.r.transformed(d.Object)
	}
	switch c := &l.gathered; {
	case d.Type == Bookmark:
		if event.Object == nil || event.Object.GetAnnotations()[metav1.InitialEventsAnnotationKey] != "true" {
			return nil
		}
		return l.complete(ctx, d.ResourceVersion)
	case u != nil && d.Type == Deleted:
		c.remove(u.Key)
	case u != nil:
		c.miss(*u)
	case d.Type == Deleted:
		c.remove(keyOf(d.Object))
	case d.Type == Updated:
		// The server may be catching up with the version that was asked for.
		c.put(d.Object)
	default:
		c.add(d.Object)
	}
	now := time.Now()
	l.r.status.update(func(s *Status) { s.LastEvent = now })
	if d.Type == Added {
		l.vigil.hear(now) // of anything else there may be no end
	}
	return nil
}

// complete pushes what was gathered. The stream is a watch from here on.
func (l *streamingList) complete(ctx context.Context, resourceVersion string) error {
	if err := l.r.replace(ctx, &l.gathered, l.asked, resourceVersion); err != nil {
		return err
	}
	l.r.metrics.Listed(time.Since(l.opened), len(l.gathered.objects), nil)
	l.gathered, l.completed = collection{}, true
	l.r.status.succeeded()
	l.r.status.enter(Watching)
	l.changes()
	return nil
}
