package workqueue

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// Contract 14.
func TestCauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New[string](nil)
		defer q.ShutDown()
		check := func(what string, c *Causes, total int, latest ...any) {
			t.Helper()
			if !slices.Equal(c.Latest(), latest) || c.Total() != total {
				t.Errorf("%s: causes are %v of %d, want %v of %d", what, c.Latest(), c.Total(), latest, total)
			}
		}
		q.AddWith(AddOptions{Cause: "create"}, "x", "y")
		q.AddWith(AddOptions{Cause: "update", After: time.Hour}, "x")
		q.Add("x")
		check("queued", q.Snapshot().Ready[0].Causes, 2, "create", "update")
		first := mustGet(t, q)
		check("first run", first.Causes, 2, "create", "update")

		q.AddWith(AddOptions{Cause: "retry", After: time.Second}, "x")
		s := q.Snapshot()
		check("in flight", s.InFlight[0].Causes, 2, "create", "update")
		check("waiting", s.Waiting[0].Causes, 1, "retry")
		for i := range 10 {
			q.AddWith(AddOptions{Cause: i}, "x")
		}
		check("waiting, as it was then", s.Waiting[0].Causes, 1, "retry")
		check("first run, as it was then", first.Causes, 2, "create", "update")
		q.Done("x")
		check("y", mustGet(t, q).Causes, 1, "create")
		check("second run", mustGet(t, q).Causes, 11, 2, 3, 4, 5, 6, 7, 8, 9)
		q.Done("x")

		q.Add("x")
		check("no cause was told", mustGet(t, q).Causes, 0)
	})
}
