package client_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"governor/client"
	"governor/scheme"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
)

// frame is one event's bytes in a watch's stream.
func frame(t testing.TB, mediaType, eventType string, obj runtime.Object) []byte {
	t.Helper()
	ev := &metav1.WatchEvent{Type: eventType, Object: runtime.RawExtension{Raw: wire(t, mediaType, obj)}}
	if mediaType == jsonType {
		data, err := json.Marshal(ev)
		if err != nil {
			t.Fatal(err)
		}
		return append(data, '\n')
	}
	info, _ := runtime.SerializerInfoForMediaType(scheme.Builtin().Codecs().SupportedMediaTypes(), mediaType)
	var buf bytes.Buffer
	if err := info.StreamSerializer.Serializer.Encode(ev, info.StreamSerializer.NewFrameWriter(&buf)); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// stream sends bytes and ends well.
func stream(mediaType string, frames ...[]byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", mediaType+";stream=watch")
		for _, f := range frames {
			_, _ = w.Write(f)
		}
	}
}

func podsOf(t testing.TB, s *server, form client.Form) *client.ListWatch {
	t.Helper()
	r, err := s.Resource(t.Context(), podKind, form)
	if err != nil {
		t.Fatal(err)
	}
	return &client.ListWatch{Resource: r}
}

// seen runs a watch to its end and tells what came.
func seen(ctx context.Context, lw *client.ListWatch) (events []string, err error) {
	for ev, failed := range lw.Watch(ctx, metav1.ListOptions{}) {
		if failed != nil {
			err = failed
			continue
		}
		o := ev.Object
		gvk := o.GetObjectKind().GroupVersionKind()
		events = append(events, fmt.Sprintf("%s %s %s@%s", ev.Type, gvk.Kind, o.GetName(), o.GetResourceVersion()))
	}
	return events, err
}

