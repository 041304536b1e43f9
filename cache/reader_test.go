package cache

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"governor/client"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// tenPods is a started cache of pods p0 … p9, in ns1 and ns2 by turns; p0, p3
// and p6 have app=x; their nodes are n0, n1, n2, n0, ….
func tenPods(t *testing.T, o *Options) (*server, *Cache) {
	s := newServer(t)
	for i := range 10 {
		app := "y"
		if i%3 == 0 && i < 9 {
			app = "x"
		}
		s.put(pod(fmt.Sprintf("ns%d", 1+i%2), fmt.Sprintf("p%d", i), app, fmt.Sprintf("n%d", i%3)))
	}
	s.put(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n0"}})
	c := newCache(t, s, o)
	start(t, c)
	return s, c
}

// Contract 4.
func TestListSelectsAndSorts(t *testing.T) {
	all := []string{"ns1/p0", "ns1/p2", "ns1/p4", "ns1/p6", "ns1/p8", "ns2/p1", "ns2/p3", "ns2/p5", "ns2/p7", "ns2/p9"}
	tests := []struct {
		name string
		opts []client.ListOption
		want []string
	}{
		{"everything", nil, all},
		{"namespace", []client.ListOption{client.InNamespace("ns2")}, all[5:]},
		{"no such namespace", []client.ListOption{client.InNamespace("ns3")}, []string{}},
		{"labels", []client.ListOption{client.MatchingLabels{"app": "x"}}, []string{"ns1/p0", "ns1/p6", "ns2/p3"}},
		{"labels in a namespace", []client.ListOption{client.MatchingLabels{"app": "x"}, client.InNamespace("ns1")}, []string{"ns1/p0", "ns1/p6"}},
		{"labels.Nothing", []client.ListOption{client.MatchingLabelsSelector{Selector: labels.Nothing()}}, []string{}},
		{"fields.Nothing", []client.ListOption{client.MatchingFieldsSelector{Selector: fields.Nothing()}}, []string{}},
		{"fields.Everything", []client.ListOption{client.MatchingFieldsSelector{Selector: fields.Everything()}}, all},
		{"metadata.name", []client.ListOption{client.MatchingFields{"metadata.name": "p3"}}, []string{"ns2/p3"}},
		{"metadata.name in another namespace", []client.ListOption{client.MatchingFields{"metadata.name": "p3"}, client.InNamespace("ns1")}, []string{}},
		{"metadata.namespace", []client.ListOption{client.MatchingFields{"metadata.namespace": "ns1"}}, all[:5]},
		{"metadata.namespace against InNamespace", []client.ListOption{client.MatchingFields{"metadata.namespace": "ns1"}, client.InNamespace("ns2")}, []string{}},
		{"two names", []client.ListOption{client.MatchingFieldsSelector{Selector: fields.AndSelectors(
			fields.OneTermEqualSelector("metadata.name", "p3"), fields.OneTermEqualSelector("metadata.name", "p4"))}}, []string{}},
		// Case 25b: only matches, and the namespace is respected.
		{"index", []client.ListOption{client.MatchingFields{"spec.nodeName": "n1"}}, []string{"ns1/p4", "ns2/p1", "ns2/p7"}},
		{"index in a namespace", []client.ListOption{client.MatchingFields{"spec.nodeName": "n1"}, client.InNamespace("ns2")}, []string{"ns2/p1", "ns2/p7"}},
		{"index without a match", []client.ListOption{client.MatchingFields{"spec.nodeName": "n"}}, []string{}},
		// Case 25c.
		{"two indexes", []client.ListOption{client.MatchingFields{"spec.nodeName": "n0", "app": "x"}}, []string{"ns1/p0", "ns1/p6", "ns2/p3"}},
		{"index and name", []client.ListOption{client.MatchingFields{"spec.nodeName": "n0", "metadata.name": "p6"}}, []string{"ns1/p6"}},
		{"index and labels", []client.ListOption{client.MatchingFields{"spec.nodeName": "n0"}, client.MatchingLabels{"app": "y"}}, []string{"ns2/p9"}},
		{"two values of one index", []client.ListOption{client.MatchingFieldsSelector{Selector: fields.AndSelectors(
			fields.OneTermEqualSelector("app", "x"), fields.OneTermEqualSelector("app", "p6"))}}, []string{"ns1/p6"}},
		// Case 25d: the server's answer.
		{"not the value of an index", []client.ListOption{client.MatchingFieldsSelector{Selector: fields.OneTermNotEqualSelector("spec.nodeName", "n1")}},
			[]string{"ns1/p0", "ns1/p2", "ns1/p6", "ns1/p8", "ns2/p3", "ns2/p5", "ns2/p9"}},
		{"none of the values of an index", []client.ListOption{client.MatchingFieldsSelector{Selector: fields.AndSelectors(
			fields.OneTermNotEqualSelector("app", "y"), fields.OneTermNotEqualSelector("app", "p6"))}}, []string{"ns1/p0", "ns2/p3"}},
		{"not the name", []client.ListOption{client.InNamespace("ns1"), client.MatchingFieldsSelector{Selector: fields.OneTermNotEqualSelector("metadata.name", "p4")}},
			[]string{"ns1/p0", "ns1/p2", "ns1/p6", "ns1/p8"}},
		{"not the namespace", []client.ListOption{client.MatchingFieldsSelector{Selector: fields.OneTermNotEqualSelector("metadata.namespace", "ns1")}}, all[5:]},
		// Case 26: the limit counts what has passed the selectors.
		{"limit above", []client.ListOption{client.Limit(3), client.MatchingLabels{"app": "x"}}, []string{"ns1/p0", "ns1/p6", "ns2/p3"}},
		{"limit below", []client.ListOption{client.Limit(2), client.MatchingLabels{"app": "x"}}, []string{"ns1/p0", "ns1/p6"}},
	}
	for _, scoped := range []map[string]Config{nil, {"ns1": {}, "ns2": {}, "ns3": {}}, {"": {}, "ns1": {}}} {
		synctest.Test(t, func(t *testing.T) {
			s, c := tenPods(t, &Options{DefaultNamespaces: scoped})
			version := s.version()
			if err := c.IndexField(t.Context(), &corev1.Pod{}, "spec.nodeName", byNodeName); err != nil {
				t.Fatal(err)
			}
			if err := c.IndexField(t.Context(), metadataFor(podGVK), "app", func(o client.Object) []string {
				return []string{o.GetLabels()["app"], o.GetName()}
			}); err != nil {
				t.Fatal(err)
			}
			for _, tt := range tests {
				for _, list := range []client.ObjectList{&corev1.PodList{Items: make([]corev1.Pod, 3)}, listOf(podGVK, true), &metav1.PartialObjectMetadataList{
					TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}}} {
					if err := c.List(t.Context(), list, tt.opts...); err != nil {
						t.Errorf("%s, scopes %v, %T: %v", tt.name, scoped, list, err)
					}
					if got := names(t, list); !slices.Equal(got, tt.want) {
						t.Errorf("%s, scopes %v, %T: got %v, want %v", tt.name, scoped, list, got, tt.want)
					}
					if kind := list.GetObjectKind().GroupVersionKind(); kind.Kind != "PodList" || list.GetResourceVersion() != version {
						t.Errorf("%s: list of kind %v, version %s, want %s", tt.name, kind, list.GetResourceVersion(), version)
					}
					if limited := tt.name == "limit below"; limited != (list.GetContinue() != "") {
						t.Errorf("%s: continue is %q", tt.name, list.GetContinue())
					}
				}
			}
		})
	}
}

