package manager

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/klog/v2"
)

func TestLRUForgetsTheOneUsedLongestAgo(t *testing.T) {
	l := newLRU[string, int](2)
	l.put("a", 1)
	l.put("b", 2)
	l.put("a", 3)
	l.put("c", 4)
	if l.get("a") != 3 || l.get("b") != 0 || l.get("c") != 4 || len(l.entries) != 2 || l.order.Len() != 2 {
		t.Errorf("a %d, b %d, c %d, %d entries", l.get("a"), l.get("b"), l.get("c"), len(l.entries))
	}
	l.get("a")
	l.put("d", 5)
	if l.get("a") != 3 || l.get("c") != 0 {
		t.Error("get did not count as use")
	}
}

func TestTokenBucketPerObject(t *testing.T) {
	s := newEventSink(nil, quietLogger(), newMetrics())
	web, api := corev1.ObjectReference{Name: "web"}, corev1.ObjectReference{Name: "api"}
	at := time.Unix(1000, 0)
	allowed := func(ref corev1.ObjectReference, n int) (yes int) {
		for range n {
			if s.allow(ref, at) {
				yes++
			}
		}
		return yes
	}
	if n := allowed(web, 100); n != 25 {
		t.Errorf("%d at once, want 25", n)
	}
	web.ResourceVersion = "2" // the same object
	at = at.Add(299 * time.Second)
	if n := allowed(web, 1); n != 0 {
		t.Error("one too early")
	}
	at = at.Add(time.Second)
	if n := allowed(web, 2); n != 1 {
		t.Errorf("%d after 300 s, want 1", n)
	}
	at = at.Add(-time.Hour) // a clock that jumps back gives nothing and takes nothing
	if n := allowed(web, 1); n != 0 {
		t.Error("one by a clock that jumped back")
	}
	if n := allowed(api, 1); n != 1 {
		t.Error("another object is limited too")
	}
	at = at.Add(1000 * time.Hour)
	if n := allowed(web, 100); n != 25 {
		t.Errorf("%d after a long rest, want 25", n)
	}
}

func TestEventNamesAreValidAndUnique(t *testing.T) {
	seen := map[string]bool{}
	for _, object := range []string{"web", "", "system:node", strings.Repeat("a", 253), "UPPER"} {
		for range 100 {
			name := eventName(object)
			if bad := validation.IsDNS1123Subdomain(name); len(bad) > 0 {
				t.Errorf("%q: %s", name, bad)
			}
			if seen[name] {
				t.Errorf("%q twice", name)
			}
			seen[name] = true
		}
	}
	if !strings.HasPrefix(eventName("web"), "web.") {
		t.Error("does not begin with the object's name")
	}
}

func TestTruncateKeepsCharactersWhole(t *testing.T) {
	for _, s := range []string{"", "short", strings.Repeat("x", 1024), strings.Repeat("x", 1025), strings.Repeat("ü", 3000), "a" + strings.Repeat("日本", 600), "bad \xff byte" + strings.Repeat("x", 1020)} {
		got := truncate(s, 1024)
		if len(got) > 1024 || !utf8.ValidString(got) || len(s) > 1024 && len(got) < 1020 {
			t.Errorf("%.10q, %d bytes: got %d bytes, valid %t", s, len(s), len(got), utf8.ValidString(got))
		}
		if len(s) <= 1024 && utf8.ValidString(s) && got != s {
			t.Errorf("%.10q was changed", s)
		}
	}
}

// quietLogger discards.
func quietLogger() klog.Logger { return klog.New(nil) }
