package probe

import (
	"context"
	"fmt"
	"sync"
	"time"

	"governor/study/bench/workload"
)

// sampleEvery is how many objects there are for each that is looked at.
const sampleEvery = 100

type key struct{ namespace, name string }

// tally counts the objects that were reconciled since the last reset. Between
// two rounds nothing is on its way: so an object that is reconciled has changed
// in this round, and the reconciler need not look at it.
type tally struct {
	mu      sync.Mutex
	times   []int64       // when each was reconciled first, in ns since 1970; 0 before; +checklocks:mu
	count   int           // how many times are not 0; +checklocks:mu
	want    int           // +checklocks:mu
	enough  chan struct{} // closed when count reaches want, which is then 0; +checklocks:mu
	samples map[int]key   // some of those of this round, by ordinal; +checklocks:mu
}

func newTally(objects int) *tally {
	return &tally{times: make([]int64, objects), samples: map[int]key{}}
}

func (t *tally) objects() int { return len(t.times) }

// reconciled is called by the reconciler.
func (t *tally) reconciled(namespace, name string) {
	now := time.Now().UnixNano()
	t.mu.Lock()
	defer t.mu.Unlock()
	ordinal := workload.Ordinal(name)
	if ordinal < 0 || ordinal >= len(t.times) || t.times[ordinal] != 0 {
		return
	}
	t.times[ordinal] = now
	t.count++
	if t.count%sampleEvery == 0 {
		t.samples[ordinal] = key{namespace, name}
	}
	if t.count == t.want {
		t.want = 0
		close(t.enough)
	}
}

func (t *tally) reset() {
	t.mu.Lock()
	defer t.mu.Unlock()
	clear(t.times)
	clear(t.samples)
	t.count = 0
}

// await waits until n objects were reconciled.
func (t *tally) await(ctx context.Context, n int) error {
	t.mu.Lock()
	if t.count >= n {
		t.mu.Unlock()
		return nil
	}
	t.want, t.enough = n, make(chan struct{})
	enough := t.enough
	t.mu.Unlock()
	select {
	case <-enough:
		return nil
	case <-ctx.Done():
		t.mu.Lock()
		defer t.mu.Unlock()
		return fmt.Errorf("%d of %d objects were reconciled: %w", t.count, n, context.Cause(ctx))
	}
}

// at is when an object was reconciled.
func (t *tally) at(ordinal int) int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.times[ordinal]
}

// sample returns some of the objects that were reconciled.
func (t *tally) sample() []key {
	t.mu.Lock()
	defer t.mu.Unlock()
	keys := make([]key, 0, len(t.samples))
	for _, k := range t.samples {
		keys = append(keys, k)
	}
	return keys
}
