package decode

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

// Whatever the window, a delta makes its text again; and one that was made with
// another window, or is damaged, does no harm.
func FuzzDelta(f *testing.F) {
	long := strings.Repeat("the quick brown fox jumps over the lazy dog; ", 40)
	f.Add("", "", "", "")
	f.Add(long, "head of it", strings.Replace(long, "lazy", "sleeping", 3)+"head of it", "x")
	f.Add("short", "", long, "\x05\x01")
	f.Add(strings.Repeat("a", 100), "b", strings.Repeat("a", 1000)+"b", strings.Repeat("a", 20))
	f.Add(long[:30]+"\x00\x01"+long, "", long[7:]+long[:200], "")
	w := &deltaWriter{}
	f.Fuzz(func(t *testing.T, window, head, text, other string) {
		// The writer has other windows and texts behind it: they must not matter.
		for _, x := range []string{text, other, text} {
			delta := string(w.write(window, head, []byte(x)))
			all, start, ok := expand([]byte("old"), window, head, delta)
			if !ok || string(all[start:]) != x {
				t.Fatalf("%q from %q and %q: %q, %v", x, window, head, all[start:], ok)
			}
			_, _, _ = expand(nil, other, "", delta)
			_, _, _ = expand(nil, window, head, delta[len(delta)/2:])
			if cut := delta[:max(len(delta)-1, 0)]; x != "" {
				if _, _, ok := expand(nil, window, head, cut); ok {
					t.Fatalf("a part of a delta is taken for a whole one: %q", cut)
				}
			}
		}
		_, _, _ = expand(nil, window, head, other)
		fresh := &deltaWriter{}
		fresh.write(window, head, []byte(other))
		if again := fresh.write(window, head, []byte(text)); len(again) > 2*len(text)+20 {
			t.Fatalf("the delta of %d bytes has %d", len(text), len(again))
		}
	})
}

// A text that differs here and there from the window is a few bytes for each place.
func TestDeltaIsSmall(t *testing.T) {
	var b bytes.Buffer
	for i := range 500 {
		b.WriteString(strings.Repeat(string(rune('a'+i%26)), i%7))
		b.WriteByte(byte(i * i >> 3))
	}
	window := b.String()
	text := []byte(window)
	for i := 50; i < len(text); i += len(text) / 10 {
		text[i] ^= 0x55
	}
	text = append(text[:300:300], append([]byte("something that was put in"), text[300:]...)...)
	w := &deltaWriter{}
	for range 3 { // what it wrote before does not spoil the table
		if delta := w.write(window, "", text); len(delta) > 120 {
			t.Errorf("%d bytes of %d", len(delta), len(text))
		}
		for _, noise := range []string{strings.Repeat("noise ", 5000), window[500:] + window[:500]} {
			w.write(window, "", []byte(noise))
		}
	}
	// What is in the head is not in the delta again.
	head := noise(1, 100)
	if delta := w.write(window, head, append([]byte(head), text...)); len(delta) > 120 {
		t.Errorf("%d bytes of %d, with the head", len(delta), len(text))
	}
	// Windows that come after others are as good.
	for i := range 20 {
		other := noise(uint64(100+i), 8000)
		blocks := slices.Collect(slices.Chunk([]byte(other), 40))
		slices.Reverse(blocks)
		if delta := w.write(other, "", bytes.Join(blocks, nil)); len(delta) > 1600 {
			t.Errorf("%d bytes of %d, window %d", len(delta), len(other), i)
		}
	}
	// Without a window, a text that repeats itself is short.
	text = []byte(strings.Repeat(`{"name":"a","value":"something"},`, 100))
	if delta := w.write("", "", text); len(delta) > 60 {
		t.Errorf("%d bytes of %d", len(delta), len(text))
	}
}
