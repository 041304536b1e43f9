package manager_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"governor/manager"
)

// get returns the status and body of a URL.
func get(t *testing.T, url string) (int, string) {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// refuses says whether nobody listens at an address.
func refuses(address string) bool {
	conn, err := net.DialTimeout("tcp", address, time.Second)
	if err == nil {
		conn.Close()
	}
	return err != nil
}

// Contract 5. Request in flight at the stop is answered.
func TestServerAnswersWhatIsInFlightAndLeavesNoListener(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	s := manager.NewServer("slow", "127.0.0.1:0", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		close(entered)
		<-release
		_, _ = io.WriteString(w, "answered")
	}))
	if s.Address() != "" {
		t.Error("has an address before it listens")
	}
	m := newManager(t, nil)
	add(t, m, s)
	stop := start(t, m)
	<-m.Elected()
	answer := make(chan string, 1)
	go func() {
		resp, err := http.Get("http://" + s.Address())
		if err != nil {
			answer <- err.Error()
			return
		}
		defer resp.Body.Close()
		body, _ := io.ReadAll(resp.Body)
		answer <- string(body)
	}()
	<-entered
	time.AfterFunc(50*time.Millisecond, func() { close(release) })
	if err := stop(); err != nil {
		t.Error(err)
	}
	if got := <-answer; got != "answered" {
		t.Errorf("got %q", got)
	}
	if !refuses(s.Address()) {
		t.Error("somebody still listens")
	}
}

func TestServerDoesNotWaitForEverForARequest(t *testing.T) {
	for name, o := range map[string]*manager.Options{
		"its own bound": nil, "grace period over": grace(100 * time.Millisecond), "no grace period": grace(0),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			entered := make(chan struct{})
			s := manager.NewServer("stuck", "127.0.0.1:0", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				close(entered)
				<-r.Context().Done() // ends when the connection is closed
			}))
			m := newManager(t, o)
			add(t, m, s)
			stop := start(t, m)
			<-m.Elected()
			broken := make(chan error, 1)
			go func() {
				_, err := http.Get("http://" + s.Address())
				broken <- err
			}()
			<-entered
			began := time.Now()
			_ = stop()
			if took := time.Since(began); took > 4*time.Second || o != nil && took > time.Second {
				t.Errorf("took %v", took)
			}
			if <-broken == nil {
				t.Error("the request was answered")
			}
		})
	}
}

// Contract 4. The error names the address, and nothing else was started.
func TestAddressInUse(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	address := taken.Addr().String()
	m := newManager(t, &manager.Options{MetricsBindAddress: address})
	var seen trace
	add(t, m, &work{name: "w", trace: &seen})
	wantError(t, m.Start(quiet(t.Context())), "metrics server", address, "in use")
	if len(seen.all()) > 0 {
		t.Errorf("started all the same: %q", seen.all())
	}
}

func TestServerStartsOnce(t *testing.T) {
	s := manager.NewServer("s", "127.0.0.1:0", http.NotFoundHandler())
	ctx, cancel := context.WithCancel(quiet(t.Context()))
	cancel()
	_ = s.Start(ctx)
	wantError(t, s.Start(ctx), "already")
}

func TestInvalidAddresses(t *testing.T) {
	for _, address := range []string{"8080", "localhost", ":http:80", ":99999", ":-1", "[::1"} {
		_, err := manager.New(nopConfig(), &manager.Options{HealthProbeBindAddress: address})
		wantError(t, err, "HealthProbeBindAddress", address)
		_, err = manager.New(nopConfig(), &manager.Options{MetricsBindAddress: address})
		wantError(t, err, "MetricsBindAddress", address)
	}
	for _, address := range []string{"", "0"} {
		m := newManager(t, &manager.Options{HealthProbeBindAddress: address, MetricsBindAddress: address})
		stop := start(t, m)
		<-m.Elected()
		if m.HealthAddress() != "" || m.MetricsAddress() != "" {
			t.Errorf("%q: serves all the same", address)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	}
}

func TestNewWithoutAConfig(t *testing.T) {
	_, err := manager.New(nil, nil)
	wantError(t, err, "no rest.Config")
}

// Contract 9, and a registry of each.
func TestManagersShareNothing(t *testing.T) {
	o := &manager.Options{HealthProbeBindAddress: "127.0.0.1:0", MetricsBindAddress: "127.0.0.1:0"}
	a, b := newManager(t, o), newManager(t, o)
	stopA, stopB := start(t, a), start(t, b)
	<-a.Elected()
	<-b.Elected()
	a.Metrics().Controller("only-in-a")
	if _, body := get(t, "http://"+a.MetricsAddress()+"/metrics"); !strings.Contains(body, `controller_runtime_reconcile_total{controller="only-in-a",result="success"} 0`) ||
		!strings.Contains(body, "go_goroutines") || !strings.Contains(body, "process_start_time_seconds") {
		t.Errorf("a lacks series:\n%.2000s", body)
	}
	if _, body := get(t, "http://"+b.MetricsAddress()+"/metrics"); strings.Contains(body, "only-in-a") {
		t.Error("b has series of a")
	}
	if err := stopA(); err != nil {
		t.Error(err)
	}
	if code, _ := get(t, "http://"+b.HealthAddress()+"/readyz"); code != http.StatusOK {
		t.Errorf("b is not ready after a has stopped: %d", code)
	}
	if err := stopB(); err != nil {
		t.Error(err)
	}
	for _, address := range []string{a.HealthAddress(), a.MetricsAddress(), b.HealthAddress(), b.MetricsAddress()} {
		if !refuses(address) {
			t.Errorf("somebody still listens at %s", address)
		}
	}
}
