package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"governor/manager"
	"governor/workqueue"

	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/klog/v2"
)

// Controller runs a Reconciler for the keys that its sources enqueue. It is a
// manager.Runnable.
//
//	        Start        all sources synced       ctx ends, a source fails
//	idle ────────► syncing ────────► working ──────────────────────► ended
//	                  │  ctx ends, a source fails or takes too long    ▲
//	                  └────────────────────────────────────────────────┘
//
// Upstream: controller.TypedController and internal/controller.Controller.
type Controller[K comparable] struct {
	name       string
	reconciler Reconciler[K]
	options    Options[K]
	manager    *manager.Manager // nil for NewUnmanaged
	wake       chan struct{}    // tells Start that there are waiting watches; holds one
	idPrefix   string           // of the IDs of its reconciles
	reconciles atomic.Uint64

	// Set by Start, before anything that reads them runs.
	metrics Metrics
	queue   *workqueue.Queue[K]

	mu      sync.Mutex
	started bool        // +checklocks:mu
	working bool        // +checklocks:mu; its first sources have synced
	ended   bool        // +checklocks:mu
	begun   []*watch[K] // +checklocks:mu; those that may not have synced
	waiting []*watch[K] // +checklocks:mu; what Start has not taken yet
}

// New returns a Controller and adds it to mgr, which starts it. A name that
// another controller of mgr has is an error, as long as that one has not ended.
// The name is used in logs, errors and metrics.
//
// Upstream: controller.NewTyped, whose names are for the life of the process.
func New[K comparable](name string, mgr *manager.Manager, r Reconciler[K], o *Options[K]) (*Controller[K], error) {
	c, err := newManaged(name, mgr, r, o)
	if err != nil {
		return nil, err
	}
	if err := c.join(); err != nil {
		return nil, err
	}
	return c, nil
}

// newManaged is New before the controller is added to the manager.
func newManaged[K comparable](name string, mgr *manager.Manager, r Reconciler[K], o *Options[K]) (*Controller[K], error) {
	if mgr == nil {
		return nil, fmt.Errorf("new controller %q: the manager is nil", name)
	}
	c, err := NewUnmanaged(name, r, o)
	if err != nil {
		return nil, err
	}
	c.manager = mgr
	return c, nil
}

// join adds the controller to its manager.
func (c *Controller[K]) join() error {
	var runnable manager.Runnable = c
	if c.options.skipNameValidation() {
		runnable = anonymous[K]{c}
	}
	if _, err := c.manager.Add(runnable); err != nil {
		return fmt.Errorf("controller %q: %w", c.name, err)
	}
	return nil
}

// NewUnmanaged returns a Controller that whoever wants may Start.
//
// Upstream: controller.NewTypedUnmanaged.
func NewUnmanaged[K comparable](name string, r Reconciler[K], o *Options[K]) (*Controller[K], error) {
	switch {
	case name == "":
		return nil, errors.New("new controller: it needs a name")
	case r == nil:
		return nil, fmt.Errorf("new controller %q: the reconciler is nil", name)
	}
	return &Controller[K]{
		name: name, reconciler: r, options: *o.orZero(), wake: make(chan struct{}, 1),
		idPrefix: string(uuid.NewUUID()[:8]) + "-",
	}, nil
}

// Name is the controller's name. It makes the Controller a manager.Named.
func (c *Controller[K]) Name() string { return c.name }

// NeedLeaderElection makes the Controller a manager.LeaderElectionRunnable.
func (c *Controller[K]) NeedLeaderElection() bool { return c.options.needLeaderElection() }

// anonymous is a Controller whose name the manager does not see.
type anonymous[K comparable] struct{ controller *Controller[K] }

func (a anonymous[K]) Start(ctx context.Context) error { return a.controller.Start(ctx) }
func (a anonymous[K]) NeedLeaderElection() bool        { return a.controller.NeedLeaderElection() }
func (a anonymous[K]) Unsettled() string               { return a.controller.Unsettled() }

