// Command governor is the bench's controller on Governor.
package main

import (
	"context"

	"governor/cache"
	"governor/client"
	"governor/controller"
	"governor/manager"
	"governor/scheme"
	"governor/study/bench/probe"
	"governor/study/bench/workload"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
)

func main() { probe.Main(build) }

func build(cfg *rest.Config, v probe.Variant, reconciled func(namespace, name string)) (probe.Side, error) {
	known := scheme.Builtin()
	if v == probe.JSON { // a scheme that has the type makes Governor keep typed objects
		if err := known.Install(workload.AddToScheme); err != nil {
			return probe.Side{}, err
		}
	}
	options := &manager.Options{Scheme: known}
	if v == probe.Compact {
		options.Cache.DefaultTier = cache.Compact
	}
	mgr, err := manager.New(cfg, options)
	if err != nil {
		return probe.Side{}, err
	}
	err = controller.ControllerManagedBy(mgr).Named("bench").For(object(v)).Complete(
		controller.Func[controller.Request](func(_ context.Context, req controller.Request) (controller.Result, error) {
			reconciled(req.Namespace, req.Name)
			return controller.Result{}, nil
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
	case probe.Protobuf, probe.Compact:
		return &corev1.Pod{}
	case probe.JSON:
		return &workload.Workload{}
	default:
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(workload.GroupVersion.WithKind("Workload"))
		return u
	}
}
