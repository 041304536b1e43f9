package controller_test

import (
	"context"
	"maps"
	"testing"
	"time"

	"governor/client"
	"governor/controller"
	"governor/envtest"
	"governor/manager"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// eventually bounds each wait: the machine may be loaded.
const eventually = 30 * time.Second

// startManager runs what build puts on a manager, until the test ends.
func startManager(t *testing.T, plane *envtest.ControlPlane, build func(*manager.Manager) error) {
	t.Helper()
	m, err := manager.New(plane.Config(), &manager.Options{Cache: detecting(t)})
	must(t, err)
	must(t, build(m))
	ctx, logs := logContext()
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- m.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		select {
		case err := <-done:
			if err != nil {
				t.Errorf("manager ended with %v", err)
			}
		case <-time.After(eventually):
			t.Error("manager does not stop")
		}
		if t.Failed() {
			t.Log(logs.String())
		}
	})
}

func wait[T client.Object](t *testing.T, c *client.Direct, obj T, satisfied func(T) bool) T {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), eventually)
	defer cancel()
	last, err := envtest.WaitFor(ctx, c, obj, satisfied)
	must(t, err)
	return last
}

// copier keeps a copy of each ConfigMap that is labelled copy=me.
type copier struct{ client.Client }

func (r copier) Reconcile(ctx context.Context, req controller.Request) (controller.Result, error) {
	source := &corev1.ConfigMap{}
	if err := r.Get(ctx, req.NamespacedName, source); err != nil {
		return controller.Result{}, client.IgnoreNotFound(err)
	}
	dest := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: source.Namespace, Name: source.Name + "-copy"}}
	if source.DeletionTimestamp != nil {
		if err := r.Delete(ctx, dest); client.IgnoreNotFound(err) != nil {
			return controller.Result{}, err
		}
		if controller.RemoveFinalizer(source, "test.governor.dev/copy") {
			return controller.Result{}, r.Update(ctx, source)
		}
		return controller.Result{}, nil
	}
	if controller.AddFinalizer(source, "test.governor.dev/copy") {
		return controller.Result{}, r.Update(ctx, source)
	}
	_, err := controller.CreateOrUpdate(ctx, r, dest, func() error {
		dest.Data = maps.Clone(source.Data)
		return controller.SetControllerReference(source, dest, r.Scheme())
	})
	return controller.Result{}, err
}

// One control plane serves them all: it takes seconds to start.
func TestE2EControllers(t *testing.T) {
	plane := envtest.RequireControlPlane(t, nil)
	c, err := client.New(plane.Config(), nil)
	must(t, err)
	t.Run("a copy follows its source", func(t *testing.T) { copyFollowsItsSource(t, plane, c) })
	t.Run("CreateOrUpdate of a Deployment writes once", func(t *testing.T) { createOrUpdateWritesOnce(t, c) })
	t.Run("owned objects lead to their owner", func(t *testing.T) { ownedObjectsLeadToTheirOwner(t, plane, c) })
}

func copyFollowsItsSource(t *testing.T, plane *envtest.ControlPlane, c *client.Direct) {
	marked, err := controller.LabelSelectorPredicate(metav1.LabelSelector{MatchLabels: map[string]string{"copy": "me"}})
	must(t, err)
	startManager(t, plane, func(m *manager.Manager) error {
		return controller.ControllerManagedBy(m).For(&corev1.ConfigMap{}, controller.WithPredicates(marked)).
			Owns(&corev1.ConfigMap{}).Complete(copier{m.GetClient()})
	})

	source := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a", Labels: map[string]string{"copy": "me"}}, Data: map[string]string{"k": "1"}}
	must(t, c.Create(t.Context(), source))
	dest := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a-copy"}}
	has := func(value string) func(*corev1.ConfigMap) bool {
		return func(d *corev1.ConfigMap) bool { return d != nil && d.Data["k"] == value }
	}
	dest = wait(t, c, dest, has("1"))

	must(t, c.Patch(t.Context(), source, client.RawPatch("application/merge-patch+json", []byte(`{"data":{"k":"2"}}`))))
	dest = wait(t, c, dest, has("2"))

	must(t, c.Patch(t.Context(), dest, client.RawPatch("application/merge-patch+json", []byte(`{"data":{"k":"by hand"}}`))))
	dest = wait(t, c, dest, has("2"))

	uid := dest.UID
	must(t, c.Delete(t.Context(), dest))
	dest = wait(t, c, dest, func(d *corev1.ConfigMap) bool { return d != nil && d.UID != uid })

	must(t, c.Delete(t.Context(), source))
	gone := func(o *corev1.ConfigMap) bool { return o == nil }
	wait(t, c, dest, gone)
	wait(t, c, source, gone)
}

