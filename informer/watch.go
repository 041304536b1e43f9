package informer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
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
	// silence is how long nothing may come from a server that sends a bookmark
	// each minute: three are missing then. From one that does not, a quiet
	// stream and a dead one are the same, until the stream is overdue.
	silence = 3 * time.Minute
)

// watchStream is one watch, under way.
type watchStream struct {
	r      *Reflector
	vigil  *vigil
	ends   time.Time // when the server is asked to end it
	began  time.Time // when the changes began
	events int       // since then
}

// watch pushes the changes after the last seen resourceVersion, until the stream
// ends, or the consumer refuses one.
func (r *Reflector) watch(ctx context.Context) error {
	r.status.watched()
	s := r.newStream()
	s.changes()
	return s.run(ctx, metav1.ListOptions{ResourceVersion: r.position.resourceVersion}, s.take)
}

func (r *Reflector) newStream() *watchStream {
	v := newVigil()
	v.retries = r.unread.untransformed
	return &watchStream{r: r, vigil: v, ends: time.Now().Add(minWatch + rand.N(minWatch))}
}

// changes says that what comes now are changes.
func (s *watchStream) changes() {
	s.began = time.Now()
	s.vigil.endBy(s.ends.Add(watchGrace), s.r.retryAt)
	if s.r.bookmarked {
		s.vigil.expect(silence, errSilent)
	} else {
		s.vigil.expect(0, nil)
	}
}

// run opens the stream and hands over what comes.
func (s *watchStream) run(ctx context.Context, opts metav1.ListOptions, take func(context.Context, client.Event, error) error) error {
	r := s.r
	seconds := int64(time.Until(s.ends) / time.Second)
	opts.TimeoutSeconds, opts.AllowWatchBookmarks = &seconds, true
	err := s.vigil.over(ctx, r.fifo.Refused(), func(ctx context.Context) error {
		for event, err := range r.lw.Watch(ctx, opts) {
			if err = take(ctx, event, err); err != nil {
				return err
			}
		}
		return nil
	})
	if refusal := r.fifo.Refusal(); refusal != nil {
		err = refusal
	}
	if err == errOverdue {
		err = nil // it would have ended well by now, had it lived
	}
	if !s.began.IsZero() {
		r.metrics.Watched(time.Since(s.began), s.events, err)
	}
	return err
}

// take pushes one event, and moves the position when the FIFO has it.
func (s *watchStream) take(ctx context.Context, event client.Event, err error) error {
	r := s.r
	now := time.Now()
	s.vigil.hear(now)
	r.status.heard(now)
	d, u, err := open(event, err)
	if err != nil {
		return err
	}
	s.events++
	if d.Type == Bookmark {
		s.learn()
	}
	at := &r.position
	if at.ordered && older(d.ResourceVersion, at.resourceVersion) {
		return nil // history that was taken before
	}
	if !at.ordered {
		if d.Type == Added {
			d.ResourceVersion = "" // one of what exists, in any order
		} else {
			at.ordered = true
		}
	}
	if d.Object != nil {
		d.Object, u = r.transformed(d.Object)
	}
	switch {
	case u != nil && d.Type != Deleted:
		r.missed(ctx, *u)
		r.planRetry()
		s.vigil.endBy(s.ends.Add(watchGrace), r.retryAt)
	case u != nil:
		d.taken = r.unread.mending(u.Key, r.metrics.Unread)
	case d.Object != nil:
		d.taken = r.unread.mending(keyOf(d.Object), r.metrics.Unread)
	}
	if err := r.fifo.Push(ctx, withUnread(d, u)); err != nil {
		return err
	}
	if d.ResourceVersion != "" {
		at.resourceVersion = d.ResourceVersion
	}
	return nil
}

// learn notes that this server sends bookmarks while a stream lasts. Old ones
// send but one, just before its end.
func (s *watchStream) learn() {
	if !s.r.bookmarked && time.Until(s.ends) > watchGrace {
		s.r.bookmarked = true
		s.vigil.expect(silence, errSilent)
	}
}

// open says what an event means: a delta, and in place of its object what is
// known of one that could not be decoded.
func open(event client.Event, err error) (d Delta, u *UnreadObject, _ error) {
	switch event.Type {
	case watch.Added:
		d.Type = Added
	case watch.Modified:
		d.Type = Updated
	case watch.Deleted:
		d.Type = Deleted
	case watch.Bookmark:
		d.Type = Bookmark
	default:
		return d, nil, cmp.Or(err, error(&ObjectError{Op: "take", Err: fmt.Errorf("unknown type of event %q", event.Type)}))
	}
	if bad, ok := errors.AsType[*client.DecodeError](err); ok {
		d.ResourceVersion = bad.ResourceVersion
		if d.Type == Bookmark && d.ResourceVersion != "" {
			return d, nil, nil // it is all that matters of it
		}
	}
	if u, ok := undecoded(err); ok {
		return d, u, nil
	}
	switch {
	case err != nil:
		return d, nil, err
	case event.Object == nil:
		return d, nil, &ObjectError{Op: "take", Err: fmt.Errorf("a %s event without an object", event.Type)}
	}
	d.ResourceVersion = event.Object.GetResourceVersion()
	if d.Type != Bookmark {
		d.Object = event.Object
	}
	return d, nil, nil
}

// withUnread returns what is pushed when an object could not be read: that the
// server has come this far, and, of a delete, what is known.
func withUnread(d Delta, u *UnreadObject) Delta {
	switch {
	case u == nil:
		return d
	case d.Type == Deleted:
		d.Object, d.Unread = u.stub(), true
		return d
	}
	return Delta{Type: Bookmark, ResourceVersion: d.ResourceVersion}
}
