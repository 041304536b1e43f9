package workqueue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// tenantOf is a FairnessKey for keys such as a/1.
func tenantOf(key string) string { tenant, _, _ := strings.Cut(key, "/"); return tenant }

// Contract 4: turns within a priority.
func TestFairness(t *testing.T) {
	for _, tt := range []struct {
		name string
		add  []string // at priority 0; a ! in front means 1
		want []string
	}{
		{"one tenant is a plain queue", []string{"a/1", "a/2", "a/3"}, []string{"a/1", "a/2", "a/3"}},
		{"who has much does not hold up who has little", []string{"a/1", "a/2", "a/3", "a/4", "b/1"},
			[]string{"a/1", "b/1", "a/2", "a/3", "a/4"}},
		{"in turns", []string{"a/1", "a/2", "b/1", "b/2", "c/1", "c/2"}, []string{"a/1", "b/1", "c/1", "a/2", "b/2", "c/2"}},
		{"priority comes first", []string{"a/1", "b/1", "!a/2", "!a/3"}, []string{"a/2", "a/3", "a/1", "b/1"}},
		{"raised into another turn", []string{"a/1", "a/2", "!b/1", "!b/2", "!a/2"}, []string{"b/1", "a/2", "b/2", "a/1"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			q := New(&Options[string]{FairnessKey: tenantOf})
			defer q.ShutDown()
			for _, key := range tt.add {
				name, urgent := strings.CutPrefix(key, "!")
				if urgent {
					q.AddWith(AddOptions{Priority: 1}, name)
				} else {
					q.Add(name)
				}
				mustBeValid(t, q)
			}
			var inSnapshot []string
			for _, item := range q.Snapshot().Ready {
				inSnapshot = append(inSnapshot, item.Key)
			}
			if !slices.Equal(inSnapshot, tt.want) {
				t.Errorf("the snapshot has %q, want %q", inSnapshot, tt.want)
			}
			if got := drain(t, q); !slices.Equal(got, tt.want) {
				t.Errorf("came out %q, want %q", got, tt.want)
			}
			mustBeValid(t, q)
		})
	}
}

// Contract 4: a tenant with ten thousand keys and one with a key now and then.
func TestQuietTenantWaitsForOneOther(t *testing.T) {
	q := New(&Options[string]{FairnessKey: tenantOf})
	defer q.ShutDown()
	for i := range 10_000 {
		q.Add(fmt.Sprint("noisy/", i))
	}
	for i := range 100 {
		q.Add(fmt.Sprint("quiet/", i))
		for gets := 1; ; gets++ {
			item := mustGet(t, q)
			q.Done(item.Key)
			if tenantOf(item.Key) == "quiet" {
				break
			}
			if gets == 2 {
				t.Fatalf("the quiet tenant's key %d has waited for two others", i)
			}
		}
	}
}

// Contract 4, 5: the cap.
func TestMaxPerFairnessKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(&Options[string]{FairnessKey: tenantOf, MaxPerFairnessKey: 2})
		defer q.ShutDown()
		q.AddWith(AddOptions{Priority: 5}, "a/1", "a/2", "a/3", "a/4")
		q.AddWith(AddOptions{}, "b/1")
		for _, want := range []string{"a/1", "a/2", "b/1"} {
			if item := mustGet(t, q); item.Key != want {
				t.Fatalf("got %q, want %q", item.Key, want)
			}
		}
		q.AddWith(AddOptions{Priority: 9}, "a/5", "a/4")
		mustBeValid(t, q)
		if n := q.Len(); n != 3 {
			t.Errorf("Len is %d, want 3: what is capped is ready", n)
		}
		var capped []string
		for _, item := range q.Snapshot().Ready {
			if !item.Capped {
				t.Errorf("%q may be taken", item.Key)
			}
			capped = append(capped, item.Key)
		}
		if want := []string{"a/5", "a/4", "a/3"}; !slices.Equal(capped, want) {
			t.Errorf("capped are %q, want %q", capped, want)
		}

		got := make(chan string)
		go func() {
			item, _ := q.Get(context.Background())
			got <- item.Key
		}()
		synctest.Wait()
		q.Done("b/1") // which frees nothing of a
		synctest.Wait()
		select {
		case key := <-got:
			t.Fatalf("a third worker got %q", key)
		default:
		}
		q.Done("a/1")
		if key := <-got; key != "a/5" {
			t.Errorf("after Done came %q, want a/5", key)
		}
		mustBeValid(t, q)
	})
}

