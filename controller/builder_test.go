package controller_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"governor/client"
	"governor/controller"
	"governor/manager"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// unknown is an object of a kind that no scheme knows.
type unknown struct{ corev1.ConfigMap }

// Contract 10.
func TestBuilderReportsMistakesAndAddsNothing(t *testing.T) {
	type request = controller.Request
	m := newServer(t).manager(t)
	object := controller.EnqueueRequestForObject{}
	events := make(chan controller.GenericEvent)
	badOwner := controller.EnqueueRequestForOwner(m.GetScheme(), m.GetRESTMapper(), &unknown{})
	on := func() *controller.Builder[request] { return controller.ControllerManagedBy(m) }
	for _, tt := range []struct {
		name    string
		builder *controller.Builder[request]
		want    string
	}{
		{"no manager", controller.ControllerManagedBy(nil).For(&corev1.Pod{}), "manager is nil"},
		{"nothing to watch", on().Named("c"), `"c": it watches nothing`},
		{"nothing at all", on(), "it watches nothing"},
		{"For twice", on().For(&corev1.Pod{}).For(&corev1.Secret{}), "For may be called only once"},
		{"For nil", on().For(nil), "For needs an object"},
		{"For of an unknown kind", on().For(&unknown{}), "unknown"},
		{"no name", on().Watches(&corev1.Pod{}, object), "it has no name"},
		{"Owns without For", on().Named("c").Owns(&corev1.Pod{}), "Owns needs For"},
		{"Owns nil", on().For(&corev1.Pod{}).Owns(nil), "Owns needs an object"},
		{"Watches nil", on().For(&corev1.Pod{}).Watches(nil, object), "Watches needs an object"},
		{"Watches without handler", on().For(&corev1.Pod{}).Watches(&corev1.Secret{}, nil), "needs an event handler"},
		{"unknown owner", on().For(&corev1.Pod{}).Watches(&corev1.Secret{}, badOwner), "unknown"},
		{"metadata of an unknown kind", on().Named("c").WatchesMetadata(&unknown{}, object), "unknown"},
		{"raw source nil", on().For(&corev1.Pod{}).WatchesRawSource(nil), "WatchesRawSource needs a source"},
		{"raw source without channel", on().For(&corev1.Pod{}).WatchesRawSource(controller.Channel(nil, object)), "needs a channel"},
		{"predicate nil", on().For(&corev1.Pod{}, controller.WithPredicates(nil)), "predicate is nil"},
		{"filter nil", on().Named("c").WatchesRawSource(controller.Channel(events, object)).WithEventFilter(nil), "predicate is nil"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, err := tt.builder.Build(&recorder[request]{})
			if c != nil || err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Build returned %v, want an error with %q", err, tt.want)
			}
		})
	}
	if err := on().For(&corev1.Pod{}).Complete(nil); err == nil || !strings.Contains(err.Error(), "reconciler is nil") {
		t.Errorf("without a reconciler: %v", err)
	}
	if err := controller.NewBuilder[string](m).Named("c").For(&corev1.Pod{}).Complete(&recorder[string]{}); err == nil || !strings.Contains(err.Error(), "Request keys") {
		t.Errorf("For with keys of another type: %v", err)
	}
	// None of these has taken a name.
	must(t, on().For(&corev1.Pod{}).Complete(&recorder[request]{}))
	must(t, on().Named("c").For(&corev1.Pod{}).Complete(&recorder[request]{}))
}

func ownedPod(name string, refs ...metav1.OwnerReference) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, OwnerReferences: refs}}
}

// nothing lets no event through.
var nothing = controller.NewPredicateFuncs(func(client.Object) bool { return false })

// madeRef makes an owner, without which what it owns were garbage, and refers to it.
func madeRef(t *testing.T, c client.Client, kind, name string, controls bool) metav1.OwnerReference {
	t.Helper()
	var owner client.Object = &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}
	if kind == "Deployment" {
		owner = &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}
	}
	must(t, c.Create(t.Context(), owner))
	r := ref("apps/v1", kind, name, controls)
	r.UID = owner.GetUID()
	return r
}

func TestOwnsReconcilesTheControllerOrEveryOwner(t *testing.T) {
	for _, tt := range []struct {
		name string
		opts []controller.OwnsOption
		want string
	}{
		{"the controller", nil, "controls"},
		{"every owner", []controller.OwnsOption{controller.MatchEveryOwner}, "controls owns"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer(t)
				m := s.manager(t)
				var r recorder[controller.Request]
				must(t, controller.ControllerManagedBy(m).For(&appsv1.ReplicaSet{}, controller.WithPredicates(nothing)).Owns(&corev1.Pod{}, tt.opts...).Complete(&r))
				stop, _ := run(t, m)
				settle(time.Second)
				c := s.client(t)
				must(t, c.Create(t.Context(), ownedPod("p",
					madeRef(t, c, "ReplicaSet", "controls", true), madeRef(t, c, "ReplicaSet", "owns", false), madeRef(t, c, "Deployment", "other", false))))
				settle(time.Second)
				if got := names(r.all()); got != tt.want {
					t.Errorf("reconciled %q, want %q", got, tt.want)
				}
				must(t, stop())
			})
		})
	}
}

