package cache_test

import (
	"context"
	"errors"
	"fmt"

	"governor/cache"
	"governor/client"
	"governor/envtest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// An Indexer keeps objects in order, with indexes over them.
func ExampleIndexer() {
	x := cache.NewIndexer()
	if err := x.AddIndex("spec.nodeName", func(o client.Object) []string {
		return []string{o.(*corev1.Pod).Spec.NodeName}
	}); err != nil {
		fmt.Println(err)
		return
	}
	pod := func(namespace, name, node string) client.Object {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: corev1.PodSpec{NodeName: node}}
	}
	// The first list, and then a batch of events, in one step each.
	x.Replace([]client.Object{pod("shop", "web", "n1"), pod("shop", "db", "n2"), pod("bank", "web", "n1")}, "7")
	x.Update([]client.Object{pod("shop", "db", "n1")}, []client.ObjectKey{{Namespace: "shop", Name: "web"}}, "9")

	pods, err := x.ByIndex("spec.nodeName", "n1", "")
	for _, p := range pods {
		fmt.Println(client.ObjectKeyFromObject(p))
	}
	fmt.Println(x.Len(), "at", x.ResourceVersion(), err)
	_, err = x.ByIndex("status.phase", "Running", "")
	fmt.Println(err)
	// Output:
	// bank/web
	// shop/db
	// 2 at 9 <nil>
	// there is no index of field "status.phase"
}

// A Cache answers reads from copies, in whatever form they are asked for, a page
// at a time if need be.
func ExampleCache() {
	direct, err := client.New(envtest.NewServer(nil).Config(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	objects := []client.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}}
	for _, name := range []string{"c", "b", "a"} {
		objects = append(objects, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}})
	}
	for _, obj := range objects {
		if err := direct.Create(context.Background(), obj); err != nil {
			fmt.Println(err)
		}
	}
	c, err := cache.New(direct, &cache.Options{DefaultNamespaces: map[string]cache.Config{"shop": {}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	var cm corev1.ConfigMap
	err = c.Get(ctx, client.ObjectKey{Namespace: "shop", Name: "b"}, &cm)
	fmt.Println("before Start:", errors.Is(err, cache.ErrCacheNotStarted))

	done := make(chan error)
	go func() { done <- c.Start(ctx) }()
	if _, err := c.GetInformer(ctx, &cm); err != nil {
		fmt.Println(err)
	}
	if err := c.WaitForCacheSync(ctx); err != nil {
		fmt.Println(err)
	}

	list := metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMapList"}}
	for page := 1; page == 1 || list.Continue != ""; page++ {
		if err := c.List(ctx, &list, client.InNamespace("shop"), client.Limit(2), client.Continue(list.Continue)); err != nil {
			fmt.Println(err)
			break
		}
		for _, m := range list.Items {
			fmt.Println("page", page, m.Kind, m.Name)
		}
	}
	fmt.Println(c.Get(ctx, client.ObjectKey{Namespace: "bank", Name: "a"}, &cm))
	stop()
	fmt.Println(<-done)
	// Output:
	// before Start: true
	// page 1 ConfigMap a
	// page 1 ConfigMap b
	// page 2 ConfigMap c
	// cache: the namespace is not cached: v1/ConfigMap in "bank": add it to Options.DefaultNamespaces, or to the kind's ByObject.Namespaces, or call SetNamespaces
	// <nil>
}
