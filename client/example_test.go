package client_test

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"governor/client"
	"governor/envtest"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/rest"
)

// scripted stands for an API server: it prints each request and gives the
// answer that the script has for it.
func scripted(script map[string]string) *client.Direct {
	server := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Println(">", r.Method, r.URL.RequestURI())
		w.Header().Set("Content-Type", "application/json")
		body, ok := script[r.Method]
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			body = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404,"message":"not there"}`
		}
		_, _ = io.WriteString(w, body)
	})
	cfg := &rest.Config{Host: "http://server", Transport: envtest.Transport(server)}
	c, err := client.New(cfg, &client.Options{Mapper: testMapper()})
	if err != nil {
		panic(err)
	}
	return c
}

// Each call is one request; the object then is the server's reply.
func Example() {
	ctx := context.Background()
	c := scripted(map[string]string{
		"GET": `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"app","namespace":"default","resourceVersion":"7"},"data":{"color":"red"}}`,
		"PUT": `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"app","namespace":"default","resourceVersion":"8"},"data":{"color":"blue"}}`,
	})
	var cm corev1.ConfigMap
	if err := c.Get(ctx, client.ObjectKey{Namespace: "default", Name: "app"}, &cm); err != nil {
		fmt.Println(err)
	}
	cm.Data["color"] = "blue"
	if err := c.Update(ctx, &cm, client.FieldOwner("painter")); err != nil {
		fmt.Println(err)
	}
	fmt.Println(cm.Kind, cm.Name, cm.ResourceVersion, cm.Data["color"])

	err := c.Delete(ctx, &cm)
	fmt.Println(apierrors.IsNotFound(err), err)
	// Output:
	// > GET /api/v1/namespaces/default/configmaps/app
	// > PUT /api/v1/namespaces/default/configmaps/app?fieldManager=painter
	// ConfigMap app 8 blue
	// > DELETE /api/v1/namespaces/default/configmaps/app
	// true delete ConfigMap default/app: not there
}

// A merge patch is the difference between what an object was and what it is.
func ExampleMergeFrom() {
	cm := &corev1.ConfigMap{Data: map[string]string{"color": "red", "old": "x"}}
	patch := client.MergeFrom(cm) // no deep copy needed
	cm.Data["color"] = "blue"
	delete(cm.Data, "old")
	data, err := patch.Data(cm)
	fmt.Println(string(data), err)
	// Output:
	// {"data":{"color":"blue","old":null}} <nil>
}

// Apply says what should be true, and takes what it says as the owner's.
func ExampleDirect_Apply() {
	c := scripted(map[string]string{
		"PATCH": `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"app","namespace":"default","resourceVersion":"9"},"data":{"color":"blue","size":"1"}}`,
	})
	cm := applycorev1.ConfigMap("app", "default").WithData(map[string]string{"color": "blue"})
	err := c.Apply(context.Background(), cm, client.FieldOwner("painter"), client.ForceOwnership)
	fmt.Println(*cm.ResourceVersion, cm.Data, err)
	// Output:
	// > PATCH /api/v1/namespaces/default/configmaps/app?fieldManager=painter&force=true
	// 9 map[color:blue size:1] <nil>
}

// Selections combine, and a selector that makes no sense selects nothing.
func ExampleDirect_List() {
	ctx := context.Background()
	c := scripted(map[string]string{
		"GET": `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[{"metadata":{"name":"web-0"}},{"metadata":{"name":"web-1"}}]}`,
	})
	var pods corev1.PodList
	err := c.List(ctx, &pods, client.InNamespace("default"), client.MatchingLabels{"app": "web"}, client.HasLabels{"tier"})
	for _, pod := range pods.Items {
		fmt.Println(pod.Kind, pod.Name)
	}
	fmt.Println(err)

	err = c.List(ctx, &pods, client.MatchingLabels{"app": `""`})
	fmt.Println(err != nil)
	// Output:
	// > GET /api/v1/namespaces/default/pods?labelSelector=app%3Dweb%2Ctier
	// Pod web-0
	// Pod web-1
	// <nil>
	// true
}

// An informer stands on a ListWatch; so can any loop.
func ExampleListWatch_Watch() {
	ctx := context.Background()
	c := scripted(map[string]string{
		"GET": `{"type":"ADDED","object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"web-0","resourceVersion":"8"}}}
			{"type":"BOOKMARK","object":{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"12"}}}
			{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410,"message":"too old"}}`,
	})
	pods, err := c.Resource(ctx, corev1.SchemeGroupVersion.WithKind("Pod"), client.MetadataOnly)
	if err != nil {
		fmt.Println(err)
	}
	lw := &client.ListWatch{Resource: pods, Namespace: "default"}
	for event, err := range lw.Watch(ctx, metav1.ListOptions{ResourceVersion: "7", AllowWatchBookmarks: true}) {
		if err != nil {
			fmt.Println(err, apierrors.IsResourceExpired(err))
			break
		}
		fmt.Println(event.Type, event.Object.GetName(), event.Object.GetResourceVersion())
	}
	// Output:
	// > GET /api/v1/namespaces/default/pods?allowWatchBookmarks=true&resourceVersion=7&watch=true
	// ADDED web-0 8
	// BOOKMARK  12
	// watch Pod in default: too old true
}
