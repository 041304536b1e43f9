package controller

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strconv"
	"time"

	"governor/workqueue"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
)

// work reconciles one key after the other until ctx ends: Get returns nothing
// after that, whatever is ready.
func (c *Controller[K]) work(ctx context.Context) {
	for {
		item, err := c.queue.Get(ctx)
		if err != nil {
			return
		}
		c.process(ctx, item)
	}
}

// process reconciles one key and does what its result asks for.
func (c *Controller[K]) process(ctx context.Context, item workqueue.Item[K]) {
	defer c.queue.Done(item.Key)
	c.metrics.Active(1)
	defer c.metrics.Active(-1)

	id := c.nextReconcileID()
	logger := klog.FromContext(ctx).WithValues(append(keyValues(item.Key), "reconcileID", id)...)
	chatty := logger.V(5)
	if chatty.Enabled() { // its arguments cost more than the rest of this function
		chatty.Info("Reconciling")
	}
	start := time.Now()
	result, err := c.reconcile(klog.NewContext(context.WithValue(ctx, reconcileIDKey{}, id), logger), item.Key)
	took := time.Since(start)
	if chatty.Enabled() {
		chatty.Info("Reconciled", "result", result, "err", err, "took", took)
	}

	next := workqueue.AddOptions{Priority: item.Priority}
	if result.Priority != nil {
		next.Priority = *result.Priority
	}
	outcome := "success"
	switch {
	case err != nil && isTerminal(err):
		outcome = "error"
		c.metrics.TerminalError()
		logger.Error(err, "Reconcile failed for good")
		c.queue.Forget(item.Key)
	case err != nil:
		outcome = "error"
		if ctx.Err() == nil { // otherwise the error is most likely the end itself
			logger.Error(err, "Reconcile failed, will try again")
		}
		next.RateLimited = true
		c.queue.AddWith(next, item.Key)
	case result.RequeueAfter > 0:
		outcome = "requeue_after"
		next.After = result.RequeueAfter
		c.queue.Forget(item.Key)
		c.queue.AddWith(next, item.Key)
	default:
		c.queue.Forget(item.Key)
	}
	c.metrics.Reconciled(outcome, took)
}

// errReconciliationTimeout is the cause of a context that took too long.
var errReconciliationTimeout = errors.New("the controller's ReconciliationTimeout has passed")

// reconcile calls the Reconciler within its limits of time and panic.
func (c *Controller[K]) reconcile(ctx context.Context, key K) (_ Result, err error) {
	if timeout := c.options.ReconciliationTimeout; timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, timeout, errReconciliationTimeout)
		defer cancel()
	}
	returned := false
	defer func() {
		if returned {
			return
		}
		c.metrics.Panicked()
		if !c.options.recoverPanic() {
			return // and the panic goes on, with its value and its stack
		}
		r := recover()
		err = fmt.Errorf("panic: %v [recovered]", r)
		klog.FromContext(ctx).Error(err, "Observed a panic", "stack", string(debug.Stack()))
	}()
	result, err := c.reconciler.Reconcile(ctx, key)
	returned = true
	return result, err
}

// keyValues are the log fields of a key: an object as everywhere, any other key
// as it is.
func keyValues[K comparable](key K) []any {
	if request, ok := any(key).(Request); ok {
		return []any{"object", klog.KRef(request.Namespace, request.Name)}
	}
	return []any{"key", key}
}

type reconcileIDKey struct{}

// nextReconcileID returns an ID that no other call of Reconcile has: a random
// part for the controller, and a number.
func (c *Controller[K]) nextReconcileID() types.UID {
	return types.UID(c.idPrefix + strconv.FormatUint(c.reconciles.Add(1), 10))
}

// ReconcileIDFromContext returns what tells one Reconcile from another in logs:
// new for each call, empty outside of one.
//
// Upstream: controller.ReconcileIDFromContext.
func ReconcileIDFromContext(ctx context.Context) types.UID {
	id, _ := ctx.Value(reconcileIDKey{}).(types.UID)
	return id
}
