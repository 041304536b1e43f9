package envtest

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"governor/scheme"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// HandleWebhook makes h answer, in this process, the webhooks at a host: the one
// in their URL, with its port if the URL has one, or, for a service,
// "NAME.NAMESPACE.svc". An empty host is all those that have no handler of
// their own. nil takes the handler away. Other webhooks are called over HTTPS.
func (s *Server) HandleWebhook(host string, h http.Handler) {
	s.webhooks.handle(host, h)
}

// webhooks calls them. It is ready when zero.
type webhooks struct {
	// resolve finds the address of a service; nil: there are none.
	resolve func(namespace, name string, port int32) (address string, err error)

	mu       sync.Mutex
	handlers map[string]http.Handler // +checklocks:mu by host
}

func (w *webhooks) handle(host string, h http.Handler) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if h == nil {
		delete(w.handlers, host)
		return
	}
	if w.handlers == nil {
		w.handlers = make(map[string]http.Handler)
	}
	w.handlers[host] = h
}

// handler returns what answers at a host in this process, nil if nothing does.
func (w *webhooks) handler(host string) http.Handler {
	w.mu.Lock()
	defer w.mu.Unlock()
	if h, ok := w.handlers[host]; ok {
		return h
	}
	return w.handlers[""]
}

// call posts a question to a webhook and reads its answer. Errors are worded by client-go,
// as with the real server.
func (w *webhooks) call(ctx context.Context, where admissionregistrationv1.WebhookClientConfig, question, answer any, timeout time.Duration) error {
	cfg, err := w.config(where)
	if err != nil {
		return err
	}
	c, err := rest.UnversionedRESTClientFor(cfg)
	if err != nil {
		return err
	}
	body, err := json.Marshal(question)
	if err != nil {
		return err
	}
	reply, err := c.Post().Body(body).Timeout(timeout).Do(ctx).Raw()
	if err != nil {
		return err
	}
	if err := json.Unmarshal(reply, answer); err != nil {
		return fmt.Errorf("the answer is no %T: %w", answer, err)
	}
	return nil
}

// config is how a webhook is reached.
func (w *webhooks) config(where admissionregistrationv1.WebhookClientConfig) (*rest.Config, error) {
	cfg := &rest.Config{
		QPS:       -1,
		UserAgent: "kube-apiserver-admission",
		ContentConfig: rest.ContentConfig{
			ContentType:          runtime.ContentTypeJSON,
			GroupVersion:         &schema.GroupVersion{},
			NegotiatedSerializer: scheme.Builtin().Codecs(),
		},
	}
	var host, address string // whose certificate, where to
	switch {
	case where.Service != nil:
		service := where.Service
		port := int32(443)
		if service.Port != nil {
			port = *service.Port
		}
		host = service.Name + "." + service.Namespace + ".svc"
		cfg.Host = "https://" + net.JoinHostPort(host, strconv.Itoa(int(port)))
		if service.Path != nil {
			cfg.APIPath = *service.Path
		}
		if h := w.handler(host); h != nil {
			cfg.Transport = Transport(h)
			return cfg, nil
		}
		if w.resolve == nil {
			return nil, fmt.Errorf("service %s/%s: there are no services here: give the server a handler (HandleWebhook) or Options.ResolveService", service.Namespace, service.Name)
		}
		var err error
		if address, err = w.resolve(service.Namespace, service.Name, port); err != nil {
			return nil, err
		}
	case where.URL != nil:
		u, err := url.Parse(*where.URL)
		if err != nil {
			return nil, fmt.Errorf("unparsable webhook URL: %w", err)
		}
		host = u.Hostname()
		cfg.Host, cfg.APIPath = u.Scheme+"://"+u.Host, u.Path
		if h := w.handler(u.Host); h != nil {
			cfg.Transport = Transport(h)
			return cfg, nil
		}
	default:
		return nil, errors.New("webhook configuration must have either service or URL")
	}
	cfg.Transport = webhookTransport(where.CABundle, host, address)
	return cfg, nil
}

// webhookTransport makes one connection per call, so that none is left behind.
func webhookTransport(caBundle []byte, serverName, address string) http.RoundTripper {
	t := &http.Transport{
		DisableKeepAlives: true,
		TLSClientConfig:   &tls.Config{ServerName: serverName, MinVersion: tls.VersionTLS12},
	}
	if len(caBundle) > 0 {
		t.TLSClientConfig.RootCAs = x509.NewCertPool()
		t.TLSClientConfig.RootCAs.AppendCertsFromPEM(caBundle)
	}
	if address != "" {
		t.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, address)
		}
	}
	return t
}
