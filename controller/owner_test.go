package controller_test

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"governor/client"
	"governor/controller"
	"governor/scheme"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func replicaSet(namespace, name, uid string) *appsv1.ReplicaSet {
	r := &appsv1.ReplicaSet{}
	r.Namespace, r.Name, r.UID = namespace, name, "uid-"+types.UID(uid)
	return r
}

func node(name string) *corev1.Node {
	n := &corev1.Node{}
	n.Name, n.UID = name, "uid-node"
	return n
}

func TestSetControllerReference(t *testing.T) {
	yes, no := true, false
	s := scheme.Builtin()
	of := func(name, uid string, flag *bool) metav1.OwnerReference {
		return metav1.OwnerReference{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: name, UID: "uid-" + types.UID(uid), Controller: flag, BlockOwnerDeletion: flag}
	}
	older := of("rs", "1", nil)
	older.APIVersion = "apps/v1beta2"
	notBlocking := of("rs", "1", &yes)
	notBlocking.BlockOwnerDeletion = &no
	for _, tt := range []struct {
		name   string
		owner  client.Object
		object *corev1.Pod
		opts   []controller.OwnerReferenceOption
		want   []metav1.OwnerReference
	}{
		{"first", replicaSet("ns", "rs", "1"), pod("ns", "p"), nil, []metav1.OwnerReference{of("rs", "1", &yes)}},
		{"again", replicaSet("ns", "rs", "1"), owned(pod("ns", "p"), of("rs", "1", &yes)), nil, []metav1.OwnerReference{of("rs", "1", &yes)}},
		{"an owner becomes controller, and its version that of the scheme", replicaSet("ns", "rs", "1"), owned(pod("ns", "p"), older), nil,
			[]metav1.OwnerReference{of("rs", "1", &yes)}},
		{"beside another owner", replicaSet("ns", "rs", "1"), owned(pod("ns", "p"), of("other", "2", nil)), nil,
			[]metav1.OwnerReference{of("other", "2", nil), of("rs", "1", &yes)}},
		// Contract 9: the garbage collector takes the old reference away.
		{"beside a former owner of that name", replicaSet("ns", "rs", "2"), owned(pod("ns", "p"), of("rs", "1", nil)), nil,
			[]metav1.OwnerReference{of("rs", "1", nil), of("rs", "2", &yes)}},
		{"without blocking", replicaSet("ns", "rs", "1"), pod("ns", "p"), []controller.OwnerReferenceOption{controller.WithBlockOwnerDeletion(false)},
			[]metav1.OwnerReference{notBlocking}},
		{"cluster-scoped owner", node("n"), pod("ns", "p"), nil,
			[]metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: "n", UID: "uid-node", Controller: &yes, BlockOwnerDeletion: &yes}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before := slices.Clone(tt.object.OwnerReferences)
			shared := tt.object.OwnerReferences
			if err := controller.SetControllerReference(tt.owner, tt.object, s, tt.opts...); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(tt.object.OwnerReferences, tt.want) {
				t.Errorf("references are %+v, want %+v", tt.object.OwnerReferences, tt.want)
			}
			if !reflect.DeepEqual(shared, before) {
				t.Error("the slice that was there, which a cache may share, was written to")
			}
			if !controller.HasControllerReference(tt.object) {
				t.Error("HasControllerReference is false")
			}
		})
	}
}

