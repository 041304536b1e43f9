package controller

import (
	"context"
	"errors"
	"slices"
	"time"

	"governor/client"
	"governor/workqueue"
)

// LowPriority is the priority of keys whose event tells nothing new: objects
// that were there before the watch began, and resyncs. What really happens
// meanwhile has 0 and goes first. Upstream: handler.LowPriority.
const LowPriority = -100

// Adder is the side of a queue that handlers see. *workqueue.Queue is one.
type Adder[K comparable] interface {
	Add(key K)
	AddAfter(key K, d time.Duration)
	AddRateLimited(key K)
	AddWith(o workqueue.AddOptions, keys ...K)
}

// EventHandler turns events into keys. The calls of one source come one at a
// time, so that a slow handler delays that source's later events. ctx ends with
// the source. Objects are shared: read them only.
//
// A handler that can be wrong by construction may have the method
// Validate() error as well: Watch and Build return its error.
//
// Upstream: handler.TypedEventHandler.
type EventHandler[K comparable] interface {
	Create(context.Context, CreateEvent, Adder[K])
	Update(context.Context, UpdateEvent, Adder[K])
	Delete(context.Context, DeleteEvent, Adder[K])
	Generic(context.Context, GenericEvent, Adder[K])
}

// HandlerFuncs is an EventHandler of functions; a nil function enqueues
// nothing. For an event that tells nothing new the Adder that they get turns
// the ordinary priority, 0, into LowPriority.
//
// Upstream: handler.Funcs.
type HandlerFuncs[K comparable] struct {
	CreateFunc  func(context.Context, CreateEvent, Adder[K])
	UpdateFunc  func(context.Context, UpdateEvent, Adder[K])
	DeleteFunc  func(context.Context, DeleteEvent, Adder[K])
	GenericFunc func(context.Context, GenericEvent, Adder[K])
}

// Create implements EventHandler.
func (h HandlerFuncs[K]) Create(ctx context.Context, e CreateEvent, q Adder[K]) {
	if h.CreateFunc != nil {
		h.CreateFunc(ctx, e, withPriority(q, createPriority(e)))
	}
}

// Update implements EventHandler.
func (h HandlerFuncs[K]) Update(ctx context.Context, e UpdateEvent, q Adder[K]) {
	if h.UpdateFunc != nil {
		h.UpdateFunc(ctx, e, withPriority(q, updatePriority(e)))
	}
}

// Delete implements EventHandler.
func (h HandlerFuncs[K]) Delete(ctx context.Context, e DeleteEvent, q Adder[K]) {
	if h.DeleteFunc != nil {
		h.DeleteFunc(ctx, e, q)
	}
}

// Generic implements EventHandler.
func (h HandlerFuncs[K]) Generic(ctx context.Context, e GenericEvent, q Adder[K]) {
	if h.GenericFunc != nil {
		h.GenericFunc(ctx, e, q)
	}
}

// MapFunc returns the keys that an object's event is about.
//
// Upstream: handler.TypedMapFunc.
type MapFunc[K comparable] func(ctx context.Context, object client.Object) []K

// EnqueueRequestsFromMapFunc enqueues the keys that fn returns; for an update,
// those of the old object and those of the new one, each key once: what an
// object referred to before is as concerned as what it refers to now.
//
// Upstream: handler.EnqueueRequestsFromMapFunc.
func EnqueueRequestsFromMapFunc[K comparable](fn MapFunc[K]) EventHandler[K] {
	return mapHandler[K]{fn}
}

// EnqueueRequestForObject enqueues the key of the object itself.
//
// Upstream: handler.EnqueueRequestForObject.
type EnqueueRequestForObject struct{}

// Create implements EventHandler.
func (h EnqueueRequestForObject) Create(_ context.Context, e CreateEvent, q Adder[Request]) {
	h.enqueue(q, createPriority(e), e.Object)
}

