package scheme

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// valid checks the invariants of a table.
func (t *table) valid() error {
	for gvk, goType := range t.goTypes {
		if !slices.Contains(t.kinds[goType], gvk) {
			return fmt.Errorf("%s is not among the kinds of %s", kindName(gvk), goType)
		}
		if gvk.Version != runtime.APIVersionInternal && !slices.Contains(t.versions[gvk.Group], gvk.Version) {
			return fmt.Errorf("the version of %s was not observed", kindName(gvk))
		}
	}
	n := 0
	for goType, kinds := range t.kinds {
		n += len(kinds)
		if len(kinds) == 0 {
			return fmt.Errorf("%s has no kind", goType)
		}
	}
	if n != len(t.goTypes) {
		return fmt.Errorf("types have %d kinds, kinds have %d types", n, len(t.goTypes))
	}
	for goType := range t.unversioned {
		if len(t.kinds[goType]) == 0 {
			return fmt.Errorf("unversioned %s is not registered", goType)
		}
	}
	for group, versions := range t.versions {
		if unique := slices.Compact(slices.Sorted(slices.Values(versions))); len(unique) != len(versions) {
			return fmt.Errorf("group %q has a version twice: %v", group, versions)
		}
	}
	return nil
}

func TestStartingTablesAreValid(t *testing.T) {
	for name, start := range map[string]*table{"base": base(), "builtin": builtin()} {
		if err := start.valid(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Go types for the fuzz test; apple, pear and plum differ only in their name.
type apple struct{ schema.ObjectKind }
type pear struct{ schema.ObjectKind }
type plum struct{ schema.ObjectKind }

func (o *apple) GetObjectKind() schema.ObjectKind { return o }
func (o *apple) DeepCopyObject() runtime.Object   { return o }
func (o *pear) GetObjectKind() schema.ObjectKind  { return o }
func (o *pear) DeepCopyObject() runtime.Object    { return o }
func (o *plum) GetObjectKind() schema.ObjectKind  { return o }
func (o *plum) DeepCopyObject() runtime.Object    { return o }

var fruits = []runtime.Object{&apple{}, &pear{}, &plum{}}

// model is the scheme as a list: what was registered, in order.
type model struct {
	entries []entry
	order   map[string][]string
}

type entry struct {
	gvk    schema.GroupVersionKind
	goType reflect.Type
}

// add returns false, and changes nothing, if one entry clashes.
func (m *model) add(batch ...entry) bool {
	kept := m.entries
	for _, e := range batch {
		i := slices.IndexFunc(m.entries, func(old entry) bool { return old.gvk == e.gvk })
		if i >= 0 && m.entries[i].goType != e.goType {
			m.entries = kept
			return false
		}
		if i < 0 {
			m.entries = append(slices.Clip(m.entries), e)
		}
	}
	for _, e := range batch {
		m.observe(e.gvk.GroupVersion())
	}
	return true
}

func (m *model) observe(gv schema.GroupVersion) {
	if gv.Version != runtime.APIVersionInternal && !slices.Contains(m.order[gv.Group], gv.Version) {
		m.order[gv.Group] = append(m.order[gv.Group], gv.Version)
	}
}

func (m *model) prefer(gv schema.GroupVersion) {
	rest := slices.DeleteFunc(slices.Clone(m.order[gv.Group]), func(v string) bool { return v == gv.Version })
	m.order[gv.Group] = append([]string{gv.Version}, rest...)
}

// FuzzRegister drives a scheme and the model with the same registrations, each
// two bytes: what to do, and with which kinds. Contracts 1 and 2.
func FuzzRegister(f *testing.F) {
	f.Add([]byte{0, 1, 0, 1, 0, 2, 1, 7, 2, 9, 3, 0})
	f.Add([]byte{0, 0, 0, 64, 1, 64, 2, 130, 3, 5, 0, 255, 1, 33, 2, 64, 2, 64})
	f.Fuzz(func(t *testing.T, ops []byte) {
		s := newScheme(newTable())
		m := &model{order: map[string][]string{}}
		for ; len(ops) >= 2; ops = ops[2:] {
			first, second := fuzzEntry(ops[1]), fuzzEntry(ops[1]*7+ops[0])
			var err error
			want := true
			switch ops[0] % 4 {
			case 0:
				err = s.AddKnownTypeWithName(first.gvk, first.object())
				want = m.add(first)
			case 1: // two at once, ours
				second.gvk = first.gvk.GroupVersion().WithKind(second.goType.Name())
				first.gvk.Kind = first.goType.Name()
				err = s.AddKnownTypes(first.gvk.GroupVersion(), first.object(), second.object())
				want = m.add(first, second)
			case 2: // two at once, by way of a throw-away, which may clash in itself
				err = s.Install(func(rs *runtime.Scheme) error {
					rs.AddKnownTypeWithName(first.gvk, first.object())
					rs.AddKnownTypeWithName(second.gvk, second.object())
					return nil
				})
				want = m.add(first, second)
			case 3:
				gv := first.gvk.GroupVersion()
				err = s.SetVersionPriority(gv)
				if want = gv.Version != runtime.APIVersionInternal; want {
					m.prefer(gv)
				}
			}
			if (err == nil) != want {
				t.Fatalf("op %d, %d: error %v, want success %v", ops[0]%4, ops[1], err, want)
			}
			compare(t, s, m)
		}
	})
}

func fuzzEntry(b byte) entry {
	return entry{
		gvk: schema.GroupVersionKind{
			Group:   []string{"", "g1"}[b&1],
			Version: []string{"v1", "v2", "v3", runtime.APIVersionInternal}[b>>1&3],
			Kind:    []string{"Apple", "Pear", "apple", "plum"}[b>>3&3],
		},
		goType: reflect.TypeOf(fruits[int(b>>5)%len(fruits)]).Elem(),
	}
}

func (e entry) object() runtime.Object { return newObject(e.goType) }

func compare(t *testing.T, s *Scheme, m *model) {
	t.Helper()
	if err := s.state.Load().valid(); err != nil {
		t.Fatal(err)
	}
	kinds := map[reflect.Type][]schema.GroupVersionKind{}
	for _, e := range m.entries {
		kinds[e.goType] = append(kinds[e.goType], e.gvk)
		object, err := s.New(e.gvk)
		if err != nil || reflect.TypeOf(object).Elem() != e.goType {
			t.Fatalf("New(%s) = %T, %v; want %s", kindName(e.gvk), object, err, e.goType)
		}
	}
	if got := len(s.AllKnownTypes()); got != len(m.entries) {
		t.Fatalf("%d kinds are registered, want %d", got, len(m.entries))
	}
	for _, fruit := range fruits {
		want := kinds[reflect.TypeOf(fruit).Elem()]
		got, _, err := s.ObjectKinds(fruit)
		if !slices.Equal(got, want) || (err == nil) != (len(want) > 0) {
			t.Fatalf("ObjectKinds(%T) = %v, %v; want %v", fruit, got, err, want)
		}
	}
	for group, want := range m.order {
		var got []string
		for _, gv := range s.PrioritizedVersionsForGroup(group) {
			got = append(got, gv.Version)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("versions of %q are %v, want %v", group, got, want)
		}
	}
}

// A conflict that Install finds is the same type of error as one that Add finds.
func TestInstallConflictIsAConflictError(t *testing.T) {
	s := newScheme(newTable())
	gvk := schema.GroupVersionKind{Group: "g", Version: "v1", Kind: "Fruit"}
	if err := s.AddKnownTypeWithName(gvk, &apple{}); err != nil {
		t.Fatal(err)
	}
	err := s.Install(func(rs *runtime.Scheme) error {
		rs.AddKnownTypeWithName(gvk, &pear{})
		return nil
	})
	conflict, ok := errors.AsType[*ConflictError](err)
	if !ok {
		t.Fatalf("error is %v, want a *ConflictError", err)
	}
	if conflict.Kind != gvk || conflict.Registered != reflect.TypeFor[apple]() || conflict.Refused != reflect.TypeFor[pear]() {
		t.Errorf("the conflict is %+v", conflict)
	}
}
