package server

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sort"
	"strconv"
	"sync"
	"sync/atomic"

	"governor/study/bench/workload"

	corev1 "k8s.io/api/core/v1"
)

// roundEdits are all edits that were made to an object by the end of each of
// workload.Rounds. What did not change since the last one keeps its bytes.
var roundEdits = []edits{
	{status: 1},
	{status: 1, metadata: 1},
	{status: 2, metadata: 2, spec: 1},
	{status: 3, metadata: 2, spec: 1},
	{status: 4, metadata: 2, spec: 1},
}

// change is one event of the history. Everything but sent is made beforehand.
type change struct {
	ordinal int
	version *version
	sent    atomic.Int64 // when its frame was written, in ns since 1970; 0 before
}

// collection is all objects of one resource, and what happens to them. All
// bytes are made when it is, so that serving them costs little.
type collection struct {
	encoding encoding
	initial  []*version // by ordinal
	order    []int      // ordinals, as a list has them: by namespace and name
	rounds   [][]*change

	mu      sync.Mutex
	latest  []*version    // by ordinal; +checklocks:mu
	history []*change     // +checklocks:mu
	done    int           // how many rounds were begun; +checklocks:mu
	changed chan struct{} // closed when the history grows; +checklocks:mu
}

// newCollection makes objects objects; burst of them change in each round, or as
// many of those as the round has events.
func newCollection(enc encoding, objects, burst int) (*collection, error) {
	source, err := newPods(objects)
	if err != nil {
		return nil, err
	}
	c := &collection{encoding: enc, initial: make([]*version, objects), order: make([]int, objects)}
	keys := make([]string, objects)
	err = inParallel(objects, func(i int) error {
		pod := source.pod(i, edits{})
		keys[i] = pod.Namespace + "/" + pod.Name
		c.order[i] = i
		c.initial[i] = &version{resourceVersion: uint64(workload.RoundVersions + i)}
		return encode(enc, c.initial[i], pod)
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(c.order, func(a, b int) int { return cmp.Compare(keys[a], keys[b]) })

	changing := rand.New(rand.NewPCG(3, 3)).Perm(objects)[:burst]
	last, before := slices.Clone(c.initial), edits{}
	for n, round := range workload.Rounds {
		changing := changing
		if round.Events > 0 {
			changing = changing[:min(round.Events, burst)]
		}
		changes := make([]*change, len(changing))
		err := inParallel(len(changing), func(i int) error {
			ordinal := changing[i]
			v := &version{resourceVersion: uint64((n+2)*workload.RoundVersions + i)}
			if roundEdits[n].spec == before.spec {
				v.spec = last[ordinal].spec
			}
			if roundEdits[n].status == before.status {
				v.status = last[ordinal].status
			}
			last[ordinal], changes[i] = v, &change{ordinal: ordinal, version: v}
			return encode(enc, v, source.pod(ordinal, roundEdits[n]))
		})
		if err != nil {
			return nil, err
		}
		c.rounds, before = append(c.rounds, changes), roundEdits[n]
	}
	c.reset()
	return c, nil
}

func encode(enc encoding, v *version, pod *corev1.Pod) error {
	pod.ResourceVersion = strconv.FormatUint(v.resourceVersion, 10)
	return enc.encode(v, pod)
}

// inParallel calls f for each i below n, and returns one of its errors.
func inParallel(n int, f func(i int) error) error {
	var next atomic.Int64
	var group sync.WaitGroup
	errs := make([]error, runtime.GOMAXPROCS(0))
	for worker := range errs {
		group.Go(func() {
			for i := int(next.Add(1) - 1); i < n && errs[worker] == nil; i = int(next.Add(1) - 1) {
				errs[worker] = f(i)
			}
		})
	}
	group.Wait()
	return cmp.Or(errs...)
}

// reset undoes all rounds. Nobody may be watching.
func (c *collection) reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range c.history {
		e.sent.Store(0)
	}
	c.latest, c.history, c.done = slices.Clone(c.initial), nil, 0
	c.changed = make(chan struct{})
}

// begin takes the next round, which must have that name.
func (c *collection) begin(name string) (workload.Round, []*change, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.done == len(workload.Rounds) || workload.Rounds[c.done].Name != name {
		return workload.Round{}, nil, fmt.Errorf("%q is not the next round: %d were made of %v", name, c.done, workload.Rounds)
	}
	c.done++
	return workload.Rounds[c.done-1], c.rounds[c.done-1], nil
}

// happen lets changes happen, all at once.
func (c *collection) happen(changes ...*change) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range changes {
		c.latest[e.ordinal] = e.version
	}
	c.history = append(c.history, changes...)
	close(c.changed)
	c.changed = make(chan struct{})
}

// state is everything that exists, as a list has it, its resourceVersion, and
// where in the history it is.
func (c *collection) state() (objects []*version, resourceVersion uint64, cursor int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	objects = make([]*version, len(c.order))
	for i, ordinal := range c.order {
		objects[i] = c.latest[ordinal]
	}
	return objects, c.versionLocked(), len(c.history)
}

// +checklocks:c.mu
func (c *collection) versionLocked() uint64 {
	if len(c.history) > 0 {
		return c.history[len(c.history)-1].version.resourceVersion
	}
	return uint64(workload.RoundVersions + len(c.initial))
}

// cursor is the place in the history after a resourceVersion.
func (c *collection) cursor(resourceVersion uint64) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return sort.Search(len(c.history), func(i int) bool {
		return c.history[i].version.resourceVersion > resourceVersion
	})
}

// after is what happened after a place in the history, the resourceVersion
// then, and what is closed when there is more.
func (c *collection) after(cursor int) (news []*change, resourceVersion uint64, more <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.history[cursor:], c.versionLocked(), c.changed
}
