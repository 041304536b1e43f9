package envtest_test

import (
	"context"
	"encoding/json"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"governor/client"
	"governor/envtest"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// answerReview lets answer decide about a review.
func answerReview(w http.ResponseWriter, r *http.Request, answer func(*admissionv1.AdmissionRequest, *admissionv1.AdmissionResponse)) {
	var review admissionv1.AdmissionReview
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
	answer(review.Request, review.Response)
	review.Request = nil
	_ = json.NewEncoder(w).Encode(review)
}

func allow(w http.ResponseWriter, r *http.Request) {
	answerReview(w, r, func(*admissionv1.AdmissionRequest, *admissionv1.AdmissionResponse) {})
}

func deny(w http.ResponseWriter, r *http.Request) {
	answerReview(w, r, func(_ *admissionv1.AdmissionRequest, a *admissionv1.AdmissionResponse) { a.Allowed = false })
}

// hookManifest is a webhook about ConfigMaps; change changes it.
func hookManifest(kind, url string, change func(hook map[string]any)) *unstructured.Unstructured {
	hook := map[string]any{
		"name": "hook.example.com", "sideEffects": "None", "admissionReviewVersions": []any{"v1"},
		"clientConfig": map[string]any{"url": url},
		"rules": []any{map[string]any{"apiGroups": []any{""}, "apiVersions": []any{"v1"},
			"resources": []any{"configmaps"}, "operations": []any{"*"}}},
	}
	if change != nil {
		change(hook)
	}
	config := &unstructured.Unstructured{Object: map[string]any{"webhooks": []any{hook}}}
	config.SetAPIVersion("admissionregistration.k8s.io/v1")
	config.SetKind(kind)
	config.SetName("hook")
	return config
}

func installHook(t *testing.T, c client.Client, kind, url string, change func(hook map[string]any)) {
	t.Helper()
	if err := c.Create(t.Context(), hookManifest(kind, url, change)); err != nil {
		t.Fatal(err)
	}
}

func atService(hook map[string]any) {
	hook["clientConfig"] = map[string]any{"service": map[string]any{"name": "hooks", "namespace": "system", "path": "/validate", "port": int64(8443)}}
}

// Contract 25: which handler answers in process.
func TestWebhooksInProcess(t *testing.T) {
	tests := []struct {
		name   string
		host   string
		change func(map[string]any)
		path   string
	}{
		{"by the URL's host", "hooks.example.com", nil, "/validate"},
		{"by host and port", "hooks.example.com:8443", func(h map[string]any) {
			h["clientConfig"] = map[string]any{"url": "https://hooks.example.com:8443/here"}
		}, "/here"},
		{"by service", "hooks.system.svc", atService, "/validate"},
		{"any", "", atService, "/validate"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, c := newServer(t, nil)
				var path string
				s.HandleWebhook(tt.host, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					path = r.URL.Path
					deny(w, r)
				}))
				installHook(t, c, "ValidatingWebhookConfiguration", "https://hooks.example.com/validate", tt.change)
				err := c.Create(t.Context(), newMap("a"))
				if err == nil || !strings.Contains(err.Error(), `admission webhook "hook.example.com" denied the request`) || path != tt.path {
					t.Errorf("%v, asked at %q", err, path)
				}
				s.HandleWebhook(tt.host, nil)
				s.HandleWebhook("", http.HandlerFunc(allow))
				if err := c.Create(t.Context(), newMap("a")); err != nil {
					t.Errorf("with another handler: %v", err)
				}
			})
		})
	}
}

// Contract 25: a webhook that hangs costs its timeout, no more, and a client that leaves
// ends its call.
func TestWebhookTimeouts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, c := newServer(t, nil)
		create(t, c, "first")
		s.HandleWebhook("", http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
		installHook(t, c, "MutatingWebhookConfiguration", "https://hooks.example.com/", nil)
		start := time.Now()
		err := c.Create(t.Context(), newMap("a"))
		if !apierrors.IsInternalError(err) || time.Since(start) != 10*time.Second || !strings.Contains(err.Error(), "context deadline exceeded") {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := c.Create(ctx, newMap("a")); err == nil {
			t.Error("no error")
		}
	})
}

// Contract 25: what mutating webhooks change is what is stored, one after the other.
func TestWebhooksInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, c := newServer(t, nil)
		add := func(key string) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				answerReview(w, r, func(q *admissionv1.AdmissionRequest, a *admissionv1.AdmissionResponse) {
					var m corev1.ConfigMap
					_ = json.Unmarshal(q.Object.Raw, &m)
					kind := admissionv1.PatchTypeJSONPatch
					a.PatchType = &kind
					a.Patch, _ = json.Marshal([]any{map[string]any{"op": "add", "path": "/data", "value": map[string]string{key: m.Data["a"] + key}}})
				})
			}
		}
		s.HandleWebhook("a", add("a"))
		s.HandleWebhook("b", add("b"))
		second := hookManifest("MutatingWebhookConfiguration", "https://b/", nil)
		second.SetName("second")
		if err := c.Create(t.Context(), second); err != nil {
			t.Fatal(err)
		}
		installHook(t, c, "MutatingWebhookConfiguration", "https://a/", nil)
		m := newMap("a")
		if err := c.Create(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		if m.Data["b"] != "ab" || len(m.Data) != 1 {
			t.Errorf("data %v", m.Data)
		}
	})
}

// Contract 25: services are where Options.ResolveService says, and have the
// certificate of their names.
func TestWebhookServices(t *testing.T) {
	hooks := httptest.NewUnstartedServer(http.HandlerFunc(deny))
	hooks.Config.ErrorLog = log.New(io.Discard, "", 0) // of the handshake that fails
	hooks.StartTLS()
	defer hooks.Close()
	address, err := url.Parse(hooks.URL)
	if err != nil {
		t.Fatal(err)
	}
	s, c := newServer(t, &envtest.Options{ResolveService: func(namespace, name string, port int32) (string, error) {
		if namespace != "system" || name != "hooks" || port != 8443 {
			return "", &net.DNSError{Err: "no such service", Name: name}
		}
		return address.Host, nil
	}})
	installHook(t, c, "ValidatingWebhookConfiguration", "", atService)
	// httptest's certificate is for example.com.
	err = c.Create(t.Context(), newMap("a"))
	if err == nil || !strings.Contains(err.Error(), `failed to call webhook: Post "https://hooks.system.svc:8443/validate?timeout=10s": tls: failed to verify certificate`) {
		t.Errorf("another's certificate: %v", err)
	}
	s.HandleWebhook("hooks.system.svc", http.HandlerFunc(allow))
	if err := c.Create(t.Context(), newMap("a")); err != nil {
		t.Error(err)
	}

	_, c = newServer(t, nil)
	installHook(t, c, "ValidatingWebhookConfiguration", "", atService)
	if err := c.Create(t.Context(), newMap("a")); err == nil || !strings.Contains(err.Error(), "HandleWebhook") {
		t.Errorf("without services: %v", err)
	}
}
