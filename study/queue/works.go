package main

import (
	"runtime"
	"sync"
	"syscall"
	"time"
)

// work is something that the queues do, and what was promised of Governor's.
type work struct {
	name   string
	of     [3]bool // which of the queues do it
	run    func(func(kind) queue) cost
	limits []limit
}

// limit is a ratio that was promised; an aim of 0 means that there is none.
type limit struct {
	to        int // one of the queues
	must, aim float64
}

const million = 1_000_000

var works = []work{
	{"Add+Get+Done, one at a time", [3]bool{true, true, true}, batch(plain, 1),
		[]limit{{controllerRuntime, 0.12, 0.06}, {clientGo, 1.3, 0.8}}},
	{"the same, with metrics", [3]bool{true, true, false}, batch(measured, 1), []limit{{to: clientGo}}},
	{"1000 Add, then 1000 Get+Done", [3]bool{true, true, true}, batch(plain, 1000),
		[]limit{{to: controllerRuntime}, {to: clientGo}}},
	{"8 producers, 8 workers, 1 M keys", [3]bool{true, true, true}, crowd,
		[]limit{{controllerRuntime, 0.25, 0}, {to: clientGo}}},
	{"1 M delayed, inserted and expired", [3]bool{true, true, false}, delayed, []limit{{clientGo, 0.7, 0}}},
}

// batch adds n keys, then gets and ends them, again and again for a while.
func batch(k kind, n int) func(func(kind) queue) cost {
	return func(newQueue func(kind) queue) cost {
		q := newQueue(k)
		defer q.stop()
		round := func() {
			for key := range n {
				q.add(key)
			}
			for range n {
				key, _ := q.get()
				q.done(key)
			}
		}
		round()
		return perKey(func() (keys int) {
			for start := cpu(); cpu()-start < time.Second/2; {
				for range max(1, 10_000/n) {
					round()
					keys += n
				}
			}
			return keys
		})
	}
}

// crowd has eight producers put in a million keys, and eight workers take them.
func crowd(newQueue func(kind) queue) cost {
	return perKey(func() int {
		q := newQueue(plain)
		var producers, keys, workers sync.WaitGroup
		keys.Add(million)
		for p := range 8 {
			producers.Go(func() {
				for key := p; key < million; key += 8 {
					q.add(key)
				}
			})
			workers.Go(func() {
				for {
					key, more := q.get()
					if !more {
						return
					}
					q.done(key)
					keys.Done()
				}
			})
		}
		producers.Wait()
		keys.Wait()
		q.stop()
		workers.Wait()
		return million
	})
}

// delayed has a million keys wait for three to four seconds, in no order: all are
// in before the first comes out. On the clock most of it is waiting.
func delayed(newQueue func(kind) queue) cost {
	return perKey(func() int {
		q := newQueue(delaying)
		for key := range million {
			q.after(key, 3*time.Second+time.Duration(key*7919%million)*time.Microsecond)
		}
		for range million {
			key, _ := q.get()
			q.done(key)
		}
		q.stop()
		return million
	})
}

// perKey measures what do costs, divided by the number of keys that it returns.
func perKey(do func() int) cost {
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	startCPU, start := cpu(), time.Now()
	keys := float64(do())
	tookCPU, took := cpu()-startCPU, time.Since(start)
	runtime.ReadMemStats(&after)
	return cost{float64(tookCPU) / keys, float64(took) / keys, float64(after.Mallocs-before.Mallocs) / keys}
}

// cpu is how long this process has used a processor.
func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
