package envtest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"governor/client"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// samples are objects with what is special about fields: lists by key, sets, atomic
// lists, maps, quantities, times, any JSON, empty things.
var samples = map[string]string{
	"configmaps": `{"metadata":{"name":"a","labels":{"a":"b","c":"d"},"annotations":{"x":"y"},"finalizers":["a/b","c/d"]},"data":{"k":"v","l":""},"binaryData":{"b":"AAAA"},"immutable":true}`,
	"services":   `{"metadata":{"generateName":"a"},"spec":{"selector":{"a":"b"},"ports":[{"port":80,"name":"x","protocol":"TCP","targetPort":"web"},{"port":81,"protocol":"UDP","targetPort":81}],"externalIPs":["1.2.3.4"],"clusterIPs":["1.1.1.1"]}}`,
	"pods": `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"x","uid":"1"},{"apiVersion":"v1","kind":"Pod","name":"y","uid":"2"}]},` +
		`"spec":{"containers":[{"name":"c","image":"i","env":[{"name":"E","value":"1"},{"name":"F","valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}}}],"ports":[{"containerPort":80,"protocol":"TCP"}],` +
		`"resources":{"requests":{"cpu":"100m","memory":"1Gi"},"limits":{"cpu":"1"}},"securityContext":{"privileged":false}}],"terminationGracePeriodSeconds":0,"tolerations":[{"key":"a"}],"hostNetwork":true,` +
		`"volumes":[{"name":"v","emptyDir":{}},{"name":"w","configMap":{"name":"c","items":[{"key":"k","path":"p"}]}}]}}`,
	"deployments": `{"metadata":{"name":"d"},"spec":{"replicas":0,"selector":{"matchLabels":{"a":"b"},"matchExpressions":[{"key":"k","operator":"In","values":["v"]}]},` +
		`"strategy":{"rollingUpdate":{"maxSurge":"25%","maxUnavailable":1}},"template":{"metadata":{"creationTimestamp":"2020-01-01T00:00:00Z"},"spec":{"containers":[{"name":"c"}]}}}}`,
	"controllerrevisions": `{"metadata":{"name":"r"},"revision":3,"data":{"spec":{"a":{"b":1},"l":[1,2]}}}`,
}

// Two objects of the same shape have the same fields: what recall says is what the
// field manager finds out, for any object.
func TestShapesTellFields(t *testing.T) {
	groups := map[string]string{"deployments": "apps", "controllerrevisions": "apps"}
	for resource, sample := range samples {
		t.Run(resource, func(t *testing.T) {
			seed := rand.Uint64()
			random := rand.New(rand.NewPCG(seed, 1))
			s := NewServer(nil)
			w := &write{manager: "m", resource: s.kinds.Lookup(schema.GroupVersionResource{Group: groups[resource], Version: "v1", Resource: resource})}
			recalled := 0
			for i := range 400 {
				object := mutated(t, s, w, sample, random)
				setDefaults(object)
				known := object.DeepCopyObject().(client.Object)
				_, ok := s.shapes.recall(w, known)
				if err := s.track(w, nil, object); err != nil {
					t.Fatal(err)
				}
				if !ok {
					continue
				}
				recalled++
				fresh := &Server{scheme: s.scheme, kinds: s.kinds} // has nothing to recall
				slow := known.DeepCopyObject().(client.Object)
				slow.SetManagedFields(nil)
				if err := fresh.track(w, nil, slow); err != nil {
					t.Fatal(err)
				}
				if got, want := fieldsOf(known), fieldsOf(slow); got != want {
					t.Fatalf("seed %d, object %d: recalled\n%s\nwant\n%s", seed, i, got, want)
				}
			}
			if recalled < 5 {
				t.Errorf("only %d of 400 shapes were known: the test shows little", recalled)
			}
		})
	}
}

// mutated returns a sample in which some values are others, and some are gone.
func mutated(t *testing.T, s *Server, w *write, sample string, random *rand.Rand) client.Object {
	t.Helper()
	var content map[string]any
	if err := json.Unmarshal([]byte(sample), &content); err != nil {
		t.Fatal(err)
	}
	shake(content, random)
	data, err := json.Marshal(content)
	if err != nil {
		t.Fatal(err)
	}
	object, err := s.empty(w.resource.GroupVersionKind)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, object); err != nil {
		t.Fatalf("%s: %v", data, err)
	}
	return object
}

