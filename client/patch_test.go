package client_test

import (
	"encoding/json"
	"strings"
	"testing"

	"governor/client"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func deployment() *appsv1.Deployment {
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", ResourceVersion: "5", Labels: map[string]string{"a": "1", "b": "2"}}}
	d.Spec.Replicas = new(int32(1))
	d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "app", Image: "app:1"}, {Name: "log", Image: "log:1"}}
	return d
}

func TestPatches(t *testing.T) {
	lock := client.MergeFromWithOptimisticLock{}
	type change = func(*appsv1.Deployment)
	merge := func(base client.Object) client.Patch { return client.MergeFrom(base) }
	locked := func(base client.Object) client.Patch { return client.MergeFromWithOptions(base, lock) }
	strategic := func(base client.Object) client.Patch { return client.StrategicMergeFrom(base) }
	tests := []struct {
		name   string
		patch  func(base client.Object) client.Patch
		change change
		want   string
	}{
		{"no change is an empty patch", merge, func(*appsv1.Deployment) {}, `{}`},
		{"change, add, remove", merge, func(d *appsv1.Deployment) {
			d.Spec.Replicas = new(int32(3))
			d.Labels = map[string]string{"a": "1", "c": "3"}
		}, `{"metadata":{"labels":{"b":null,"c":"3"}},"spec":{"replicas":3}}`},
		{"a map that is emptied", merge, func(d *appsv1.Deployment) { d.Labels = nil }, `{"metadata":{"labels":null}}`},
		{"a list is replaced", merge, func(d *appsv1.Deployment) {
			d.Spec.Template.Spec.Containers = d.Spec.Template.Spec.Containers[:1]
		}, `{"spec":{"template":{"spec":{"containers":[{"name":"app","image":"app:1","resources":{}}]}}}}`},
		// Case 52: without the lock no resourceVersion is sent, whatever the two have.
		{"another resourceVersion", merge, func(d *appsv1.Deployment) { d.ResourceVersion = "6" }, `{}`},
		{"no resourceVersion", merge, func(d *appsv1.Deployment) { d.ResourceVersion = "" }, `{}`},
		{"lock", locked, func(d *appsv1.Deployment) { d.Spec.Paused = true }, `{"metadata":{"resourceVersion":"5"},"spec":{"paused":true}}`},
		{"lock, resourceVersion cleared", locked, func(d *appsv1.Deployment) { d.ResourceVersion = "" }, `{"metadata":{"resourceVersion":"5"}}`},
		// Case 51: which of the two has a kind does not matter.
		{"kind set afterwards", merge, func(d *appsv1.Deployment) {
			d.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("Deployment"))
		}, `{}`},
		{"strategic: merged by key", strategic, func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[1].Image = "log:2" },
			`{"spec":{"template":{"spec":{"$setElementOrder/containers":[{"name":"app"},{"name":"log"}],"containers":[{"image":"log:2","name":"log"}]}}}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newServer(t, answerJSON(200, `{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"web","namespace":"default","resourceVersion":"8"}}`))
			d := deployment()
			p := tt.patch(d) // of the very object that is changed next
			tt.change(d)
			if err := s.Patch(t.Context(), d, p); err != nil {
				t.Fatal(err)
			}
			got := s.only(t)
			if got.Header.Get("Content-Type") != string(p.Type()) {
				t.Errorf("Content-Type %q", got.Header.Get("Content-Type"))
			}
			var have, want any
			if err := json.Unmarshal(got.Body, &have); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal([]byte(tt.want), &want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, have); diff != "" {
				t.Errorf("body %s\n%s", got.Body, diff)
			}
			if d.ResourceVersion != "8" || d.Labels != nil {
				t.Errorf("memory is not the reply: %+v", d.ObjectMeta)
			}
		})
	}
}

// Whole numbers beyond 2^53 survive a merge patch: a float would change them.
func TestMergePatchKeepsLargeIntegers(t *testing.T) {
	for _, form := range []string{"typed", "unstructured"} {
		t.Run(form, func(t *testing.T) {
			w := &Widget{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "w"}, Spec: WidgetSpec{Size: 9007199254740992}}
			var obj client.Object = w
			if form == "unstructured" {
				obj = unstructuredOf(t, w, widgetKind)
			}
			p := client.MergeFrom(obj)
			if form == "typed" {
				w.Spec.Size++
			} else {
				unstructuredSpec(obj)["size"] = int64(9007199254740993)
			}
			data, err := p.Data(obj)
			if err != nil || string(data) != `{"spec":{"size":9007199254740993}}` {
				t.Errorf("patch %s, error %v", data, err)
			}
		})
	}
}

func TestRawPatchAndMerge(t *testing.T) {
	s := newServer(t, answer(t, protobufType, served("a", "2")))
	body := `[{"op":"add","path":"/metadata/labels/x","value":"y"}]`
	if err := s.Patch(t.Context(), pod("a"), client.RawPatch(types.JSONPatchType, []byte(body))); err != nil {
		t.Fatal(err)
	}
	if got := s.only(t); string(got.Body) != body || got.Header.Get("Content-Type") != "application/json-patch+json" {
		t.Errorf("sent %s as %s", got.Body, got.Header.Get("Content-Type"))
	}

	s = newServer(t, answer(t, protobufType, served("a", "2")))
	if err := s.Patch(t.Context(), pod("a"), client.Merge); err != nil {
		t.Fatal(err)
	}
	if gvk, name := kindOnWire(t, s.only(t).Body); gvk != podKind || name != "a" {
		t.Errorf("sent a %v %q", gvk, name)
	}
}

func TestPatchMistakes(t *testing.T) {
	fresh := pod("a")
	tests := []struct {
		name  string
		patch client.Patch
		obj   client.Object
		text  string
	}{
		{"lock without resourceVersion", client.MergeFromWithOptions(fresh, client.MergeFromWithOptimisticLock{}), fresh, "resourceVersion"},
		{"nil base", client.MergeFrom(nil), fresh, "nil"},
		{"strategic of unstructured", client.StrategicMergeFrom(fresh), unstructuredOf(t, fresh, podKind), "typed"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newServer(t, answerJSON(200, `{}`))
			if err := s.Patch(t.Context(), tt.obj, tt.patch); err == nil || !strings.Contains(err.Error(), tt.text) {
				t.Errorf("error %v, want one with %q", err, tt.text)
			}
			s.none(t)
		})
	}
}
