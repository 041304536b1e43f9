package informer

import (
	"context"
	"iter"

	"governor/client"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ListWatcher lists and watches one kind in one scope. client.ListWatch is one.
// Both methods end soon after their context does, with or without an error.
// Upstream: client-go's cache.ListerWatcher.
type ListWatcher interface {
	// List requests one page and hands over its objects one by one, until yield
	// returns false. An error beside a nil object is that of one that could not
	// be decoded, and more may follow. The error that List itself returns is that of the request.
	List(ctx context.Context, opts metav1.ListOptions, yield func(client.Object, error) bool) (metav1.ListMeta, error)
	// Watch yields the events of one stream, then its error if it did not end
	// well. A *client.DecodeError is that of one event, whose Type is beside it,
	// and more may follow.
	Watch(ctx context.Context, opts metav1.ListOptions) iter.Seq2[client.Event, error]
}
