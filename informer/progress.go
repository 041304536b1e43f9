package informer

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// progress is how far a store has come, and who waits for it to come further.
// The zero value is ready to use.
type progress struct {
	mu              sync.Mutex
	resourceVersion string   // +checklocks:mu
	waiters         []waiter // +checklocks:mu; who waits for the least is the first
}

type waiter struct {
	resourceVersion string
	reached         chan struct{} // closed when it is
}

func (p *progress) at() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.resourceVersion
}

// advance is called when the store is at resourceVersion. However many wait, it
// looks at those that it wakes, and one more.
func (p *progress) advance(resourceVersion string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.resourceVersion = resourceVersion
	n := 0
	for n < len(p.waiters) && reached(resourceVersion, p.waiters[n].resourceVersion) {
		close(p.waiters[n].reached)
		n++
	}
	p.waiters = slices.Delete(p.waiters, 0, n)
}

// wait returns nil when the store is at resourceVersion or later.
func (p *progress) wait(ctx context.Context, resourceVersion string) error {
	if _, err := resourceversion.CompareResourceVersion(resourceVersion, resourceVersion); err != nil {
		return err
	}
	p.mu.Lock()
	if reached(p.resourceVersion, resourceVersion) {
		p.mu.Unlock()
		return nil
	}
	w := waiter{resourceVersion, make(chan struct{})}
	at, _ := slices.BinarySearchFunc(p.waiters, resourceVersion, func(x waiter, rv string) int {
		order, _ := resourceversion.CompareResourceVersion(x.resourceVersion, rv) // wait has seen that both can be
		return order
	})
	p.waiters = slices.Insert(p.waiters, at, w)
	p.mu.Unlock()

	select {
	case <-w.reached:
		return nil
	case <-ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiters = slices.DeleteFunc(p.waiters, func(x waiter) bool { return x == w })
	return fmt.Errorf("at resourceVersion %q, not yet %s: %w", p.resourceVersion, resourceVersion, context.Cause(ctx))
}

// reached says whether a store at this version has come to that one. A store
// that has no version, or none that can be compared, has come to none.
func reached(this, that string) bool {
	order, err := resourceversion.CompareResourceVersion(this, that)
	return err == nil && order >= 0
}
