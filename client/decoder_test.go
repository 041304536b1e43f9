package client_test

import (
	"bytes"
	"errors"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"weak"

	"governor/client"
	"governor/client/decode"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
)

// withDecoder returns the same ListWatch with a Decoder.
func withDecoder(lw *client.ListWatch) *client.ListWatch {
	return &client.ListWatch{Resource: lw.Resource, Decoder: lw.Resource.NewDecoder(&decode.Options{DropManagedFields: true})}
}

func podList(resourceVersion, next string, pods ...*corev1.Pod) *corev1.PodList {
	list := &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: resourceVersion, Continue: next}}
	list.SetGroupVersionKind(podKind.GroupVersion().WithKind("PodList"))
	for _, p := range pods {
		list.Items = append(list.Items, *p)
	}
	return list
}

// Contract 13: a Decoder changes nothing about an object but whose memory it is.
func TestDecoderMakesTheSameObjects(t *testing.T) {
	for _, v := range variants {
		t.Run(v.name, func(t *testing.T) {
			body := bytes.Repeat(sent(t, v.media, v.form, "MODIFIED"), 3)
			own := podsOf(t, bodies(t, &body), v.form)
			all := func(lw *client.ListWatch) (objects []client.Object) {
				for ev, err := range lw.Watch(t.Context(), metav1.ListOptions{}) {
					if err != nil {
						t.Fatal(err)
					}
					ev.Object.SetManagedFields(nil)
					objects = append(objects, ev.Object)
				}
				return objects
			}
			if diff := cmp.Diff(all(own), all(withDecoder(own))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Contract 13: what did not change between two states of an object is one memory
// for both.
func TestDecoderSharesWhatIsEqual(t *testing.T) {
	before, after := realisticPod(t), realisticPod(t)
	for _, p := range []*corev1.Pod{before, after} {
		p.SetGroupVersionKind(podKind)
	}
	after.Status.Phase, after.ResourceVersion = corev1.PodFailed, "later"
	for _, media := range []string{jsonType, protobufType} {
		s := newServer(t, stream(media, frame(t, media, "ADDED", before), frame(t, media, "MODIFIED", after)))
		var pods []*corev1.Pod
		for ev, err := range withDecoder(podsOf(t, s, client.Typed)).Watch(t.Context(), metav1.ListOptions{}) {
			if err != nil {
				t.Fatal(err)
			}
			pods = append(pods, ev.Object.(*corev1.Pod))
		}
		if pods[0] == pods[1] || pods[1].ResourceVersion != "later" || pods[1].Status.Phase != corev1.PodFailed || pods[0].Status.Phase == corev1.PodFailed {
			t.Errorf("%s: the two states are not two objects", media)
		}
		if &pods[0].Spec.Containers[0] != &pods[1].Spec.Containers[0] {
			t.Errorf("%s: the spec is there twice", media)
		}
	}
}

// forgetful is a ListWatch with a Decoder, and of each object that it handed over
// what shows whether anybody still has it.
type forgetful struct {
	t      *testing.T
	lw     *client.ListWatch
	answer http.HandlerFunc
	known  map[string]weak.Pointer[corev1.Pod]
}

func newForgetful(t *testing.T) *forgetful {
	s := &forgetful{t: t, known: map[string]weak.Pointer[corev1.Pod]{}}
	s.lw = withDecoder(podsOf(t, newServer(t, func(w http.ResponseWriter, r *http.Request) { s.answer(w, r) }), client.Typed))
	return s
}

// list lists pods, as many as limit, and keeps none of them.
func (s *forgetful) list(limit int, from, next string, names ...string) {
	s.t.Helper()
	var pods []*corev1.Pod
	for _, name := range names {
		pods = append(pods, served(name, "1"))
	}
	s.answer = answer(s.t, protobufType, podList("1", next, pods...))
	_, err := s.lw.List(s.t.Context(), metav1.ListOptions{Continue: from}, func(obj client.Object, err error) bool {
		if err != nil {
			s.t.Fatal(err)
		}
		s.known[obj.GetName()] = weak.Make(obj.(*corev1.Pod))
		limit--
		return limit > 0
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

// watch reads one stream.
func (s *forgetful) watch(opts metav1.ListOptions, frames ...[]byte) {
	s.t.Helper()
	s.answer = stream(protobufType, frames...)
	for ev, err := range s.lw.Watch(s.t.Context(), opts) {
		if _, ok := errors.AsType[*client.DecodeError](err); err != nil && !ok {
			s.t.Fatal(err)
		}
		if ev.Object != nil && ev.Type != watch.Bookmark {
			s.known[ev.Object.GetName()] = weak.Make(ev.Object.(*corev1.Pod))
		}
	}
}

// remembers says which objects the Decoder still holds: nobody else does.
func (s *forgetful) remembers(want string) {
	s.t.Helper()
	runtime.GC()
	var got []string
	for _, name := range []string{"a", "b", "c"} {
		if s.known[name].Value() != nil {
			got = append(got, name)
		}
	}
	if strings.Join(got, "") != want {
		s.t.Errorf("the Decoder remembers %v, want %s", got, want)
	}
	runtime.KeepAlive(s.lw)
}

// Contract 13: the Decoder remembers what there is, and nothing else: pages are
// one list, and a list that was not whole makes it forget nothing.
func TestDecoderForgetsWhatIsGone(t *testing.T) {
	initial := metav1.ListOptions{SendInitialEvents: new(true)}
	added := func(name string) []byte { return frame(t, protobufType, "ADDED", served(name, "2")) }
	plainBookmark := bookmark("3")
	plainBookmark.Annotations = nil
	tests := []struct {
		name string
		then func(s *forgetful)
		want string
	}{
		{"list", func(s *forgetful) { s.list(9, "", "", "a", "b") }, "ab"},
		{"pages", func(s *forgetful) { s.list(9, "", "p", "a"); s.list(9, "p", "q", "b"); s.list(9, "q", "", "c") }, "abc"},
		{"a page that is not the last", func(s *forgetful) { s.list(9, "", "p", "a") }, "abc"},
		{"list left early", func(s *forgetful) { s.list(1, "", "", "a", "b") }, "abc"},
		{"list that broke off", func(s *forgetful) {
			body := wire(t, protobufType, podList("1", "", served("a", "1"), served("b", "1")))
			s.answer = func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(body[:len(body)-20]) }
			if _, err := s.lw.List(t.Context(), metav1.ListOptions{}, func(client.Object, error) bool { return true }); err == nil {
				t.Error("no error")
			}
		}, "bc"}, // the new a is held by nobody that this test knows of
		{"deleted", func(s *forgetful) {
			s.watch(metav1.ListOptions{}, frame(t, protobufType, "DELETED", served("a", "2")), added("c"))
		}, "bc"}, // the c: a Decoder may still have the very last object in its hands
		{"deleted and undecodable", func(s *forgetful) {
			s.watch(metav1.ListOptions{}, []byte(`{"type":"DELETED","object":{"kind":"Pod","apiVersion":"v1","metadata":{"namespace":"default","name":"a"},"spec":5}}`))
		}, "bc"},
		{"modified", func(s *forgetful) {
			s.watch(metav1.ListOptions{}, frame(t, protobufType, "MODIFIED", served("a", "2")))
		}, "abc"},
		{"streaming list", func(s *forgetful) {
			s.watch(initial, added("a"), added("b"), frame(t, protobufType, "BOOKMARK", bookmark("3")))
		}, "ab"},
		{"streaming list, and then a second bookmark", func(s *forgetful) {
			end := frame(t, protobufType, "BOOKMARK", bookmark("3"))
			s.watch(initial, added("a"), end, added("b"), end)
		}, "ab"},
		{"streaming list that broke off", func(s *forgetful) { s.watch(initial, added("a"), added("b")) }, "abc"},
		{"another bookmark", func(s *forgetful) {
			s.watch(initial, added("a"), frame(t, protobufType, "BOOKMARK", plainBookmark))
		}, "abc"},
		{"the end of a list that was not asked for", func(s *forgetful) {
			s.list(9, "", "p", "a") // more pages are to come
			s.watch(metav1.ListOptions{}, added("a"), frame(t, protobufType, "BOOKMARK", bookmark("3")))
		}, "abc"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newForgetful(t)
			s.t = t
			s.list(9, "", "", "a", "b", "c")
			s.remembers("abc")
			tt.then(s)
			s.remembers(tt.want)
		})
	}
}

// A kind that is no object has no Decoder, and a ListWatch says why.
func TestNoDecoderOfWhatIsNoObject(t *testing.T) {
	lists := podKind.GroupVersion().WithKind("PodList")
	m := meta.NewDefaultRESTMapper(nil)
	m.Add(lists, meta.RESTScopeNamespace)
	c, err := client.New(&rest.Config{Host: "http://server"}, &client.Options{Mapper: m})
	if err != nil {
		t.Fatal(err)
	}
	r, err := c.Resource(t.Context(), lists, client.Typed)
	if err != nil {
		t.Fatal(err)
	}
	lw := &client.ListWatch{Resource: r, Decoder: r.NewDecoder(nil)}
	_, err = lw.List(t.Context(), metav1.ListOptions{}, nil)
	if lw.Decoder != nil || err == nil || !strings.Contains(err.Error(), "no metadata") {
		t.Errorf("Decoder %v, error %v", lw.Decoder, err)
	}
}

// Contract 1: a server that ignores what was asked for sends whole objects.
func TestMetadataOfWholeObjects(t *testing.T) {
	p := served("a", "1")
	p.Labels = map[string]string{"app": "a"}
	for _, media := range []string{jsonType, protobufType} {
		var listed, watched []byte
		body := &listed
		s := newServer(t, func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write(*body) })
		listed, watched = wire(t, media, podList("9", "", p)), frame(t, media, "ADDED", p)
		own := podsOf(t, s, client.MetadataOnly)
		for name, lw := range map[string]*client.ListWatch{"own": own, "decoder": withDecoder(own)} {
			check := func(obj client.Object, err error) {
				m, ok := obj.(*metav1.PartialObjectMetadata)
				if err != nil || !ok || m.Name != "a" || m.Labels["app"] != "a" || m.GroupVersionKind() != podKind {
					t.Errorf("%s, %s: object %+v, error %v", media, name, obj, err)
				}
			}
			n := 0
			body = &listed
			if _, err := lw.List(t.Context(), metav1.ListOptions{}, func(obj client.Object, err error) bool { n++; check(obj, err); return true }); err != nil {
				t.Error(err)
			}
			body = &watched
			for ev, err := range lw.Watch(t.Context(), metav1.ListOptions{}) {
				n++
				check(ev.Object, err)
			}
			if n != 2 {
				t.Errorf("%s, %s: %d objects", media, name, n)
			}
		}
	}
}