func listOf(gvk schema.GroupVersionKind, suffix bool) *unstructured.UnstructuredList {
	u := &unstructured.UnstructuredList{}
	if suffix {
		gvk.Kind += "List"
	}
	u.SetGroupVersionKind(gvk)
	return u
}

// Case 25a, d: never all objects.
func TestListRefusesWhatItCannotSelect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, c := tenPods(t, nil)
		if err := c.IndexField(t.Context(), &corev1.Pod{}, "spec.nodeName", byNodeName); err != nil {
			t.Fatal(err)
		}
		foreign := &corev1.PodList{}
		if err := c.List(t.Context(), foreign, client.Limit(1)); err != nil {
			t.Fatal(err)
		}
		for _, tt := range []struct {
			name  string
			opts  []client.ListOption
			parts []string
		}{
			{"no index", []client.ListOption{client.MatchingFields{"spec.priority": "1"}}, []string{"spec.priority", "v1/Pod", "IndexField"}},
			{"no index beside one", []client.ListOption{client.MatchingFields{"spec.nodeName": "n1", "spec.priority": "1"}}, []string{"spec.priority", "v1/Pod"}},
			{"!= of an unknown field", []client.ListOption{client.MatchingFieldsSelector{Selector: fields.OneTermNotEqualSelector("spec.priority", "1")}}, []string{"spec.priority", "v1/Pod"}},
			{"invalid label", []client.ListOption{client.MatchingLabels{"a b": "x"}}, []string{"a b"}},
			{"negative limit", []client.ListOption{client.Limit(-1)}, []string{"-1"}},
			{"nonsense token", []client.ListOption{client.Continue("nonsense!")}, []string{"not issued by this cache"}},
			{"a server's token", []client.ListOption{client.Continue("eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MTAsInN0YXJ0IjoiYSJ9")}, []string{"not issued by this cache"}},
			{"the token of another list", []client.ListOption{client.Continue(foreign.Continue), client.InNamespace("ns1")}, []string{"other options"}},
		} {
			list := &corev1.PodList{Items: []corev1.Pod{{}}}
			err := c.List(t.Context(), list, tt.opts...)
			if err == nil || len(list.Items) != 1 {
				t.Errorf("%s: %v, %d items", tt.name, err, len(list.Items))
				continue
			}
			for _, part := range tt.parts {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%s: the error does not have %q: %v", tt.name, part, err)
				}
			}
		}
		if err := c.List(t.Context(), &corev1.NodeList{}, client.InNamespace("ns1")); err == nil {
			t.Error("nodes in a namespace")
		}
		if err := c.List(t.Context(), unstructuredOf(podGVK)); err == nil {
			t.Error("a list into an object")
		}
	})
}

