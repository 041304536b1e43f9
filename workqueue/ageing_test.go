package workqueue

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// Contract 5: under urgent keys without end, the others come out within the bound
// that Options.Ageing states, and the urgent keep their share.
func TestAgeing(t *testing.T) {
	for _, fair := range []bool{false, true} {
		t.Run(fmt.Sprint("fair ", fair), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const ageing, low = time.Minute, 20
				o := &Options[string]{Ageing: ageing}
				if fair {
					o.FairnessKey = tenantOf
				}
				q := New(o)
				defer q.ShutDown()
				start := time.Now()
				for i := range low {
					q.AddWith(AddOptions{Priority: -100 - i}, fmt.Sprintf("low%d/x", i))
				}
				gets, urgent, agedAt, next := 0, 0, 0, 0
				for next < low {
					q.AddWith(AddOptions{}, fmt.Sprint("urgent/", gets))
					item := mustGet(t, q)
					gets++
					mustBeValid(t, q)
					if time.Since(start) < ageing {
						agedAt = gets
					}
					if item.Priority == 0 {
						urgent++
					} else if want := fmt.Sprintf("low%d/x", next); item.Key != want {
						t.Fatalf("get %d is %q, want %q: the oldest first", gets, item.Key, want)
					} else if since := time.Since(start); since < ageing {
						t.Fatalf("%q came out after %v", item.Key, since)
					} else if bound := agedAt + agedTurn*(next+1); gets > bound {
						t.Fatalf("%q came out with get %d, want %d at the latest", item.Key, gets, bound)
					} else {
						next++
					}
					q.Done(item.Key)
					time.Sleep(time.Second)
				}
				if after := gets - agedAt; urgent-agedAt < after*7/8-1 {
					t.Errorf("of %d Gets %d were for the urgent, want seven of eight", after, urgent-agedAt)
				}
			})
		})
	}
}

// Case 35: without Ageing priorities are strict, and low ones come when the high
// are done.
func TestWithoutAgeingPrioritiesAreStrict(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New[string](nil)
		defer q.ShutDown()
		q.AddWith(AddOptions{Priority: -100}, "low")
		for i := range 100 {
			q.Add(fmt.Sprint(i))
			time.Sleep(time.Hour)
			if item := mustGet(t, q); item.Key == "low" {
				t.Fatalf("low came out with get %d", i)
			}
		}
		if item := mustGet(t, q); item.Key != "low" {
			t.Errorf("got %v", item)
		}
	})
}

// Options.Ageing: what MaxPerFairnessKey bars waits on, and bars no other that
// has aged.
func TestAgeingAndCap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(&Options[string]{Ageing: time.Second, FairnessKey: tenantOf, MaxPerFairnessKey: 1})
		defer q.ShutDown()
		q.AddWith(AddOptions{Priority: -2}, "a/1")
		mustGet(t, q)
		q.AddWith(AddOptions{Priority: -2}, "a/2")
		q.AddWith(AddOptions{Priority: -3}, "b/1")
		time.Sleep(time.Minute)
		for gets := 1; ; gets++ {
			q.Add(fmt.Sprint(gets, "/x"))
			item := mustGet(t, q)
			if item.Key == "b/1" {
				return
			}
			if item.Key == "a/2" || gets > 2*agedTurn {
				t.Fatalf("get %d is %q", gets, item.Key)
			}
			q.Done(item.Key)
		}
	})
}
