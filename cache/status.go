package cache

import (
	"governor/informer"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Status is a moment of a Cache.
type Status struct {
	// Kinds are all that were ever asked for, in order.
	Kinds []KindStatus
}

// KindState is what a KindInformer is doing.
type KindState string

const (
	// KindIdle: nobody has asked for the kind since it was removed, or became idle. It
	// costs nothing.
	KindIdle KindState = "Idle"
	// KindOpening: it waits for the Cache to start, or for the server to know it.
	KindOpening KindState = "Opening"
	// KindSyncing: some scope has no complete list yet.
	KindSyncing KindState = "Syncing"
	// KindSynced: all have.
	KindSynced KindState = "Synced"
)

// KindStatus is a moment of a KindInformer.
type KindStatus struct {
	// Kind is which.
	Kind schema.GroupVersionKind
	// State is what it is doing.
	State KindState
	// Form and Tier are how its objects are stored.
	Form, Tier string
	// Declared says that it was: it is cached though nobody reads it.
	Declared bool
	// Leases is how many handlers and waiting reads it has. A kind without any that was not
	// declared stops when it is not read for Options.IdleTimeout.
	Leases int
	// Indexes are the fields that have one, by IndexField.
	Indexes []string
	// Objects is how many are stored, Bytes about how much memory they take: a
	// guess from some of them, right within a quarter or so. What neighbours share is
	// counted once; indexes are not counted.
	Objects int
	Bytes   int64
	// LastError is why the server cannot be asked for the kind; see Scopes for the
	// errors of their requests.
	LastError error
	// Scopes are in order of namespace.
	Scopes []ScopeStatus
}

// ScopeStatus is a moment of a kind in a namespace.
type ScopeStatus struct {
	// Namespace is where; empty for all, or those that have no scope of their own.
	Namespace string
	// LabelSelector and FieldSelector are what the server is asked for.
	LabelSelector, FieldSelector string
	// Synced says that there has been a complete list.
	Synced bool
	// Bytes is about how much memory the objects take, see KindStatus.
	Bytes int64
	// Informer is the rest: state, last error, objects, resourceVersion, bytes on the wire.
	Informer informer.Status
}

// Status says how the Cache is. It makes no request, and looks at a few objects of
// each kind only. Upstream has none.
func (c *Cache) Status() Status {
	s := Status{}
	for _, k := range c.sortedKinds() {
		s.Kinds = append(s.Kinds, k.Status())
	}
	return s
}

// Status says how the kind is. See [Cache.Status].
func (k *KindInformer) Status() KindStatus {
	k.mu.Lock()
	l := k.life.Load()
	s := KindStatus{
		Kind:      k.gvk,
		State:     KindOpening,
		Form:      k.form.String(),
		Tier:      string(k.tier()),
		Declared:  k.listed || l.kept.Load(),
		Leases:    len(k.registrations) + int(l.waiting.Load()),
		LastError: l.lastError,
	}
	for _, x := range k.indexes {
		s.Indexes = append(s.Indexes, x.field)
	}
	k.mu.Unlock()
	lay := l.layout.Load()
	switch {
	case lay == nil && l.over():
		s.State = KindIdle
		return s
	case lay == nil:
		return s
	}
	s.State = KindSynced
	for _, scope := range lay.scopes {
		status := scope.status()
		if !status.Synced {
			s.State = KindSyncing
		}
		s.Objects += status.Informer.Objects
		s.Bytes += status.Bytes
		s.Scopes = append(s.Scopes, status)
	}
	return s
}

func (s *scope) status() ScopeStatus {
	return ScopeStatus{
		Namespace:     s.namespace,
		LabelSelector: s.live.LabelSelector,
		FieldSelector: s.live.FieldSelector,
		Synced:        s.informer.HasSynced(),
		Bytes:         s.bytes(),
		Informer:      s.informer.Status(),
	}
}
