package scheme

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	goruntime "runtime"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
)

// Install registers what the AddToScheme functions of existing API packages
// register: types, unversioned types, version priorities and defaulting
// functions. Conversion functions are left out. An error, or a panic, of a
// function comes back as an error that names it; a kind that has another type
// already is a *ConflictError. After an error nothing is registered.
func (s *Scheme) Install(fns ...func(*runtime.Scheme) error) error {
	return s.update(func(t *table) error { return t.install(fns) })
}

// install runs fns on a throw-away scheme and copies what it then holds. The
// throw-away starts with the versions seen so far, so that its order of
// versions is ours with the new ones in their place.
func (t *table) install(fns []func(*runtime.Scheme) error) error {
	throwAway := runtime.NewScheme()
	for group, versions := range t.versions {
		for _, version := range versions {
			throwAway.AddKnownTypes(schema.GroupVersion{Group: group, Version: version})
		}
	}
	for i, fn := range fns {
		if err := call(fn, throwAway); err != nil {
			return fmt.Errorf("install %s (function %d of %d): %w", funcName(fn), i+1, len(fns), err)
		}
	}
	if err := t.copyTypes(throwAway); err != nil {
		return fmt.Errorf("install: %w", err)
	}
	for _, best := range throwAway.PreferredVersionAllGroups() {
		delete(t.versions, best.Group)
		for _, gv := range throwAway.PrioritizedVersionsForGroup(best.Group) {
			t.observe(gv)
		}
	}
	t.installed = appended(t.installed, throwAway)
	return nil
}

// copyTypes goes through Go types and not through kinds, since only that way
// apimachinery tells in which order a type got its kinds.
func (t *table) copyTypes(from *runtime.Scheme) error {
	seen := map[reflect.Type]bool{}
	var problems []error
	for _, goType := range from.AllKnownTypes() {
		if seen[goType] {
			continue
		}
		seen[goType] = true
		object := newObject(goType)
		kinds, unversioned, err := from.ObjectKinds(object)
		if err != nil {
			return err
		}
		for _, gvk := range kinds {
			problems = append(problems, t.add(gvk, object))
		}
		if unversioned {
			problems = append(problems, t.setUnversioned(goType))
		}
	}
	return errors.Join(sorted(problems)...)
}

// sorted makes the text of several conflicts the same in every run.
func sorted(problems []error) []error {
	problems = slices.DeleteFunc(problems, func(err error) bool { return err == nil })
	slices.SortFunc(problems, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return problems
}

// call turns a panic into an error: apimachinery panics on every mistake.
func call(fn func(*runtime.Scheme) error, s *runtime.Scheme) (err error) {
	if fn == nil {
		return errors.New("the function is nil")
	}
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic: %v", v)
		}
	}()
	return fn(s)
}

func funcName(fn func(*runtime.Scheme) error) string {
	f := goruntime.FuncForPC(reflect.ValueOf(fn).Pointer())
	if f == nil {
		return "nil"
	}
	return f.Name()
}

// AddTypeDefaultingFunc registers a function that fills in the defaults of
// objects of one type. It takes the place of an earlier one, and of those that
// came by Install.
func (s *Scheme) AddTypeDefaultingFunc(object runtime.Object, fn func(any)) error {
	return s.update(func(t *table) error {
		goType, err := structOf(object)
		if err != nil {
			return err
		}
		if fn == nil {
			return fmt.Errorf("the defaulting function of %s is nil", typeName(goType))
		}
		t.defaulters[goType] = fn
		return nil
	})
}

// Default fills in the defaults of an object; one without a defaulting function
// stays as it is. Functions for one type from several Install calls all run,
// the latest first, so that what it fills in stands.
func (s *Scheme) Default(object runtime.Object) {
	goType, err := structOf(object)
	if err != nil {
		return
	}
	t := s.state.Load()
	if fn, ok := t.defaulters[goType]; ok {
		fn(object)
		return
	}
	for _, throwAway := range slices.Backward(t.installed) {
		throwAway.Default(object)
	}
}

// base is what New starts from.
var base = sync.OnceValue(func() *table {
	t := newTable()
	mustInstall(t, func(s *runtime.Scheme) error {
		metav1.AddToGroupVersion(s, schema.GroupVersion{Version: "v1"})
		return nil
	}, metav1.AddMetaToScheme)
	return t
})

// builtin is what Builtin starts from. It need not keep base's throw-away scheme:
// client-go's registers all that base has.
var builtin = sync.OnceValue(func() *table {
	t := newTable()
	mustInstall(t, metav1.AddMetaToScheme, clientgoscheme.AddToScheme)
	return t
})

func mustInstall(t *table, fns ...func(*runtime.Scheme) error) {
	if err := t.install(fns); err != nil {
		panic(fmt.Sprintf("scheme: Kubernetes' own types clash: %v", err))
	}
}
