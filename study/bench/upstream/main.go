// Command upstream is the bench's controller on controller-runtime.
package main

import (
	"context"

	"governor/study/bench/probe"
	"governor/study/bench/workload"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func main() { probe.Main(build) }

func build(cfg *rest.Config, v probe.Variant, reconciled func(namespace, name string)) (probe.Side, error) {
	ctrl.SetLogger(klog.Background()) // the logger that Governor has by default
	known := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(known); err != nil {
		return probe.Side{}, err
	}
	if v == probe.JSON {
		if err := workload.AddToScheme(known); err != nil {
			return probe.Side{}, err
		}
	}
	// No port of this host for metrics: Governor has none by default.
	mgr, err := ctrl.NewManager(cfg, ctrl.Options{
		Scheme:  known,
		Metrics: metricsserver.Options{BindAddress: "0"},
		// Otherwise the client asks the server for what is unstructured, though the
		// cache has it.
		Client: client.Options{Cache: &client.CacheOptions{Unstructured: true}},
	})
	if err != nil {
		return probe.Side{}, err
	}
	err = ctrl.NewControllerManagedBy(mgr).Named("bench").For(object(v)).Complete(
		reconcile.Func(func(_ context.Context, req reconcile.Request) (reconcile.Result, error) {
			reconciled(req.Namespace, req.Name)
			return reconcile.Result{}, nil
		}))
	version := func(ctx context.Context, namespace, name string) (string, error) {
		obj := object(v)
		err := mgr.GetCache().Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, obj)
		return obj.GetResourceVersion(), err
	}
	return probe.Side{Run: mgr.Start, Version: version, Reads: reads(mgr, v)}, err
}

// object is an empty one of what is read.
func object(v probe.Variant) client.Object {
	switch v {
	case probe.Protobuf:
		return &corev1.Pod{}
	case probe.JSON:
		return &workload.Workload{}
	default:
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(workload.GroupVersion.WithKind("Workload"))
		return u
	}
}
