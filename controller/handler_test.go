package controller_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"governor/client"
	"governor/controller"
	"governor/scheme"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func owned(p *corev1.Pod, refs ...metav1.OwnerReference) *corev1.Pod {
	p.OwnerReferences = refs
	return p
}

func ref(apiVersion, kind, name string, controls bool) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: apiVersion, Kind: kind, Name: name, UID: "uid-owner", Controller: &controls}
}

// Contract 7 and 8.
func TestHandlers(t *testing.T) {
	nodeOf := func(_ context.Context, o client.Object) []controller.Request {
		return []controller.Request{request("", o.(*corev1.Pod).Spec.NodeName)}
	}
	on := func(node, rv string) *corev1.Pod {
		return pod("ns", "p", func(p *corev1.Pod) { p.Spec.NodeName, p.ResourceVersion = node, rv })
	}
	var many []controller.Request
	var manyKeys []string
	for i := range 1000 {
		many = append(many, request("a", strconv.Itoa(i)))
		manyKeys = append(manyKeys, "a/"+strconv.Itoa(i))
	}
	object := controller.EnqueueRequestForObject{}
	mapped := controller.EnqueueRequestsFromMapFunc(nodeOf)
	for _, tt := range []struct {
		name    string
		handler controller.EventHandler[controller.Request]
		event   any
		want    []string
	}{
		{"object: create", object, controller.CreateEvent{Object: on("n1", "1")}, []string{"ns/p"}},
		{"object: initial list", object, controller.CreateEvent{Object: on("n1", "1"), IsInInitialList: true}, []string{"ns/p priority=-100"}},
		{"object: update", object, controller.UpdateEvent{ObjectOld: on("n1", "1"), ObjectNew: on("n1", "2")}, []string{"ns/p"}},
		{"object: resync", object, controller.UpdateEvent{ObjectOld: on("n1", "1"), ObjectNew: on("n1", "1")}, []string{"ns/p priority=-100"}},
		{"object: delete", object, controller.DeleteEvent{Object: on("n1", "1")}, []string{"ns/p"}},
		{"object: generic", object, controller.GenericEvent{Object: on("n1", "1")}, []string{"ns/p"}},
		// Case 22d: what was referred to before is as concerned as what is now.
		{"map: update maps both sides", mapped, controller.UpdateEvent{ObjectOld: on("n1", "1"), ObjectNew: on("n2", "2")}, []string{"/n1", "/n2"}},
		{"map: both sides to one key", mapped, controller.UpdateEvent{ObjectOld: on("n1", "1"), ObjectNew: on("n1", "2")}, []string{"/n1"}},
		{"map: initial list", mapped, controller.CreateEvent{Object: on("n1", "1"), IsInInitialList: true}, []string{"/n1 priority=-100"}},
		{"map: delete", mapped, controller.DeleteEvent{Object: on("n1", "1")}, []string{"/n1"}},
		{"map: one key twice", controller.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []controller.Request {
			return []controller.Request{request("a", "b"), request("a", "c"), request("a", "b")}
		}), controller.GenericEvent{Object: on("n1", "1")}, []string{"a/b", "a/c"}},
		{"map: many keys, each twice", controller.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []controller.Request {
			return slices.Concat(many, many)
		}), controller.GenericEvent{Object: on("n1", "1")}, manyKeys},
		{"map: nothing", controller.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []controller.Request { return nil }),
			controller.GenericEvent{Object: on("n1", "1")}, nil},
		{"funcs: none", controller.HandlerFuncs[controller.Request]{}, controller.CreateEvent{Object: on("n1", "1")}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := handle(t.Context(), tt.handler, tt.event); !slices.Equal(got, tt.want) {
				t.Errorf("enqueued %q, want %q", got, tt.want)
			}
		})
	}
}

func handle(ctx context.Context, h controller.EventHandler[controller.Request], event any) []string {
	q := &fakeQueue[controller.Request]{}
	switch e := event.(type) {
	case controller.CreateEvent:
		h.Create(ctx, e, q)
	case controller.UpdateEvent:
		h.Update(ctx, e, q)
	case controller.DeleteEvent:
		h.Delete(ctx, e, q)
	case controller.GenericEvent:
		h.Generic(ctx, e, q)
	}
	return q.added
}