// Watch has src feed the controller: from Start on, or at once when it runs
// already. It returns at once. The error is what src says of itself, or that
// the controller has ended.
//
// A source that is there before Start has to sync before the first key is
// reconciled, and the controller ends when the source fails. A later one has as
// long as it needs, and its failure is the handle's owner's matter.
//
// Upstream: TypedController.Watch, which returns no handle.
func (c *Controller[K]) Watch(src Source[K]) (*WatchHandle, error) {
	if src == nil {
		return nil, fmt.Errorf("controller %q: watch: the source is nil", c.name)
	}
	if err := validate(src); err != nil {
		return nil, fmt.Errorf("controller %q: watch %s: %w", c.name, nameOf(src), err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return nil, fmt.Errorf("controller %q: watch %s: the controller has ended", c.name, nameOf(src))
	}
	w := newWatch(c.name, src)
	c.waiting = append(c.waiting, w)
	select {
	case c.wake <- struct{}{}:
	default: // Start is told already
	}
	return &w.WatchHandle, nil
}

// Start runs the sources, and, when they have synced, the workers, until ctx
// ends; then it returns nil. When a source fails or does not sync in time it
// returns an error that names the source. Either way the contexts of running
// Reconciles end, no new one begins, and everything that Start began has ended
// when it returns. (One exception: a source that takes no notice when its
// context ends after it failed to sync is left behind.) A second call is an error.
func (c *Controller[K]) Start(ctx context.Context) error {
	c.mu.Lock()
	if c.started {
		c.mu.Unlock()
		return fmt.Errorf("controller %q was started before; a controller starts once, so add it to one manager once", c.name)
	}
	c.started = true
	c.mu.Unlock()

	logger := klog.FromContext(ctx).WithValues("controller", c.name)
	ctx, cancel := context.WithCancel(klog.NewContext(ctx, logger))
	defer cancel()
	defer c.measure()()

	var goroutines sync.WaitGroup
	watches, err := c.run(ctx, &goroutines)

	cancel()
	c.queue.ShutDown()
	c.end()
	goroutines.Wait()
	for _, w := range watches {
		w.wait()
	}
	logger.Info("Controller ended")
	return err
}

// measure makes the queue, and whatever measures it and the controller. The
// manager's series of the name exist until release: before Start the name may
// be another controller's.
func (c *Controller[K]) measure() (release func()) {
	c.metrics = c.options.metrics()
	queueOptions := workqueue.Options[K]{
		Name: c.name, RateLimiter: c.options.RateLimiter, Metrics: c.options.QueueMetrics,
	}
	if c.manager == nil {
		c.queue = workqueue.New(&queueOptions)
		c.metrics.SetMaxConcurrent(c.options.workers())
		return func() {}
	}
	ours, oursOfQueue := c.manager.Metrics().Controller(c.name), c.manager.Metrics().Queue(c.name)
	if c.options.Metrics == nil {
		c.metrics = ours
	}
	if queueOptions.Metrics == nil {
		queueOptions.Metrics = oursOfQueue
	}
	c.queue = workqueue.New(&queueOptions)
	oursOfQueue.ObserveUnfinished(c.queue.Unfinished)
	c.metrics.SetMaxConcurrent(c.options.workers())
	return func() { ours.Release(); oursOfQueue.Release() }
}

// run is Start until it is time to stop. It returns the watches to wait for.
func (c *Controller[K]) run(ctx context.Context, goroutines *sync.WaitGroup) ([]*watch[K], error) {
	failed := make(chan error, 1) // the first failure of a source that must not fail
	watches := c.begin(ctx, failed)
	klog.FromContext(ctx).Info("Starting controller", "sources", len(watches), "workers", c.options.workers())

	first := slices.Clone(watches)
	synced := make(chan error, 1)
	goroutines.Go(func() { synced <- c.awaitSync(ctx, first) })
	for {
		select {
		case <-ctx.Done():
			return watches, nil
		case err := <-failed:
			return watches, err
		case <-c.wake:
			watches = append(slices.DeleteFunc(watches, (*watch[K]).ended), c.begin(ctx, nil)...)
		case err := <-synced:
			if err != nil || ctx.Err() != nil {
				return watches, err
			}
			klog.FromContext(ctx).V(1).Info("Sources have synced, starting workers")
			c.mu.Lock()
			c.working = true
			c.mu.Unlock()
			for range c.options.workers() {
				goroutines.Go(func() { c.work(ctx) })
			}
		}
	}
}

// begin runs the watches that wait. If failed is not nil, the first that fails
// says so there.
func (c *Controller[K]) begin(ctx context.Context, failed chan<- error) []*watch[K] {
	c.mu.Lock()
	waiting := c.waiting
	c.waiting = nil
	c.begun = slices.Concat(slices.DeleteFunc(c.begun, (*watch[K]).settled), waiting)
	c.mu.Unlock()

	var begun []*watch[K]
	for _, w := range waiting {
		if w.begin(ctx, c.queue, failed) {
			begun = append(begun, w)
		}
	}
	return begun
}

// end refuses further watches and lets go of those that never ran.
func (c *Controller[K]) end() {
	c.mu.Lock()
	c.ended = true
	waiting := c.waiting
	c.waiting = nil
	c.mu.Unlock()
	for _, w := range waiting {
		w.Stop()
	}
}

// awaitSync waits for all watches at once, since they run at once. It returns
// nil as well when ctx ends.
func (c *Controller[K]) awaitSync(ctx context.Context, watches []*watch[K]) error {
	timeout := c.options.cacheSyncTimeout()
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	for _, w := range watches {
		select {
		case <-ctx.Done():
			return nil
		case <-w.synced:
		case <-w.done:
			if err := w.Err(); err != nil {
				return err
			}
		case <-timer.C:
			return unsynced(watches, timeout)
		}
	}
	return nil
}