// Update implements EventHandler. Old and new are one object.
func (h EnqueueRequestForObject) Update(_ context.Context, e UpdateEvent, q Adder[Request]) {
	h.enqueue(q, updatePriority(e), e.ObjectNew)
}

// Delete implements EventHandler.
func (h EnqueueRequestForObject) Delete(_ context.Context, e DeleteEvent, q Adder[Request]) {
	h.enqueue(q, 0, e.Object)
}

// Generic implements EventHandler.
func (h EnqueueRequestForObject) Generic(_ context.Context, e GenericEvent, q Adder[Request]) {
	h.enqueue(q, 0, e.Object)
}

func (EnqueueRequestForObject) enqueue(q Adder[Request], priority int, object client.Object) {
	q.AddWith(workqueue.AddOptions{Priority: priority}, Request{NamespacedName: client.ObjectKeyFromObject(object)})
}

// mapHandler is what all our other handlers are: they differ in fn alone.
type mapHandler[K comparable] struct{ fn MapFunc[K] }

func (m mapHandler[K]) Create(ctx context.Context, e CreateEvent, q Adder[K]) {
	m.enqueue(ctx, q, createPriority(e), e.Object)
}

func (m mapHandler[K]) Update(ctx context.Context, e UpdateEvent, q Adder[K]) {
	m.enqueue(ctx, q, updatePriority(e), e.ObjectOld, e.ObjectNew)
}

func (m mapHandler[K]) Delete(ctx context.Context, e DeleteEvent, q Adder[K]) {
	m.enqueue(ctx, q, 0, e.Object)
}

func (m mapHandler[K]) Generic(ctx context.Context, e GenericEvent, q Adder[K]) {
	m.enqueue(ctx, q, 0, e.Object)
}

func (m mapHandler[K]) enqueue(ctx context.Context, q Adder[K], priority int, objects ...client.Object) {
	var keys []K
	for _, object := range objects {
		keys = append(keys, m.fn(ctx, object)...)
	}
	if keys = distinct(keys); len(keys) > 0 {
		q.AddWith(workqueue.AddOptions{Priority: priority}, keys...)
	}
}

// distinct returns each key once, where it first stands. A handful is searched;
// a function that returns thousands of keys gets a set.
func distinct[K comparable](keys []K) []K {
	const handful = 16
	if len(keys) <= handful {
		first := keys[:0:0]
		for _, key := range keys {
			if !slices.Contains(first, key) {
				first = append(first, key)
			}
		}
		return first
	}
	seen := make(map[K]struct{}, len(keys))
	return slices.DeleteFunc(slices.Clone(keys), func(key K) bool {
		_, again := seen[key]
		seen[key] = struct{}{}
		return again
	})
}

func (m mapHandler[K]) Validate() error {
	if m.fn == nil {
		return errors.New("the map function is nil")
	}
	return nil
}

func createPriority(e CreateEvent) int {
	if e.IsInInitialList {
		return LowPriority
	}
	return 0
}

func updatePriority(e UpdateEvent) int {
	if e.ObjectOld.GetResourceVersion() == e.ObjectNew.GetResourceVersion() {
		return LowPriority
	}
	return 0
}

// withPriority returns q with another ordinary priority.
func withPriority[K comparable](q Adder[K], priority int) Adder[K] {
	if priority == 0 {
		return q
	}
	return prioritized[K]{q, priority}
}

type prioritized[K comparable] struct {
	queue    Adder[K]
	priority int
}

func (p prioritized[K]) Add(key K) { p.AddWith(workqueue.AddOptions{}, key) }

func (p prioritized[K]) AddAfter(key K, d time.Duration) {
	p.AddWith(workqueue.AddOptions{After: d}, key)
}

func (p prioritized[K]) AddRateLimited(key K) {
	p.AddWith(workqueue.AddOptions{RateLimited: true}, key)
}

func (p prioritized[K]) AddWith(o workqueue.AddOptions, keys ...K) {
	if o.Priority == 0 {
		o.Priority = p.priority
	}
	p.queue.AddWith(o, keys...)
}
