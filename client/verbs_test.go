package client_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"governor/client"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// form is one way to hold the same pod.
type form struct {
	name        string
	accept      string
	contentType string // of whole objects
	media       string // of the reply
	object      func(t *testing.T) client.Object
	list        func() client.ObjectList
}

func forms() []form {
	return []form{
		{
			name: "typed", accept: "application/vnd.kubernetes.protobuf,application/json", contentType: protobufType, media: protobufType,
			object: func(*testing.T) client.Object { return pod("a") },
			list:   func() client.ObjectList { return &corev1.PodList{} },
		},
		{
			name: "typed, JSON reply", accept: "application/vnd.kubernetes.protobuf,application/json", contentType: protobufType, media: jsonType,
			object: func(*testing.T) client.Object { return pod("a") },
			list:   func() client.ObjectList { return &corev1.PodList{} },
		},
		{
			name: "unstructured", accept: "application/json", contentType: jsonType, media: jsonType,
			object: func(t *testing.T) client.Object { return unstructuredOf(t, pod("a"), podKind) },
			list: func() client.ObjectList {
				l := &unstructured.UnstructuredList{}
				l.SetGroupVersionKind(podKind)
				return l
			},
		},
		{
			name:        "metadata",
			accept:      "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json",
			contentType: jsonType, media: protobufType,
			object: func(*testing.T) client.Object { return metadataOf(pod("a"), podKind) },
			list: func() client.ObjectList {
				l := &metav1.PartialObjectMetadataList{}
				l.SetGroupVersionKind(podKind.GroupVersion().WithKind("PodList"))
				return l
			},
		},
	}
}

// reply is what a server sends for the form.
func (f form) reply(t *testing.T, resourceVersion string) http.HandlerFunc {
	if f.name != "metadata" {
		return answer(t, f.media, served("a", resourceVersion))
	}
	m := metadataOf(served("a", resourceVersion), metav1.SchemeGroupVersion.WithKind("PartialObjectMetadata"))
	return answer(t, f.media, m)
}

