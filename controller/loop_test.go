package controller_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"governor/client"
	"governor/controller"
	"governor/envtest"
	"governor/manager"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// run starts a manager, in a bubble. stop cancels it and returns Start's error.
func run(t *testing.T, m *manager.Manager) (stop func() error, done <-chan error) {
	t.Helper()
	ctx, _ := logContext()
	ctx, cancel := context.WithCancel(ctx)
	result := make(chan error, 1)
	go func() { result <- m.Start(ctx) }()
	t.Cleanup(cancel)
	return sync.OnceValue(func() error { cancel(); return <-result }), result
}

func configMap(name string, data ...string) *corev1.ConfigMap {
	c := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}, Data: map[string]string{}}
	for i := 0; i < len(data); i += 2 {
		c.Data[data[i]] = data[i+1]
	}
	return c
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func names(requests []controller.Request) string {
	var all []string
	for _, r := range requests {
		all = append(all, r.Name)
	}
	return strings.Join(all, " ")
}

// The whole way: server, informer, cache, source, handler, queue, Reconcile.
func TestEveryChangeIsReconciled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		c := s.client(t)
		must(t, c.Create(t.Context(), configMap("before", "k", "1")))
		m := s.manager(t)
		var saw journal[string]
		must(t, controller.ControllerManagedBy(m).For(&corev1.ConfigMap{}).Complete(
			controller.Func[controller.Request](func(ctx context.Context, r controller.Request) (controller.Result, error) {
				obj := &corev1.ConfigMap{}
				err := m.GetClient().Get(ctx, r.NamespacedName, obj)
				saw.add(fmt.Sprint(r.Name, "=", obj.Data["k"]))
				return controller.Result{}, client.IgnoreNotFound(err)
			})))
		stop, _ := run(t, m)
		settle(time.Second)
		must(t, c.Create(t.Context(), configMap("a", "k", "1")))
		settle(time.Second)
		must(t, c.Update(t.Context(), configMap("a", "k", "2")))
		settle(time.Second)
		must(t, c.Delete(t.Context(), configMap("a")))
		settle(time.Second)
		if got, want := strings.Join(saw.all(), " "), "before=1 a=1 a=2 a="; got != want {
			t.Errorf("reconciled %q, want %q", got, want)
		}
		must(t, stop())
	})
}

// Case 16.
func TestObjectMadeAnewDuringADisconnectIsReconciled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		c := s.client(t)
		p1, p2 := madeRef(t, c, "ReplicaSet", "p1", true), madeRef(t, c, "ReplicaSet", "p2", true)
		must(t, c.Create(t.Context(), ownedPod("x", p1)))
		relist := s.cutWatches(t, "pods")
		m := s.manager(t)
		var plain, generation, owners recorder[controller.Request]
		must(t, controller.ControllerManagedBy(m).Named("plain").For(&corev1.Pod{}).Complete(&plain))
		must(t, controller.ControllerManagedBy(m).Named("generation").
			For(&corev1.Pod{}, controller.WithPredicates(controller.GenerationChangedPredicate{})).Complete(&generation))
		must(t, controller.ControllerManagedBy(m).Named("owners").
			For(&appsv1.ReplicaSet{}, controller.WithPredicates(nothing)).Owns(&corev1.Pod{}).Complete(&owners))
		stop, _ := run(t, m)
		settle(time.Second)
		for _, r := range []*recorder[controller.Request]{&plain, &generation, &owners} {
			if len(r.all()) != 1 {
				t.Fatalf("reconciled %v at the start", r.all())
			}
		}

		must(t, c.Delete(t.Context(), ownedPod("x")))
		must(t, c.Create(t.Context(), ownedPod("x", p2)))
		relist()
		if got := names(plain.all()[1:]); got != "x" && got != "x x" {
			t.Errorf("the plain controller reconciled %q", got)
		}
		if got := names(generation.all()[1:]); got != "x" && got != "x x" {
			t.Errorf("the generation predicate let %q through", got)
		}
		got := owners.all()[1:]
		slices.SortFunc(got, func(a, b controller.Request) int { return strings.Compare(a.Name, b.Name) })
		if names(got) != "p1 p2" {
			t.Errorf("the owners reconciled were %q, want p1 and p2", names(got))
		}
		must(t, stop())
	})
}

