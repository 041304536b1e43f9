package client_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"governor/client"
	"governor/envtest"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// observer is a cache that writes down what it hears of writes.
type observer struct {
	readerLog
	replies []*client.Reply
}

func (o *observer) Wrote(_ context.Context, r *client.Reply) { o.replies = append(o.replies, r) }

// newObserved returns a client of an API server in memory, with one Pod in it, that o observes.
func newObserved(t *testing.T, o *observer, options *client.DelegatingOptions) *client.Delegating {
	t.Helper()
	direct, err := client.New(envtest.NewServer(nil).Config(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := direct.Create(t.Context(), plainPod("there")); err != nil {
		t.Fatal(err)
	}
	d, err := client.NewDelegating(direct, o, options)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func plainPod(name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Finalizers: []string{"example.com/held"}},
		Spec:       corev1.PodSpec{NodeName: "node", Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}
}

// Contract 14: a reader that observes hears of each write that has changed something,
// under the object's kind and key, with what can be made of the answer.
func TestWritesAreObserved(t *testing.T) {
	ctx, p := t.Context(), plainPod("there")
	patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`))
	loose := unstructuredOf(t, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "there"}}, podKind)
	for _, tt := range []struct {
		name string
		call func(c client.Client) error
		want string // verb key/subresource: kind of the answer, forms it can be read in
	}{
		{"create", func(c client.Client) error { return c.Create(ctx, plainPod("new")) }, "create default/new: Pod typed metadata-only"},
		{"generated", func(c client.Client) error {
			p := plainPod("")
			p.GenerateName = "g-"
			return c.Create(ctx, p)
		}, "create default/g-*: Pod typed metadata-only"},
		{"patch", func(c client.Client) error { return c.Patch(ctx, p, patch) }, "patch default/there: Pod typed metadata-only"},
		{"patch unstructured", func(c client.Client) error { return c.Patch(ctx, loose, patch) }, "patch default/there: Pod typed unstructured metadata-only"},
		{"patch metadata", func(c client.Client) error { return c.Patch(ctx, metadataOf(p, podKind), patch) }, "patch default/there: PartialObjectMetadata metadata-only"},
		{"update", func(c client.Client) error {
			if err := c.Get(ctx, client.ObjectKeyFromObject(p), p, client.Live); err != nil {
				return err
			}
			p.Labels = map[string]string{"a": "c"}
			return c.Update(ctx, p)
		}, "update default/there: Pod typed metadata-only"},
		{"apply", func(c client.Client) error {
			u := &unstructured.Unstructured{}
			u.SetGroupVersionKind(podKind)
			u.SetNamespace("default")
			u.SetName("there")
			u.SetLabels(map[string]string{"x": "y"})
			return c.Apply(ctx, client.ApplyConfigurationFromUnstructured(u), client.FieldOwner("me"))
		}, "patch default/there: Pod typed unstructured metadata-only"},
		{"status", func(c client.Client) error { return c.Status().Patch(ctx, p, patch) }, "patch default/there/status: Pod typed metadata-only"},
		{"eviction", func(c client.Client) error {
			return c.SubResource("eviction").Create(ctx, p, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "there"}})
		}, "create default/there/eviction: Status"},
		{"delete", func(c client.Client) error { return c.Delete(ctx, p) }, "delete default/there: Pod typed metadata-only"},
		{"delete all", func(c client.Client) error { return c.DeleteAllOf(ctx, p, client.InNamespace("default")) }, "deletecollection default/: PodList items there"},
		{"dry run", func(c client.Client) error { return c.Create(ctx, plainPod("dry"), client.DryRunAll) }, ""},
		{"dry run of apply", func(c client.Client) error {
			u := &unstructured.Unstructured{}
			u.SetGroupVersionKind(podKind)
			u.SetNamespace("default")
			u.SetName("there")
			return c.Apply(ctx, client.ApplyConfigurationFromUnstructured(u), client.FieldOwner("me"), client.DryRunAll)
		}, ""},
		{"dry run of eviction", func(c client.Client) error {
			return c.SubResource("eviction").Create(ctx, p, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "there"}}, client.DryRunAll)
		}, ""},
		{"dry run of delete all", func(c client.Client) error {
			return c.DeleteAllOf(ctx, p, client.InNamespace("default"), client.DryRunAll)
		}, ""},
		{"a kind that is not read from the reader", func(c client.Client) error {
			return c.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "c"}})
		}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := &observer{}
			c := newObserved(t, o, &client.DelegatingOptions{DisableFor: []client.Object{&corev1.ConfigMap{}}})
			if err := tt.call(c); err != nil {
				t.Fatal(err)
			}
			got := ""
			for _, r := range o.replies {
				got += describe(t, c, r)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// describe says what can be made of a reply.
func describe(t *testing.T, c *client.Delegating, r *client.Reply) string {
	t.Helper()
	key := r.Key.String()
	if strings.HasPrefix(r.Key.Name, "g-") {
		key = "default/g-*"
	}
	if r.SubResource != "" {
		key += "/" + r.SubResource
	}
	kind, about := r.About()
	text := fmt.Sprintf("%s %s: %s", r.Verb, key, kind)
	if r.Verb == "deletecollection" {
		items, err := r.Items()
		if err != nil {
			t.Fatal(err)
		}
		text += " items"
		for _, item := range items {
			text += " " + item.GetName()
			if item.GetUID() == "" {
				t.Error("no UID")
			}
		}
		return text
	}
	if kind != "Status" && (about.GetUID() == "" || about.GetResourceVersion() == "") {
		t.Errorf("not even about %v", about)
	}
	for _, form := range []client.Form{client.Typed, client.Unstructured, client.MetadataOnly} {
		resource, err := c.Client.(*client.Direct).Resource(t.Context(), r.Kind, form)
		if err != nil {
			t.Fatal(err)
		}
		if obj, err := r.Object(resource); err == nil {
			text += " " + form.String()
			if obj.GetUID() == "" || obj.GetObjectKind().GroupVersionKind() != podKind {
				t.Errorf("%s: %v", form, obj)
			}
		}
	}
	return text
}

// A write that failed is not told; nor is any, to a client that is told so, or that has a
// reader that does not want to know.
func TestWritesThatAreNotObserved(t *testing.T) {
	o := &observer{}
	c := newObserved(t, o, nil)
	if err := c.Create(t.Context(), plainPod("there")); err == nil {
		t.Error("it exists already")
	}
	if err := c.Delete(t.Context(), plainPod("none")); err == nil {
		t.Error("it does not exist")
	}
	silent := newObserved(t, o, &client.DelegatingOptions{DisableReadYourWritesConsistency: true})
	if err := silent.Create(t.Context(), plainPod("new")); err != nil {
		t.Error(err)
	}
	if len(o.replies) > 0 {
		t.Errorf("%d writes were told", len(o.replies))
	}
}

// A Status tells the UID, if that; garbage tells nothing.
func TestReplyThatIsNoObject(t *testing.T) {
	for body, uid := range map[string]types.UID{
		`{"kind":"Status","apiVersion":"v1","status":"Success","details":{"name":"p","uid":"u"}}`: "u",
		`{"kind":"Status","apiVersion":"v1","status":"Success"}`:                                  "",
		`{}`: "",
		``:   "",
	} {
		o := &observer{}
		s := newServer(t, answerJSON(http.StatusOK, body))
		c, err := client.NewDelegating(s.Direct, o, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Delete(t.Context(), pod("p")); err != nil {
			t.Fatal(err)
		}
		if len(o.replies) != 1 {
			t.Fatalf("%q: %d replies", body, len(o.replies))
		}
		if _, about := o.replies[0].About(); about.GetUID() != uid {
			t.Errorf("%q is about %q, want %q", body, about.GetUID(), uid)
		}
		if items, err := o.replies[0].Items(); err == nil {
			t.Errorf("%q lists %v", body, items)
		}
	}
}

// Live reads go to the server, whatever form the option comes in.
func TestLive(t *testing.T) {
	ctx := t.Context()
	o := &observer{}
	c := newObserved(t, o, nil)
	key, got := client.ObjectKey{Namespace: "default", Name: "there"}, &corev1.Pod{}
	for _, err := range []error{
		c.Get(ctx, key, got, client.Live),
		c.Get(ctx, key, got, &client.GetOptions{Live: true}, client.UnsafeDisableDeepCopy),
		c.List(ctx, &corev1.PodList{}, client.Live),
		c.List(ctx, &corev1.PodList{}, &client.ListOptions{Live: true, Namespace: "default"}),
	} {
		if err != nil {
			t.Error(err)
		}
	}
	if got.UID == "" || len(o.readerLog) > 0 {
		t.Errorf("read %q, and the cache was asked %v", got.UID, o.readerLog)
	}
}