// Contract 1, 2, 3; Case 51: each verb in each form, what is sent and what is
// left in memory.
func TestVerbsOnTheWire(t *testing.T) {
	patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`))
	verbs := []struct {
		name         string
		do           func(s *server, obj client.Object) error
		method, path string
		query        string
		contentType  string // empty means the form's
		whole        bool   // the body is the object
		noReply      bool
	}{
		{name: "get", method: "GET", path: "/api/v1/namespaces/default/pods/a", do: func(s *server, obj client.Object) error {
			return s.Get(t.Context(), client.ObjectKeyFromObject(obj), obj)
		}},
		{name: "create", method: "POST", path: "/api/v1/namespaces/default/pods", whole: true,
			query: "dryRun=All&fieldManager=me&fieldValidation=Strict",
			do: func(s *server, obj client.Object) error {
				return s.Create(t.Context(), obj, client.DryRunAll, client.FieldOwner("me"), client.FieldValidation(metav1.FieldValidationStrict))
			}},
		{name: "update", method: "PUT", path: "/api/v1/namespaces/default/pods/a", whole: true,
			query: "dryRun=All&fieldManager=me&fieldValidation=Strict",
			do: func(s *server, obj client.Object) error {
				return s.Update(t.Context(), obj, &client.UpdateOptions{DryRun: []string{"All"}, FieldManager: "me", FieldValidation: "Strict"})
			}},
		{name: "patch", method: "PATCH", path: "/api/v1/namespaces/default/pods/a", contentType: "application/merge-patch+json",
			query: "dryRun=All&fieldManager=me&fieldValidation=Warn",
			do: func(s *server, obj client.Object) error {
				return s.Patch(t.Context(), obj, patch, client.DryRunAll, client.FieldOwner("me"), client.FieldValidation("Warn"))
			}},
		{name: "status update", method: "PUT", path: "/api/v1/namespaces/default/pods/a/status", whole: true, query: "fieldManager=me",
			do: func(s *server, obj client.Object) error {
				return s.Status().Update(t.Context(), obj, client.FieldOwner("me"))
			}},
		{name: "status patch", method: "PATCH", path: "/api/v1/namespaces/default/pods/a/status", contentType: "application/merge-patch+json",
			do: func(s *server, obj client.Object) error {
				return s.Status().Patch(t.Context(), obj, patch)
			}},
		{name: "delete", method: "DELETE", path: "/api/v1/namespaces/default/pods/a", contentType: jsonType, noReply: true,
			do: func(s *server, obj client.Object) error {
				return s.Delete(t.Context(), obj, client.GracePeriodSeconds(5))
			}},
	}
	for _, f := range forms() {
		for _, v := range verbs {
			t.Run(f.name+"/"+v.name, func(t *testing.T) {
				s := newServer(t, f.reply(t, "7"))
				obj := f.object(t)
				obj.SetLabels(map[string]string{"stale": "yes"}) // Contract 2: does not survive
				if f.name == "typed" {
					obj.GetObjectKind().SetGroupVersionKind(podKind.GroupVersion().WithKind("Nonsense"))
				}
				err := v.do(s, obj)
				if f.name == "metadata" && v.whole {
					if err == nil || !strings.Contains(err.Error(), "metadata-only") {
						t.Fatalf("error %v, want one about metadata-only objects", err)
					}
					s.none(t)
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				got := s.only(t)
				if got.Method != v.method || got.Path != v.path || got.Query.Encode() != v.query {
					t.Errorf("sent %s %s?%s, want %s %s?%s", got.Method, got.Path, got.Query.Encode(), v.method, v.path, v.query)
				}
				if a := got.Header.Get("Accept"); a != f.accept {
					t.Errorf("Accept %q, want %q", a, f.accept)
				}
				want := v.contentType
				if v.whole {
					want = f.contentType
					if gvk, name := kindOnWire(t, got.Body); gvk != podKind || name != "a" {
						t.Errorf("body is %v %q, want %v a", gvk, name, podKind)
					}
				}
				if ct := got.Header.Get("Content-Type"); ct != want {
					t.Errorf("Content-Type %q, want %q", ct, want)
				}
				if v.noReply {
					if obj.GetResourceVersion() != "" || obj.GetLabels()["stale"] != "yes" {
						t.Errorf("delete changed the object: %v", obj)
					}
					return
				}
				if gvk := obj.GetObjectKind().GroupVersionKind(); gvk != podKind {
					t.Errorf("kind in memory %v, want %v", gvk, podKind)
				}
				if obj.GetResourceVersion() != "7" || obj.GetLabels() != nil {
					t.Errorf("memory is not the reply: %v", obj)
				}
				if p, ok := obj.(*corev1.Pod); ok && p.Spec.NodeName != "node-of-a" {
					t.Errorf("node %q", p.Spec.NodeName)
				}
			})
		}
	}
}

// Contract 3; Case 51: lists and their items have their kinds, whichever way
// the list's kind was spelled.
func TestListInEachForm(t *testing.T) {
	for _, f := range forms() {
		t.Run(f.name, func(t *testing.T) {
			list := &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "9", Continue: "more"}, Items: []corev1.Pod{*served("a", "1"), *served("b", "2")}}
			list.SetGroupVersionKind(podKind.GroupVersion().WithKind("PodList"))
			for i := range list.Items {
				list.Items[i].TypeMeta = metav1.TypeMeta{} // as servers send it
			}
			reply := answer(t, f.media, list)
			if f.name == "metadata" {
				m := &metav1.PartialObjectMetadataList{ListMeta: list.ListMeta}
				m.SetGroupVersionKind(metav1.SchemeGroupVersion.WithKind("PartialObjectMetadataList"))
				for i := range list.Items {
					m.Items = append(m.Items, *metadataOf(&list.Items[i], metav1.SchemeGroupVersion.WithKind("PartialObjectMetadata")))
				}
				reply = answer(t, f.media, m)
			}
			s := newServer(t, reply)
			got := f.list()
			if err := s.List(t.Context(), got, client.InNamespace("default"), client.MatchingLabels{"app": "x"}, client.Limit(2), client.Continue("token")); err != nil {
				t.Fatal(err)
			}
			c := s.only(t)
			if c.Path != "/api/v1/namespaces/default/pods" || c.Query.Encode() != "continue=token&labelSelector=app%3Dx&limit=2" {
				t.Errorf("sent %s?%s", c.Path, c.Query.Encode())
			}
			want := strings.ReplaceAll(f.accept, "as=PartialObjectMetadata", "as=PartialObjectMetadataList")
			if a := c.Header.Get("Accept"); a != want {
				t.Errorf("Accept %q, want %q", a, want)
			}
			if gvk := got.GetObjectKind().GroupVersionKind(); gvk.Kind != "PodList" || gvk.Version != "v1" {
				t.Errorf("list kind %v", gvk)
			}
			if got.GetContinue() != "more" || got.GetResourceVersion() != "9" {
				t.Errorf("continue %q, resourceVersion %q", got.GetContinue(), got.GetResourceVersion())
			}
			var names []string
			for _, obj := range itemsOf(t, got) {
				if gvk := obj.GetObjectKind().GroupVersionKind(); gvk != podKind {
					t.Errorf("item kind %v", gvk)
				}
				names = append(names, obj.GetName()+"@"+obj.GetResourceVersion())
			}
			if diff := cmp.Diff([]string{"a@1", "b@2"}, names); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func itemsOf(t *testing.T, list client.ObjectList) []client.Object {
	t.Helper()
	var items []client.Object
	switch l := list.(type) {
	case *corev1.PodList:
		for i := range l.Items {
			items = append(items, &l.Items[i])
		}
	case *unstructured.UnstructuredList:
		for i := range l.Items {
			items = append(items, &l.Items[i])
		}
	case *metav1.PartialObjectMetadataList:
		for i := range l.Items {
			items = append(items, &l.Items[i])
		}
	}
	return items
}

// A custom resource travels as JSON, whatever methods its Go type has.
func TestCustomResourceIsJSON(t *testing.T) {
	s := newServer(t, answerJSON(200, `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w","namespace":"default"},"spec":{"size":9007199254740993}}`))
	w := &Widget{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "w"}}
	if err := s.Update(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	c := s.only(t)
	if c.Path != "/apis/example.com/v1/namespaces/default/widgets/w" || c.Header.Get("Accept") != jsonType || c.Header.Get("Content-Type") != jsonType {
		t.Errorf("sent %s %v", c.Path, c.Header)
	}
	if gvk, _ := kindOnWire(t, c.Body); gvk != widgetKind {
		t.Errorf("body is a %v", gvk)
	}
	if w.Spec.Size != 9007199254740993 {
		t.Errorf("size %d", w.Spec.Size)
	}
}

