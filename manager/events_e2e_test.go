package manager_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"governor/client"
	"governor/envtest"
	"governor/manager"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The real server takes what the recorder writes, of objects with a namespace
// and without, and shows it where kubectl describe looks.
func TestE2EEventsAreWhereKubectlLooks(t *testing.T) {
	plane := envtest.RequireControlPlane(t, nil)
	m, err := manager.New(plane.Config(), nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c := m.GetClient()
	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "prod"}}
	for _, obj := range []client.Object{config, namespace} {
		if err := c.Create(ctx, obj); err != nil {
			t.Fatal(err)
		}
	}
	stop := start(t, m)
	<-m.Elected()
	r := m.GetEventRecorder("example.com/replicator")
	for range 3 {
		r.Eventf(config, nil, corev1.EventTypeWarning, "Stuck", "Try", "%s", "no disk")
	}
	r.Eventf(config, nil, corev1.EventTypeNormal, "Long", "Try", "%s", strings.Repeat("ü", 2000))
	r.Eventf(namespace, nil, corev1.EventTypeNormal, "Fine", "Try", "%s", "all is well")
	// What is queued is written before the stop.
	if err := stop(); err != nil {
		t.Error(err)
	}
	want := map[string]string{"Stuck": "no disk x3", "Long": "ü", "Fine": "all is well"}
	for _, obj := range []client.Object{config, namespace} {
		var found corev1.EventList
		selector := client.MatchingFields{"involvedObject.name": obj.GetName(), "involvedObject.uid": string(obj.GetUID())}
		if err := m.GetAPIReader().List(ctx, &found, client.InNamespace("default"), selector); err != nil {
			t.Fatal(err)
		}
		for _, e := range found.Items {
			text := e.Message
			if e.Series != nil {
				text = fmt.Sprintf("%s x%d", text, e.Series.Count)
			}
			if w, ok := want[e.Reason]; !ok || !strings.HasPrefix(text, w) || e.ReportingController != "example.com/replicator" {
				t.Errorf("%s by %s: %q, want %q", e.Reason, e.ReportingController, text, w)
			}
			delete(want, e.Reason)
		}
	}
	if len(want) > 0 {
		t.Errorf("missing: %v", want)
	}
}