// Case 18, and the same for a delete that was seen.
func TestDeleteEventHasTheObjectInItsForm(t *testing.T) {
	unstructuredPod := &unstructured.Unstructured{}
	unstructuredPod.SetAPIVersion("v1")
	unstructuredPod.SetKind("Pod")
	metadata := &metav1.PartialObjectMetadata{}
	metadata.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Pod"))
	for _, tt := range []struct {
		form  string
		watch client.Object
	}{
		{"*v1.Pod", &corev1.Pod{}},
		{"*unstructured.Unstructured", unstructuredPod},
		{"*v1.PartialObjectMetadata", metadata},
	} {
		for _, missed := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/missed=%v", tt.form, missed), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := newServer(t)
					c := s.client(t)
					x := pod("ns", "x", func(p *corev1.Pod) { p.ResourceVersion, p.Labels = "", map[string]string{"l": "1"} })
					must(t, c.Create(t.Context(), x))
					relist := func() { settle(time.Second) }
					if missed {
						relist = s.cutWatches(t, "pods")
					}
					m := s.manager(t)
					_, err := m.GetCache().GetInformer(t.Context(), &corev1.Pod{}) // somebody else has the kind stored typed
					must(t, err)
					var asked, told journal[string]
					describe := func(e controller.DeleteEvent) string {
						return fmt.Sprintf("%T %s l=%s unknown=%v", e.Object, e.Object.GetName(), e.Object.GetLabels()["l"], e.DeleteStateUnknown)
					}
					var r recorder[controller.Request]
					must(t, controller.ControllerManagedBy(m).Named("deletes").Watches(tt.watch, controller.HandlerFuncs[controller.Request]{
						DeleteFunc: func(ctx context.Context, e controller.DeleteEvent, q controller.Adder[controller.Request]) {
							told.add(describe(e))
							q.Add(controller.Request{NamespacedName: client.ObjectKeyFromObject(e.Object)})
						},
					}, controller.WithPredicates(controller.PredicateFuncs{DeleteFunc: func(e controller.DeleteEvent) bool {
						asked.add(describe(e))
						return true
					}})).Complete(&r))
					stop, _ := run(t, m)
					settle(time.Second)
					must(t, c.Delete(t.Context(), x))
					relist()
					want := []string{fmt.Sprintf("%s x l=1 unknown=%v", tt.form, missed)}
					if !slices.Equal(told.all(), want) || !slices.Equal(asked.all(), want) {
						t.Errorf("handler was told %q, predicate asked %q, want %q", told.all(), asked.all(), want)
					}
					if names(r.all()) != "x" {
						t.Errorf("reconciled %q", names(r.all()))
					}
					must(t, stop())
				})
			})
		}
	}
}