// Contract 5, Case 26: pages that really page, over objects that come and go.
func TestPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, c := tenPods(t, nil)
		var seen []string
		opts := []client.ListOption{client.Limit(3)}
		for page := 0; ; page++ {
			var list corev1.PodList
			if err := c.List(t.Context(), &list, opts...); err != nil {
				t.Fatal(err)
			}
			if page == 1 { // ns1/p0 has been seen, ns2/p9 has not
				s.removePod("ns1", "p0")
				s.removePod("ns2", "p9")
				s.put(pod("ns3", "late", "y", "n1"))
				s.put(pod("ns1", "p1", "early", "n1"))
				synctest.Wait()
			}
			seen = append(seen, names(t, &list)...)
			if list.Continue == "" {
				break
			}
			if len(list.Items) != 3 || page > 10 {
				t.Fatalf("page %d has %v", page, names(t, &list))
			}
			opts = []client.ListOption{client.Limit(3), client.Continue(list.Continue)}
		}
		want := []string{"ns1/p0", "ns1/p2", "ns1/p4", "ns1/p6", "ns1/p8", "ns2/p1", "ns2/p3", "ns2/p5", "ns2/p7", "ns3/late"}
		if !slices.Equal(seen, want) {
			t.Errorf("pages: %v, want %v", seen, want)
		}
	})
}

// Contract 4: pages through an index and through a namespace.
func TestPagesOfSelections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, c := tenPods(t, &Options{DefaultNamespaces: map[string]Config{"ns1": {}, "ns2": {}}})
		if err := c.IndexField(t.Context(), &corev1.Pod{}, "spec.nodeName", byNodeName); err != nil {
			t.Fatal(err)
		}
		for _, selection := range [][]client.ListOption{nil, {client.InNamespace("ns2")}, {client.MatchingFields{"spec.nodeName": "n1"}},
			{client.MatchingLabels{"app": "y"}}, {client.MatchingFields{"spec.nodeName": "n1"}, client.InNamespace("ns2")}} {
			var whole corev1.PodList
			if err := c.List(t.Context(), &whole, selection...); err != nil {
				t.Fatal(err)
			}
			for limit := 1; limit < 12; limit++ {
				got, next := []string{}, ""
				for range 12 {
					var page corev1.PodList
					if err := c.List(t.Context(), &page, append(selection, client.Limit(limit), client.Continue(next))...); err != nil {
						t.Fatal(err)
					}
					got = append(got, names(t, &page)...)
					if next = page.Continue; next == "" {
						break
					}
				}
				if want := names(t, &whole); !slices.Equal(got, want) || next != "" {
					t.Errorf("%v by %d: %v, want %v", selection, limit, got, want)
				}
			}
		}
	})
}

