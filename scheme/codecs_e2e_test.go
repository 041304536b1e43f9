package scheme_test

import (
	"testing"

	"governor/envtest"
	"governor/scheme"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// client-go's own RESTClient speaks with a real server through our codecs, in
// each format: bodies, lists, option types, errors and watches.
func TestE2ECodecs(t *testing.T) {
	plane := envtest.RequireControlPlane(t, nil)
	for _, media := range []string{mediaJSON, mediaProto, "application/cbor"} {
		t.Run(media, func(t *testing.T) {
			cfg := plane.Config()
			cfg.APIPath, cfg.GroupVersion = "/api", &corev1.SchemeGroupVersion
			cfg.ContentType, cfg.AcceptContentTypes = media, media
			cfg.NegotiatedSerializer = scheme.Builtin().Codecs()
			c, err := rest.RESTClientFor(cfg)
			if err != nil {
				t.Fatal(err)
			}
			sent := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "codecs-"}, Data: map[string]string{"a": "b"}}
			var got corev1.ConfigMap
			if err := c.Post().Namespace("default").Resource("configmaps").Body(sent).Do(t.Context()).Into(&got); err != nil {
				t.Fatal(err)
			}
			if got.Kind != "ConfigMap" || got.Data["a"] != "b" || sent.Kind != "" {
				t.Errorf("sent %v, got %v", sent, got)
			}
			var list corev1.ConfigMapList
			if err := c.Get().Resource("configmaps").Do(t.Context()).Into(&list); err != nil {
				t.Fatal(err)
			}
			if list.Kind != "ConfigMapList" || len(list.Items) == 0 || list.Items[0].Kind != "ConfigMap" {
				t.Errorf("the list is a %q of %d", list.Kind, len(list.Items))
			}
			if err := c.Delete().Namespace("default").Resource("configmaps").Name(got.Name).
				Body(&metav1.DeleteOptions{}).Do(t.Context()).Error(); err != nil {
				t.Error(err)
			}
			err = c.Get().Namespace("default").Resource("configmaps").Name(got.Name).Do(t.Context()).Into(&got)
			if !apierrors.IsNotFound(err) {
				t.Errorf("error is %v, want NotFound", err)
			}
			w, err := c.Get().Resource("namespaces").
				VersionedParams(&metav1.ListOptions{Watch: true}, metav1.ParameterCodec).Watch(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer w.Stop()
			event := <-w.ResultChan()
			if ns, ok := event.Object.(*corev1.Namespace); !ok || ns.Kind != "Namespace" {
				t.Errorf("the first event is %v", event)
			}
		})
	}
}
