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

// unread are the objects that could not be read. The zero value is ready to use.
type unread struct {
	mu    sync.Mutex
	byKey map[client.ObjectKey]unreadEntry // +checklocks:mu
}

// unreadEntry is one of them. Those past maxUnread have no Err.
type unreadEntry struct {
	UnreadObject
	retry bool // the Transform function is to try again
}

// add notes an object. It says whether this is worth a report: one of the first,
// and not a state that was reported before, unless the Transform function has
// failed once more.
func (s *unread) add(u UnreadObject) (isNews bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byKey == nil {
		s.byKey = make(map[client.ObjectKey]unreadEntry)
	}
	_, retry := errors.AsType[*ObjectError](u.Err)
	known, was := s.byKey[u.Key]
	if u.Since = known.Since; !was {
		u.Since = time.Now()
	}
	if described := known.Err != nil || !was && len(s.byKey) < maxUnread; !described {
		u.Err = nil
	}
	s.byKey[u.Key] = unreadEntry{u, retry}
	return u.Err != nil && (known.Err == nil || retry || u.ResourceVersion != known.ResourceVersion)
}

// mended forgets an object that was read, or is gone. It says whether it was known.
func (s *unread) mended(key client.ObjectKey) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, was := s.byKey[key]
	delete(s.byKey, key)
	return was
}

// retain forgets all that are not among those of a whole list.
func (s *unread) retain(listed map[client.ObjectKey]UnreadObject) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.byKey, func(key client.ObjectKey, _ unreadEntry) bool {
		_, still := listed[key]
		return !still
	})
}

// untransformed says whether there are some that are to be transformed again.
func (s *unread) untransformed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, u := range s.byKey {
		if u.retry {
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
		if u.Err != nil {
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

// missed reports an object that could not be read.
func (r *Reflector) missed(ctx context.Context, u UnreadObject) {
	if r.unread.add(u) {
		r.onError(ctx, fmt.Errorf("%s: %w", r.options.name(), u.Err))
	}
	r.metrics.Unread(r.unread.total())
}

// had notes that an object could be read, or is gone.
func (r *Reflector) had(key client.ObjectKey) {
	if r.unread.mended(key) {
		r.metrics.Unread(r.unread.total())
	}
}

// listed notes which objects of a whole list could not be read.
func (r *Reflector) listed(ctx context.Context, c *collection) {
	before := r.unread.total()
	r.unread.retain(c.unread)
	for _, u := range c.unread {
		r.missed(ctx, u)
	}
	if len(c.unread) == 0 && before > 0 {
		r.metrics.Unread(0)
	}
	r.retryAt = time.Time{}
	r.planRetry()
}

// planRetry sets when everything is to be listed for the sake of the objects
// that the Transform function has refused. Until then the watch goes on.
func (r *Reflector) planRetry() {
	if now := time.Now(); r.retryAt.IsZero() && r.unread.untransformed() {
		r.retryAt = now.Add(r.retry.next(now))
	}
}