// Case 25e – i.
func TestIndexField(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, c := tenPods(t, nil)
		count := func(value string) int {
			t.Helper()
			var list corev1.PodList
			if err := c.List(t.Context(), &list, client.MatchingFields{"labels": value}); err != nil {
				t.Fatal(err)
			}
			return len(list.Items)
		}
		if err := c.Get(t.Context(), key("ns1", "p0"), &corev1.Pod{}); err != nil {
			t.Fatal(err)
		}
		fn := func(o client.Object) (values []string) {
			for _, v := range o.(*unstructured.Unstructured).GetLabels() {
				values = append(values, v)
			}
			return values
		}
		// f: while it runs and is filled; h: unstructured, over a typed store.
		if err := c.IndexField(t.Context(), unstructuredOf(podGVK), "labels", fn); err != nil {
			t.Fatal(err)
		}
		if n := count("x"); n != 3 {
			t.Errorf("%d objects from before the index, want 3", n)
		}
		// e: a second time.
		if err := c.IndexField(t.Context(), &corev1.Pod{}, "labels", byNodeName); err == nil || !strings.Contains(err.Error(), "labels") {
			t.Errorf("second index of a field: %v", err)
		}
		if n := count("x"); n != 3 {
			t.Errorf("the first index has %d, want 3", n)
		}
		// i: a changed value, two values, none.
		p := pod("ns1", "p0", "z", "n0")
		p.Labels["more"] = "x2"
		s.put(p)
		s.removePod("ns2", "p3")
		synctest.Wait()
		if x, z, x2 := count("x"), count("z"), count("x2"); x != 1 || z != 1 || x2 != 1 {
			t.Errorf("after a change x has %d, z %d, x2 %d; want 1 of each", x, z, x2)
		}
		p.Labels = nil
		s.put(p)
		synctest.Wait()
		if z := count("z"); z != 0 {
			t.Errorf("z has %d, want 0", z)
		}
	})
}

// Case 25g: the server cannot be reached.
func TestIndexFieldWithoutAServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		s.Freeze()
		c := newCache(t, s, nil)
		begin := time.Now()
		if err := c.IndexField(t.Context(), &corev1.Pod{}, "spec.nodeName", byNodeName); err != nil {
			t.Error(err)
		}
		start(t, c)
		if err := c.IndexField(t.Context(), &corev1.Pod{}, "other", byNodeName); err != nil {
			t.Error(err)
		}
		if err := c.IndexField(t.Context(), &corev1.Secret{}, "other", byNodeName); err != nil {
			t.Error(err)
		}
		if d := time.Since(begin); d > 0 {
			t.Errorf("took %v", d)
		}
		if err := c.IndexField(t.Context(), &corev1.Pod{}, "", byNodeName); err == nil {
			t.Error("an index without a name")
		}
	})
}

// Contract 6, Case 21: a panic costs the reads that need the index, and no other.
func TestIndexFunctionThatPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, c := tenPods(t, &Options{DefaultNamespaces: map[string]Config{"ns1": {}, "ns2": {}}})
		picky := func(o client.Object) []string {
			if o.GetName() == "p9" || o.GetName() == "bad" {
				panic("no spec")
			}
			return []string{o.(*corev1.Pod).Spec.NodeName}
		}
		if err := c.Get(t.Context(), key("ns1", "p0"), &corev1.Pod{}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait() // for the other namespace
		if err := c.IndexField(t.Context(), &corev1.Pod{}, "f", picky); err == nil || !strings.Contains(err.Error(), "ns2/p9") {
			t.Fatalf("IndexField: %v", err)
		}
		s.removePod("ns2", "p9")
		synctest.Wait()
		if err := c.IndexField(t.Context(), &corev1.Pod{}, "f", picky); err != nil {
			t.Fatalf("nothing was to be left of the first try: %v", err)
		}
		s.put(pod("ns1", "bad", "x", "n0"))
		s.put(pod("ns1", "good", "x", "n0"))
		synctest.Wait()
		for _, name := range []string{"bad", "good"} {
			if err := c.Get(t.Context(), key("ns1", name), &corev1.Pod{}); err != nil {
				t.Errorf("Get %s: %v", name, err)
			}
		}
		var list corev1.PodList
		if err := c.List(t.Context(), &list, client.MatchingFields{"f": "n0"}); err == nil || !strings.Contains(err.Error(), "ns1/bad") {
			t.Errorf("List by an index that lacks an object: %v, %v", names(t, &list), err)
		}
		s.removePod("ns1", "bad")
		synctest.Wait()
		if err := c.List(t.Context(), &list, client.MatchingFields{"f": "n0"}); err != nil || len(list.Items) != 4 {
			t.Errorf("List afterwards: %v, %v", names(t, &list), err)
		}
	})
}