func bookmark(resourceVersion string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{ResourceVersion: resourceVersion, Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"}}}
	p.SetGroupVersionKind(podKind)
	return p
}

// Contract 9: every form, either encoding, whichever was asked for.
func TestWatchInEachForm(t *testing.T) {
	for _, form := range []client.Form{client.Typed, client.Unstructured, client.MetadataOnly} {
		for _, media := range []string{jsonType, protobufType} {
			if form == client.Unstructured && media == protobufType {
				continue
			}
			t.Run(form.String()+" "+media, func(t *testing.T) {
				send := func(eventType string, p *corev1.Pod) []byte {
					if form == client.MetadataOnly {
						m := &metav1.PartialObjectMetadata{ObjectMeta: p.ObjectMeta}
						m.SetGroupVersionKind(metav1.SchemeGroupVersion.WithKind("PartialObjectMetadata"))
						return frame(t, media, eventType, m)
					}
					return frame(t, media, eventType, p)
				}
				s := newServer(t, stream(media, send("ADDED", served("a", "1")), send("MODIFIED", served("a", "2")), send("DELETED", served("a", "3")), send("BOOKMARK", bookmark("9"))))
				got, err := seen(t.Context(), podsOf(t, s, form))
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff([]string{"ADDED Pod a@1", "MODIFIED Pod a@2", "DELETED Pod a@3", "BOOKMARK Pod @9"}, got); diff != "" {
					t.Error(diff)
				}
			})
		}
	}
}

func TestWatchBookmarkAnnotations(t *testing.T) {
	s := newServer(t, stream(protobufType, frame(t, protobufType, "BOOKMARK", bookmark("9"))))
	for ev, err := range podsOf(t, s, client.Typed).Watch(t.Context(), metav1.ListOptions{}) {
		if err != nil || ev.Object.GetAnnotations()[metav1.InitialEventsAnnotationKey] != "true" {
			t.Errorf("event %+v, error %v", ev, err)
		}
	}
}

// Objects do not share memory: each event's is the receiver's own.
func TestWatchObjectsAreSeparate(t *testing.T) {
	long := served("first", "1")
	long.Spec.NodeName = strings.Repeat("x", 5000)
	s := newServer(t, stream(protobufType, frame(t, protobufType, "ADDED", long), frame(t, protobufType, "ADDED", served("second", "2"))))
	var pods []*corev1.Pod
	for ev, err := range podsOf(t, s, client.Typed).Watch(t.Context(), metav1.ListOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		pods = append(pods, ev.Object.(*corev1.Pod))
	}
	if len(pods) != 2 || pods[0].Name != "first" || pods[0].Spec.NodeName != long.Spec.NodeName || pods[1].Name != "second" {
		t.Errorf("got %v", pods)
	}
}

func TestListWatchQuery(t *testing.T) {
	s := newServer(t, stream(jsonType))
	lw := podsOf(t, s, client.Typed)
	lw.Namespace, lw.LabelSelector, lw.FieldSelector = "ns", "a=1", "spec.nodeName=n"
	for range lw.Watch(t.Context(), metav1.ListOptions{
		LabelSelector: "b", FieldSelector: "metadata.name=x", ResourceVersion: "5", ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
		TimeoutSeconds: new(int64(300)), AllowWatchBookmarks: true, SendInitialEvents: new(true),
	}) {
	}
	c := s.only(t)
	want := "allowWatchBookmarks=true&fieldSelector=spec.nodeName%3Dn%2Cmetadata.name%3Dx&labelSelector=a%3D1%2Cb&resourceVersion=5&resourceVersionMatch=NotOlderThan&sendInitialEvents=true&timeoutSeconds=300&watch=true"
	if c.Path != "/api/v1/namespaces/ns/pods" || c.Query.Encode() != want {
		t.Errorf("sent %s?%s", c.Path, c.Query.Encode())
	}

	s = newServer(t, answerJSON(200, `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"8","continue":"c"},"items":null}`))
	listed, err := podsOf(t, s, client.Typed).List(t.Context(), metav1.ListOptions{Limit: 500, Continue: "token", ResourceVersion: "0"}, func(client.Object, error) bool { return true })
	if err != nil || listed.ResourceVersion != "8" || listed.Continue != "c" {
		t.Errorf("listed %+v, error %v", listed, err)
	}
	if c := s.only(t); c.Query.Encode() != "continue=token&limit=500&resourceVersion=0" {
		t.Errorf("sent %s", c.Query.Encode())
	}
}

// Contract 9: how a watch ends.
func TestWatchEnds(t *testing.T) {
	added := frame(t, jsonType, "ADDED", served("a", "1"))
	addedProto := frame(t, protobufType, "ADDED", served("a", "1"))
	gone := &metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Reason: metav1.StatusReasonExpired, Code: 410, Message: "too old"}
	one := []string{"ADDED Pod a@1"}
	tests := []struct {
		name   string
		answer http.HandlerFunc
		events []string
		is     func(error) bool // nil means no error
	}{
		{"empty", stream(jsonType), nil, nil},
		{"between two events", stream(jsonType, added), one, nil},
		{"between two events, protobuf", stream(protobufType, addedProto), one, nil},
		{"within an event", stream(jsonType, added, added[:20]), one, func(err error) bool { return errors.Is(err, io.ErrUnexpectedEOF) }},
		{"within an event, protobuf", stream(protobufType, addedProto, addedProto[:20]), one, func(err error) bool { return errors.Is(err, io.ErrUnexpectedEOF) }},
		{"within a length", stream(protobufType, addedProto, addedProto[:3]), one, func(err error) bool { return errors.Is(err, io.ErrUnexpectedEOF) }},
		{"error event", stream(jsonType, added, frame(t, jsonType, "ERROR", gone), added), one, apierrors.IsResourceExpired},
		{"error event, protobuf", stream(protobufType, addedProto, frame(t, protobufType, "ERROR", gone)), one, apierrors.IsResourceExpired},
		{"refused", answerJSON(410, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410}`), nil, apierrors.IsResourceExpired},
		{"a page of HTML", answerJSON(200, `<html>`), nil, func(err error) bool { return strings.Contains(err.Error(), "neither JSON nor protobuf") }},
		{"unknown event", stream(jsonType, []byte(`{"type":"EXPLODED","object":{}}`)), nil, func(err error) bool { return strings.Contains(err.Error(), "EXPLODED") }},
		{"an endless frame", stream(protobufType, []byte{4, 0, 0, 1}), nil, func(err error) bool { return strings.Contains(err.Error(), "64 MiB") }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newServer(t, tt.answer)
			got, err := seen(t.Context(), podsOf(t, s, client.Typed))
			if diff := cmp.Diff(tt.events, got); diff != "" {
				t.Error(diff)
			}
			switch {
			case tt.is == nil && err != nil:
				t.Errorf("error %v, want none", err)
			case tt.is != nil && (err == nil || !tt.is(err)):
				t.Errorf("error %v is not the one wanted", err)
			case err != nil && !strings.Contains(err.Error(), "watch Pod"):
				t.Errorf("error %v does not say what was watched", err)
			}
		})
	}
}

// Retries are the caller's: the server's 429 comes through at once, with the
// delay that it asks for.
func TestListWatchDoesNotRetry(t *testing.T) {
	s := newServer(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(http.StatusTooManyRequests)
	})
	lw := podsOf(t, s, client.Typed)
	_, err := seen(t.Context(), lw)
	if seconds, ok := apierrors.SuggestsClientDelay(err); !apierrors.IsTooManyRequests(err) || !ok || seconds != 7 {
		t.Errorf("error %v, delay %d", err, seconds)
	}
	s.only(t)
}

// An object without a name is none: null in a list, or an empty event.
func TestObjectsWithoutName(t *testing.T) {
	s := newServer(t, stream(jsonType, []byte(`{"type":"ADDED","object":null}{"type":"ADDED","object":{}}`)))
	got, err := seen(t.Context(), podsOf(t, s, client.Typed))
	if _, ok := errors.AsType[*client.DecodeError](err); !ok || got != nil {
		t.Errorf("events %v, error %v", got, err)
	}
	for _, form := range []client.Form{client.Typed, client.Unstructured, client.MetadataOnly} {
		s := newServer(t, answerJSON(200, `{"kind":"PodList","apiVersion":"v1","items":[null]}`))
		_, err := podsOf(t, s, form).List(t.Context(), metav1.ListOptions{}, func(obj client.Object, err error) bool {
			if _, ok := errors.AsType[*client.DecodeError](err); !ok || obj != nil {
				t.Errorf("%v: object %v, error %v", form, obj, err)
			}
			return true
		})
		if err != nil {
			t.Errorf("%v: %v", form, err)
		}
	}
}

// Contract 9: a watch that waits ends with its context, silently, and its
// stream is closed; no goroutine is left (the bubble would fail).
func TestWatchEndsWithContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		closed := make(chan struct{})
		s := newServer(t, func(w http.ResponseWriter, r *http.Request) {
			_, _ = w.Write(frame(t, jsonType, "ADDED", served("a", "1")))
			w.(http.Flusher).Flush()
			<-r.Context().Done()
			close(closed)
		})
		start := time.Now()
		got, err := seen(ctx, podsOf(t, s, client.Typed))
		if err != nil || len(got) != 1 || time.Since(start) != time.Hour {
			t.Errorf("events %v, error %v after %v", got, err, time.Since(start))
		}
		<-closed
	})
}

// The same over a transport whose body does not listen to the context.
func TestWatchClosesDeafBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w *io.PipeWriter
		cfg := &rest.Config{Host: "http://server", Transport: roundTripper(func(*http.Request) (*http.Response, error) {
			var r *io.PipeReader
			r, w = io.Pipe()
			return &http.Response{StatusCode: 200, Body: r}, nil
		})}
		c, err := client.New(cfg, &client.Options{Scheme: testScheme(t), Mapper: testMapper()})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		got, err := seen(ctx, podsOf(t, &server{Direct: c}, client.Typed))
		if err != nil || got != nil {
			t.Errorf("events %v, error %v", got, err)
		}
		ctx, cancel = context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		_, err = podsOf(t, &server{Direct: c}, client.Typed).List(ctx, metav1.ListOptions{}, nil)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("list: error %v does not say that the context ended", err)
		}
		if _, err := w.Write([]byte("x")); err != io.ErrClosedPipe {
			t.Errorf("the body is not closed: %v", err)
		}
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Contract 9: leaving the loop closes the stream.
func TestLeavingTheLoopClosesTheStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		closed := make(chan struct{})
		s := newServer(t, func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				if _, err := w.Write(frame(t, protobufType, "ADDED", served("a", "1"))); err != nil {
					break
				}
				w.(http.Flusher).Flush()
			}
			close(closed)
		})
		for range podsOf(t, s, client.Typed).Watch(t.Context(), metav1.ListOptions{}) {
			break
		}
		<-closed
	})
}

// Contract 10: items come as their bytes do, each its own allocation.
func TestListYieldsAsBytesArrive(t *testing.T) {
	list := &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "9"}, Items: []corev1.Pod{*served("a", "1"), *served("b", "2")}}
	list.SetGroupVersionKind(podKind.GroupVersion().WithKind("PodList"))
	for _, media := range []string{jsonType, protobufType} {
		t.Run(media, func(t *testing.T) {
			data := wire(t, media, list)
			// What comes first ends within item b.
			cut := bytes.LastIndex(data, []byte("node-of-b"))
			synctest.Test(t, func(t *testing.T) {
				rest := make(chan struct{})
				s := newServer(t, func(w http.ResponseWriter, _ *http.Request) {
					_, _ = w.Write(data[:cut])
					w.(http.Flusher).Flush()
					<-rest
					_, _ = w.Write(data[cut:])
				})
				var got []string
				listed, err := podsOf(t, s, client.Typed).List(t.Context(), metav1.ListOptions{}, func(obj client.Object, err error) bool {
					if err != nil {
						t.Error(err)
						return false
					}
					if len(got) == 0 {
						close(rest) // the test hangs if a needs what comes after it
					}
					got = append(got, fmt.Sprintf("%s %s@%s", obj.GetObjectKind().GroupVersionKind().Kind, obj.GetName(), obj.GetResourceVersion()))
					return true
				})
				if err != nil || listed.ResourceVersion != "9" {
					t.Errorf("listed %+v, error %v", listed, err)
				}
				if diff := cmp.Diff([]string{"Pod a@1", "Pod b@2"}, got); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

// Contract 10: a list that breaks off is an error, whatever came before.
func TestListBreaksOff(t *testing.T) {
	list := &corev1.PodList{Items: []corev1.Pod{*served("a", "1"), *served("b", "2")}}
	list.SetGroupVersionKind(podKind.GroupVersion().WithKind("PodList"))
	for _, media := range []string{jsonType, protobufType} {
		data := wire(t, media, list)
		data = bytes.TrimRight(data, "\n\x00\"\x1a\x22") // what may be missing at the end without harm
		var body []byte
		lw := podsOf(t, bodies(t, &body), client.Typed)
		for cut := range data {
			body = data[:cut]
			_, err := lw.List(t.Context(), metav1.ListOptions{}, func(client.Object, error) bool { return true })
			if err == nil {
				t.Fatalf("%s: no error though only %d of %d bytes came", media, cut, len(data))
			}
		}
	}
}

// Contract 10: one item that cannot be decoded is named, and the rest comes.
func TestListDecodeError(t *testing.T) {
	s := newServer(t, answerJSON(200, `{"kind":"PodList","apiVersion":"v1","items":[{"metadata":{"name":"a"}},{"metadata":{"name":"bad","resourceVersion":"2"},"spec":{"nodeName":5}},{"metadata":{"name":"c"}}],"metadata":{"resourceVersion":"3"}}`))
	var names []string
	var bad *client.DecodeError
	listed, err := podsOf(t, s, client.Typed).List(t.Context(), metav1.ListOptions{}, func(obj client.Object, err error) bool {
		if err != nil {
			bad, _ = errors.AsType[*client.DecodeError](err)
			return true
		}
		names = append(names, obj.GetName())
		return true
	})
	if err != nil || listed.ResourceVersion != "3" {
		t.Errorf("listed %+v, error %v", listed, err)
	}
	if diff := cmp.Diff([]string{"a", "c"}, names); diff != "" {
		t.Error(diff)
	}
	if bad == nil || bad.Key.Name != "bad" || bad.Kind != podKind || bad.ResourceVersion != "2" {
		t.Errorf("decode error %v", bad)
	}
}

// Contract 4: what is no list is an error: an informer would take an empty one
// for "everything was deleted".
func TestListOfSomethingElse(t *testing.T) {
	protobufStatus := wire(t, protobufType, &metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Failure"})
	for name, body := range map[string][]byte{
		"nothing":           nil,
		"no kind":           []byte(`{}`),
		"message":           []byte(`{"message":"go away"}`),
		"status":            []byte(`{"kind":"Status","apiVersion":"v1","status":"Failure"}`),
		"status, protobuf":  protobufStatus,
		"no kind, protobuf": []byte("k8s\x00\x12\x00"),
		"items is a number": []byte(`{"kind":"PodList","items":5}`),
		"an array":          []byte(`[]`),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := podsOf(t, bodies(t, &body), client.Typed).List(t.Context(), metav1.ListOptions{}, func(client.Object, error) bool { return true })
			if err == nil || !strings.Contains(err.Error(), "list Pod") {
				t.Errorf("error %v, want one", err)
			}
		})
	}
	for _, body := range []string{`{}`, `{"message":"go away"}`, `{"kind":"Status","apiVersion":"v1","status":"Failure"}`} {
		for _, list := range []client.ObjectList{forms()[0].list(), forms()[2].list(), forms()[3].list()} {
			s := newServer(t, answerJSON(200, body))
			if err := s.List(t.Context(), list); err == nil {
				t.Errorf("%T: no error for %s", list, body)
			}
		}
	}
}

func TestListStopsWhenTold(t *testing.T) {
	list := &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "9"}, Items: []corev1.Pod{*served("a", "1"), *served("b", "2")}}
	list.SetGroupVersionKind(podKind.GroupVersion().WithKind("PodList"))
	for _, media := range []string{jsonType, protobufType} {
		s := newServer(t, answer(t, media, list))
		n := 0
		if _, err := podsOf(t, s, client.Typed).List(t.Context(), metav1.ListOptions{}, func(client.Object, error) bool { n++; return false }); err != nil || n != 1 {
			t.Errorf("%s: %d items, error %v", media, n, err)
		}
	}
}

// Client.Watch starts where a List into the same list ended.
func TestClientWatch(t *testing.T) {
	s := newServer(t, stream(jsonType, frame(t, jsonType, "MODIFIED", served("a", "6"))))
	list := &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "5"}}
	n := 0
	for ev, err := range s.Watch(t.Context(), list, client.InNamespace("default"), client.MatchingLabels{"a": "1"}) {
		if err != nil || ev.Type != watch.Modified || ev.Object.GetName() != "a" {
			t.Errorf("event %+v, error %v", ev, err)
		}
		n++
	}
	if c := s.only(t); n != 1 || c.Path != "/api/v1/namespaces/default/pods" || c.Query.Encode() != "labelSelector=a%3D1&resourceVersion=5&watch=true" {
		t.Errorf("%d events, sent %s?%s", n, c.Path, c.Query.Encode())
	}
}
