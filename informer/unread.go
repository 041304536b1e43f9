package informer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"governor/client"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// maxUnread bounds how many unread objects are described, and reported, one by
// one. If a whole kind does not fit its Go type, the first tell enough.
const maxUnread = 100

// UnreadObject is an object of which the server has a state that the Store has
// not, for it could not be decoded, or the Transform function refused it. The
// Store keeps the last state that could be read, if there was one.
type UnreadObject struct {
	Key client.ObjectKey
	UID types.UID
	// ResourceVersion is that of the state that could not be read.
	ResourceVersion string
	// Err is a *client.DecodeError, which names kind and cause, or an *ObjectError.
	Err error
	// Since is when this object was found unread first.
	Since time.Time
}

// undecoded says which object an error is about. False means that it is not
// about one object, or that nobody knows which.
func undecoded(err error) (*UnreadObject, bool) {
	bad, ok := errors.AsType[*client.DecodeError](err)
	if !ok || bad.Key.Name == "" {
		return nil, false
	}
	return &UnreadObject{Key: bad.Key, UID: bad.UID, ResourceVersion: bad.ResourceVersion, Err: err}, true
}

// stub is what is known of an object that could not be read.
func (u UnreadObject) stub() client.Object {
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Namespace: u.Key.Namespace, Name: u.Key.Name, UID: u.UID, ResourceVersion: u.ResourceVersion,
	}}
}

// retry says that the Transform function is to try again.
func (u UnreadObject) retry() bool {
	_, is := errors.AsType[*ObjectError](u.Err)
	return is
}

// errNotDescribed stands for the error of an object past maxUnread.
var errNotDescribed = fmt.Errorf("there are more than %d such objects, only the first are described", maxUnread)

// unread are the objects that could not be read. One is among them before the
// position passes its state, and until the Store has a later one: so that
// whoever does not find it in the Store finds it here. The zero value is ready
// to use.
type unread struct {
	mu    sync.Mutex
	seq   int64                             // +checklocks:mu; of the last entry
	byKey map[client.ObjectKey]*unreadEntry // +checklocks:mu
}

type unreadEntry struct {
	UnreadObject
	seq   int64
	again bool // the Transform function is to try again
}

// add notes an object. It says whether this is worth a report: one of the first,
// and not a state that was reported before, unless the Transform function has
// failed once more.
func (s *unread) add(u UnreadObject) (isNews bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byKey == nil {
		s.byKey = make(map[client.ObjectKey]*unreadEntry)
	}
	s.seq++
	retry := u.retry()
	known := s.byKey[u.Key]
	if known != nil {
		u.Since = known.Since
	} else {
		u.Since = time.Now()
	}
	if described := known != nil && known.Err != errNotDescribed || known == nil && len(s.byKey) < maxUnread; !described {
		u.Err = errNotDescribed
	}
	s.byKey[u.Key] = &unreadEntry{u, s.seq, retry}
	return u.Err != errNotDescribed && (known == nil || retry || u.ResourceVersion != known.ResourceVersion)
}

// get returns one of them.
func (s *unread) get(key client.ObjectKey) (u UnreadObject, is bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.byKey[key]; e != nil {
		return e.UnreadObject, true
	}
	return u, false
}

// mending returns what is to be called when the Store has a readable state of an
// object, or knows that it is gone; nil if there is nothing to mend.
func (s *unread) mending(key client.ObjectKey, mended func(left int)) func() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byKey[key] == nil {
		return nil
	}
	return s.mendingLocked(func(k client.ObjectKey) bool { return k == key }, mended)
}

// mendingAllBut is the same for all objects but those that a list has found unread.
func (s *unread) mendingAllBut(listed map[client.ObjectKey]UnreadObject, mended func(left int)) func() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.byKey) == 0 {
		return nil
	}
	return s.mendingLocked(func(key client.ObjectKey) bool {
		_, still := listed[key]
		return !still
	}, mended)
}

// mendingLocked is for those that are unread by now. What becomes unread once more,
// before the Store has the state that was readable, stays so.
//
// +checklocks:s.mu
func (s *unread) mendingLocked(which func(client.ObjectKey) bool, mended func(left int)) func() {
	seq := s.seq
	return func() {
		s.mu.Lock()
		before := len(s.byKey)
		maps.DeleteFunc(s.byKey, func(key client.ObjectKey, e *unreadEntry) bool { return e.seq <= seq && which(key) })
		left := len(s.byKey)
		s.mu.Unlock()
		if left < before {
			mended(left)
		}
	}
}

// untransformed says whether there are some that are to be transformed again.
func (s *unread) untransformed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, u := range s.byKey {
		if u.again {
			return true
		}
	}
	return false
}

// describe returns the first of them, in the order of their keys, and how many
// there are.
func (s *unread) describe() (first []UnreadObject, total int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, u := range s.byKey {
		if u.Err != errNotDescribed {
			first = append(first, u.UnreadObject)
		}
	}
	slices.SortFunc(first, func(a, b UnreadObject) int {
		return cmp.Or(cmp.Compare(a.Key.Namespace, b.Key.Namespace), cmp.Compare(a.Key.Name, b.Key.Name))
	})
	return first, len(s.byKey)
}

func (s *unread) total() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.byKey)
}

// missed notes and reports an object that could not be read.
func (r *Reflector) missed(ctx context.Context, u UnreadObject) {
	if r.unread.add(u) {
		r.onError(ctx, fmt.Errorf("%s: %w", r.options.name(), u.Err))
	}
	r.metrics.Unread(r.unread.total())
}

// planRetry sets when everything is to be listed for the sake of the objects
// that the Transform function has refused. Until then the watch goes on.
func (r *Reflector) planRetry() {
	if now := time.Now(); !r.retryAt.After(now) && r.unread.untransformed() {
		r.retryAt = now.Add(r.retry.next(now))
	}
}
