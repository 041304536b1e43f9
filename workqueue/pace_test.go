package workqueue

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// Contract 13. Each script is played to a queue with one worker, who takes two
// seconds for a key; want is when the runs begin.
func TestPace(t *testing.T) {
	type at = map[time.Duration]func(*Queue[string])
	add := func(q *Queue[string]) { q.Add("x") }
	after := func(d time.Duration) func(*Queue[string]) {
		return func(q *Queue[string]) { q.AddAfter("x", d) }
	}
	const s = time.Second
	for _, tt := range []struct {
		name string
		o    Options[string]
		at   at
		want []time.Duration
	}{
		{"debounce holds an Add back", Options[string]{Debounce: 3 * s}, at{s: add}, []time.Duration{4 * s}},
		{"and joins what comes meanwhile", Options[string]{Debounce: 3 * s}, at{s: add, 2 * s: add, 3 * s: add}, []time.Duration{4 * s}},
		{"not for ever", Options[string]{Debounce: 3 * s}, at{s: add, 3 * s: add, 5 * s: add, 7 * s: add}, []time.Duration{4 * s, 8 * s}},
		{"a longer delay is no longer", Options[string]{Debounce: 3 * s}, at{s: after(5 * s)}, []time.Duration{6 * s}},
		{"a shorter delay is not shorter", Options[string]{Debounce: 3 * s}, at{s: after(s)}, []time.Duration{4 * s}},
		{"an Add after a longer delay", Options[string]{Debounce: 3 * s}, at{s: after(time.Hour), 2 * s: add}, []time.Duration{5 * s}},

		{"the first run is at once", Options[string]{MinInterval: 10 * s}, at{s: add}, []time.Duration{s}},
		{"the second waits from the start of the first", Options[string]{MinInterval: 10 * s}, at{s: add, 2 * s: add}, []time.Duration{s, 11 * s}},
		{"also when it is added after Done", Options[string]{MinInterval: 10 * s}, at{s: add, 5 * s: add, 6 * s: add}, []time.Duration{s, 11 * s}},
		{"no longer than that", Options[string]{MinInterval: 10 * s}, at{s: add, 11 * s: add}, []time.Duration{s, 11 * s}},
		{"a run that is longer", Options[string]{MinInterval: s}, at{s: add, 2 * s: add}, []time.Duration{s, 3 * s}},
		{"a delay that ends later", Options[string]{MinInterval: 10 * s}, at{s: add, 5 * s: after(time.Minute)}, []time.Duration{s, 65 * s}},
		{"a delay that ends earlier", Options[string]{MinInterval: 10 * s}, at{s: add, 5 * s: after(s)}, []time.Duration{s, 11 * s}},
		{"both", Options[string]{MinInterval: 10 * s, Debounce: 2 * s}, at{s: add, 4 * s: add, 12 * s: add, 15 * s: add},
			[]time.Duration{3 * s, 13 * s, 23 * s}},
		{"no overflow", Options[string]{MinInterval: never, Debounce: s}, at{s: add, 4 * s: add}, []time.Duration{2 * s}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q, start := New(&tt.o), time.Now()
				var got []time.Duration
				ended := make(chan struct{})
				go func() {
					defer close(ended)
					for {
						item, err := q.Get(context.Background())
						if err != nil {
							return
						}
						got = append(got, time.Since(start))
						time.Sleep(2 * s)
						q.Done(item.Key)
					}
				}()
				for now := range time.Duration(120) {
					if do := tt.at[now*s]; do != nil {
						do(q)
						mustBeValid(t, q)
					}
					time.Sleep(s)
					synctest.Wait()
				}
				mustBeValid(t, q)
				if err := q.ShutDownWithDrain(t.Context()); err != nil {
					t.Error(err)
				}
				<-ended
				if len(got) != len(tt.want) {
					t.Fatalf("runs began at %v, want %v", got, tt.want)
				}
				for i := range got {
					if got[i] != tt.want[i] {
						t.Errorf("runs began at %v, want %v", got, tt.want)
					}
				}
			})
		})
	}
}

// Contract 12, 13: a key that rests is in no list, and is forgotten in the end.
func TestRestingKeyIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(&Options[string]{MinInterval: time.Minute})
		defer q.ShutDown()
		q.Add("x")
		drain(t, q)
		mustBeValid(t, q)
		if s := q.Snapshot(); len(s.Ready)+len(s.Waiting)+len(s.InFlight) != 0 || q.Len() != 0 {
			t.Errorf("the snapshot is %+v", s)
		}
		if n := len(q.entries.m); n != 1 {
			t.Errorf("%d entries, want the one that rests", n)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		q.mu.Lock()
		defer q.mu.Unlock()
		if n := len(q.entries.m); n != 0 {
			t.Errorf("%d entries after the interval", n)
		}
	})
}

// Contract 9: what rests does not hold up a drain.
func TestDrainOfResting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(&Options[string]{MinInterval: time.Hour})
		q.AddWith(AddOptions{}, "x", "y")
		mustGet(t, q)
		mustGet(t, q)
		q.Done("x")
		start := time.Now()
		go func() {
			time.Sleep(time.Second)
			q.Done("y")
		}()
		if err := q.ShutDownWithDrain(t.Context()); err != nil || time.Since(start) != time.Second {
			t.Errorf("drained after %v: %v", time.Since(start), err)
		}
		mustBeValid(t, q)
	})
}
