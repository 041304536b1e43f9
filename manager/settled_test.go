package manager_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"governor/envtest"
	"governor/manager"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// busy is a Runnable that can tell what it has to do.
type busy struct{ why, behind string }

func (b *busy) Start(ctx context.Context) error { <-ctx.Done(); return nil }
func (b *busy) Unsettled() string               { return b.why }
func (b *busy) CaughtUp(context.Context) error {
	if b.behind == "" {
		return nil
	}
	return errors.New(b.behind)
}

func TestSettled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := envtest.NewServer(nil)
		m, err := manager.New(server.Config(), nil)
		if err != nil {
			t.Fatal(err)
		}
		check := func(when, why, behind string) {
			t.Helper()
			synctest.Wait()
			if got := m.Unsettled(); got != why || m.Settled() != (got == "") {
				t.Errorf("%s: settled %v, unsettled %q, want %q", when, m.Settled(), got, why)
			}
			if err := m.CaughtUp(t.Context()); (err == nil) != (behind == "") || err != nil && !strings.Contains(err.Error(), behind) {
				t.Errorf("%s: caught up: %v, want %q", when, err, behind)
			}
		}
		check("before Start", "the manager has not started", "")
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- m.Start(ctx) }()
		check("started", "", "")

		b := &busy{why: "a lot to do", behind: "something is missing"}
		if _, err := m.Add(b); err != nil {
			t.Fatal(err)
		}
		check("a busy runnable", "a lot to do", "something is missing")
		b.why, b.behind = "", ""
		check("which has done it", "", "")

		if _, err := m.GetCache().GetInformer(ctx, &corev1.ConfigMap{}); err != nil {
			t.Fatal(err)
		}
		thaw := server.Freeze()
		if _, err := m.GetCache().GetInformer(ctx, &corev1.Secret{}); err != nil {
			t.Fatal(err)
		}
		m.GetEventRecorder("x").Eventf(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"}}, nil, "Normal", "Reason", "Act", "a note")
		synctest.Wait()
		if why := m.Unsettled(); !strings.Contains(why, "the cache of v1/Secret") || !strings.Contains(why, "1 events are to be written") {
			t.Errorf("the server is frozen: unsettled %q", why)
		}
		thaw()
		check("thawed", "", "")
		cancel()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		check("ended", "", "")
	})
}
