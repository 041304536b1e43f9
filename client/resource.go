package client

import (
	"context"
	"iter"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// Resource is one kind, in one form, at one server.
type Resource struct{}

// Namespaced says whether the kind lives in namespaces.
func (r *Resource) Namespaced() bool { panic("skeleton") }

// ListWatch lists and watches a Resource within one scope. It implements informer.ListWatcher.
type ListWatch struct {
	Resource *Resource
	// Namespace; empty means all of them.
	Namespace string
	// LabelSelector and FieldSelector in the server's syntax; empty selects everything.
	LabelSelector, FieldSelector string
}

// List requests one page and hands over its objects one by one, until yield returns false.
func (l *ListWatch) List(ctx context.Context, opts metav1.ListOptions, yield func(Object, error) bool) (metav1.ListMeta, error) {
	panic("skeleton")
}

// Watch yields the events of one stream, then its error, if it did not end well.
func (l *ListWatch) Watch(ctx context.Context, opts metav1.ListOptions) iter.Seq2[Event, error] {
	panic("skeleton")
}

// Event is one change that a watch reports.
type Event struct {
	// Type is watch.Added, Modified, Deleted or Bookmark. Errors come as the second value of the sequence.
	Type watch.EventType
	// Object is the new state; for Deleted the last one; for Bookmark it has a resourceVersion only.
	Object Object
}
