package envtest_test

import (
	"testing"
	"testing/synctest"
	"time"

	"governor/envtest"

	corev1 "k8s.io/api/core/v1"
)

// Contract 21: only the watches that are meant break, and that is an error at the client.
// Contract 20: Requests say when an answer has ended.
func TestDropWatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, c := newServer(t, nil)
		create(t, c, "first") // after discovery
		s.ResetRequests()
		errs := make(chan error, 10)
		watch := func() {
			go func() {
				for _, err := range c.Watch(t.Context(), &corev1.ConfigMapList{}) {
					if err != nil {
						errs <- err
					}
				}
			}()
			synctest.Wait()
		}
		watch()
		if n := s.DropWatches(envtest.Match{Resource: "pods"}); n != 0 {
			t.Errorf("%d watches of pods", n)
		}
		synctest.Wait()
		if r := s.Requests(); len(r) != 1 || !r[0].Ended.IsZero() || len(errs) > 0 {
			t.Errorf("%+v, %d errors: not dropped", r, len(errs))
		}
		time.Sleep(time.Second)
		if n := s.DropWatches(envtest.Match{Resource: "configmaps"}); n != 1 {
			t.Errorf("%d watches dropped, want 1", n)
		}
		synctest.Wait()
		if r := s.Requests()[0]; r.Ended.Sub(r.Time) != time.Second || len(errs) != 1 {
			t.Errorf("%+v, %d errors: it has not ended after one second", r, len(errs))
		}
		if n := s.DropWatches(envtest.Match{}); n != 0 {
			t.Errorf("%d watches are open yet", n)
		}
		for _, f := range []envtest.Fault{{Break: envtest.Stall}, {Delay: time.Hour}} {
			remove := s.Inject(envtest.Match{Verb: "watch"}, f)
			watch()
			remove()
			if n := s.DropWatches(envtest.Match{}); n != 1 {
				t.Errorf("%+v: %d watches dropped, want 1", f, n)
			}
			synctest.Wait()
		}
		thaw := s.Freeze()
		watch()
		s.DropWatches(envtest.Match{})
		synctest.Wait()
		if len(errs) != 4 {
			t.Errorf("%d errors, want 4: a stalled, a delayed and a frozen watch are dropped too", len(errs))
		}
		thaw()
		create(t, c, "a")
		if r := s.Requests(); !r[len(r)-1].Ended.Equal(r[len(r)-1].Time) {
			t.Errorf("%+v: a create takes no time in a bubble", r[len(r)-1])
		}
	})
}
