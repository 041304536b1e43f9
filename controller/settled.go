package controller

import (
	"fmt"
	"strings"
)

// Settled says whether the Controller has nothing to do: its sources have synced, no key is
// ready or with a worker, and none waits to be tried again after an error, as far as the rate limiter
// counts errors. A key that waits because Reconcile said RequeueAfter, or for any other
// delay, is no work until then. A Controller that has ended is settled.
//
// It says nothing of events on their way: ask their cache too, and first.
func (c *Controller[K]) Settled() bool { return c.Unsettled() == "" }

// Unsettled is why the Controller is not settled, for people; empty if it is.
func (c *Controller[K]) Unsettled() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.ended:
		return ""
	case !c.started:
		return fmt.Sprintf("controller %q has not started", c.name)
	case len(c.waiting) > 0:
		return fmt.Sprintf("%s has not begun", c.waiting[0].name)
	}
	for _, w := range c.begun {
		if !w.settled() {
			return w.name + " has not synced"
		}
	}
	if !c.working {
		return fmt.Sprintf("controller %q has no workers yet", c.name)
	}
	return c.busy()
}

// busy says what is in the queue that has to be done.
func (c *Controller[K]) busy() string {
	queue := c.queue.Snapshot()
	var parts []string
	if n := len(queue.Ready); n > 0 {
		parts = append(parts, fmt.Sprintf("%d keys ready (%v)", n, queue.Ready[0].Key))
	}
	if n := len(queue.InFlight); n > 0 {
		parts = append(parts, fmt.Sprintf("%d in work (%v)", n, queue.InFlight[0].Key))
	}
	for _, item := range queue.Waiting {
		if n := c.queue.NumRequeues(item.Key); n > 0 {
			parts = append(parts, fmt.Sprintf("to try %v again after %d errors", item.Key, n))
			break
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return fmt.Sprintf("controller %q has %s", c.name, strings.Join(parts, ", "))
}

// settled says whether the watch has synced, or will not.
func (w *watch[K]) settled() bool {
	select {
	case <-w.synced:
		return true
	default:
		return w.ended()
	}
}
