package envtest

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// BenchmarkNewServer is how long a test waits for its server.
func BenchmarkNewServer(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		NewServer(nil)
	}
}

// BenchmarkCreate creates ConfigMaps of 1 KB by HTTP, in process.
func BenchmarkCreate(b *testing.B) {
	s := newQuiet(b)
	transport, token := Transport(s), s.Config().BearerToken
	payload := strings.Repeat("x", 1000)
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		i++
		body := `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"` + strconv.Itoa(i) + `"},"data":{"k":"` + payload + `"}}`
		req, err := http.NewRequestWithContext(b.Context(), "POST", "https://in.memory/api/v1/namespaces/default/configmaps", strings.NewReader(body))
		if err != nil {
			b.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Authorization", "Bearer "+token)
		resp, err := transport.RoundTrip(req)
		if err != nil || resp.StatusCode != 201 {
			b.Fatal(err, resp)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "creates/s")
}

// BenchmarkList lists ten thousand ConfigMaps of 1 KB whose bytes have been made before.
func BenchmarkList(b *testing.B) {
	s := newQuiet(b)
	for i := range 10_000 {
		putObject(b, s, "configmaps", &corev1.ConfigMap{ObjectMeta: metaNamed("default", strconv.Itoa(i)), Data: map[string]string{"k": strings.Repeat("x", 1000)}})
	}
	for _, query := range []string{"", "?limit=500"} {
		for _, accept := range []string{"application/json", "application/vnd.kubernetes.protobuf"} {
			b.Run(fmt.Sprintf("%s%s", accept[len("application/"):], query), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					resp := openAnswer(b, s, "GET", "/api/v1/namespaces/default/configmaps"+query, "Accept: "+accept)
					_, _ = io.Copy(io.Discard, resp.Body)
					resp.Body.Close()
				}
			})
		}
	}
}