func shake(x any, random *rand.Rand) {
	switch x := x.(type) {
	case map[string]any:
		for key, value := range x {
			switch v := value.(type) {
			case string:
				if key == "name" || key == "uid" || key == "image" || key == "value" {
					x[key] = fmt.Sprint(v, random.IntN(8)/7) // seldom another
				}
			case float64:
				x[key] = float64(random.IntN(8)/7 + 80)
			}
			if random.IntN(30) == 0 && key != "protocol" {
				delete(x, key)
			} else {
				shake(value, random)
			}
		}
	case []any:
		for _, item := range x {
			shake(item, random)
		}
	}
}

// fieldsOf is who owns what, without times.
func fieldsOf(o client.Object) string {
	var b strings.Builder
	for _, entry := range o.GetManagedFields() {
		fmt.Fprintln(&b, entry.Manager, entry.Operation, entry.APIVersion, entry.FieldsType, entry.Subresource, entry.FieldsV1)
	}
	return b.String()
}

// What is not worth a difference makes none, or nothing would ever be recalled.
func TestShapesOfValues(t *testing.T) {
	one, two := int32(1), int32(2)
	same := [][2]any{
		{&corev1.ConfigMap{Data: map[string]string{"a": "x"}}, &corev1.ConfigMap{Data: map[string]string{"a": "y"}}},
		{&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "1"}}, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "b", UID: "2"}}},
		{&appsv1.Deployment{Spec: appsv1.DeploymentSpec{Replicas: &one}}, &appsv1.Deployment{Spec: appsv1.DeploymentSpec{Replicas: &two}}},
		{map[string]any{"a": int64(1), "b": "x"}, map[string]any{"a": int64(2), "b": "y"}},
	}
	different := [][2]any{
		{&corev1.ConfigMap{Data: map[string]string{"a": "x"}}, &corev1.ConfigMap{Data: map[string]string{"b": "x"}}},
		{&corev1.Secret{Data: map[string][]byte{"a": nil}}, &corev1.Secret{StringData: map[string]string{"a": ""}}},
		{&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Finalizers: []string{"a"}}}, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Finalizers: []string{"b"}}}},
		{map[string]any{"a": int64(1)}, map[string]any{"a": "1"}},
		{map[string]any{"a": nil}, map[string]any{"a": "1"}},
		{map[string]any{"ab": "", "c": ""}, map[string]any{"a": "", "bc": ""}},
	}
	shapeOf := func(x any) string {
		b, ok := appendShape(nil, reflect.ValueOf(x), false)
		if !ok {
			t.Fatalf("no shape of %T", x)
		}
		return string(b)
	}
	for _, pair := range same {
		if shapeOf(pair[0]) != shapeOf(pair[1]) {
			t.Errorf("%v and %v have different shapes", pair[0], pair[1])
		}
	}
	for _, pair := range different {
		if shapeOf(pair[0]) == shapeOf(pair[1]) {
			t.Errorf("%v and %v have the same shape", pair[0], pair[1])
		}
	}
}

// However many shapes there are, few are remembered.
func TestShapesAreForgotten(t *testing.T) {
	s := NewServer(nil)
	w := &write{manager: "m", resource: s.kinds.Lookup(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"})}
	for i := range maxShapes + 10 {
		m := &corev1.ConfigMap{Data: map[string]string{fmt.Sprint(i): ""}}
		of, known := s.shapes.recall(w, m)
		if known {
			t.Fatalf("shape %d is known", i)
		}
		s.shapes.remember(of, m)
	}
	if n := len(s.shapes.known); n > maxShapes || n == 0 {
		t.Errorf("%d shapes, want at most %d", n, maxShapes)
	}
}

// BenchmarkTrack is what it costs to know the fields of a new object: by its shape, and
// by the field manager; and those of an update.
func BenchmarkTrack(b *testing.B) {
	s := NewServer(nil)
	w := &write{manager: "m", resource: s.kinds.Lookup(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"})}
	m := &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "default", Labels: map[string]string{"app": "x"}},
		Data:       map[string]string{"k": strings.Repeat("x", 1000)},
	}
	track := func(b *testing.B, live, next client.Object) {
		if err := s.track(w, live, next); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("create", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			m.ManagedFields = nil
			track(b, nil, m)
		}
	})
	b.Run("create-unknown", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			s.shapes.known = nil
			m.ManagedFields = nil
			track(b, nil, m)
		}
	})
	b.Run("update", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			next := m.DeepCopy()
			next.Data["k"] = "other"
			track(b, m, next)
		}
	})
}
