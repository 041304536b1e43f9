package controller_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"governor/controller"
)

// What counts as something to do: see Controller.Settled.
func TestSettled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, _ := logContext()
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		release, fail := make(chan struct{}), atomic.Bool{}
		c, err := controller.NewUnmanaged("x", controller.Func[string](func(_ context.Context, key string) (controller.Result, error) {
			switch {
			case key == "slow":
				<-release
			case key == "broken" && fail.Load():
				return controller.Result{}, errors.New("broken")
			case key == "later":
				return controller.Result{RequeueAfter: time.Hour}, nil
			}
			return controller.Result{}, nil
		}), nil)
		must(t, err)
		var queue controller.Adder[string]
		sync := make(chan struct{})
		source := controller.SourceFunc[string](func(ctx context.Context, q controller.Adder[string], synced func()) error {
			queue = q
			<-sync
			synced()
			<-ctx.Done()
			return nil
		})
		_, err = c.Watch(source)
		must(t, err)
		check := func(when, why string) {
			t.Helper()
			synctest.Wait()
			got := c.Unsettled()
			if why == "" && got != "" || !strings.Contains(got, why) || c.Settled() != (got == "") {
				t.Errorf("%s: settled %v, unsettled %q, want %q", when, c.Settled(), got, why)
			}
		}
		check("before Start", "has not started")
		done := make(chan error)
		go func() { done <- c.Start(ctx) }()
		check("syncing", "has not synced")
		close(sync)
		check("idle", "")

		queue.Add("slow")
		queue.Add("next")
		check("a key in work, another ready", "1 keys ready (next), 1 in work (slow)")
		release <- struct{}{}
		check("both done", "")

		fail.Store(true)
		queue.Add("broken")
		check("to be tried again", "to try broken again after 1 errors")
		fail.Store(false)
		time.Sleep(time.Second)
		check("tried again", "")

		queue.Add("later")
		queue.AddAfter("even later", 2*time.Hour)
		check("what is to come later", "")

		_, err = c.Watch(controller.SourceFunc[string](func(ctx context.Context, _ controller.Adder[string], synced func()) error {
			time.Sleep(time.Second)
			synced()
			<-ctx.Done()
			return nil
		}))
		must(t, err)
		check("a later source", "has not synced")
		time.Sleep(2 * time.Second)
		check("which has synced", "")

		cancel()
		must(t, <-done)
		check("ended", "")
	})
}
