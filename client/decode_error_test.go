package client_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"governor/client"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Contract 9: one object that cannot be decoded is named, whatever happened to
// it, and the rest comes.
func TestWatchDecodeError(t *testing.T) {
	bad := `{"type":"%s","object":{"kind":"%s","apiVersion":"v1","metadata":{"name":"bad","namespace":"ns","uid":"u","resourceVersion":"2"},"spec":{"nodeName":%s}}}` + "\n"
	for name, tt := range map[string]struct{ eventType, kind, nodeName string }{
		"does not fit":             {"MODIFIED", "Pod", "5"},
		"does not fit, added":      {"ADDED", "Pod", "5"},
		"does not fit, deleted":    {"DELETED", "Pod", "5"},
		"other kind":               {"MODIFIED", "Node", `""`},
		"a status":                 {"ADDED", "Status", `""`},
		"does not fit and is long": {"ADDED", "Pod", strings.Repeat(" ", 300<<10) + "5"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t, stream(jsonType, frame(t, jsonType, "ADDED", served("a", "1")), fmt.Appendf(nil, bad, tt.eventType, tt.kind, tt.nodeName), frame(t, jsonType, "ADDED", served("b", "3"))))
			own := podsOf(t, s, client.Typed)
			for _, lw := range []*client.ListWatch{own, withDecoder(own)} {
				var got []string
				for ev, err := range lw.Watch(t.Context(), metav1.ListOptions{}) {
					if err == nil {
						got = append(got, ev.Object.GetName())
						continue
					}
					de, ok := errors.AsType[*client.DecodeError](err)
					if !ok || de.Kind != podKind || de.Key.String() != "ns/bad" || de.UID != "u" || de.ResourceVersion != "2" {
						t.Errorf("error %v", err)
					}
					got = append(got, string(ev.Type))
					if ev.Object != nil {
						t.Errorf("an object beside an error: %v", ev.Object)
					}
				}
				if diff := cmp.Diff([]string{"a", tt.eventType, "b"}, got); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

// Contract 9: a stream that is no JSON is an error of the stream. It would be
// wrong to go on, and to call it one object's.
func TestBrokenJSONEndsTheStream(t *testing.T) {
	for name, object := range map[string]string{"word": `{"metadata":{"name":tru}}`, "brackets": `{"metadata":{"name":"a"]}`, "trailing": `{"metadata":{"name":"a"},}`} {
		t.Run(name, func(t *testing.T) {
			body := []byte(`{"type":"ADDED","object":` + object + `}` + "\n" + string(frame(t, jsonType, "ADDED", served("b", "1"))))
			own := podsOf(t, bodies(t, &body), client.Typed)
			for _, lw := range []*client.ListWatch{own, withDecoder(own)} {
				body = []byte(`{"type":"ADDED","object":` + object + `}` + "\n" + string(frame(t, jsonType, "ADDED", served("b", "1"))))
				got, err := seen(t.Context(), lw)
				if _, isOne := errors.AsType[*client.DecodeError](err); err == nil || isOne || got != nil {
					t.Errorf("watch: events %v, error %v", got, err)
				}
				body = []byte(`{"kind":"PodList","apiVersion":"v1","metadata":{},"items":[` + object + `,{"metadata":{"name":"b"}}]}`)
				n := 0
				_, err = lw.List(t.Context(), metav1.ListOptions{}, func(client.Object, error) bool { n++; return true })
				if _, isOne := errors.AsType[*client.DecodeError](err); err == nil || isOne || n > 0 {
					t.Errorf("list: %d items, error %v", n, err)
				}
			}
		})
	}
}

// A list ends at once with its context, even with items at hand.
func TestListEndsWithContext(t *testing.T) {
	for _, media := range []string{jsonType, protobufType} {
		ctx, cancel := context.WithCancel(t.Context())
		s := newServer(t, answer(t, media, podList("9", "", served("a", "1"), served("b", "1"), served("c", "1"))))
		n := 0
		_, err := podsOf(t, s, client.Typed).List(ctx, metav1.ListOptions{}, func(client.Object, error) bool {
			n++
			cancel()
			return true
		})
		if n != 1 || !errors.Is(err, context.Canceled) || apierrors.ReasonForError(err) != "" {
			t.Errorf("%s: %d items, error %v", media, n, err)
		}
	}
}