// Contract 8, for handlers of one's own.
func TestHandlerFuncsLowerTheOrdinaryPriorityOfOldNews(t *testing.T) {
	add := func(q controller.Adder[controller.Request]) {
		q.Add(request("ns", "a"))
		q.AddAfter(request("ns", "b"), time.Second)
		q.AddRateLimited(request("ns", "c"))
	}
	h := controller.HandlerFuncs[controller.Request]{
		CreateFunc:  func(_ context.Context, _ controller.CreateEvent, q controller.Adder[controller.Request]) { add(q) },
		UpdateFunc:  func(_ context.Context, _ controller.UpdateEvent, q controller.Adder[controller.Request]) { add(q) },
		DeleteFunc:  func(_ context.Context, _ controller.DeleteEvent, q controller.Adder[controller.Request]) { add(q) },
		GenericFunc: func(_ context.Context, _ controller.GenericEvent, q controller.Adder[controller.Request]) { add(q) },
	}
	ordinary := []string{"ns/a", "ns/b after=1s", "ns/c rate-limited"}
	low := []string{"ns/a priority=-100", "ns/b priority=-100 after=1s", "ns/c priority=-100 rate-limited"}
	newer := pod("ns", "p", func(p *corev1.Pod) { p.ResourceVersion = "2" })
	for _, tt := range []struct {
		name  string
		event any
		want  []string
	}{
		{"create", controller.CreateEvent{Object: newer}, ordinary},
		{"initial list", controller.CreateEvent{Object: newer, IsInInitialList: true}, low},
		{"update", controller.UpdateEvent{ObjectOld: pod("ns", "p"), ObjectNew: newer}, ordinary},
		{"resync", controller.UpdateEvent{ObjectOld: newer, ObjectNew: newer}, low},
		{"delete", controller.DeleteEvent{Object: newer}, ordinary},
		{"generic", controller.GenericEvent{Object: newer}, ordinary},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := handle(t.Context(), h, tt.event); !slices.Equal(got, tt.want) {
				t.Errorf("enqueued %q, want %q", got, tt.want)
			}
		})
	}
}

// scopes is a RESTMapper that knows Deployments, ReplicaSets and Nodes.
func scopes() *meta.DefaultRESTMapper {
	m := meta.NewDefaultRESTMapper(nil)
	m.Add(appsv1.SchemeGroupVersion.WithKind("Deployment"), meta.RESTScopeNamespace)
	m.Add(appsv1.SchemeGroupVersion.WithKind("ReplicaSet"), meta.RESTScopeNamespace)
	m.Add(corev1.SchemeGroupVersion.WithKind("Node"), meta.RESTScopeRoot)
	return m
}

// Case 22.
func TestOwnerHandler(t *testing.T) {
	s, mapper := scheme.Builtin(), scopes()
	replicaSet := controller.EnqueueRequestForOwner(s, mapper, &appsv1.ReplicaSet{})
	onlyController := controller.EnqueueRequestForOwner(s, mapper, &appsv1.ReplicaSet{}, controller.OnlyControllerOwner())
	node := controller.EnqueueRequestForOwner(s, mapper, &corev1.Node{})
	created := func(refs ...metav1.OwnerReference) controller.CreateEvent {
		return controller.CreateEvent{Object: owned(pod("ns1", "p"), refs...)}
	}
	for _, tt := range []struct {
		name    string
		handler controller.EventHandler[controller.Request]
		event   any
		want    []string
	}{
		{"a: the key of a cluster-scoped owner has no namespace", node,
			created(ref("v1", "Node", "n", true), ref("apps/v1", "ReplicaSet", "f", false)), []string{"/n"}},
		{"a: an owner without control counts", replicaSet,
			created(ref("v1", "Node", "n", true), ref("apps/v1", "ReplicaSet", "f", false)), []string{"ns1/f"}},
		{"a: unless only the controller does", onlyController,
			created(ref("v1", "Node", "n", true), ref("apps/v1", "ReplicaSet", "f", false)), nil},
		{"a: the controller counts", onlyController,
			created(ref("apps/v1", "ReplicaSet", "e", false), ref("apps/v1", "ReplicaSet", "f", true)), []string{"ns1/f"}},
		{"b: the version does not count", replicaSet, created(ref("apps/v1beta2", "ReplicaSet", "f", true)), []string{"ns1/f"}},
		{"c: both owners when it moves", replicaSet, controller.UpdateEvent{
			ObjectOld: owned(pod("ns1", "p"), ref("apps/v1", "ReplicaSet", "f", true)),
			ObjectNew: owned(pod("ns1", "p", func(p *corev1.Pod) { p.ResourceVersion = "2" }), ref("apps/v1", "ReplicaSet", "g", true)),
		}, []string{"ns1/f", "ns1/g"}},
		{"another group with that kind", replicaSet, created(ref("example.com/v1", "ReplicaSet", "f", true)), nil},
		{"another kind of that group", replicaSet, created(ref("apps/v1", "Deployment", "f", true)), nil},
		{"several owners", replicaSet, created(ref("apps/v1", "ReplicaSet", "f", false), ref("apps/v1", "ReplicaSet", "g", false)), []string{"ns1/f", "ns1/g"}},
		{"no owner", replicaSet, created(), nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := handle(t.Context(), tt.handler, tt.event); !slices.Equal(got, tt.want) {
				t.Errorf("enqueued %q, want %q", got, tt.want)
			}
		})
	}
}

