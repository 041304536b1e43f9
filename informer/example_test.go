package informer_test

import (
	"context"
	"fmt"
	"iter"

	"governor/client"
	"governor/informer"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// server is the smallest ListWatcher: one ConfigMap, which then changes and goes.
type server struct{}

func settings(resourceVersion, mode string) client.Object {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "settings", UID: "1", ResourceVersion: resourceVersion},
		Data:       map[string]string{"mode": mode},
	}
}

func (server) List(_ context.Context, _ metav1.ListOptions, yield func(client.Object, error) bool) (metav1.ListMeta, error) {
	yield(settings("7", "slow"), nil)
	return metav1.ListMeta{ResourceVersion: "10"}, nil
}

func (server) Watch(ctx context.Context, opts metav1.ListOptions) iter.Seq2[client.Event, error] {
	return func(yield func(client.Event, error) bool) {
		if opts.SendInitialEvents != nil {
			yield(client.Event{}, apierrors.NewBadRequest("there are no streaming lists here"))
			return
		}
		if yield(client.Event{Type: watch.Modified, Object: settings("11", "fast")}, nil) &&
			yield(client.Event{Type: watch.Deleted, Object: settings("12", "fast")}, nil) {
			<-ctx.Done()
		}
	}
}

// A client.ListWatch and a cache.Indexer take the places of server and store in
// real life.
func Example() {
	ctx, cancel := context.WithCancel(context.Background())
	i := informer.New(server{}, newStore(), &informer.Options{Name: "v1/ConfigMap"})

	mode := func(obj client.Object) string { return obj.(*corev1.ConfigMap).Data["mode"] }
	r, err := i.AddHandler(informer.HandlerFuncs{
		AddFunc: func(obj client.Object, initial bool) {
			fmt.Println("add", obj.GetName(), mode(obj), "initial:", initial)
		},
		UpdateFunc: func(oldObj, newObj client.Object) {
			fmt.Println("update", newObj.GetName(), mode(oldObj), "to", mode(newObj))
		},
		DeleteFunc: func(obj client.Object, unknown bool) {
			fmt.Println("delete", obj.GetName(), mode(obj), "final state unknown:", unknown)
			cancel()
		},
	}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := i.Run(ctx); err != nil {
		fmt.Println(err)
	}
	fmt.Println("synced:", i.HasSynced(), r.HasSynced(), "at", i.Status().ResourceVersion)
	// Output:
	// add settings slow initial: true
	// update settings slow to fast
	// delete settings fast final state unknown: false
	// synced: true true at 12
}
