package client

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"governor/client/decode"
)

// Contract 9: the limit is for one frame. Any number of small ones pass; one
// that does not end is given up. In the package, since the real limit is too
// large for a test under the race detector.
func TestJSONFramesAreBounded(t *testing.T) {
	const limit = 1000
	small := `{"type":"ADDED","object":{"kind":"Pod"}}`
	body := strings.NewReader(strings.Repeat(small, 1000) + `{"type":"` + strings.Repeat("a", 100*limit))
	next := jsonFrames(decode.NewJSONReader(bufio.NewReader(body), limit))
	for i := range 1000 {
		if eventType, object, err := next(); err != nil || eventType != "ADDED" || string(object) != `{"kind":"Pod"}` {
			t.Fatalf("frame %d: %q, %q, %v", i, eventType, object, err)
		}
	}
	if _, _, err := next(); !errors.Is(err, errTooLong) {
		t.Errorf("error %v, want %v", err, errTooLong)
	}
	if body.Len() < 90*limit {
		t.Errorf("only %d bytes are left unread", body.Len())
	}
}

// BenchmarkFrames is what an event costs before its object is decoded.
func BenchmarkFrames(b *testing.B) {
	pod, err := os.ReadFile("testdata/pod.json")
	if err != nil {
		b.Fatal(err)
	}
	pod = bytes.TrimSpace(pod)
	field := func(num byte, value []byte) []byte {
		return append(binary.AppendUvarint([]byte{num<<3 | wireBytes}, uint64(len(value))), value...)
	}
	envelope := append(slices.Clone(protobufMagic), field(1, append(field(1, []byte("v1")), field(2, []byte("Pod"))...))...)
	envelope = append(envelope, field(2, pod)...) // not decoded here: any bytes will do
	event := append(field(1, []byte("MODIFIED")), field(2, field(1, envelope))...)
	for name, frame := range map[string][]byte{
		"protobuf": append(binary.BigEndian.AppendUint32(nil, uint32(len(event))), event...),
		"json":     fmt.Appendf(nil, "{\"type\":\"MODIFIED\",\"object\":%s}\n", pod),
	} {
		b.Run(name, func(b *testing.B) {
			next, err := framesOf(bufio.NewReaderSize(&endless{text: frame}, streamBuffer), nil)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			b.SetBytes(int64(len(frame)))
			for b.Loop() {
				eventType, object, err := next()
				if err != nil || eventType != "MODIFIED" || len(object) < len(pod) {
					b.Fatal(eventType, len(object), err)
				}
				if name == "protobuf" {
					if _, _, err := openEnvelope(object); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

// endless repeats a text.
type endless struct {
	text []byte
	at   int
}

func (e *endless) Read(p []byte) (n int, err error) {
	for n < len(p) {
		k := copy(p[n:], e.text[e.at:])
		n, e.at = n+k, (e.at+k)%len(e.text)
	}
	return n, nil
}
