package clients

import (
	"context"
	"testing"
	"time"

	"governor/envtest"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

func configMap(name string, data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Data: data}
}

// client-go's typed clientset: each verb once.
func TestClientset(t *testing.T) {
	cs, err := kubernetes.NewForConfig(envtest.NewServer(nil).Config())
	if err != nil {
		t.Fatal(err)
	}
	ctx, maps := t.Context(), cs.CoreV1().ConfigMaps("default")

	made, err := maps.Create(ctx, configMap("a", map[string]string{"k": "1"}), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if made.UID == "" || made.ResourceVersion == "" || made.CreationTimestamp.IsZero() {
		t.Errorf("created %+v", made.ObjectMeta)
	}
	if _, err := maps.Create(ctx, configMap("a", nil), metav1.CreateOptions{}); !apierrors.IsAlreadyExists(err) {
		t.Errorf("second create: %v", err)
	}
	stale := made.DeepCopy()
	made.Data["k"] = "2"
	if made, err = maps.Update(ctx, made, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	stale.Data["k"] = "3"
	if _, err := maps.Update(ctx, stale, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
		t.Errorf("stale update: %v", err)
	}
	patched, err := maps.Patch(ctx, "a", types.StrategicMergePatchType, []byte(`{"metadata":{"labels":{"app":"x"}}}`), metav1.PatchOptions{})
	if err != nil || patched.Labels["app"] != "x" || patched.Data["k"] != "2" {
		t.Errorf("patched %+v, %v", patched, err)
	}
	applied, err := maps.Apply(ctx, corev1ac.ConfigMap("a", "default").WithData(map[string]string{"mine": "yes"}), metav1.ApplyOptions{FieldManager: "me"})
	if err != nil || applied.Data["mine"] != "yes" || applied.Data["k"] != "2" {
		t.Errorf("applied %+v, %v", applied, err)
	}
	_, err = maps.Apply(ctx, corev1ac.ConfigMap("a", "default").WithData(map[string]string{"k": "9"}), metav1.ApplyOptions{FieldManager: "me"})
	if !apierrors.IsConflict(err) {
		t.Errorf("apply of another's field: %v", err)
	}
	list, err := maps.List(ctx, metav1.ListOptions{LabelSelector: "app=x"})
	if err != nil || len(list.Items) != 1 {
		t.Errorf("list %+v, %v", list, err)
	}
	if err := maps.Delete(ctx, "a", metav1.DeleteOptions{}); err != nil {
		t.Error(err)
	}
	if _, err := maps.Get(ctx, "a", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("get after delete: %v", err)
	}
	if version, err := cs.Discovery().ServerVersion(); err != nil || version.Major != "1" {
		t.Errorf("version %v, %v", version, err)
	}
	if _, resources, err := cs.Discovery().ServerGroupsAndResources(); err != nil || len(resources) < 10 {
		t.Errorf("%d resource lists, %v", len(resources), err)
	}
}

// client-go's shared informer: what was there, what comes, changes and goes.
func TestInformer(t *testing.T) {
	cs, err := kubernetes.NewForConfig(envtest.NewServer(nil).Config())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	maps := cs.CoreV1().ConfigMaps("default")
	if _, err := maps.Create(ctx, configMap("early", nil), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	factory := informers.NewSharedInformerFactoryWithOptions(cs, 0, informers.WithNamespace("default"))
	informer := factory.Core().V1().ConfigMaps().Informer()
	events := make(chan string, 100)
	tell := func(what string, obj any) { events <- what + " " + obj.(*corev1.ConfigMap).Name }
	_, err = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { tell("add", obj) },
		UpdateFunc: func(_, obj any) { tell("update", obj) },
		DeleteFunc: func(obj any) { tell("delete", obj) },
	})
	if err != nil {
		t.Fatal(err)
	}
	factory.Start(ctx.Done())
	defer func() { cancel(); factory.Shutdown() }()
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		t.Fatal("the informer does not sync")
	}
	late, err := maps.Create(ctx, configMap("late", nil), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	late.Data = map[string]string{"a": "b"}
	if _, err := maps.Update(ctx, late, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := maps.Delete(ctx, "late", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"add early", "add late", "update late", "delete late"} {
		select {
		case got := <-events:
			if got != want {
				t.Errorf("heard %q, want %q", got, want)
			}
		case <-ctx.Done():
			t.Fatalf("did not hear %q", want)
		}
	}
}
