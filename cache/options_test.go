package cache

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"governor/client"
	"governor/envtest"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
)

// mark is a setting of each sort, which can be told apart from others.
func mark(text string) Config {
	return Config{
		LabelSelector:         labels.SelectorFromSet(labels.Set{"l": text}),
		FieldSelector:         fields.OneTermEqualSelector("f", text),
		Transform:             func(client.Object) (client.Object, error) { return nil, errors.New(text) },
		UnsafeDisableDeepCopy: new(text == "own"),
		SyncPeriod:            new(time.Duration(len(text)) * time.Second),
	}
}

func (c Config) marks() string {
	_, err := c.Transform(nil)
	return fmt.Sprintln(c.LabelSelector, c.FieldSelector, err, *c.UnsafeDisableDeepCopy, *c.SyncPeriod)
}

// Contract 7: the table at Options, row by row, for each setting.
func TestSettingsComeFromTheFirstRowThatHasThem(t *testing.T) {
	rows := []string{"own", "kind", "namespace", "default"} // of the table
	for first := range rows {
		o := &Options{DefaultNamespaces: map[string]Config{"ns1": {}}}
		kind := ByObject{Namespaces: map[string]Config{"ns1": {}}}
		for i, row := range rows[first:] {
			m := mark(row)
			switch first + i {
			case 0:
				kind.Namespaces["ns1"] = m
			case 1:
				kind.Label, kind.Field, kind.Transform = m.LabelSelector, m.FieldSelector, m.Transform
				kind.UnsafeDisableDeepCopy, kind.SyncPeriod = m.UnsafeDisableDeepCopy, m.SyncPeriod
			case 2:
				o.DefaultNamespaces["ns1"] = m
			case 3:
				o.DefaultLabelSelector, o.DefaultFieldSelector, o.DefaultTransform = m.LabelSelector, m.FieldSelector, m.Transform
				o.DefaultUnsafeDisableDeepCopy, o.SyncPeriod = m.UnsafeDisableDeepCopy, m.SyncPeriod
			}
		}
		scopes, err := o.scopes(kind, true)
		if err != nil || len(scopes) != 1 || scopes["ns1"].marks() != mark(rows[first]).marks() {
			t.Errorf("from row %s on: %v, %v", rows[first], scopes, err)
		}
		// A kind that lives in no namespace has two rows of the table.
		kind.Namespaces = nil
		want := mark([]string{"kind", "kind", "default", "default"}[first])
		if scopes, err = o.scopes(kind, false); err != nil || len(scopes) != 1 || scopes[""].marks() != want.marks() {
			t.Errorf("cluster-scoped, from row %s on: %v, %v", rows[first], scopes, err)
		}
	}
}

func TestNamespacesOfAKind(t *testing.T) {
	for _, tt := range []struct {
		name           string
		defaults, kind map[string]Config
		namespaced     bool
		want           []string
	}{
		{"none: all", nil, nil, true, []string{""}},
		{"inherited", map[string]Config{"a": {}, "b": {}}, nil, true, []string{"a", "b"}},
		{"own", map[string]Config{"a": {}}, map[string]Config{"b": {}}, true, []string{"b"}},
		{"empty: all", map[string]Config{"a": {}}, map[string]Config{}, true, []string{""}},
		{"cluster-scoped inherits none", map[string]Config{"a": {}}, nil, false, []string{""}},
		{"cluster-scoped must not have any", nil, map[string]Config{"a": {}}, false, nil},
	} {
		scopes, err := (&Options{DefaultNamespaces: tt.defaults}).scopes(ByObject{Namespaces: tt.kind}, tt.namespaced)
		if got := slices.Sorted(maps.Keys(scopes)); !slices.Equal(got, tt.want) || (err != nil) != (tt.want == nil) {
			t.Errorf("%s: got %q, %v, want %q", tt.name, got, err, tt.want)
		}
	}
}

func TestOptionsThatMakeNoSense(t *testing.T) {
	direct := newCache(t, newServer(t), nil).client
	for name, o := range map[string]*Options{
		"labels of nothing":       {DefaultLabelSelector: labels.Nothing()},
		"fields of nothing":       {DefaultFieldSelector: fields.Nothing()},
		"nothing, for a kind":     {ByObject: map[client.Object]ByObject{&corev1.Pod{}: {Label: labels.Nothing()}}},
		"nothing, in a namespace": {DefaultNamespaces: map[string]Config{"a": {LabelSelector: labels.Nothing()}}},
		"nothing, in a kind's":    {ByObject: map[client.Object]ByObject{&corev1.Pod{}: {Namespaces: map[string]Config{"a": {FieldSelector: fields.Nothing()}}}}},
		"a kind twice":            {ByObject: map[client.Object]ByObject{&corev1.Pod{}: {}, metadataFor(podGVK): {}}},
		"an object without kind":  {ByObject: map[client.Object]ByObject{unstructuredOf(podGVK.GroupVersion().WithKind("")): {}}},
		"negative SyncTimeout":    {SyncTimeout: -1},
		"negative SyncPeriod":     {SyncPeriod: new(-time.Second)},
	} {
		if _, err := New(direct, o); err == nil {
			t.Errorf("%s is no error", name)
		}
	}
	if _, err := New(nil, nil); err == nil {
		t.Error("no client is no error")
	}
}

// Contract 7: the rest of the namespaces is watched without those that have
// settings of their own.
func TestAllOtherNamespaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, c := tenPods(t, &Options{DefaultNamespaces: map[string]Config{"": {}, "ns1": {LabelSelector: labels.SelectorFromSet(labels.Set{"app": "x"})}}})
		var list corev1.PodList
		if err := c.List(t.Context(), &list); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(names(t, &list), " "); got != "ns1/p0 ns1/p6 ns2/p1 ns2/p3 ns2/p5 ns2/p7 ns2/p9" {
			t.Errorf("got %s", got)
		}
		if got := s.seen(); !slices.Contains(got, "STREAM /api/v1/pods fieldSelector=metadata.namespace!=ns1") ||
			!slices.Contains(got, "STREAM /api/v1/namespaces/ns1/pods labelSelector=app=x") {
			t.Errorf("requests: %v", got)
		}
	})
}

