package envtest_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"governor/client"
	"governor/controller"
	"governor/envtest"
	"governor/manager"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// thing is a Settler of which each question is answered by a function.
type thing struct {
	settled  func() bool
	caughtUp func() error
}

func (s *thing) Settled() bool                  { return s.settled() }
func (s *thing) Unsettled() string              { return "the thing is busy" }
func (s *thing) CaughtUp(context.Context) error { return s.caughtUp() }

func startEnvironment(t *testing.T, o *envtest.EnvironmentOptions) *envtest.Environment {
	t.Helper()
	e := envtest.NewEnvironment(o)
	if err := e.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return e
}

// Contract 27.
func TestSettle(t *testing.T) {
	yes := func() bool { return true }
	current := func() error { return nil }
	for name, tt := range map[string]struct {
		thing func(c *client.Direct, looks *int) *thing
		err   string // or none
		looks int    // how often it had to be looked at, at least
	}{
		"idle": {thing: func(*client.Direct, *int) *thing { return &thing{yes, current} }},
		"busy": {func(*client.Direct, *int) *thing { return &thing{func() bool { return false }, current} }, "the thing is busy", 0},
		"busy for a while": {thing: func(_ *client.Direct, looks *int) *thing {
			return &thing{func() bool { *looks++; return *looks > 20 }, current}
		}, looks: 21},
		"behind": {func(*client.Direct, *int) *thing {
			return &thing{yes, func() error { return errors.New("a is missing") }}
		}, "a is missing", 0},
		// It has seen all, which makes it busy.
		"busy with what it has caught up with": {thing: func(_ *client.Direct, looks *int) *thing {
			busy := 0
			return &thing{
				func() bool { busy = max(0, busy-1); return busy == 0 },
				func() error {
					if *looks++; *looks < 3 {
						busy = 3
					}
					return nil
				}}
		}, looks: 3},
		"one that writes all the time": {func(c *client.Direct, looks *int) *thing {
			return &thing{yes, func() error { *looks++; return c.Create(context.Background(), newMap(fmt.Sprint("m", *looks))) }}
		}, "the server has been written to", 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := startEnvironment(t, &envtest.EnvironmentOptions{Cluster: envtest.InMemory})
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				looks := 0
				err := e.Settle(ctx, tt.thing(newClient(t, e.Config()), &looks))
				if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
					t.Errorf("%v, want %q", err, tt.err)
				}
				if looks < tt.looks {
					t.Errorf("looked at %d times, want at least %d", looks, tt.looks)
				}
				if tt.err != "" && !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("%v does not say that the time is up", err)
				}
			})
		})
	}
	if err := envtest.NewEnvironment(nil).Settle(t.Context()); err == nil || !strings.Contains(err.Error(), "not running") {
		t.Errorf("before the start: %v", err)
	}
}

// Who is fed by another thing may be named before it.
func TestSettleWhateverTheOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := startEnvironment(t, &envtest.EnvironmentOptions{Cluster: envtest.InMemory})
		busy, looks := 0, 0
		eater := &thing{func() bool { busy = max(0, busy-1); return busy == 0 }, func() error { return nil }}
		feeder := &thing{func() bool {
			if looks++; looks == 2 {
				busy = 3
			}
			return true
		}, func() error { return nil }}
		if err := e.Settle(t.Context(), eater, feeder); err != nil || busy > 0 || looks < 4 {
			t.Errorf("%v; the eater has %d to do, after %d looks", err, busy, looks)
		}
	})
}

// link is a Reconciler that makes of each ConfigMap the next one of a chain, and counts them
// in the first one, so that it hears of its own writes too.
type link struct {
	client.Client
	last string
}

func (l link) Reconcile(ctx context.Context, r controller.Request) (controller.Result, error) {
	obj := &corev1.ConfigMap{}
	if err := l.Get(ctx, r.NamespacedName, obj); err != nil || obj.Namespace != "default" || !strings.HasPrefix(obj.Name, "link") || obj.Name == l.last {
		return controller.Result{}, client.IgnoreNotFound(err)
	}
	next := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: obj.Namespace, Name: obj.Name + "x"}}
	_, err := controller.CreateOrUpdate(ctx, l, next, func() error {
		next.Data = maps.Clone(obj.Data)
		return nil
	})
	return controller.Result{RequeueAfter: time.Hour}, err
}

// checkSettle starts a controller, and sees after each Settle all that follows from a write.
func checkSettle(t *testing.T, e *envtest.Environment) {
	t.Helper()
	m, err := manager.New(e.Config(), nil)
	if err != nil {
		t.Fatal(err)
	}
	last := "link" + strings.Repeat("x", 10)
	if err := controller.ControllerManagedBy(m).For(&corev1.ConfigMap{}).Complete(link{m.GetClient(), last}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- m.Start(ctx) }()
	c := newClient(t, e.Config())
	obj := newMap("link")
	if err := c.Create(t.Context(), obj); err != nil {
		t.Fatal(err)
	}
	for i := range 10 {
		value := fmt.Sprint(i)
		obj.Data = map[string]string{"k": value}
		if err := c.Update(t.Context(), obj); err != nil {
			t.Fatal(err)
		}
		within, cancel := context.WithTimeout(t.Context(), time.Minute)
		if err := e.Settle(within, m); err != nil {
			t.Fatal(err)
		}
		cancel()
		got := &corev1.ConfigMap{}
		if err := c.Get(t.Context(), mapKey(last), got); err != nil || got.Data["k"] != value {
			t.Fatalf("settled with %v at the end of the chain, %v; want %s", got.Data, err, value)
		}
	}
	if err := c.Delete(t.Context(), newMap(last)); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestSettleOfAManager(t *testing.T) {
	t.Run("in a bubble", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			checkSettle(t, startEnvironment(t, &envtest.EnvironmentOptions{Cluster: envtest.InMemory}))
		})
	})
	t.Run("in memory", func(t *testing.T) {
		checkSettle(t, envtest.RequireEnvironment(t, &envtest.EnvironmentOptions{Cluster: envtest.InMemory}))
	})
	t.Run("in a cluster", func(t *testing.T) {
		l, err := envtest.NewServer(nil).Listen("127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
		if err := l.WriteKubeconfig(kubeconfig); err != nil {
			t.Fatal(err)
		}
		t.Setenv("KUBECONFIG", kubeconfig)
		checkSettle(t, envtest.RequireEnvironment(t, &envtest.EnvironmentOptions{Cluster: envtest.ExistingCluster}))
	})
}

func TestE2ESettle(t *testing.T) {
	o := &envtest.EnvironmentOptions{
		Cluster:      envtest.RealControlPlane,
		ControlPlane: &envtest.ControlPlaneOptions{ControllerManager: true},
	}
	checkSettle(t, envtest.RequireEnvironment(t, o))
}
