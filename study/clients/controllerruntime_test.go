package clients

import (
	"context"
	"testing"
	"time"

	"governor/envtest"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// mirror keeps a Secret beside each ConfigMap that asks for one, and owns it.
type mirror struct{ client.Client }

func (m mirror) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	source := &corev1.ConfigMap{}
	if err := m.Get(ctx, req.NamespacedName, source); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if source.Labels["mirror"] == "" {
		return ctrl.Result{}, nil
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: source.Namespace, Name: source.Name}}
	_, err := controllerutil.CreateOrUpdate(ctx, m.Client, secret, func() error {
		secret.StringData = source.Data
		return controllerutil.SetControllerReference(source, secret, m.Scheme())
	})
	return ctrl.Result{}, err
}

// controller-runtime's manager, cache and client, with a controller that owns
// what it makes: a deleted copy comes back, and goes with its owner.
func TestControllerRuntime(t *testing.T) {
	ctrl.SetLogger(logr.Discard())
	server := envtest.NewServer(nil)
	mgr, err := ctrl.NewManager(server.Config(), ctrl.Options{Metrics: metricsserver.Options{BindAddress: "0"}})
	if err != nil {
		t.Fatal(err)
	}
	err = ctrl.NewControllerManagedBy(mgr).For(&corev1.ConfigMap{}).Owns(&corev1.Secret{}).Complete(mirror{mgr.GetClient()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	defer func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()

	c, err := client.NewWithWatch(server.Config(), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	source := configMap("settings", map[string]string{"a": "b"})
	source.Labels = map[string]string{"mirror": "yes"}
	if err := c.Create(ctx, source); err != nil {
		t.Fatal(err)
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "settings"}}
	await := func(what string, want bool) {
		t.Helper()
		for {
			err := c.Get(ctx, client.ObjectKeyFromObject(secret), secret)
			if client.IgnoreNotFound(err) != nil {
				t.Fatal(err)
			}
			if (err == nil) == want {
				return
			}
			select {
			case <-ctx.Done():
				t.Fatalf("%s: it does not", what)
			case <-time.After(10 * time.Millisecond): // a poll, bounded by ctx
			}
		}
	}
	await("the copy comes", true)
	if string(secret.Data["a"]) != "b" || !metav1.IsControlledBy(secret, source) {
		t.Errorf("the copy is %+v", secret)
	}
	if err := c.Delete(ctx, secret); err != nil {
		t.Fatal(err)
	}
	await("the copy comes back", true)
	if err := c.Delete(ctx, source); err != nil {
		t.Fatal(err)
	}
	await("the copy goes with its owner", false)
}
