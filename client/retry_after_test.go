package client_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"testing"
	"testing/synctest"

	"governor/client"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Contract 10: Retry-After reaches the caller, whatever the body says of it, and
// whatever was called.
func TestRetryAfterOfEveryVerb(t *testing.T) {
	const status = `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"busy","reason":"%s","code":%d%s}`
	tests := []struct {
		name, header string
		code         int
		body         string
		want         int // 0 means none
	}{
		{"429, status without it", "7", 429, fmt.Sprintf(status, "TooManyRequests", 429, ""), 7},
		{"429, status with empty details", "7", 429, fmt.Sprintf(status, "TooManyRequests", 429, `,"details":{"kind":"pods"}`), 7},
		{"429, status with its own", "7", 429, fmt.Sprintf(status, "TooManyRequests", 429, `,"details":{"retryAfterSeconds":3}`), 3},
		{"503, status without it", "4", 503, fmt.Sprintf(status, "ServiceUnavailable", 503, ""), 4},
		{"429, a text", "5", 429, "busy", 5},
		{"429, a date", "Sat, 01 Jan 2000 00:00:09 GMT", 429, fmt.Sprintf(status, "TooManyRequests", 429, ""), 9},
		{"429, a date long ago", "Fri, 31 Dec 1999 00:00:00 GMT", 429, fmt.Sprintf(status, "TooManyRequests", 429, ""), 0},
		{"429, nonsense", "soon", 429, fmt.Sprintf(status, "TooManyRequests", 429, ""), 0},
		{"429, none", "", 429, fmt.Sprintf(status, "TooManyRequests", 429, ""), 0},
	}
	calls := map[string]func(context.Context, *server) error{
		"get": func(ctx context.Context, s *server) error {
			return s.Get(ctx, client.ObjectKey{Namespace: "ns", Name: "a"}, pod("a"))
		},
		"list":   func(ctx context.Context, s *server) error { return s.List(ctx, &corev1.PodList{}) },
		"create": func(ctx context.Context, s *server) error { return s.Create(ctx, pod("a")) },
		"update": func(ctx context.Context, s *server) error { return s.Update(ctx, pod("a")) },
		"patch": func(ctx context.Context, s *server) error {
			return s.Patch(ctx, pod("a"), client.MergeFrom(pod("a")))
		},
		"delete": func(ctx context.Context, s *server) error { return s.Delete(ctx, pod("a")) },
		"status": func(ctx context.Context, s *server) error { return s.Status().Update(ctx, pod("a")) },
		"ListWatch.List": func(ctx context.Context, s *server) error {
			_, err := podsOf(t, s, client.Typed).List(ctx, metav1.ListOptions{}, nil)
			return err
		},
		"ListWatch.Watch": func(ctx context.Context, s *server) error {
			_, err := seen(ctx, podsOf(t, s, client.Typed))
			return err
		},
	}
	for _, tt := range tests {
		for name, call := range calls {
			t.Run(tt.name+"/"+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { // where the year begins with 2000, and retries take no time
					s := newServer(t, func(w http.ResponseWriter, _ *http.Request) {
						if tt.header != "" {
							w.Header().Set("Retry-After", tt.header)
						}
						w.Header().Set("Content-Type", jsonType)
						w.WriteHeader(tt.code)
						_, _ = io.WriteString(w, tt.body)
					})
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					err := call(ctx, s)
					seconds, ok := apierrors.SuggestsClientDelay(err)
					if apierrors.ReasonForError(err) == "" || seconds != tt.want || ok != (tt.want > 0) {
						t.Errorf("error %v, delay %d %v", err, seconds, ok)
					}
				})
			})
		}
	}
}
