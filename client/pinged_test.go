package client

import (
	"net/http"
	"net/url"
	"slices"
	"testing"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
)

// Contract 9: also a server whose certificate needs no CA of ours gets a
// transport that pings. In the package, since no test can make the system's
// roots vouch for its server.
func TestEveryTransportPings(t *testing.T) {
	own := func(*http.Request) (*url.URL, error) { return nil, nil }
	tests := []struct {
		name  string
		cfg   rest.Config
		proxy bool
	}{
		{"system roots", rest.Config{Host: "https://server"}, true},
		{"system roots and a token", rest.Config{Host: "https://server", BearerToken: "t"}, true},
		{"its own name", rest.Config{Host: "https://server", TLSClientConfig: rest.TLSClientConfig{ServerName: "other"}}, false},
		{"no TLS", rest.Config{Host: "http://server"}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if err := pinged(&tt.cfg); err != nil || (tt.cfg.Proxy != nil) != tt.proxy {
				t.Errorf("proxy set: %v, error %v", tt.cfg.Proxy != nil, err)
			}
			if tt.cfg.Host == "http://server" {
				return
			}
			rt, err := rest.TransportFor(&rest.Config{Host: tt.cfg.Host, Proxy: tt.cfg.Proxy, TLSClientConfig: tt.cfg.TLSClientConfig})
			if err != nil {
				t.Fatal(err)
			}
			if rt == http.DefaultTransport {
				t.Error("it is http.DefaultTransport, which does not ping")
			}
			// client-go sets the pings where it sets up HTTP/2.
			if c, err := utilnet.TLSClientConfig(rt); err != nil || c == nil || !slices.Contains(c.NextProtos, "h2") {
				t.Errorf("no HTTP/2: %+v, %v", c, err)
			}
		})
	}
	kept := rest.Config{Host: "https://server", Proxy: own}
	if err := pinged(&kept); err != nil {
		t.Error(err)
	}
	if u, err := kept.Proxy(nil); u != nil || err != nil {
		t.Error("the proxy given is not kept")
	}
	broken := rest.Config{Host: "https://server", TLSClientConfig: rest.TLSClientConfig{CAFile: "/does/not/exist"}}
	if err := pinged(&broken); err == nil {
		t.Error("no error for a CA that cannot be read")
	}

	c, err := New(&rest.Config{Host: "https://server", BearerToken: "t"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	rt := c.http.Transport
	for wrapped, ok := rt.(utilnet.RoundTripperWrapper); ok; wrapped, ok = rt.(utilnet.RoundTripperWrapper) {
		rt = wrapped.WrappedRoundTripper()
	}
	if _, ok := rt.(*http.Transport); !ok || rt == http.DefaultTransport {
		t.Errorf("a client has %T", rt)
	}
}
