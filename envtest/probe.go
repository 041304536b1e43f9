package envtest

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"k8s.io/client-go/rest"
)

// probeTimeout is how long one question may take. A server that is starting
// answers at once or not at all.
const probeTimeout = 5 * time.Second

// waitServing returns when the process answers 200 to a GET of each URL.
func waitServing(ctx context.Context, p *process, as rest.TLSClientConfig, urls ...string) error {
	tlsConfig, err := rest.TLSConfigFor(&rest.Config{TLSClientConfig: as})
	if err != nil {
		return fmt.Errorf("%s: %w", p.name, err)
	}
	// A transport of our own, not rest's shared one, so that we can let its
	// connections go: a server that stops waits for them.
	transport := &http.Transport{TLSClientConfig: tlsConfig}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, Timeout: probeTimeout}
	return p.waitReady(ctx, func(ctx context.Context) error {
		for len(urls) > 0 {
			if err := probe(ctx, client, urls[0]); err != nil {
				return err
			}
			urls = urls[1:] // what was ready once stays so
		}
		return nil
	})
}

// probe asks once.
func probe(ctx context.Context, client *http.Client, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 4<<10))
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("GET %s: %s: %s", url, resp.Status, body)
	}
	return err
}
