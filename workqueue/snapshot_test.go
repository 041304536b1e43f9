package workqueue

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestSnapshot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(&Options[string]{Name: "replicas", Metrics: &counts{}})
		defer q.ShutDown()
		if diff := cmp.Diff(Snapshot[string]{Name: "replicas"}, q.Snapshot()); diff != "" {
			t.Errorf("when empty (-want +got):\n%s", diff)
		}
		start := time.Now()
		at := func(s int) time.Time { return start.Add(time.Duration(s) * time.Second) }

		q.AddWith(AddOptions{Priority: 7}, "busy")
		mustGet(t, q)
		time.Sleep(time.Second)
		q.Add("busy too")
		mustGet(t, q)
		q.AddWith(AddOptions{After: 4 * time.Second, Priority: 2}, "later")
		q.AddAfter("busy too", 3*time.Second)
		q.AddAfter("soon", 2*time.Second)
		q.AddWith(AddOptions{Priority: -100}, "low")
		time.Sleep(time.Second)
		q.Add("normal")
		q.Add("busy")
		q.AddWith(AddOptions{After: 3 * time.Second, Priority: 3}, "later") // no earlier, but more urgent
		time.Sleep(time.Second)                                             // soon is ready

		want := Snapshot[string]{
			Name: "replicas",
			Ready: []SnapshotItem[string]{
				{Key: "normal", Since: at(2)},
				{Key: "soon", Since: at(3)},
				{Key: "low", Priority: -100, Since: at(1)},
			},
			Waiting: []SnapshotItem[string]{
				{Key: "busy too", Since: at(1), Next: at(4)},
				{Key: "later", Priority: 3, Since: at(1), Next: at(5)},
			},
			InFlight: []SnapshotItem[string]{
				{Key: "busy", Priority: 7, Since: at(0), Again: true},
				{Key: "busy too", Since: at(1)},
			},
		}
		if diff := cmp.Diff(want, q.Snapshot()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestUnfinished(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(&Options[string]{Metrics: &counts{}})
		defer q.ShutDown()
		check := func(wantTotal, wantLongest time.Duration) {
			t.Helper()
			if total, longest := q.Unfinished(); total != wantTotal || longest != wantLongest {
				t.Errorf("unfinished are %v and %v, want %v and %v", total, longest, wantTotal, wantLongest)
			}
		}
		q.AddWith(AddOptions{}, "a", "b", "c")
		time.Sleep(time.Minute)
		check(0, 0)
		mustGet(t, q)
		time.Sleep(2 * time.Second)
		mustGet(t, q)
		time.Sleep(time.Second)
		check(4*time.Second, 3*time.Second)
		q.Done("a")
		check(time.Second, time.Second)
		q.Done("b")
		check(0, 0)
	})
}

// The doc comments of Metrics. The fuzz target compares the depths after every
// step.
func TestMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c counts
		q := New(&Options[string]{Metrics: &c})
		defer q.ShutDown()
		q.Add("a")
		q.Add("a")
		q.AddAfter("a", time.Second)
		q.AddAfter("b", time.Second)
		q.AddRateLimited("c")
		time.Sleep(2 * time.Second)
		q.AddWith(AddOptions{Priority: 1}, "c")

		q.mu.Lock()
		if c.added != 3 || c.retries != 2 {
			t.Errorf("added are %d, %d of them to wait; want 3, 2", c.added, c.retries)
		}
		if diff := cmp.Diff(map[int]int{0: 2, 1: 1}, c.depth); diff != "" {
			t.Errorf("depth (-want +got):\n%s", diff)
		}
		q.mu.Unlock()

		for range 3 {
			item := mustGet(t, q)
			time.Sleep(time.Second)
			if item.Key == "a" {
				q.Add("a") // waits a second for itself
				time.Sleep(time.Second)
			}
			q.Done(item.Key)
		}
		q.Done("a") // stray
		mustGet(t, q)

		q.mu.Lock()
		defer q.mu.Unlock()
		// c came at 5 ms and got out at 2 s, a waited until 3 s; b came at 1 s and
		// waited until 5 s; and a came again at 4 s, until 6 s.
		if want := (2*time.Second - 5*time.Millisecond) + 3*time.Second + 4*time.Second + 2*time.Second; c.got != 4 || c.waited != want {
			t.Errorf("got %d after %v, want 4 after %v", c.got, c.waited, want)
		}
		if want := 4 * time.Second; c.done != 3 || c.worked != want {
			t.Errorf("done are %d after %v, want 3 after %v", c.done, c.worked, want)
		}
		if c.added != 4 || len(c.depth) != 0 {
			t.Errorf("added are %d, depth is %v; want 4, none", c.added, c.depth)
		}
	})
}

// A panic on the way through a queue is the caller's, and does not lock the
// queue for others.
func TestKeyThatCannotBeCompared(t *testing.T) {
	q := New[any](nil)
	defer q.ShutDown()
	func() {
		defer func() {
			if recover() == nil {
				t.Error("a slice was taken for a key")
			}
		}()
		q.Add([]int{1})
	}()
	q.Add("a")
	mustBeValid(t, q)
	if got := drain(t, q); len(got) != 1 || got[0] != "a" {
		t.Errorf("came out %v", got)
	}
}

// Queue.Oldest: also of what its fairness key's cap holds back.
func TestOldest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(&Options[string]{Metrics: &counts{}, FairnessKey: tenantOf, MaxPerFairnessKey: 1})
		defer q.ShutDown()
		check := func(want time.Duration) {
			t.Helper()
			if got := q.Oldest(); got != want {
				t.Errorf("the oldest is %v old, want %v", got, want)
			}
		}
		check(0)
		q.AddAfter("a/1", time.Second)
		check(0)
		time.Sleep(3 * time.Second)
		check(2 * time.Second)
		q.AddWith(AddOptions{Priority: 7}, "a/2", "b/1")
		time.Sleep(time.Second)
		check(3 * time.Second)
		mustGet(t, q) // a/2
		mustGet(t, q) // b/1
		check(3 * time.Second)
		q.Done("a/2")
		mustGet(t, q)
		check(0)
	})
}

// SnapshotItem.Attempts.
func TestSnapshotHasAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New[string](nil)
		defer q.ShutDown()
		q.AddRateLimited("x")
		q.AddRateLimited("x")
		q.Add("y")
		s := q.Snapshot()
		if s.Waiting[0].Attempts != 2 || s.Ready[0].Attempts != 0 {
			t.Errorf("attempts are %d and %d, want 2 and 0", s.Waiting[0].Attempts, s.Ready[0].Attempts)
		}
		if !s.Ready[0].Since.IsZero() || s.Waiting[0].Next.IsZero() {
			t.Errorf("nobody asked for the time, but: %+v", s)
		}
	})
}