// Case 53, where a real server fills in the defaults.
func createOrUpdateWritesOnce(t *testing.T, c *client.Direct) {
	replicas := int32(2)
	rv := ""
	for i := range 10 {
		d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}}
		result, err := controller.CreateOrUpdate(t.Context(), c, d, func() error {
			d.Spec.Replicas = &replicas
			if d.CreationTimestamp.IsZero() {
				d.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
				d.Spec.Template.Labels = map[string]string{"app": "web"}
				d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "web"}}
			}
			d.Spec.Template.Spec.Containers[0].Image = "web:1"
			return nil
		})
		want := controller.OperationResultNone
		if i == 0 {
			want = controller.OperationResultCreated
		}
		if err != nil || result != want {
			t.Fatalf("call %d: %s, %v, want %s", i, result, err, want)
		}
		if rv != "" && d.ResourceVersion != rv {
			t.Errorf("call %d: version %s, was %s", i, d.ResourceVersion, rv)
		}
		rv = d.ResourceVersion
	}

	// Replacing the template writes each time, and says so; the server changes nothing.
	for i := range 3 {
		d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}}
		result, err := controller.CreateOrUpdate(t.Context(), c, d, func() error {
			d.Spec.Template = corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web:1"}}}}
			return nil
		})
		if err != nil || result != controller.OperationResultUpdated || d.ResourceVersion != rv {
			t.Errorf("call %d: %s, %v, version %s, was %s", i, result, err, d.ResourceVersion, rv)
		}
	}

	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}}
	result, err := controller.CreateOrPatch(t.Context(), c, d, func() error {
		d.Spec.Paused = true
		d.Status.ObservedGeneration = d.Generation
		return nil
	})
	if err != nil || result != controller.OperationResultUpdatedStatus || !d.Spec.Paused || d.Status.ObservedGeneration == 0 {
		t.Errorf("CreateOrPatch: %s, %v, %+v", result, err, d.Status)
	}

	taken := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "taken"}}
	_, err = controller.CreateOrUpdate(t.Context(), c, taken, func() error {
		return c.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "taken"}})
	})
	if !apierrors.IsAlreadyExists(err) {
		t.Errorf("created meanwhile: %v", err)
	}
}

// The owner's kind and scope come from the real server's discovery.
func ownedObjectsLeadToTheirOwner(t *testing.T, plane *envtest.ControlPlane, c *client.Direct) {
	seen := make(chan controller.Request, 100)
	startManager(t, plane, func(m *manager.Manager) error {
		return controller.ControllerManagedBy(m).For(&corev1.Node{}).Owns(&corev1.ConfigMap{}, controller.MatchEveryOwner).Complete(
			controller.Func[controller.Request](func(_ context.Context, r controller.Request) (controller.Result, error) {
				seen <- r
				return controller.Result{}, nil
			}))
	})
	expect := func() {
		t.Helper()
		select {
		case r := <-seen:
			if r != request("", "n1") {
				t.Errorf("reconciled %v", r)
			}
		case <-time.After(eventually):
			t.Fatal("nothing reconciled")
		}
	}
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}
	must(t, c.Create(t.Context(), n))
	expect()
	child := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "child"}}
	must(t, controller.SetOwnerReference(n, child, c.Scheme()))
	must(t, c.Create(t.Context(), child))
	expect()
}