// Contract 8, Case 27.
func TestCallersOwnWhatTheyRead(t *testing.T) {
	spoil := func(o client.Object) {
		o.GetLabels()["app"] = "spoilt"
		switch o := o.(type) {
		case *corev1.Pod:
			o.Spec.Containers[0].Image = "spoilt"
			o.Spec.Containers = append(o.Spec.Containers[:0], corev1.Container{Name: "spoilt"})
			*o.Spec.TerminationGracePeriodSeconds = 1
		case *unstructured.Unstructured:
			o.Object["metadata"].(map[string]any)["labels"] = "spoilt"
			o.Object["spec"].(map[string]any)["containers"].([]any)[0] = "spoilt"
		case *metav1.PartialObjectMetadata:
			o.Labels["app"] = "spoilt"
		}
	}
	s, c := tenPods(t, nil)
	read := func() []client.Object {
		objects := []client.Object{&corev1.Pod{}, unstructuredOf(podGVK), metadataFor(podGVK)}
		for _, obj := range objects {
			if err := c.Get(t.Context(), key("ns1", "p0"), obj); err != nil {
				t.Error(err)
			}
		}
		var pods corev1.PodList
		if err := c.List(t.Context(), &pods, client.MatchingFields{"metadata.name": "p0"}); err != nil {
			t.Error(err)
		}
		return append(objects, &pods.Items[0])
	}
	if _, err := c.GetInformer(t.Context(), &corev1.Pod{}); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 20 {
				for _, obj := range read() {
					if obj.GetLabels()["app"] != "x" {
						t.Errorf("%T has labels %v", obj, obj.GetLabels())
					}
					spoil(obj)
				}
			}
		})
	}
	for i := range 50 {
		p := pod("ns1", "p0", "x", "n0")
		p.Annotations = map[string]string{"change": fmt.Sprint(i)} // an update that changes nothing makes no event
		s.put(p)
	}
	wg.Wait()
	p := read()[0].(*corev1.Pod)
	if p.Spec.Containers[0].Name != "main" || p.Spec.Containers[0].Image != "image" || *p.Spec.TerminationGracePeriodSeconds != 30 {
		t.Errorf("spoilt: %v", p.Spec)
	}
}

// podPointers is a list of pointers, as some API packages have.
type podPointers struct {
	metav1.TypeMeta
	metav1.ListMeta
	Items []*corev1.Pod
}

// DeepCopyObject makes it an object list.
func (p *podPointers) DeepCopyObject() runtime.Object { return p }

// Case 27: a list of pointers gets the very objects, not copies of copies.
func TestListOfPointers(t *testing.T) {
	list := &podPointers{ListMeta: metav1.ListMeta{Continue: "old"}}
	objects := []client.Object{pod("ns1", "a", "x", "n1"), pod("ns1", "b", "x", "n1")}
	if err := assignList(list, podGVK, objects); err != nil {
		t.Fatal(err)
	}
	if len(list.Items) != 2 || list.Items[0] != objects[0] || list.Kind != "PodList" || list.Continue != "" {
		t.Errorf("got %+v", list)
	}
	if err := assignList(&corev1.SecretList{}, podGVK, objects); err == nil {
		t.Error("pods in a list of secrets")
	}
}