// Case 23b and 23c.
func TestForbiddenKindEndsTheManagerWithTheReason(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "", errors.New("no RBAC"))
	build := func(t *testing.T) (m *manager.Manager, permit func()) {
		s := newServer(t)
		permit = s.Inject(envtest.Match{Resource: "secrets"}, envtest.Fault{Err: forbidden})
		m = s.manager(t)
		must(t, controller.ControllerManagedBy(m).Named("reads-secrets").For(&corev1.Secret{}).
			WithOptions(controller.Options[controller.Request]{CacheSyncTimeout: 5 * time.Second}).Complete(&recorder[controller.Request]{}))
		return m, permit
	}
	t.Run("after the timeout", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			m, _ := build(t)
			begin := time.Now()
			_, done := run(t, m)
			err := <-done
			if took := time.Since(begin); took < 5*time.Second || took > 6*time.Second {
				t.Errorf("it took %v", took)
			}
			for _, want := range []string{`controller "reads-secrets"`, "Secret", "5s", "no RBAC"} {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("error has no %q: %v", want, err)
				}
			}
		})
	})
	t.Run("not when the manager stops before", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			m, _ := build(t)
			stop, _ := run(t, m)
			time.Sleep(time.Second)
			if err := stop(); err != nil {
				t.Errorf("Start returned %v", err)
			}
		})
	})
	t.Run("not when the permission comes in time", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			m, permit := build(t)
			stop, done := run(t, m)
			time.Sleep(time.Second)
			permit()
			time.Sleep(time.Minute)
			select {
			case err := <-done:
				t.Fatalf("Start returned %v", err)
			default:
			}
			must(t, stop())
		})
	})
}

// Case 38; contract 6.
func TestKindWatchedFromInsideReconcile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		c := s.client(t)
		must(t, c.Create(t.Context(), configMap("first")))
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "hidden"}}
		must(t, c.Create(t.Context(), secret))
		m := s.manager(t)
		var r recorder[controller.Request]
		var self *controller.Controller[controller.Request]
		handles := make(chan *controller.WatchHandle, 1)
		self, err := controller.ControllerManagedBy(m).For(&corev1.ConfigMap{}).Build(
			controller.Func[controller.Request](func(ctx context.Context, key controller.Request) (controller.Result, error) {
				if key.Name == "first" {
					h, err := self.Watch(controller.Kind(m.GetCache(), &corev1.Secret{}, controller.EnqueueRequestForObject{}))
					if err != nil {
						return controller.Result{}, err
					}
					handles <- h
				}
				return r.Reconcile(ctx, key)
			}))
		must(t, err)
		stop, _ := run(t, m)
		h := <-handles
		<-h.Synced()
		settle(time.Second)
		if got := names(r.all()); got != "first hidden" {
			t.Errorf("reconciled %q", got)
		}
		h.Stop()
		must(t, c.Delete(t.Context(), secret))
		must(t, c.Create(t.Context(), configMap("second")))
		settle(time.Second)
		if got := names(r.all()); got != "first hidden second" {
			t.Errorf("reconciled %q after the watch was stopped", got)
		}
		must(t, stop())
	})
}

// Case 39; contract 10.
func TestControllerNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		build := func(m *manager.Manager, change ...func(*controller.Options[controller.Request])) error {
			o := controller.Options[controller.Request]{}
			for _, c := range change {
				c(&o)
			}
			return controller.ControllerManagedBy(m).For(&corev1.ConfigMap{}).WithOptions(o).Complete(&recorder[controller.Request]{})
		}
		m, other := s.manager(t), s.manager(t)
		must(t, build(m))
		if err := build(m); err == nil || !strings.Contains(err.Error(), `"configmap"`) {
			t.Errorf("a second controller of the name: %v", err)
		}
		must(t, build(other)) // another manager, another set of names
		skip := true
		must(t, build(m, func(o *controller.Options[controller.Request]) { o.SkipNameValidation = &skip }))

		// The name is free again when its controller has ended.
		single, err := controller.NewUnmanaged("single", &recorder[controller.Request]{}, nil)
		must(t, err)
		handle, err := m.Add(single)
		must(t, err)
		stop, _ := run(t, m)
		settle(time.Second)
		if _, err := controller.New("single", m, &recorder[controller.Request]{}, nil); err == nil {
			t.Error("the name of a running controller was given away")
		}
		must(t, handle.Stop(t.Context()))
		_, err = controller.New("single", m, &recorder[controller.Request]{}, nil)
		must(t, err)
		settle(time.Second)
		must(t, stop())
	})
}