func TestSetReferenceErrorsLeaveTheObjectAlone(t *testing.T) {
	s, yes := scheme.Builtin(), true
	taken := metav1.OwnerReference{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "rs", UID: "uid-1", Controller: &yes}
	for _, tt := range []struct {
		name   string
		owner  client.Object
		object *corev1.Pod
		scheme *scheme.Scheme
		want   string
		owned  bool
	}{
		{"another controller", replicaSet("ns", "other", "2"), owned(pod("ns", "p"), taken), s, "ns/p is controlled by ReplicaSet rs", true},
		// Contract 9, upstream's trap: it was deleted and made anew.
		{"a former controller of that name", replicaSet("ns", "rs", "2"), owned(pod("ns", "p"), taken), s, "uid-1", true},
		{"another namespace", replicaSet("ns1", "rs", "1"), pod("ns2", "p"), s, "different namespaces", false},
		{"an owner in a namespace of a cluster-scoped object", replicaSet("ns1", "rs", "1"), pod("", "p"), s, "cannot own the cluster-scoped", false},
		{"no UID", &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "rs"}}, pod("ns", "p"), s, "no UID", false},
		{"unknown kind", replicaSet("ns", "rs", "1"), pod("ns", "p"), scheme.New(), "ReplicaSet", false},
		{"no owner", nil, pod("ns", "p"), s, "not nil", false},
		{"no scheme", replicaSet("ns", "rs", "1"), pod("ns", "p"), nil, "not nil", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before := tt.object.DeepCopy()
			err := controller.SetControllerReference(tt.owner, tt.object, tt.scheme)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("returned %v, want an error with %q", err, tt.want)
			}
			var already *controller.AlreadyOwnedError
			if errors.As(err, &already) != tt.owned {
				t.Errorf("AlreadyOwnedError is %v", already)
			}
			if !reflect.DeepEqual(tt.object, before) {
				t.Errorf("the object is now %+v", tt.object.ObjectMeta)
			}
			if tt.owned {
				return
			}
			if err := controller.SetOwnerReference(tt.owner, tt.object, tt.scheme); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("SetOwnerReference returned %v, want an error with %q", err, tt.want)
			}
		})
	}
}

func TestOwnerReferencesComeAndGo(t *testing.T) {
	s, p := scheme.Builtin(), pod("ns", "p")
	first, second, again := replicaSet("ns", "rs", "1"), replicaSet("ns", "other", "2"), replicaSet("ns", "rs", "3")
	has := func(owner client.Object) bool {
		t.Helper()
		yes, err := controller.HasOwnerReference(p.OwnerReferences, owner, s)
		if err != nil {
			t.Fatal(err)
		}
		return yes
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(controller.SetControllerReference(first, p, s))
	must(controller.SetOwnerReference(second, p, s))
	must(controller.SetOwnerReference(second, p, s))
	if len(p.OwnerReferences) != 2 || !has(first) || !has(second) || has(again) {
		t.Errorf("references are %+v", p.OwnerReferences)
	}
	if err := controller.RemoveControllerReference(second, p, s); err == nil {
		t.Error("an owner without control was removed as controller")
	}
	if err := controller.RemoveOwnerReference(again, p, s); err == nil || !strings.Contains(err.Error(), "uid-3") {
		t.Errorf("removing an owner of that name but another UID: %v", err)
	}
	must(controller.RemoveControllerReference(first, p, s))
	if has(first) || !has(second) || controller.HasControllerReference(p) {
		t.Errorf("references are %+v", p.OwnerReferences)
	}
	must(controller.RemoveOwnerReference(second, p, s))
	if err := controller.RemoveOwnerReference(second, p, s); err == nil {
		t.Error("the same owner was removed twice")
	}
	if _, err := controller.HasOwnerReference(nil, first, scheme.New()); err == nil {
		t.Error("HasOwnerReference of an unknown kind is no error")
	}
}

func TestFinalizers(t *testing.T) {
	p := pod("ns", "p")
	p.Finalizers = make([]string, 0, 8) // room that another copy may use as well
	shared := p.Finalizers[:1]
	if !controller.AddFinalizer(p, "a") || controller.AddFinalizer(p, "a") || !controller.AddFinalizer(p, "b") {
		t.Error("AddFinalizer reports a change wrongly")
	}
	if shared[0] != "" {
		t.Error("AddFinalizer wrote to a slice that may be shared")
	}
	if !controller.ContainsFinalizer(p, "a") || controller.ContainsFinalizer(p, "c") {
		t.Errorf("ContainsFinalizer is wrong about %q", p.Finalizers)
	}
	p.Finalizers = append(p.Finalizers, "a")
	before := p.Finalizers
	if !controller.RemoveFinalizer(p, "a") || controller.RemoveFinalizer(p, "a") {
		t.Error("RemoveFinalizer reports a change wrongly")
	}
	if !slices.Equal(p.Finalizers, []string{"b"}) || !slices.Equal(before, []string{"a", "b", "a"}) {
		t.Errorf("finalizers are %q, and the slice that was there %q", p.Finalizers, before)
	}
}