func TestDeleteOptionsOnTheWire(t *testing.T) {
	s := newServer(t, answerJSON(200, `{"kind":"Status","apiVersion":"v1","status":"Success"}`))
	uid := types.UID("u")
	err := s.Delete(t.Context(), pod("a"), client.GracePeriodSeconds(0), client.Preconditions{UID: &uid},
		client.PropagationPolicy(metav1.DeletePropagationForeground), client.DryRunAll)
	if err != nil {
		t.Fatal(err)
	}
	var got, want any
	if err := json.Unmarshal(s.only(t).Body, &got); err != nil {
		t.Fatal(err)
	}
	_ = json.Unmarshal([]byte(`{"kind":"DeleteOptions","apiVersion":"v1","gracePeriodSeconds":0,"preconditions":{"uid":"u"},"propagationPolicy":"Foreground","dryRun":["All"]}`), &want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Contract 4: an error leaves the object as it was, keeps its reason through
// the wrapping, and names verb, kind and key.
func TestErrors(t *testing.T) {
	status := func(code int, reason metav1.StatusReason) string {
		data, _ := json.Marshal(metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Reason: reason, Code: int32(code), Message: "the server says no"})
		return string(data)
	}
	tests := []struct {
		name   string
		answer http.HandlerFunc
		do     func(s *server, p *corev1.Pod) error
		is     func(error) bool
		text   string
	}{
		{"not found", answerJSON(404, status(404, metav1.StatusReasonNotFound)), func(s *server, p *corev1.Pod) error {
			return s.Get(t.Context(), client.ObjectKeyFromObject(p), p)
		}, apierrors.IsNotFound, "get Pod default/a: the server says no"},
		{"conflict", answerJSON(409, status(409, metav1.StatusReasonConflict)), func(s *server, p *corev1.Pod) error {
			return s.Update(t.Context(), p)
		}, apierrors.IsConflict, "update Pod default/a: the server says no"},
		{"already exists", answerJSON(409, status(409, metav1.StatusReasonAlreadyExists)), func(s *server, p *corev1.Pod) error {
			return s.Create(t.Context(), p)
		}, apierrors.IsAlreadyExists, "create Pod default/a: the server says no"},
		{"subresource", answerJSON(404, status(404, metav1.StatusReasonNotFound)), func(s *server, p *corev1.Pod) error {
			return s.Status().Update(t.Context(), p)
		}, apierrors.IsNotFound, "update Pod/status default/a: the server says no"},
		{"protobuf status", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", protobufType)
			w.WriteHeader(403)
			_, _ = w.Write(wire(t, protobufType, &metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Reason: metav1.StatusReasonForbidden, Code: 403, Message: "the server says no"}))
		}, func(s *server, p *corev1.Pod) error { return s.Delete(t.Context(), p) }, apierrors.IsForbidden, "delete Pod default/a: the server says no"},
		{"not an API server", answerJSON(200, `{"hello":"world"}`), func(s *server, p *corev1.Pod) error {
			return s.Get(t.Context(), client.ObjectKeyFromObject(p), p)
		}, nil, "get Pod default/a: decode the reply: it has no kind"},
		{"another kind", answerJSON(200, `{"kind":"Node","apiVersion":"v1","metadata":{"name":"a"}}`), func(s *server, p *corev1.Pod) error {
			return s.Get(t.Context(), client.ObjectKeyFromObject(p), p)
		}, nil, "it is of kind Node, not Pod"},
		{"does not fit the Go type", answerJSON(200, `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a"},"spec":{"nodeName":5}}`), func(s *server, p *corev1.Pod) error {
			return s.Get(t.Context(), client.ObjectKeyFromObject(p), p)
		}, nil, "get Pod default/a: decode the reply: "},
		{"a Status though 200", answerJSON(200, status(410, metav1.StatusReasonExpired)), func(s *server, p *corev1.Pod) error {
			return s.Get(t.Context(), client.ObjectKeyFromObject(p), p)
		}, apierrors.IsResourceExpired, "get Pod default/a"},
		{"garbage", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", protobufType)
			_, _ = w.Write([]byte("k8s\x00\x12\xff"))
		}, func(s *server, p *corev1.Pod) error {
			return s.Get(t.Context(), client.ObjectKeyFromObject(p), p)
		}, nil, "not valid protobuf"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newServer(t, tt.answer)
			p := pod("a")
			p.Labels = map[string]string{"mine": "kept"}
			before := p.DeepCopy()
			err := tt.do(s, p)
			if err == nil || !strings.Contains(err.Error(), tt.text) {
				t.Errorf("error %q, want one with %q", err, tt.text)
			}
			if tt.is != nil && !tt.is(err) {
				t.Errorf("the reason is lost: %v", err)
			}
			if diff := cmp.Diff(before, p); diff != "" {
				t.Errorf("the object has changed: %s", diff)
			}
		})
	}
}

