package controller

import (
	"context"
	"time"

	"governor/cache"
	"governor/client"
	"governor/manager"
	"governor/workqueue"
)

// Request names the object to reconcile.
type Request struct{ client.ObjectKey }

// Result says what to do next with a key.
type Result struct {
	RequeueAfter time.Duration
	// Priority of the requeue; nil keeps the one that it had.
	Priority *int
}

// Reconciler brings the world to what an object asks for.
type Reconciler[K comparable] interface {
	Reconcile(ctx context.Context, key K) (Result, error)
}

// Func is a Reconciler.
type Func[K comparable] func(ctx context.Context, key K) (Result, error)

// TerminalError marks an error that no retry can mend.
func TerminalError(err error) error { panic("skeleton") }

// Adder is the side of a queue that handlers see. *workqueue.Queue is one.
type Adder[K comparable] interface {
	Add(key K)
	AddAfter(key K, d time.Duration)
	AddRateLimited(key K)
	AddWith(o workqueue.AddOptions, keys ...K)
}

// Source feeds a queue.
type Source[K comparable] interface {
	// Run feeds q until ctx ends, and calls synced once, when all that existed at the start has been enqueued.
	Run(ctx context.Context, q Adder[K], synced func()) error
}

type CreateEvent struct {
	Object          client.Object
	IsInInitialList bool
}
type UpdateEvent struct{ ObjectOld, ObjectNew client.Object }
type DeleteEvent struct {
	Object             client.Object
	DeleteStateUnknown bool
}
type GenericEvent struct{ Object client.Object }

// EventHandler turns events into keys.
type EventHandler[K comparable] interface {
	Create(context.Context, CreateEvent, Adder[K])
	Update(context.Context, UpdateEvent, Adder[K])
	Delete(context.Context, DeleteEvent, Adder[K])
	Generic(context.Context, GenericEvent, Adder[K])
}

// Predicate says which events count.
type Predicate interface {
	Create(CreateEvent) bool
	Update(UpdateEvent) bool
	Delete(DeleteEvent) bool
	Generic(GenericEvent) bool
}

// Kind is the source of a kind's changes in a cache.
func Kind[K comparable](c *cache.Cache, obj client.Object, h EventHandler[K], predicates ...Predicate) Source[K] {
	panic("skeleton")
}

// Controller runs a Reconciler for the keys that its sources enqueue.
type Controller[K comparable] struct{}

// Options tunes a Controller.
type Options[K comparable] struct {
	// MaxConcurrentReconciles; zero means 1.
	MaxConcurrentReconciles int
	// CacheSyncTimeout; zero means 2 minutes.
	CacheSyncTimeout time.Duration
	// RateLimiter; nil means the queue's default.
	RateLimiter workqueue.RateLimiter[K]
}

// New returns a Controller and adds it to mgr.
func New[K comparable](name string, mgr *manager.Manager, r Reconciler[K], o *Options[K]) (*Controller[K], error) {
	panic("skeleton")
}

// Builder: ControllerManagedBy(mgr).Named(n).For(obj, ...).Owns(obj, ...).Watches(obj, handler, ...).WatchesRawSource(src).
// WithEventFilter(p).WithOptions(o).Complete(r) / Build(r)