// reconciledBy returns the names that a controller reconciles of events about
// objects a1, a2, b1 and b2, and the same from a raw channel, with an r before.
func reconciledBy(t *testing.T, build func(*controller.Builder[controller.Request]) *controller.Builder[controller.Request]) (got string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		m := s.manager(t)
		var r recorder[controller.Request]
		events := make(chan controller.GenericEvent)
		b := controller.ControllerManagedBy(m).For(&corev1.ConfigMap{})
		b.WatchesRawSource(controller.Channel(events, controller.EnqueueRequestForObject{}))
		must(t, build(b).Complete(&r))
		stop, _ := run(t, m)
		settle(time.Second)
		for _, name := range []string{"a1", "a2", "b1", "b2"} {
			must(t, s.client(t).Create(t.Context(), configMap(name)))
			settle(time.Second)
			events <- controller.GenericEvent{Object: pod("ns", "r"+name)}
			settle(time.Second)
		}
		must(t, stop())
		got = names(r.all())
	})
	return got
}

func nameHas(part string) controller.Predicate {
	return controller.NewPredicateFuncs(func(o client.Object) bool { return strings.Contains(o.GetName(), part) })
}

func TestWithEventFilterReachesEverySourceAndAdds(t *testing.T) {
	got := reconciledBy(t, func(b *controller.Builder[controller.Request]) *controller.Builder[controller.Request] {
		return b.WithEventFilter(nameHas("a")).WithEventFilter(nameHas("1"))
	})
	if got != "a1 ra1" {
		t.Errorf("reconciled %q", got)
	}
}

func TestWithPredicatesAdds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		m := s.manager(t)
		var r recorder[controller.Request]
		must(t, controller.ControllerManagedBy(m).For(&corev1.ConfigMap{},
			controller.WithPredicates(nameHas("a")), controller.WithPredicates(nameHas("1"))).Complete(&r))
		stop, _ := run(t, m)
		settle(time.Second)
		for _, name := range []string{"a1", "a2", "b1", "b2"} {
			must(t, s.client(t).Create(t.Context(), configMap(name)))
		}
		settle(time.Second)
		if got := names(r.all()); got != "a1" {
			t.Errorf("reconciled %q", got)
		}
		must(t, stop())
	})
}

func TestOnlyMetadataIsAllThatIsAskedFor(t *testing.T) {
	for name, build := range map[string]func(b *controller.Builder[controller.Request], h controller.EventHandler[controller.Request]) *controller.Builder[controller.Request]{
		"Watches": func(b *controller.Builder[controller.Request], h controller.EventHandler[controller.Request]) *controller.Builder[controller.Request] {
			return b.Watches(&corev1.Pod{}, h, controller.OnlyMetadata)
		},
		"WatchesMetadata": func(b *controller.Builder[controller.Request], h controller.EventHandler[controller.Request]) *controller.Builder[controller.Request] {
			return b.WatchesMetadata(&corev1.Pod{}, h)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer(t)
				must(t, s.client(t).Create(t.Context(), ownedPod("p")))
				m := s.manager(t)
				var saw journal[string]
				h := controller.EnqueueRequestsFromMapFunc(func(_ context.Context, o client.Object) []controller.Request {
					saw.add(fmt.Sprintf("%T %s %s", o, o.GetObjectKind().GroupVersionKind().Kind, o.GetName()))
					return nil
				})
				must(t, build(controller.ControllerManagedBy(m).Named("c"), h).Complete(&recorder[controller.Request]{}))
				stop, _ := run(t, m)
				settle(time.Second)
				must(t, s.client(t).Create(t.Context(), ownedPod("q")))
				settle(time.Second)
				want := []string{"*v1.PartialObjectMetadata Pod p", "*v1.PartialObjectMetadata Pod q"}
				if !slices.Equal(saw.all(), want) {
					t.Errorf("the map function saw %q, want %q", saw.all(), want)
				}
				must(t, stop())
			})
		})
	}
}

// A manager that runs starts the controller at once: it must have its sources.
func TestBuildOnARunningManager(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		must(t, s.client(t).Create(t.Context(), configMap("a")))
		m := s.manager(t)
		stop, _ := run(t, m)
		settle(time.Second)
		var r recorder[controller.Request]
		must(t, controller.ControllerManagedBy(m).For(&corev1.ConfigMap{}).Complete(&r))
		settle(time.Second)
		if got := names(r.all()); got != "a" {
			t.Errorf("reconciled %q", got)
		}
		must(t, stop())
	})
}

// cluster is a key that names a cluster as well.
type cluster struct {
	name string
	controller.Request
}

func TestKeysOfAnotherType(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		servers := map[string]*server{"east": newServer(t), "west": newServer(t)}
		var managers []*manager.Manager
		b := controller.NewBuilder[cluster](nil)
		var r recorder[cluster]
		for i, name := range []string{"east", "west"} {
			must(t, servers[name].client(t).Create(t.Context(), configMap("in-"+name)))
			managers = append(managers, servers[name].manager(t))
			if i == 0 {
				b = controller.NewBuilder[cluster](managers[0])
			}
			b.WatchesRawSource(controller.Kind(managers[i].GetCache(), &corev1.ConfigMap{},
				controller.EnqueueRequestsFromMapFunc(func(_ context.Context, o client.Object) []cluster {
					return []cluster{{name, controller.Request{NamespacedName: client.ObjectKeyFromObject(o)}}}
				})))
		}
		must(t, b.Named("both").Complete(&r))
		stopEast, _ := run(t, managers[0])
		stopWest, _ := run(t, managers[1])
		settle(time.Second)
		var got []string
		for _, key := range r.all() {
			got = append(got, key.name+":"+key.Name)
		}
		slices.Sort(got)
		if !slices.Equal(got, []string{"east:in-east", "west:in-west"}) {
			t.Errorf("reconciled %q", got)
		}
		must(t, stopEast())
		must(t, stopWest())
	})
}
