package envtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"governor/client"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// BenchmarkNewServer is how long a test waits for its server.
func BenchmarkNewServer(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		NewServer(nil)
	}
}

// benchPayload makes a ConfigMap of 1 KB.
var benchPayload = strings.Repeat("x", 1000)

// BenchmarkCreate creates ConfigMaps of 1 KB in process: by HTTP, with bytes that have been made
// before, so that the server is what is measured; and with our client.
// BenchmarkCalibration says what the machine is worth meanwhile.
func BenchmarkCreate(b *testing.B) {
	json := func(name string) []byte {
		return []byte(`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"` + name + `"},"data":{"k":"` + benchPayload + `"}}`)
	}
	protobuf := func(name string) []byte {
		m, err := (&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"k": benchPayload}}).Marshal()
		if err != nil {
			b.Fatal(err)
		}
		return appendEnvelope(nil, corev1.SchemeGroupVersion.WithKind("ConfigMap"), m)
	}
	b.Run("json", func(b *testing.B) { benchmarkCreate(b, "application/json", json) })
	b.Run("protobuf", func(b *testing.B) { benchmarkCreate(b, "application/vnd.kubernetes.protobuf", protobuf) })
	b.Run("client", func(b *testing.B) {
		c, err := client.New(newQuiet(b).Config(), nil)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			if err := c.Create(b.Context(), &corev1.ConfigMap{ObjectMeta: metaNamed("default", strconv.Itoa(i)), Data: map[string]string{"k": benchPayload}}); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "creates/s")
	})
}

func benchmarkCreate(b *testing.B, mediaType string, body func(name string) []byte) {
	s := newQuiet(b)
	transport := Transport(s)
	header := http.Header{"Content-Type": {mediaType}, "Accept": {mediaType}, "Authorization": {"Bearer " + s.Config().BearerToken}}
	target, err := url.Parse("https://in.memory/api/v1/namespaces/default/configmaps")
	if err != nil {
		b.Fatal(err)
	}
	create := func(name string) {
		data := body(name)
		req := (&http.Request{Method: "POST", URL: target, Header: header, Host: target.Host, ContentLength: int64(len(data)),
			Body: io.NopCloser(bytes.NewReader(data))}).WithContext(b.Context())
		resp, err := transport.RoundTrip(req)
		if err != nil || resp.StatusCode != 201 {
			b.Fatal(err, resp)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	create("first") // the schemas of all kinds are read for it
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		create(strconv.Itoa(i))
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "creates/s")
}

// BenchmarkCalibration reads and writes the same object with encoding/json, and does nothing else.
func BenchmarkCalibration(b *testing.B) {
	data, err := json.Marshal(&corev1.ConfigMap{ObjectMeta: metaNamed("default", "a"), Data: map[string]string{"k": benchPayload}})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		var obj corev1.ConfigMap
		if err := json.Unmarshal(data, &obj); err != nil {
			b.Fatal(err)
		}
		if _, err := json.Marshal(&obj); err != nil {
			b.Fatal(err)
		}
	}
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
