package cache

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"governor/client"
	"governor/client/decode"
	"governor/informer"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// What holds for a cache holds in the compact tier too.
func TestCompactTier(t *testing.T) {
	testTier = Compact
	defer func() { testTier = "" }()
	for name, test := range map[string]func(*testing.T){
		"forms":                    TestOneStoreForAllForms,
		"metadata-only":            TestMetadataOnlyStore,
		"selection":                TestListSelectsAndSorts,
		"what cannot be selected":  TestListRefusesWhatItCannotSelect,
		"pages":                    TestPages,
		"pages of selections":      TestPagesOfSelections,
		"indexes":                  TestIndexField,
		"indexes that panic":       TestIndexFunctionThatPanics,
		"callers own":              TestCallersOwnWhatTheyRead,
		"pointers":                 TestListOfPointers,
		"kind":                     TestKindIsSet,
		"errors":                   TestGetErrors,
		"transform":                TestTransform,
		"namespaces":               TestHandlerOfSeveralNamespaces,
		"resync":                   TestSyncPeriod,
		"the server learns":        TestKindThatTheServerLearns,
		"the form changes":         TestFormAskedForWhileOpening,
		"owners":                   TestOwnedBy,
		"own writes":               TestOwnWritesAreReadAtOnce,
		"own writes, transformed":  TestOwnWritesAreTransformed,
		"own writes, with a state": TestOwnWritesAndOthers,
	} {
		t.Run(name, test)
	}
}

// teller is a handler that writes down all that it is given.
type teller struct {
	mu    sync.Mutex
	lines []string
}

func (h *teller) tell(what string, objects ...client.Object) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, o := range objects {
		text, err := json.Marshal(o)
		what += fmt.Sprintf(" %T %s %v", o, text, err)
	}
	h.lines = append(h.lines, what)
}

func (h *teller) OnAdd(o client.Object, initial bool)    { h.tell(fmt.Sprint("add ", initial), o) }
func (h *teller) OnUpdate(was, is client.Object)         { h.tell(fmt.Sprint("update ", was == is), was, is) }
func (h *teller) OnDelete(o client.Object, unknown bool) { h.tell(fmt.Sprint("delete ", unknown), o) }

// told returns it, sorted: the first list comes in any order.
func (h *teller) told() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return strings.Join(slices.Sorted(slices.Values(h.lines)), "\n")
}