// Contract 5: a mistake is a clear error, and no request.
func TestMistakesAreNotSent(t *testing.T) {
	ctx := t.Context()
	var nilPod *corev1.Pod
	tests := []struct {
		name string
		do   func(s *server) error
		text string
	}{
		{"no name", func(s *server) error { return s.Get(ctx, client.ObjectKey{Namespace: "default"}, &corev1.Pod{}) }, "name is empty"},
		{"no namespace", func(s *server) error { return s.Get(ctx, client.ObjectKey{Name: "a"}, &corev1.Pod{}) }, "namespace is empty"},
		{"create without namespace", func(s *server) error { return s.Create(ctx, &corev1.Pod{}) }, "namespace is empty"},
		{"nil", func(s *server) error { return s.Get(ctx, client.ObjectKey{Name: "a"}, nil) }, "nil"},
		{"nil pointer", func(s *server) error { return s.Update(ctx, nilPod) }, "nil"},
		{"nil patch", func(s *server) error { return s.Patch(ctx, pod("a"), nil) }, "patch is nil"},
		{"no kind", func(s *server) error { return s.Create(ctx, &unstructured.Unstructured{}) }, "SetGroupVersionKind"},
		{"unknown kind", func(s *server) error {
			u := &unstructured.Unstructured{}
			u.SetAPIVersion("nowhere/v1")
			u.SetKind("Thing")
			return s.Delete(ctx, u)
		}, `no matches for kind "Thing"`},
		{"an object where a list is needed", func(s *server) error {
			u := &unstructured.Unstructured{}
			u.SetGroupVersionKind(podKind)
			return s.List(ctx, u)
		}, "list type"},
		{"body without a subresource", func(s *server) error { return s.Update(ctx, pod("a"), client.WithSubResourceBody(pod("a"))) }, "WithSubResourceBody"},
		{"subresource without a name", func(s *server) error { return s.SubResource("").Update(ctx, pod("a")) }, "subresource is empty"},
		{"nil options are none", func(s *server) error {
			var none *client.GetOptions
			return s.Get(ctx, client.ObjectKey{}, &corev1.Pod{}, nil, none)
		}, "name is empty"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newServer(t, answerJSON(200, `{}`))
			if err := tt.do(s); err == nil || !strings.Contains(err.Error(), tt.text) {
				t.Errorf("error %v, want one with %q", err, tt.text)
			}
			s.none(t)
		})
	}
}

// Options are structs and values alike, and nobody's struct is written to.
func TestOptionsAreNotWrittenTo(t *testing.T) {
	mine := &client.DeleteOptions{GracePeriodSeconds: new(int64(1))}
	var o client.DeleteOptions
	if err := o.ApplyOptions([]client.DeleteOption{mine, client.DryRunAll}); err != nil {
		t.Fatal(err)
	}
	*o.GracePeriodSeconds = 10
	if *mine.GracePeriodSeconds != 1 || mine.DryRun != nil {
		t.Errorf("the caller's options are %+v", mine)
	}
}
