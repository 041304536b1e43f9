package decode

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// address tells whether two maps or slices are the same.
func address(v any) uintptr { return reflect.ValueOf(v).Pointer() }

// Contract 2: two replicas share what is equal, however deep it is.
func TestReplicasOfTypedJSONShare(t *testing.T) {
	texts := podTexts(t, 2, nil)
	d := New(func() Object { return &corev1.Pod{} }, nil)
	first, second := checkJSON(t, d, texts[0]).(*corev1.Pod), checkJSON(t, d, texts[1]).(*corev1.Pod)
	for what, get := range map[string]func(p *corev1.Pod) any{
		"labels":      func(p *corev1.Pod) any { return p.Labels },
		"owners":      func(p *corev1.Pod) any { return p.OwnerReferences },
		"env":         func(p *corev1.Pod) any { return p.Spec.Containers[0].Env },
		"limits":      func(p *corev1.Pod) any { return p.Spec.Containers[0].Resources.Limits },
		"probe":       func(p *corev1.Pod) any { return p.Spec.Containers[0].LivenessProbe },
		"tolerations": func(p *corev1.Pod) any { return p.Spec.Tolerations },
		"config":      func(p *corev1.Pod) any { return p.Spec.Volumes[0].ConfigMap },
		"started":     func(p *corev1.Pod) any { return p.Status.ContainerStatuses[0].Started },
	} {
		if address(get(first)) != address(get(second)) {
			t.Errorf("%s: not shared", what)
		}
	}
	if unsafe.StringData(first.Spec.Containers[0].Image) != unsafe.StringData(second.Spec.Containers[0].Image) {
		t.Error("the image is not shared")
	}
}

// Contract 2. The maps that SetGroupVersionKind and the like write to are not
// shared.
func TestReplicasOfUnstructuredJSONShare(t *testing.T) {
	texts := podTexts(t, 2, nil)
	d := New(jsonForms[1].fresh, nil)
	first := checkJSON(t, d, texts[0]).(*unstructured.Unstructured)
	second := checkJSON(t, d, texts[1]).(*unstructured.Unstructured)
	again := checkJSON(t, d, texts[1]).(*unstructured.Unstructured)
	get := func(u *unstructured.Unstructured, path ...string) any {
		v := any(u.Object)
		for _, key := range path {
			if s, ok := v.([]any); ok {
				i, _ := strconv.Atoi(key)
				v = s[i]
				continue
			}
			v = v.(map[string]any)[key]
		}
		return v
	}
	for _, tt := range []struct {
		path           []string
		shared, stayed bool
	}{
		{nil, false, false},
		{[]string{"metadata"}, false, false},
		{[]string{"metadata", "labels"}, true, true},
		{[]string{"spec"}, false, true},
		{[]string{"spec", "containers"}, false, true},
		{[]string{"spec", "containers", "0", "env"}, true, true},
		{[]string{"spec", "containers", "0", "resources", "limits"}, true, true},
		{[]string{"spec", "volumes", "0"}, true, true},
		{[]string{"status"}, false, true},
	} {
		a, b, c := get(first, tt.path...), get(second, tt.path...), get(again, tt.path...)
		if shared := address(a) == address(b); shared != tt.shared {
			t.Errorf("%v: shared between replicas: %v, want %v", tt.path, shared, tt.shared)
		}
		if stayed := address(b) == address(c); stayed != tt.stayed {
			t.Errorf("%v: shared with the last state: %v, want %v", tt.path, stayed, tt.stayed)
		}
	}
}

// managedFields are dropped from the object, and from nothing within it.
func TestJSONDropsManagedFields(t *testing.T) {
	const template = `{"metadata":{"name":"a","managedFields":[{"manager":"me"}],"labels":{"a":"b"}},` +
		`"template":{"metadata":{"managedFields":[{"manager":"me"}]}}}`
	for name, fresh := range map[string]func() Object{
		"typed":        func() Object { return &corev1.PodTemplate{} },
		"unstructured": jsonForms[1].fresh,
		"metadata":     jsonForms[2].fresh,
	} {
		for _, drop := range []bool{true, false} {
			d := New(fresh, &Options{DropManagedFields: drop})
			checkJSON(t, d, []byte(`{"kind":"A",`+template[1:len(template)-1]+`,"kind":"B"}`)) // by sigs.k8s.io/json
			obj := checkJSON(t, d, []byte(template))
			if dropped := obj.GetManagedFields() == nil; dropped != drop {
				t.Errorf("%s: dropped: %v, want %v", name, dropped, drop)
			}
			text, _ := json.Marshal(obj)
			if kept := strings.Contains(string(text), `"template":{"metadata":{"managedFields"`); name != "metadata" && !kept {
				t.Errorf("%s: those of the template are lost: %s", name, text)
			}
		}
	}
}