// Case 22: the owners beside it are not lost.
func TestOwnerWithMalformedAPIVersionIsLogged(t *testing.T) {
	h := controller.EnqueueRequestForOwner(scheme.Builtin(), scopes(), &appsv1.ReplicaSet{})
	ctx, logs := logContext()
	got := handle(ctx, h, controller.CreateEvent{Object: owned(pod("ns1", "p"),
		ref("a/b/c", "ReplicaSet", "bad", true), ref("apps/v1", "ReplicaSet", "good", false))})
	if want := []string{"ns1/good"}; !slices.Equal(got, want) {
		t.Errorf("enqueued %q, want %q", got, want)
	}
	if log := logs.String(); !strings.Contains(log, "malformed") || !strings.Contains(log, "a/b/c") || !strings.Contains(log, "ns1/p") {
		t.Errorf("log does not say what is malformed and where:\n%s", log)
	}
}

// Contract 10; upstream panics.
func TestUnknownOwnerTypeIsAnErrorOfWatch(t *testing.T) {
	for _, tt := range []struct {
		name    string
		handler controller.EventHandler[controller.Request]
		want    string
	}{
		{"type unknown to the scheme", controller.EnqueueRequestForOwner(scheme.New(), scopes(), &appsv1.ReplicaSet{}), "ReplicaSet"},
		{"nil type", controller.EnqueueRequestForOwner(scheme.Builtin(), scopes(), nil), "not nil"},
		{"nil scheme", controller.EnqueueRequestForOwner(nil, scopes(), &appsv1.ReplicaSet{}), "not nil"},
		{"nil map function", controller.EnqueueRequestsFromMapFunc[controller.Request](nil), "map function is nil"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, err := controller.NewUnmanaged("test", controller.Func[controller.Request](nil), nil)
			if err != nil {
				t.Fatal(err)
			}
			_, err = c.Watch(controller.Channel(make(chan controller.GenericEvent), tt.handler))
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), `"test"`) {
				t.Errorf("Watch returned %v, want an error with %q", err, tt.want)
			}
		})
	}
}

// failing is a RESTMapper whose server is away for a while.
type failing struct {
	meta.RESTMapper
	errs []error
}

func (f *failing) RESTMapping(gk schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	if len(f.errs) > 0 {
		err := f.errs[0]
		f.errs = f.errs[1:]
		return nil, err
	}
	return f.RESTMapper.RESTMapping(gk, versions...)
}

func TestOwnerEventWaitsForTheMapperInsteadOfBeingLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		away := errors.New("connection refused")
		mapper := &failing{scopes(), []error{away, away}}
		h := controller.EnqueueRequestForOwner(scheme.Builtin(), mapper, &appsv1.ReplicaSet{})
		e := controller.CreateEvent{Object: owned(pod("ns1", "p"), ref("apps/v1", "ReplicaSet", "f", true))}
		background, _ := logContext()
		if got := handle(background, h, e); !slices.Equal(got, []string{"ns1/f"}) {
			t.Errorf("enqueued %q", got)
		}

		// It gives up with its context, and at once for a kind that is not there.
		ctx, cancel := context.WithTimeout(background, time.Minute)
		defer cancel()
		mapper.errs = slices.Repeat([]error{away}, 1000)
		if got := handle(ctx, h, e); got != nil {
			t.Errorf("enqueued %q without knowing the scope", got)
		}
		start := time.Now()
		mapper.errs = []error{&meta.NoKindMatchError{}}
		if got := handle(background, h, e); got != nil || time.Since(start) != 0 {
			t.Errorf("enqueued %q after %v for a kind that is not there", got, time.Since(start))
		}
	})
}
