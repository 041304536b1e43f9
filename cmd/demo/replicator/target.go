package replicator

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"governor/client"
	"governor/cmd/demo/v1alpha1"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"
)

// problem is why a Replica's wish cannot be followed: the reason and message of
// its condition. It is mended by an event, not by a retry.
type problem struct{ reason, message string }

// target is a namespace that a Replica chooses.
type target struct {
	namespace string
	ready     bool // it exists, and is not on its way out
}

// choice is which namespaces a Replica's spec chooses.
type choice struct {
	own      string // the Replica's namespace holds the source, never a copy
	selector labels.Selector
	names    []string
}

// choose reads a Replica's choice, or says what is wrong with it.
func choose(replica *v1alpha1.Replica) (*choice, *problem) {
	selector, err := metav1.LabelSelectorAsSelector(replica.Spec.NamespaceSelector)
	if err != nil {
		return nil, &problem{v1alpha1.ReasonInvalidSelector, fmt.Sprintf("spec.namespaceSelector: %v", err)}
	}
	for i, name := range replica.Spec.Namespaces {
		if faults := validation.IsDNS1123Label(name); len(faults) > 0 {
			return nil, &problem{v1alpha1.ReasonInvalidNamespace,
				fmt.Sprintf("spec.namespaces[%d]: %q cannot be a namespace: %s", i, name, strings.Join(faults, "; "))}
		}
	}
	return &choice{own: replica.Namespace, selector: selector, names: replica.Spec.Namespaces}, nil
}

// includes says whether a namespace is chosen.
func (c *choice) includes(namespace *corev1.Namespace) bool {
	return namespace.Name != c.own &&
		(slices.Contains(c.names, namespace.Name) || c.selector.Matches(labels.Set(namespace.Labels)))
}

// targets returns the chosen namespaces by name, with those that are named but missing.
func (c *choice) targets(ctx context.Context, reader client.Reader) ([]target, error) {
	var namespaces corev1.NamespaceList
	if err := reader.List(ctx, &namespaces); err != nil {
		return nil, fmt.Errorf("list namespaces: %w", err)
	}
	missing := map[string]bool{}
	for _, name := range c.names {
		missing[name] = name != c.own
	}
	var targets []target
	for i := range namespaces.Items {
		namespace := &namespaces.Items[i]
		delete(missing, namespace.Name)
		if c.includes(namespace) {
			targets = append(targets, target{namespace.Name, namespace.DeletionTimestamp.IsZero()})
		}
	}
	for name, wanted := range missing {
		if wanted {
			targets = append(targets, target{name, false})
		}
	}
	slices.SortFunc(targets, func(a, b target) int { return strings.Compare(a.namespace, b.namespace) })
	return targets, nil
}