// Contract 4: with many workers, never more than the cap, and all is done.
func TestMaxPerFairnessKeyWithManyWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit = 3
		q := New(&Options[string]{FairnessKey: tenantOf, MaxPerFairnessKey: limit})
		for i := range 200 {
			q.AddAfter(fmt.Sprintf("%c/%d", 'a'+i%2, i), time.Duration(i%7)*time.Millisecond)
		}
		var mu sync.Mutex
		busy, most, done := map[string]int{}, 0, 0
		var workers sync.WaitGroup
		for range 16 {
			workers.Go(func() {
				for {
					item, err := q.Get(context.Background())
					if err != nil {
						return
					}
					tenant := tenantOf(item.Key)
					mu.Lock()
					busy[tenant]++
					most = max(most, busy[tenant])
					done++
					mu.Unlock()
					time.Sleep(time.Millisecond)
					mu.Lock()
					busy[tenant]--
					mu.Unlock()
					q.Done(item.Key)
				}
			})
		}
		time.Sleep(10 * time.Millisecond) // all are ready, few are done
		start := time.Now()
		if err := q.ShutDownWithDrain(t.Context()); err != nil {
			t.Error(err)
		}
		workers.Wait()
		if most != limit || done != 200 {
			t.Errorf("%d were done, %d of a tenant at a time; want 200, %d", done, most, limit)
		}
		// 200 keys, six at a time, a millisecond each.
		if took := time.Since(start); took > 30*time.Millisecond {
			t.Errorf("the workers idled: it took %v", took)
		}
	})
}

// Contract 9: workers wait for what is capped when the queue is shut down, and
// all of them end when that has come out.
func TestShutDownOfCapped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(&Options[string]{FairnessKey: tenantOf, MaxPerFairnessKey: 1})
		q.AddWith(AddOptions{}, "a/1", "a/2")
		mustGet(t, q)
		q.ShutDown()
		keys, ends := make(chan string, 3), make(chan error, 3)
		for range 3 {
			go func() {
				for {
					item, err := q.Get(context.Background())
					if err != nil {
						ends <- err
						return
					}
					keys <- item.Key
				}
			}()
		}
		synctest.Wait()
		if len(ends) != 0 || len(keys) != 0 {
			t.Fatalf("%d workers ended and %d got a key, while a/2 was capped", len(ends), len(keys))
		}
		q.Done("a/1")
		synctest.Wait()
		if len(ends) != 3 || len(keys) != 1 {
			t.Errorf("%d workers ended and %d got a key, want 3 and 1", len(ends), len(keys))
		}
		if err := <-ends; !errors.Is(err, ErrShutDown) {
			t.Errorf("ended with %v", err)
		}
		mustBeValid(t, q)
	})
}

// Options: a cap without fairness keys caps nothing, negative numbers are none.
func TestOptionsThatMeanNothing(t *testing.T) {
	for _, o := range []*Options[string]{
		{MaxPerFairnessKey: 1},
		{FairnessKey: tenantOf, MaxPerFairnessKey: -1},
		{Ageing: -1, Debounce: -time.Hour, MinInterval: -time.Hour},
	} {
		q := New(o)
		q.AddWith(AddOptions{}, "a/1", "a/2")
		mustGet(t, q)
		mustGet(t, q)
		q.Add("a/1")
		q.Done("a/1")
		mustGet(t, q)
		mustBeValid(t, q)
		q.ShutDown()
	}
}