// Contract 7: a field selector of one namespace needs rights there only.
func TestFieldSelectorOfOneNamespace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, c := tenPods(t, &Options{ByObject: map[client.Object]ByObject{&corev1.Pod{}: {Field: fields.OneTermEqualSelector(fieldNamespace, "ns1")}}})
		s.forbid(envtest.Match{Func: func(r envtest.Request) bool { return r.Namespace != "ns1" }})
		var list corev1.PodList
		if err := c.List(t.Context(), &list); err != nil || len(list.Items) != 5 {
			t.Errorf("%v, %v", names(t, &list), err)
		}
		if got, want := s.seen()[0], "STREAM /api/v1/namespaces/ns1/pods fieldSelector=metadata.namespace=ns1"; got != want {
			t.Errorf("request %q, want %q", got, want)
		}
	})
}

// Contract 4: a list over several namespaces is as old as the oldest of them.
func TestResourceVersionOfSeveralNamespaces(t *testing.T) {
	for _, changed := range []string{"ns1", "ns2"} {
		synctest.Test(t, func(t *testing.T) {
			s, c := tenPods(t, &Options{DefaultNamespaces: map[string]Config{"ns1": {}, "ns2": {}}})
			var list corev1.PodList
			if err := c.List(t.Context(), &list); err != nil {
				t.Fatal(err)
			}
			before := s.version()
			synctest.Wait()
			s.put(pod(changed, "new", "x", "n1"))
			synctest.Wait()
			if err := c.List(t.Context(), &list); err != nil || len(list.Items) != 11 || list.ResourceVersion != before {
				t.Errorf("%d items, version %s, %v; want 11 at %s", len(list.Items), list.ResourceVersion, err, before)
			}
		})
	}
}

// Contract 3: a kind with settings that do not fit it never syncs, and says why.
func TestNamespacesOfAClusterScopedKind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, c := tenPods(t, &Options{
			ByObject:                 map[client.Object]ByObject{&corev1.Node{}: {Namespaces: map[string]Config{"ns1": {}}}},
			DefaultWatchErrorHandler: func(context.Context, error) {},
		})
		if err := c.Get(within(t, time.Second), key("", "n0"), &corev1.Node{}); err == nil || !strings.Contains(err.Error(), "remove them") {
			t.Errorf("Get: %v", err)
		}
	})
}

// Contract 7: what a Transform makes of an object is what is stored, or is refused.
func TestTransform(t *testing.T) {
	keep := func(o client.Object) (client.Object, error) { return o, nil }
	synctest.Test(t, func(t *testing.T) {
		_, c := tenPods(t, &Options{DefaultTransform: keep})
		p := &corev1.Pod{}
		if err := c.Get(t.Context(), key("ns1", "p0"), p); err != nil || len(p.ManagedFields) == 0 {
			t.Errorf("managedFields %v, %v, although the Transform keeps them", p.ManagedFields, err)
		}
		_, c = tenPods(t, &Options{DefaultTransform: func(o client.Object) (client.Object, error) {
			o.GetObjectKind().SetGroupVersionKind(podGVK.GroupVersion().WithKind(""))
			return o, nil
		}})
		if err := c.Get(t.Context(), key("ns1", "p0"), p); err != nil || p.GroupVersionKind() != podGVK {
			t.Errorf("kind %v, %v, after a Transform that wiped it", p.GroupVersionKind(), err)
		}
		for name, bad := range map[string]TransformFunc{
			"nil":          func(client.Object) (client.Object, error) { return nil, nil },
			"another type": func(client.Object) (client.Object, error) { return &corev1.Secret{}, nil },
			"an error":     func(client.Object) (client.Object, error) { return nil, errors.New("refused") },
		} {
			_, c := tenPods(t, &Options{DefaultTransform: bad,
				DefaultWatchErrorHandler: func(context.Context, error) {}})
			err := c.Get(t.Context(), key("ns1", "p0"), p)
			if err == nil || apierrors.IsNotFound(err) || !strings.Contains(err.Error(), "transform") {
				t.Errorf("%s: %v, want that it exists, but the transform function failed (contract 2)", name, err)
			}
		}
	})
}

// Contract 8: what did not change is in memory once, from one version of an
// object to the next; but a Transform gets objects that are its own.
func TestCachedObjectsShareWhatIsEqual(t *testing.T) {
	for name, tt := range map[string]struct {
		transform TransformFunc
		shared    bool
	}{
		"without a Transform": {nil, true},
		"with a Transform":    {TransformStripManagedFields(), false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, c := tenPods(t, &Options{DefaultTransform: tt.transform})
				stored := func() *corev1.Pod {
					p := &corev1.Pod{}
					if err := c.Get(t.Context(), key("ns1", "p0"), p, client.UnsafeDisableDeepCopy); err != nil {
						t.Fatal(err)
					}
					return p
				}
				before := stored()
				s.put(pod("ns1", "p0", "other", "n0"))
				synctest.Wait()
				after := stored()
				if after.Labels["app"] != "other" || after.ManagedFields != nil || after.Kind != "Pod" {
					t.Fatalf("got %v", after)
				}
				if shared := &before.Spec.Containers[0] == &after.Spec.Containers[0]; shared != tt.shared {
					t.Errorf("shared: %v, want %v", shared, tt.shared)
				}
			})
		})
	}
}