// Case 27: the opt-out, for the cache, the kind, and one call.
func TestUnsafeDisableDeepCopy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, c := tenPods(t, &Options{ByObject: map[client.Object]ByObject{&corev1.Node{}: {UnsafeDisableDeepCopy: new(true)}}})
		shared := func(obj func() client.Object, k client.ObjectKey, opts ...client.GetOption) bool {
			a, b := obj(), obj()
			for _, o := range []client.Object{a, b} {
				if err := c.Get(t.Context(), k, o, opts...); err != nil {
					t.Fatal(err)
				}
			}
			return fmt.Sprintf("%p", a.GetLabels()) == fmt.Sprintf("%p", b.GetLabels())
		}
		newPod := func() client.Object { return &corev1.Pod{} }
		if shared(newPod, key("ns1", "p0")) {
			t.Error("two reads share their labels")
		}
		if !shared(newPod, key("ns1", "p0"), client.UnsafeDisableDeepCopy) {
			t.Error("two reads without a copy do not share their labels")
		}
		if !shared(func() client.Object { return &corev1.Node{} }, key("", "n0")) {
			t.Error("two reads of a kind without copies do not share")
		}
		var list corev1.PodList
		if err := c.List(t.Context(), &list, client.UnsafeDisableDeepCopy); err != nil {
			t.Fatal(err)
		}
		stored := c.kinds[podGVK].scopes()[0].indexer.Get(key("ns1", "p0"))
		if fmt.Sprintf("%p", list.Items[0].Labels) != fmt.Sprintf("%p", stored.GetLabels()) {
			t.Error("a list without copies does not share")
		}
	})
}

// Contract 4, Case 51: the kind is set, also where the caller's was another.
func TestKindIsSet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, c := tenPods(t, nil)
		if _, err := c.GetInformer(t.Context(), &corev1.Pod{}); err != nil {
			t.Fatal(err)
		}
		p := &corev1.Pod{}
		if err := c.Get(t.Context(), key("ns1", "p0"), p); err != nil || p.GroupVersionKind() != podGVK {
			t.Errorf("Get: %v, %v", p.GroupVersionKind(), err)
		}
		if p.ManagedFields != nil {
			t.Error("managedFields are stored")
		}
		for _, list := range []client.ObjectList{&corev1.PodList{}, listOf(podGVK, true), listOf(podGVK, false)} {
			if err := c.List(t.Context(), list, client.InNamespace("ns1")); err != nil {
				t.Fatal(err)
			}
			if kind := list.GetObjectKind().GroupVersionKind().Kind; kind != "PodList" {
				t.Errorf("%T: kind %q", list, kind)
			}
			items := reflect.ValueOf(list).Elem().FieldByName("Items")
			for i := range items.Len() {
				if gvk := items.Index(i).Addr().Interface().(client.Object).GetObjectKind().GroupVersionKind(); gvk != podGVK {
					t.Errorf("%T: item of kind %v", list, gvk)
				}
			}
		}
	})
}

// Contract 2.
func TestGetErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, c := tenPods(t, &Options{DefaultNamespaces: map[string]Config{"ns1": {}}})
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "before"}}
		err := c.Get(t.Context(), key("ns1", "p1"), p)
		if status, ok := errors.AsType[*apierrors.StatusError](err); !ok || !apierrors.IsNotFound(err) || status.ErrStatus.Details.Kind != "pods" {
			t.Errorf("a pod that does not exist: %v", err)
		}
		for _, k := range []client.ObjectKey{key("ns2", "p1"), key("", "p0"), key("ns1", "")} {
			if err := c.Get(t.Context(), k, p); err == nil || apierrors.IsNotFound(err) {
				t.Errorf("Get %v: %v", k, err)
			} else if k.Namespace == "ns2" && (!strings.Contains(err.Error(), `"ns2"`) || !strings.Contains(err.Error(), "DefaultNamespaces")) {
				t.Errorf("the error does not say what to do: %v", err)
			}
		}
		if err := c.List(t.Context(), &corev1.PodList{}, client.InNamespace("ns2")); err == nil || !strings.Contains(err.Error(), `"ns2"`) {
			t.Errorf("List in a namespace that is not cached: %v", err)
		}
		if err := c.Get(t.Context(), key("ignored", "n0"), &corev1.Node{}); err != nil {
			t.Errorf("Get of a node, with a namespace in its key: %v", err)
		}
		if p.Name != "before" {
			t.Errorf("a failed read changed the object: %v", p)
		}
		if err := c.Get(t.Context(), key("ns1", "p1"), (*corev1.Pod)(nil)); err == nil {
			t.Error("Get into nil is no error")
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := c.Get(ctx, key("ns1", "p0"), &corev1.Secret{}); !errors.Is(err, context.Canceled) {
			t.Errorf("Get with a context that has ended: %v", err)
		}
	})
}
