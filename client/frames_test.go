package client

import (
	"bufio"
	"errors"
	"strings"
	"testing"
)

// Contract 9: the limit is for one frame. Any number of small ones pass; one
// that does not end is given up. In the package, since the real limit is too
// large for a test under the race detector.
func TestJSONFramesAreBounded(t *testing.T) {
	const limit = 1000
	small := `{"type":"ADDED","object":{"kind":"Pod"}}`
	body := strings.NewReader(strings.Repeat(small, 1000) + `{"type":"` + strings.Repeat("a", 100*limit))
	next := jsonFrames(bufio.NewReader(body), limit)
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
