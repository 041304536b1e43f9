package envtest_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"governor/client"
	"governor/envtest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Contract 12.
func TestE2EWaitFor(t *testing.T) {
	plane := envtest.RequireControlPlane(t, nil)
	c, err := client.New(plane.Config(), nil)
	if err != nil {
		t.Fatal(err)
	}
	object := func() *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "awaited"}}
	}
	// Each step is taken when the wait has seen the state before it.
	steps := []struct {
		name    string
		waitFor func(*corev1.ConfigMap) bool
		then    func() error
	}{
		{"absent", func(cm *corev1.ConfigMap) bool { return cm == nil },
			func() error { return c.Create(t.Context(), object()) }},
		{"created", func(cm *corev1.ConfigMap) bool { return cm != nil },
			func() error {
				cm := object()
				cm.Data = map[string]string{"k": "v"}
				return c.Update(t.Context(), cm)
			}},
		{"updated", func(cm *corev1.ConfigMap) bool { return cm != nil && cm.Data["k"] == "v" },
			func() error { return c.Delete(t.Context(), object()) }},
		{"deleted", func(cm *corev1.ConfigMap) bool { return cm == nil },
			func() error { return nil }},
	}
	for i, step := range steps {
		// The first time the wait begins in the state; the second time it
		// begins before it, and the watch has to show it.
		if _, err := envtest.WaitFor(t.Context(), c, object(), step.waitFor); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		if i+1 == len(steps) {
			break
		}
		begun, seen := make(chan struct{}), make(chan error, 1)
		go func() {
			first := true
			_, err := envtest.WaitFor(t.Context(), c, object(), func(cm *corev1.ConfigMap) bool {
				if first {
					first = false
					close(begun)
					return false
				}
				return steps[i+1].waitFor(cm)
			})
			seen <- err
		}()
		<-begun
		if err := step.then(); err != nil {
			t.Fatalf("after %s: %v", step.name, err)
		}
		if err := <-seen; err != nil {
			t.Fatalf("%s: %v", steps[i+1].name, err)
		}
	}

	if err := c.Create(t.Context(), object()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	last, err := envtest.WaitFor(ctx, c, object(), func(*corev1.ConfigMap) bool { return false })
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "ConfigMap default/awaited") || last == nil || last.Name != "awaited" {
		t.Errorf("at the end of its context: last state %v, error %v", last, err)
	}
}
