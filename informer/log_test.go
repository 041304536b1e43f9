package informer

import (
	"context"
	"iter"
	"sync"
	"testing"

	"governor/client"

	"github.com/go-logr/logr/funcr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
)

// captureLog returns a context whose logger's lines can be read.
func captureLog(t *testing.T) (lines func() []string, ctx context.Context) {
	var mu sync.Mutex
	var all []string
	logger := funcr.New(func(prefix, args string) {
		mu.Lock()
		defer mu.Unlock()
		all = append(all, args)
	}, funcr.Options{})
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return append([]string(nil), all...)
	}, klog.NewContext(t.Context(), logger)
}

// nonsense is a script whose first watch says one thing that no server may say.
type nonsense struct {
	script
	event client.Event
	said  bool
}

func (n *nonsense) Watch(ctx context.Context, opts metav1.ListOptions) iter.Seq2[client.Event, error] {
	if n.said || opts.SendInitialEvents != nil {
		return n.script.Watch(ctx, opts)
	}
	n.said = true
	return func(yield func(client.Event, error) bool) { yield(n.event, nil) }
}
