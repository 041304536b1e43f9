package client_test

import (
	"compress/gzip"
	"context"
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"governor/client"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// tlsServer serves HTTP/2 over TLS, as API servers do, and returns how to reach
// it.
func tlsServer(t testing.TB, h http.HandlerFunc) (*httptest.Server, *rest.Config) {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	return s, &rest.Config{Host: s.URL, TLSClientConfig: rest.TLSClientConfig{CAData: ca}}
}

func podsAt(t testing.TB, cfg *rest.Config) *client.ListWatch {
	t.Helper()
	c, err := client.New(cfg, &client.Options{Scheme: testScheme(t), Mapper: testMapper()})
	if err != nil {
		t.Fatal(err)
	}
	return podsOf(t, &server{Direct: c}, client.Typed)
}

// blackHole is a proxy that on command forwards nothing more, but keeps both
// its sockets open, so that neither side hears of it.
type blackHole struct {
	net.Listener
	to   string
	open chan struct{} // closed: nothing is forwarded
	done sync.WaitGroup

	mu    sync.Mutex
	conns []net.Conn // +checklocks:mu
}

func newBlackHole(t *testing.T, to string) *blackHole {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := &blackHole{Listener: l, to: to, open: make(chan struct{})}
	b.done.Go(b.accept)
	t.Cleanup(func() {
		l.Close()
		b.mu.Lock()
		for _, c := range b.conns {
			c.Close()
		}
		b.mu.Unlock()
		b.done.Wait()
	})
	return b
}

func (b *blackHole) accept() {
	for {
		near, err := b.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial("tcp", b.to)
		if err != nil {
			near.Close()
			return
		}
		b.mu.Lock()
		b.conns = append(b.conns, near, far)
		b.mu.Unlock()
		b.done.Go(func() { b.forward(near, far) })
		b.done.Go(func() { b.forward(far, near) })
	}
}

// forward swallows what it reads once the hole is open.
func (b *blackHole) forward(to, from net.Conn) {
	buf := make([]byte, 16<<10)
	for {
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		select {
		case <-b.open:
		default:
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
	}
}

// Contract 9: a watch on a connection that died in silence ends with an error,
// by HTTP/2 pings. client-go reads the bounds, 30 and 15 s, from the environment
// when the connection is made.
func TestWatchOnADeadConnectionEnds(t *testing.T) {
	t.Setenv("HTTP2_READ_IDLE_TIMEOUT_SECONDS", "1")
	t.Setenv("HTTP2_PING_TIMEOUT_SECONDS", "1")
	end := make(chan struct{})
	s, cfg := tlsServer(t, func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor != 2 {
			t.Errorf("asked by %s", r.Proto)
		}
		_, _ = w.Write(frame(t, jsonType, "ADDED", served("a", "1")))
		w.(http.Flusher).Flush()
		select {
		case <-r.Context().Done():
		case <-end:
		}
	})
	defer close(end)
	hole := newBlackHole(t, s.Listener.Addr().String())
	cfg.Host = "https://" + hole.Addr().String()

	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	n := 0
	var err error
	var start time.Time
	for _, failed := range podsAt(t, cfg).Watch(ctx, metav1.ListOptions{}) {
		if failed != nil {
			err = failed
			continue
		}
		n++
		start = time.Now()
		close(hole.open)
	}
	if n != 1 || err == nil || ctx.Err() != nil {
		t.Fatalf("%d events, error %v, context %v", n, err, ctx.Err())
	}
	if took := time.Since(start); took < time.Second || took > 10*time.Second {
		t.Errorf("it ended after %v", took)
	}
}

// A watch that only is quiet stays: the pings are answered.
func TestQuietWatchStays(t *testing.T) {
	t.Setenv("HTTP2_READ_IDLE_TIMEOUT_SECONDS", "1")
	t.Setenv("HTTP2_PING_TIMEOUT_SECONDS", "1")
	_, cfg := tlsServer(t, func(w http.ResponseWriter, r *http.Request) {
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	ctx, cancel := context.WithTimeout(t.Context(), 2500*time.Millisecond)
	defer cancel()
	if got, err := seen(ctx, podsAt(t, cfg)); err != nil || got != nil || ctx.Err() == nil {
		t.Errorf("events %v, error %v, context %v", got, err, ctx.Err())
	}
}

// Lists and watches travel plain, other reads as the transport likes. Whoever
// has a slow line gets compression back with a WrapTransport.
func TestStreamsAreNotCompressed(t *testing.T) {
	list := wire(t, protobufType, podList("1", "", served("a", "1")))
	var mu sync.Mutex
	var asked []string
	_, cfg := tlsServer(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked = append(asked, r.Header.Get("Accept-Encoding"))
		mu.Unlock()
		if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			defer z.Close()
			_, _ = z.Write(list)
			return
		}
		_, _ = w.Write(list)
	})
	ask := func(lw *client.ListWatch) {
		t.Helper()
		n := 0
		if _, err := lw.List(t.Context(), metav1.ListOptions{}, func(_ client.Object, err error) bool { n++; return err == nil }); err != nil || n != 1 {
			t.Errorf("%d items, error %v", n, err)
		}
	}
	ask(podsAt(t, cfg))
	for range podsAt(t, cfg).Watch(t.Context(), metav1.ListOptions{}) {
		break
	}
	c, err := client.New(cfg, &client.Options{Mapper: testMapper()})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.List(t.Context(), &corev1.PodList{}); err != nil {
		t.Error(err)
	}
	compressed := rest.CopyConfig(cfg)
	compressed.WrapTransport = func(base http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			r = r.Clone(r.Context())
			r.Header.Del("Accept-Encoding")
			return base.RoundTrip(r)
		})
	}
	ask(podsAt(t, compressed))
	if got := strings.Join(asked, " "); got != "identity identity gzip gzip" {
		t.Errorf("asked for %s", got)
	}
}

// Contract 9: a watch costs no goroutine but the caller's.
func TestWatchHasNoGoroutine(t *testing.T) {
	const watches = 10
	cfg := &rest.Config{Host: "http://server", Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
		body, w := io.Pipe()
		context.AfterFunc(r.Context(), func() { w.CloseWithError(r.Context().Err()) })
		return &http.Response{StatusCode: 200, Body: body}, nil
	})}
	ctx, cancel := context.WithCancel(t.Context())
	lw := podsAt(t, cfg)
	before := goroutinesIn("governor/client.")
	var done sync.WaitGroup
	for range watches {
		done.Go(func() { _, _ = seen(ctx, lw) })
	}
	for goroutinesIn("bufio.(*Reader)") < watches { // all of them wait for bytes
		runtime.Gosched()
	}
	if got := goroutinesIn("governor/client.") - before; got != watches {
		t.Errorf("%d goroutines for %d watches", got, watches)
	}
	cancel()
	done.Wait()
}

// goroutinesIn counts the goroutines that are in, or were made by, functions of
// that name.
func goroutinesIn(name string) int {
	buf := make([]byte, 1<<20)
	buf = buf[:runtime.Stack(buf, true)]
	n := 0
	for stack := range strings.SplitSeq(string(buf), "\n\n") {
		if strings.Contains(stack, name) && !strings.Contains(stack, "client_test.goroutinesIn") {
			n++
		}
	}
	return n
}
