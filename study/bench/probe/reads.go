package probe

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"time"

	"governor/study/bench/workload"
)

// Reads are those that a controller makes by its manager's client, which answers
// from the cache.
type Reads struct {
	// Get reads an object into a new one, which is the caller's own.
	Get func(ctx context.Context, namespace, name string) error
	// Shared reads an object without a copy, always into the same one.
	Shared func(ctx context.Context, namespace, name string) error
	// Labelled lists what has all of these labels, and Namespaced what is in a
	// namespace, into a new list of the caller's own. They return how many there are.
	Labelled   func(ctx context.Context, labels map[string]string) (int, error)
	Namespaced func(ctx context.Context, namespace string) (int, error)
	// All goes through all objects, without a copy, and looks at each one's name if
	// look is not nil. It returns how many there are.
	All func(ctx context.Context, look func(namespace, name string)) (int, error)
}

// The names of what a Result's Reads are of.
const (
	Get        = "get"
	Shared     = "get-shared"
	Labelled   = "list-label"
	Namespaced = "list-namespace"
	All        = "all"
	Looked     = "all-looked"
)

// Cost is what a read costs.
type Cost struct {
	Time   float64 // µs, of the thread that reads: as on a machine with nothing else to do
	Allocs float64
}

const (
	// warmUps is how often each read is made before it is measured: whoever
	// makes an index, or fills a pool, has done so then.
	warmUps = 3
	// readsFor is for how much of a thread's time each read is measured, at least.
	readsFor = 150 * time.Millisecond
	// readPeriod is the time between two Gets while updates arrive.
	readPeriod = 500 * time.Microsecond
)

// quiet measures reads while nothing happens.
func (p *probe) quiet(ctx context.Context, r Reads) (map[string]Cost, error) {
	keys, err := everything(ctx, r)
	if err != nil {
		return nil, err
	}
	if len(keys) != p.tally.objects() {
		return nil, fmt.Errorf("the cache has %d objects of %d", len(keys), p.tally.objects())
	}
	within := map[string]int{}
	for _, k := range keys {
		within[k.namespace]++
	}
	deployments := workload.Deployments(len(keys))
	costs := map[string]Cost{}
	for name, read := range map[string]func(i int) error{
		Get:    func(i int) error { k := keys[i%len(keys)]; return r.Get(ctx, k.namespace, k.name) },
		Shared: func(i int) error { k := keys[i%len(keys)]; return r.Shared(ctx, k.namespace, k.name) },
		Labelled: func(i int) error {
			d := i % deployments
			n, err := r.Labelled(ctx, workload.CanaryLabels(d))
			return exactly(n, min(workload.Canaries, len(keys)-d*workload.Replicas), err)
		},
		Namespaced: func(i int) error {
			namespace := workload.Namespace(i % deployments)
			n, err := r.Namespaced(ctx, namespace)
			return exactly(n, within[namespace], err)
		},
		All: func(int) error {
			n, err := r.All(ctx, nil)
			return exactly(n, len(keys), err)
		},
		Looked: func(int) error {
			letters := 0
			n, err := r.All(ctx, func(namespace, name string) { letters += len(namespace) + len(name) })
			return exactly(n, len(keys), err)
		},
	} {
		if err := p.profiled(name, func() (err error) { costs[name], err = costOf(read); return err }); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return costs, nil
}

// everything is the keys of all objects, in random order.
func everything(ctx context.Context, r Reads) ([]key, error) {
	var keys []key
	_, err := r.All(ctx, func(namespace, name string) { keys = append(keys, key{namespace, name}) })
	random := rand.New(rand.NewPCG(4, 4))
	random.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	return keys, err
}

func exactly(n, want int, err error) error {
	if err == nil && n != want {
		return fmt.Errorf("there were %d objects, not %d", n, want)
	}
	return err
}

// costOf makes a read again and again, twice as often between two looks at the
// clock as before: a look takes longer than the quickest of them.
func costOf(read func(i int) error) (Cost, error) {
	for i := range warmUps {
		if err := read(i); err != nil {
			return Cost{}, err
		}
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	runtime.GC() // no read pays for another one's garbage
	allocated, began := mallocs(), threadCPU()
	made, spent := 0, time.Duration(0)
	for more := 1; spent < readsFor; more *= 2 {
		for range more {
			if err := read(made); err != nil {
				return Cost{}, err
			}
			made++
		}
		spent = threadCPU() - began
	}
	return Cost{
		Time:   float64(spent.Nanoseconds()) / 1000 / float64(made),
		Allocs: float64(mallocs()-allocated) / float64(made),
	}, nil
}

func mallocs() uint64 {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.Mallocs
}

// busy returns the 99th percentile of the µs that a Get takes while updates arrive.
func (p *probe) busy(ctx context.Context, r Reads) (float64, error) {
	keys, err := everything(ctx, r)
	if err != nil {
		return 0, err
	}
	reading, stop := context.WithCancel(ctx)
	type reader struct {
		took []time.Duration
		err  error
	}
	ended := make(chan reader, 1)
	go func() {
		took, err := gets(ctx, reading.Done(), r, keys)
		ended <- reader{took, err}
	}()
	_, err = p.burst(ctx, workload.Busy)
	stop()
	got := <-ended
	if err = errors.Join(err, got.err); err != nil {
		return 0, err
	}
	if len(got.took) == 0 {
		return 0, errors.New("there was no time to read")
	}
	slices.Sort(got.took)
	return float64(percentile(got.took, 99).Nanoseconds()) / 1000, nil
}

// gets reads one object each period until done is closed, and returns how long
// each read took.
func gets(ctx context.Context, done <-chan struct{}, r Reads, keys []key) (took []time.Duration, err error) {
	tick := time.NewTicker(readPeriod)
	defer tick.Stop()
	for i := 0; ; i++ {
		select {
		case <-done:
			return took, nil
		case <-tick.C:
		}
		k, began := keys[i%len(keys)], time.Now()
		if err := r.Get(ctx, k.namespace, k.name); err != nil {
			return nil, err
		}
		took = append(took, time.Since(began))
	}
}

// percentile of what is sorted.
func percentile(of []time.Duration, percent int) time.Duration {
	return of[(len(of)-1)*percent/100]
}