// Case 42d, through the manager.
func TestManagerStopAwaitsTheReconcileInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		c := s.client(t)
		must(t, c.Create(t.Context(), configMap("a")))
		must(t, c.Create(t.Context(), configMap("b")))
		m := s.manager(t)
		var began, ended journal[string]
		must(t, controller.ControllerManagedBy(m).For(&corev1.ConfigMap{}).Complete(
			controller.Func[controller.Request](func(ctx context.Context, key controller.Request) (controller.Result, error) {
				began.add(key.Name)
				<-ctx.Done()
				time.Sleep(time.Second)
				ended.add(key.Name)
				return controller.Result{}, nil
			})))
		stop, _ := run(t, m)
		settle(time.Second)
		must(t, stop())
		if len(began.all()) != 1 || len(ended.all()) != 1 {
			t.Errorf("%q began, %q ended", began.all(), ended.all())
		}
	})
}

// Contract 8.
func TestWhatHappensGoesBeforeTheInitialList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		c := s.client(t)
		for i := range 5 {
			must(t, c.Create(t.Context(), configMap(fmt.Sprint("old-", i))))
		}
		m := s.manager(t)
		var r recorder[controller.Request]
		must(t, controller.ControllerManagedBy(m).For(&corev1.ConfigMap{}).Complete(
			controller.Func[controller.Request](func(ctx context.Context, key controller.Request) (controller.Result, error) {
				time.Sleep(time.Second)
				return r.Reconcile(ctx, key)
			})))
		stop, _ := run(t, m)
		settle(100 * time.Millisecond)
		must(t, c.Create(t.Context(), configMap("new")))
		settle(time.Minute)
		if got := names(r.all()); got != "old-0 new old-1 old-2 old-3 old-4" {
			t.Errorf("reconciled %q", got)
		}
		must(t, stop())
	})
}

// measured returns the manager's series that have a controller's name: their
// names and values.
func measured(t *testing.T, m *manager.Manager, controller string) map[string]float64 {
	t.Helper()
	families, err := m.Metrics().Registry().Gather()
	must(t, err)
	series := map[string]float64{}
	for _, f := range families {
		for _, metric := range f.Metric {
			for _, label := range metric.Label {
				if label.GetValue() == controller {
					series[f.GetName()] += metric.GetCounter().GetValue() + metric.GetGauge().GetValue()
					break // queues have it as two labels
				}
			}
		}
	}
	return series
}

// Contract 10: names and series are those of a controller that runs.
func TestSeriesComeAndGoWithTheController(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newServer(t).manager(t)
		c, err := controller.NewUnmanaged("elsewhere", &recorder[string]{}, nil) // no series of ours
		must(t, err)
		_, err = c.Watch(source("a"))
		must(t, err)
		_, err = m.Add(c)
		must(t, err)
		slow := controller.Func[string](func(ctx context.Context, key string) (controller.Result, error) {
			if key == "slow" {
				<-ctx.Done()
			}
			return controller.Result{}, nil
		})
		ours, err := controller.New("measured", m, slow, nil)
		must(t, err)
		_, err = ours.Watch(source("a", "b", "slow"))
		must(t, err)
		if got := measured(t, m, "measured"); len(got) != 0 {
			t.Errorf("before it runs there are %v", got)
		}

		stop, _ := run(t, m)
		settle(3 * time.Second)
		got := measured(t, m, "measured")
		for name, want := range map[string]float64{
			"controller_runtime_reconcile_total":           2,
			"controller_runtime_active_workers":            1,
			"controller_runtime_max_concurrent_reconciles": 1,
			"workqueue_adds_total":                         3,
			"workqueue_unfinished_work_seconds":            3,
		} {
			if got[name] != want {
				t.Errorf("%s is %v, want %v", name, got[name], want)
			}
		}
		if got := measured(t, m, "elsewhere"); len(got) != 0 {
			t.Errorf("an unmanaged controller has series: %v", got)
		}
		must(t, stop())
		if got := measured(t, m, "measured"); len(got) != 0 {
			t.Errorf("after its end there are %v", got)
		}
	})
}
