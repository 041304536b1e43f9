package envtest_test

import (
	"fmt"
	"io"
	"net/http"
	"testing"
)

// What a request costs that does nothing, and a response of many writes: the
// floor under every test and benchmark that uses Transport.
func BenchmarkTransport(b *testing.B) {
	for _, writes := range []int{1, 1000} {
		b.Run(fmt.Sprintf("%d writes", writes), func(b *testing.B) {
			event := make([]byte, 1024)
			c := clientOf(func(w http.ResponseWriter, r *http.Request) {
				for range writes {
					w.Write(event)
				}
			})
			b.ReportAllocs()
			b.SetBytes(int64(writes * len(event)))
			for b.Loop() {
				resp, err := c.Get("http://x/")
				if err != nil {
					b.Fatal(err)
				}
				if n, err := io.Copy(io.Discard, resp.Body); n != int64(writes*len(event)) || err != nil {
					b.Fatal(n, err)
				}
				resp.Body.Close()
			}
		})
	}
}
