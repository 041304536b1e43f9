package controller_test

import (
	"context"
	"errors"
	"fmt"

	"governor/client"
	"governor/controller"
	"governor/manager"
	"governor/scheme"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// labeller puts a label on every ConfigMap.
type labeller struct {
	client.Client
	done func()
}

func (l labeller) Reconcile(ctx context.Context, req controller.Request) (controller.Result, error) {
	configMap := &corev1.ConfigMap{}
	if err := l.Get(ctx, req.NamespacedName, configMap); err != nil {
		return controller.Result{}, client.IgnoreNotFound(err) // deleted meanwhile
	}
	if configMap.Labels["seen"] == "yes" {
		fmt.Println(req, "has its label")
		l.done()
		return controller.Result{}, nil
	}
	fmt.Println(req, "needs its label")
	base := configMap.DeepCopy()
	metav1.SetMetaDataLabel(&configMap.ObjectMeta, "seen", "yes")
	return controller.Result{}, l.Patch(ctx, configMap, client.MergeFrom(base))
}

// A whole controller: its own write is an event too, which leads to the second
// call.
func Example() {
	cfg, ctx := exampleServer() // elsewhere: client.GetConfig("") and manager.SignalContext
	ctx, cancel := context.WithCancel(ctx)

	mgr, err := manager.New(cfg, nil)
	if err != nil {
		panic(err)
	}
	err = controller.ControllerManagedBy(mgr).
		For(&corev1.ConfigMap{}).
		Complete(labeller{Client: mgr.GetClient(), done: cancel})
	if err != nil {
		panic(err)
	}
	if err := mgr.Start(ctx); err != nil {
		panic(err)
	}
	// Output:
	// default/settings needs its label
	// default/settings has its label
}

func ExampleTerminalError() {
	err := controller.TerminalError(errors.New("spec.size is negative"))
	fmt.Println(err)
	fmt.Println(errors.Is(err, controller.TerminalError(nil)))
	// Output:
	// terminal error: spec.size is negative
	// true
}

func ExampleOr() {
	p := controller.Or(controller.GenerationChangedPredicate{}, controller.LabelChangedPredicate{})
	before := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Generation: 1}}
	after := before.DeepCopy()
	after.Status.Phase = corev1.PodRunning
	fmt.Println(p.Update(controller.UpdateEvent{ObjectOld: before, ObjectNew: after}))
	after.Labels = map[string]string{"app": "web"}
	fmt.Println(p.Update(controller.UpdateEvent{ObjectOld: before, ObjectNew: after}))
	// Output:
	// false
	// true
}

func ExampleSetControllerReference() {
	s := scheme.Builtin()
	first := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "1"}}
	madeAnew := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "2"}}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web-0"}}

	fmt.Println(controller.SetControllerReference(first, pod, s))
	fmt.Println(controller.SetControllerReference(madeAnew, pod, s))
	// Output:
	// <nil>
	// object default/web-0 is controlled by ReplicaSet web (UID 1) already
}
