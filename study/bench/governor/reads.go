package main

import (
	"context"

	"governor/cache"
	"governor/client"
	"governor/manager"
	"governor/study/bench/probe"
	"governor/study/bench/workload"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func reads(mgr *manager.Manager, v probe.Variant) probe.Reads {
	c := mgr.GetClient()
	// A slice that is made once, so that a read need not.
	shared, into := []client.GetOption{client.UnsafeDisableDeepCopy}, object(v)
	list := func(ctx context.Context, opts ...client.ListOption) (int, error) {
		all := listOf(v)
		err := c.List(ctx, all, opts...)
		return meta.LenList(all), err
	}
	return probe.Reads{
		Get: func(ctx context.Context, namespace, name string) error {
			return c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, object(v))
		},
		Shared: func(ctx context.Context, namespace, name string) error {
			return c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, into, shared...)
		},
		Labelled: func(ctx context.Context, labels map[string]string) (int, error) {
			return list(ctx, client.MatchingLabels(labels))
		},
		Namespaced: func(ctx context.Context, namespace string) (int, error) {
			return list(ctx, client.InNamespace(namespace))
		},
		All: func(ctx context.Context, look func(namespace, name string)) (int, error) {
			switch of := object(v).(type) {
			case *corev1.Pod:
				return each(ctx, mgr.GetCache(), of, look)
			case *workload.Workload:
				return each(ctx, mgr.GetCache(), of, look)
			default:
				return each(ctx, mgr.GetCache(), of.(*unstructured.Unstructured), look)
			}
		},
	}
}

func each[T client.Object](ctx context.Context, c *cache.Cache, of T, look func(namespace, name string)) (n int, err error) {
	for obj, err := range cache.Each(ctx, c, of) {
		if err != nil {
			return n, err
		}
		if n++; look != nil {
			look(obj.GetNamespace(), obj.GetName())
		}
	}
	return n, nil
}

// listOf is an empty list of what is read.
func listOf(v probe.Variant) client.ObjectList {
	switch v {
	case probe.Protobuf:
		return &corev1.PodList{}
	case probe.JSON:
		return &workload.WorkloadList{}
	default:
		u := &unstructured.UnstructuredList{}
		u.SetGroupVersionKind(workload.GroupVersion.WithKind("WorkloadList"))
		return u
	}
}