// randomPod changes, or makes, one of a few Pods.
func randomPod(r *rand.Rand, n int) *corev1.Pod {
	i := r.IntN(12)
	p := pod([]string{"a", "b"}[r.IntN(2)], fmt.Sprint("p", i), fmt.Sprint("app", r.IntN(3)), fmt.Sprint("node", i%3)) // a Pod does not move
	p.Annotations = map[string]string{"n": fmt.Sprint(n), "text": strings.Repeat("x", r.IntN(300))}
	if o := r.IntN(4); o > 0 {
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: fmt.Sprint("rs", o), UID: types.UID(fmt.Sprint("owner", o)), Controller: new(true)}}
	}
	p.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "somebody", Operation: "Update", FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{}}`)}}
	return p
}

// Reads and handlers cannot tell one tier from the other, whatever happens, and in
// whichever form.
func TestTiersAgree(t *testing.T) {
	for _, tt := range []struct {
		name  string
		store client.Object
		o     Options
	}{
		{"typed", &corev1.Pod{}, Options{}},
		{"metadata-only", metadataFor(podGVK), Options{}},
		{"transformed", &corev1.Pod{}, Options{DefaultTransform: func(o client.Object) (client.Object, error) {
			o.SetAnnotations(map[string]string{"changed": o.GetAnnotations()["n"]})
			return o, nil
		}}},
		{"without copies", &corev1.Pod{}, Options{DefaultUnsafeDisableDeepCopy: new(true)}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { tiersAgree(t, tt.store, tt.o) })
		})
	}
}

func tiersAgree(t *testing.T, store client.Object, o Options) {
	s := newServer(t)
	r := rand.New(rand.NewPCG(5, 11))
	there := map[client.ObjectKey]bool{}
	for n := range 10 {
		p := randomPod(r, n)
		s.put(p)
		there[client.ObjectKeyFromObject(p)] = true
	}
	var caches [2]*Cache
	var tellers [2]*teller
	for i, tier := range []Tier{Shared, Compact} {
		o := o
		o.SyncPeriod = new(time.Hour)
		o.ByObject = map[client.Object]ByObject{store: {Tier: tier}}
		caches[i], tellers[i] = newCache(t, s, &o), &teller{}
		k, err := caches[i].GetInformer(t.Context(), store)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := k.AddHandler(tellers[i], nil); err != nil {
			t.Fatal(err)
		}
		start(t, caches[i])
		if client.FormOf(store) == client.Typed {
			if err := caches[i].IndexField(t.Context(), &corev1.Pod{}, "own", byNodeName); err != nil {
				t.Fatal(err)
			}
		}
	}
	synctest.Wait() // both begin with the same list
	for n := range 100 {
		p := randomPod(r, n)
		at := client.ObjectKeyFromObject(p)
		if there[at] = !there[at] || r.IntN(3) > 0; there[at] {
			s.put(p)
		} else {
			s.removePod(p.Namespace, p.Name)
		}
		if n%10 == 9 {
			time.Sleep(20 * time.Minute)
			synctest.Wait()
			for _, read := range everyRead(store) {
				a, b := read(t, caches[0]), read(t, caches[1])
				if diff := cmp.Diff(a, b); diff != "" {
					t.Fatal(diff)
				}
			}
		}
	}
	for _, stored := range caches[1].scopeOf(t, podGVK).indexer.List() {
		if _, compact := stored.(*decode.Compact); !compact {
			t.Errorf("stored: %T", stored)
		}
	}
	if diff := cmp.Diff(tellers[0].told(), tellers[1].told()); diff != "" || len(tellers[0].lines) < 100 {
		t.Errorf("%d lines, %s", len(tellers[0].lines), diff)
	}
}

// everyRead returns a read of each kind. Its answer has the error, if there was one.
func everyRead(store client.Object) (reads []func(*testing.T, *Cache) any) {
	type answer struct {
		Object any
		Err    string
	}
	get := func(obj func() client.Object, key client.ObjectKey) {
		reads = append(reads, func(t *testing.T, c *Cache) any {
			o := obj()
			err := c.Get(t.Context(), key, o)
			return answer{o, fmt.Sprint(err)}
		})
	}
	list := func(of func() client.ObjectList, opts ...client.ListOption) {
		reads = append(reads, func(t *testing.T, c *Cache) any {
			o := of()
			err := c.List(t.Context(), o, opts...)
			return answer{o, fmt.Sprint(err)}
		})
	}
	objects := []func() client.Object{func() client.Object { return metadataFor(podGVK) }}
	lists := []func() client.ObjectList{func() client.ObjectList {
		l := &metav1.PartialObjectMetadataList{}
		l.SetGroupVersionKind(podGVK)
		return l
	}}
	if client.FormOf(store) == client.Typed {
		objects = append(objects, func() client.Object { return &corev1.Pod{} }, func() client.Object { return unstructuredOf(podGVK) })
		lists = append(lists, func() client.ObjectList { return &corev1.PodList{} }, func() client.ObjectList { return listOf(podGVK, true) })
	}
	for n := range 12 {
		for _, obj := range objects {
			get(obj, key("a", fmt.Sprint("p", n)))
		}
	}
	for _, of := range lists {
		list(of)
		list(of, client.InNamespace("b"))
		list(of, client.Limit(3))
		list(of, client.MatchingLabels{"app": "app1"})
		notIn, _ := labels.Parse("app notin (app1),app")
		list(of, client.MatchingLabelsSelector{Selector: notIn})
		list(of, client.MatchingFields{"metadata.name": "p3"})
		list(of, client.MatchingFields{"spec.nodeName": "node1"})
		list(of, client.MatchingFields{"own": "node2"})
		list(of, client.MatchingFields{client.FieldOwnerUID: "owner2"})
	}
	reads = append(reads, func(t *testing.T, c *Cache) any {
		var names []string
		for m, err := range Each(t.Context(), c, metadataFor(podGVK)) {
			names = append(names, fmt.Sprintf("%v %v", m, err))
		}
		return names
	})
	return reads
}

// The compact tier keeps no object as a whole, though somebody may have read it.
func TestCompactTierKeepsNoObject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		s.put(pod("a", "p", "x", "n1"))
		s.put(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "shared"}})
		c := newCache(t, s, &Options{ByObject: map[client.Object]ByObject{&corev1.Pod{}: {Tier: Compact}}})
		c.options.detector = nil // which keeps copies
		k, err := c.GetInformer(t.Context(), &corev1.Pod{})
		if err != nil {
			t.Fatal(err)
		}
		var given []weak.Pointer[corev1.Pod]
		if _, err := k.AddHandler(informer.HandlerFuncs{AddFunc: func(o client.Object, _ bool) {
			given = append(given, weak.Make(o.(*corev1.Pod)))
		}}, nil); err != nil {
			t.Fatal(err)
		}
		start(t, c)
		synctest.Wait() // for the handler
		for p, err := range Each(t.Context(), c, &corev1.Pod{}) {
			if err != nil {
				t.Fatal(err)
			}
			given = append(given, weak.Make(p))
		}
		synctest.Wait()
		for range 3 {
			runtime.GC()
		}
		for i, p := range given {
			if p.Value() != nil {
				t.Errorf("object %d is still in memory", i)
			}
		}
		if len(given) != 2 {
			t.Errorf("%d objects were given", len(given))
		}
		if stored := c.scopeOf(t, podGVK).indexer.List(); len(stored) != 1 || reflect.TypeOf(stored[0]) != reflect.TypeFor[*decode.Compact]() {
			t.Errorf("stored: %T", stored)
		}
		if err := c.Get(t.Context(), key("a", "shared"), &corev1.ConfigMap{}); err != nil {
			t.Error(err)
		}
		if stored := c.scopeOf(t, corev1.SchemeGroupVersion.WithKind("ConfigMap")).indexer.List(); len(stored) != 1 || reflect.TypeOf(stored[0]) != reflect.TypeFor[*corev1.ConfigMap]() {
			t.Errorf("stored, of a kind that was not declared: %T", stored)
		}
	})
}

// A state that cannot be decoded is unread in the compact tier as well, not found out
// by a read.
func TestCompactTierReportsWhatCannotBeDecoded(t *testing.T) {
	d := decode.New(func() decode.Object { return &corev1.Pod{} }, &decode.Options{Compact: true})
	for _, text := range []string{`{"metadata":{"name":"a"},"spec":{"nodeName":5}}`, `{"metadata":`} {
		if _, obj, err := d.JSON([]byte(text)); err == nil || obj != nil {
			t.Errorf("%s: %v, %v", text, obj, err)
		}
	}
	loose := decode.New(func() decode.Object { return &unstructured.Unstructured{} }, &decode.Options{Compact: true})
	if _, obj, err := loose.JSON([]byte(`[]`)); err == nil || obj != nil {
		t.Errorf("%v, %v", obj, err)
	}
}

// scopeOf returns the one scope of a kind.
func (c *Cache) scopeOf(t *testing.T, gvk schema.GroupVersionKind) *scope {
	t.Helper()
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.kinds[gvk].life.Load().layout.Load().scopes[0]
}

func TestTierOfAKind(t *testing.T) {
	for _, tt := range []struct{ all, kind, want Tier }{
		{"", "", Shared}, {Compact, "", Compact}, {"", Compact, Compact}, {Compact, Shared, Shared}, {Shared, Compact, Compact},
	} {
		if got := (&Options{DefaultTier: tt.all}).tier(ByObject{Tier: tt.kind}); got != tt.want {
			t.Errorf("%q for all, %q for the kind: %q, want %q", tt.all, tt.kind, got, tt.want)
		}
	}
	direct := newCache(t, newServer(t), nil).client
	for _, o := range []*Options{{DefaultTier: "compact"}, {ByObject: map[client.Object]ByObject{&corev1.Pod{}: {Tier: "Typed"}}}} {
		if _, err := New(direct, o); err == nil || !strings.Contains(err.Error(), "Shared or Compact") {
			t.Errorf("a tier that does not exist: %v", err)
		}
	}
}
