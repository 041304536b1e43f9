package conformance

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"k8s.io/client-go/rest"
)

// Target is a server that the suite asks.
type Target struct {
	// Config reaches it as an administrator.
	Config *rest.Config
	// User returns how a user with these groups reaches it; nil means through
	// impersonation by the administrator.
	User func(name string, groups ...string) (*rest.Config, error)
	// Compact makes it forget what was before a resourceVersion.
	Compact func(ctx context.Context, resourceVersion string) error
	// Reference says that this is the real server: no difference is on purpose.
	Reference bool

	clients *sync.Map // http.RoundTripper by user and groups
}

// nobody is the user who shows no credentials.
const nobody = "nobody"

// client returns what sends a user's requests, and where to; no user is the
// administrator.
func (t Target) client(user string, groups []string) (http.RoundTripper, string, error) {
	key := user + " " + strings.Join(groups, " ")
	host := strings.TrimSuffix(t.Config.Host, "/")
	if known, ok := t.clients.Load(key); ok {
		return known.(http.RoundTripper), host, nil
	}
	config, err := t.config(user, groups)
	if err != nil {
		return nil, "", err
	}
	transport, err := rest.TransportFor(config)
	if err != nil {
		return nil, "", fmt.Errorf("user %q: %w", user, err)
	}
	t.clients.Store(key, transport)
	return transport, host, nil
}

func (t Target) config(user string, groups []string) (*rest.Config, error) {
	switch {
	case user == "":
		return t.Config, nil
	case user == nobody:
		config := rest.AnonymousClientConfig(t.Config)
		config.Transport = t.Config.Transport
		return config, nil
	case t.User != nil:
		return t.User(user, groups...)
	}
	config := rest.CopyConfig(t.Config)
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: append(groups, "system:authenticated")}
	return config, nil
}
