package main

import (
	"context"

	"governor/study/bench/probe"
	"governor/study/bench/workload"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func reads(mgr ctrl.Manager, v probe.Variant) probe.Reads {
	c := mgr.GetClient()
	// A slice that is made once, so that a read need not.
	shared, into := []client.GetOption{client.UnsafeDisableDeepCopy}, object(v)
	list := func(ctx context.Context, opts ...client.ListOption) (client.ObjectList, error) {
		all := listOf(v)
		return all, c.List(ctx, all, opts...)
	}
	return probe.Reads{
		Get: func(ctx context.Context, namespace, name string) error {
			return c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, object(v))
		},
		Shared: func(ctx context.Context, namespace, name string) error {
			return c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, into, shared...)
		},
		Labelled: func(ctx context.Context, labels map[string]string) (int, error) {
			all, err := list(ctx, client.MatchingLabels(labels))
			return meta.LenList(all), err
		},
		Namespaced: func(ctx context.Context, namespace string) (int, error) {
			all, err := list(ctx, client.InNamespace(namespace))
			return meta.LenList(all), err
		},
		All: func(ctx context.Context, look func(namespace, name string)) (int, error) {
			all, err := list(ctx, client.UnsafeDisableDeepCopy)
			if look != nil {
				each(all, look)
			}
			return meta.LenList(all), err
		},
	}
}

// each looks at the items of a list, the quickest way that there is.
func each(list client.ObjectList, look func(namespace, name string)) {
	switch l := list.(type) {
	case *corev1.PodList:
		for i := range l.Items {
			look(l.Items[i].Namespace, l.Items[i].Name)
		}
	case *workload.WorkloadList:
		for i := range l.Items {
			look(l.Items[i].Namespace, l.Items[i].Name)
		}
	case *unstructured.UnstructuredList:
		for i := range l.Items {
			look(l.Items[i].GetNamespace(), l.Items[i].GetName())
		}
	}
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
