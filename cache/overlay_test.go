package cache

import (
	"context"
	"fmt"
	"testing"
	"time"

	"governor/client"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// text of an entry, for tests.
func (e *entry) text() string {
	return fmt.Sprintf("%s %s@%s", [...]string{"shown", "hidden", "gone", "doubtful"}[e.verdict], e.uid, e.resourceVersion)
}

// What two entries of a key say together does not depend on what the clock says of
// who came first, where versions and UIDs tell.
func TestEntriesOfOneKey(t *testing.T) {
	of := func(v verdict, uid types.UID, version string) *entry {
		return &entry{verdict: v, uid: uid, resourceVersion: version}
	}
	for _, tt := range []struct {
		name         string
		before, next *entry
		want         string
	}{
		{"a later state", of(shown, "u", "9"), of(shown, "u", "10"), "shown u@10"},
		{"an earlier state, told late", of(shown, "u", "10"), of(shown, "u", "9"), "shown u@10"},
		{"left the selector", of(shown, "u", "9"), of(hidden, "u", "10"), "hidden u@10"},
		{"deleted", of(shown, "u", "9"), of(gone, "u", ""), "gone u@9"},
		{"deleted, and a write told late", of(gone, "u", ""), of(shown, "u", "9"), "gone u@9"},
		{"deleted, and a doubt told late", of(gone, "u", "8"), of(doubtful, "u", "9"), "doubtful u@9"},
		{"created anew", of(gone, "u", "9"), of(shown, "v", "12"), "shown v@12"},
		{"created anew, told early", of(shown, "v", "12"), of(gone, "u", "9"), "shown v@12"},
		{"deleted, another one, of which is the later?", of(gone, "u", ""), of(shown, "v", "12"), "doubtful @"},
		{"shown, and another one deleted", of(shown, "v", "12"), of(gone, "u", ""), "doubtful @"},
		{"both deleted", of(gone, "u", "9"), of(gone, "v", "12"), "gone v@12"},
		{"not there, and deleted later", of(hidden, "", "9"), of(gone, "u", ""), "gone u@"},
		{"an eviction", of(shown, "u", "9"), of(doubtful, "", ""), "doubtful @"},
		{"told after an eviction", of(doubtful, "", ""), of(shown, "u", "9"), "doubtful @"},
		{"deleted after an eviction", of(doubtful, "u", ""), of(gone, "u", ""), "gone u@"},
		{"a patch of the metadata", of(shown, "u", "9"), of(doubtful, "u", "10"), "doubtful u@10"},
		{"one that changed nothing", of(shown, "u", "9"), of(doubtful, "u", "9"), "shown u@9"},
		{"answered", of(doubtful, "u", "10"), of(shown, "u", "10"), "shown u@10"},
		{"answered before", of(doubtful, "u", "10"), of(shown, "u", "9"), "doubtful u@10"},
	} {
		if got := tt.before.and(tt.next).text(); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

// A store that has come as far is believed, whatever an entry says.
func TestEntriesAndTheStore(t *testing.T) {
	now := time.Now()
	u, v := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{UID: "u"}}, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{UID: "v"}}
	written := &corev1.ConfigMap{}
	for _, tt := range []struct {
		name    string
		entry   entry
		version string
		stored  client.Object
		want    client.Object
		unsure  bool
	}{
		{"ahead", entry{verdict: shown, object: written, resourceVersion: "10"}, "9", u, written, false},
		{"behind", entry{verdict: shown, object: written, resourceVersion: "10"}, "10", u, u, false},
		{"before the first list", entry{verdict: shown, object: written, resourceVersion: "10"}, "", nil, written, false},
		{"hidden", entry{verdict: hidden, resourceVersion: "10"}, "9", u, nil, false},
		{"gone, still stored", entry{verdict: gone, uid: "u", resourceVersion: "10"}, "12", u, nil, false},
		{"gone, and its successor", entry{verdict: gone, uid: "u", resourceVersion: "10"}, "12", v, v, false},
		{"gone, and who knows whom", entry{verdict: gone, uid: "u", resourceVersion: "10"}, "9", v, nil, true},
		{"gone, of an unknown version", entry{verdict: gone, uid: "u"}, "12", v, nil, true},
		{"doubtful", entry{verdict: doubtful, resourceVersion: "10"}, "9", u, nil, true},
		{"doubtful, and past", entry{verdict: doubtful, resourceVersion: "10"}, "10", u, u, false},
		{"old", entry{verdict: shown, object: written, resourceVersion: "10", since: now.Add(-trust)}, "9", u, nil, true},
		{"old, and nothing to show", entry{verdict: hidden, resourceVersion: "10", since: now.Add(-trust)}, "9", nil, nil, false},
	} {
		if tt.entry.since.IsZero() {
			tt.entry.since = now
		}
		got, sure := tt.entry.judge(tt.version, tt.stored, now)
		if got != tt.want && sure || sure == tt.unsure {
			t.Errorf("%s: %v, sure %v", tt.name, got, sure)
		}
	}
}

// The store's informer and a write race for the last word: what the store has passed
// never stays.
func TestOverlayAndStoreRace(t *testing.T) {
	for range 200 {
		x := NewIndexer()
		s := &overlaidStore{x, &overlay{indexer: x}}
		if err := s.Replace(nil, "1"); err != nil {
			t.Fatal(err)
		}
		object := configMap("a", "x")
		object.UID, object.ResourceVersion = "u", "2"
		done := make(chan struct{})
		go func() {
			defer close(done)
			s.overlay.write(&entry{key: key("a", "x"), object: object, uid: "u", resourceVersion: "2", since: time.Now()})
		}()
		if err := s.Update([]client.Object{object}, nil, "2"); err != nil {
			t.Fatal(err)
		}
		<-done
		if s.overlay.current.Load() != nil {
			t.Fatal("an entry stays that the store has")
		}
	}
}

// An answer of the server is of no use when there was another write meanwhile.
func TestAnswerAfterAnotherWrite(t *testing.T) {
	x := NewIndexer()
	o := &overlay{indexer: x}
	asked := &entry{key: key("a", "x"), verdict: doubtful, since: time.Now()}
	o.write(asked)
	later := &entry{key: key("a", "x"), verdict: gone, uid: "u", since: time.Now()}
	o.learn(asked, later)
	o.learn(asked, &entry{key: key("a", "x"), verdict: hidden, resourceVersion: "2", since: time.Now()})
	if got := o.current.Load().get(key("a", "x")); got != later {
		t.Errorf("it is %s", got.text())
	}
}

// An object that was deleted before the store had it: when that has seen it come and
// go, nothing is kept of it.
func TestDeletedBeforeItWasStored(t *testing.T) {
	x := NewIndexer()
	s := &overlaidStore{x, &overlay{indexer: x}}
	s.overlay.write(&entry{key: key("a", "x"), verdict: gone, uid: "u", since: time.Now()})
	object := configMap("a", "x")
	object.UID, object.ResourceVersion = "u", "5"
	_ = s.Update([]client.Object{object}, nil, "5")
	if s.overlay.current.Load() == nil {
		t.Error("forgotten while the store has it")
	}
	_ = s.Update(nil, []client.ObjectKey{key("a", "x")}, "6")
	if over := s.overlay.current.Load(); over != nil {
		t.Errorf("kept: %s", over.entries[0].text())
	}
}

// BenchmarkGetOverlaid is what a Get costs that finds no overlay, one that has other
// keys, and one that has its key.
func BenchmarkGetOverlaid(b *testing.B) {
	for _, entries := range []int{0, 1, 100, 1000} {
		b.Run(fmt.Sprint(entries), func(b *testing.B) {
			x := NewIndexer()
			s := &scope{indexer: x, overlay: &overlay{indexer: x}}
			objects := make([]client.Object, 20_000)
			for n := range objects {
				objects[n] = configMap("a", fmt.Sprintf("n-%05d", n))
			}
			if err := x.Replace(objects, "1"); err != nil {
				b.Fatal(err)
			}
			for n := range entries {
				s.overlay.write(&entry{key: key("a", fmt.Sprintf("n-%05d", n*7)), object: objects[0], resourceVersion: "2", since: time.Now()})
			}
			k, o := &KindInformer{}, &client.GetOptions{}
			for name, at := range map[string]client.ObjectKey{"of another key": key("a", "n-09999"), "of an entry": key("a", "n-00000")} {
				b.Run(name, func(b *testing.B) {
					b.ReportAllocs()
					for b.Loop() {
						if obj, err := k.find(context.Background(), s, at, o); err != nil || obj == nil {
							b.Fatal(obj, err)
						}
					}
				})
			}
		})
	}
}

// BenchmarkOverlayWrite is what a write costs that finds so many others not brought yet.
func BenchmarkOverlayWrite(b *testing.B) {
	for _, entries := range []int{0, 100, 1000} {
		b.Run(fmt.Sprint(entries), func(b *testing.B) {
			x := NewIndexer()
			o := &overlay{indexer: x}
			if err := x.Replace(nil, "1"); err != nil {
				b.Fatal(err)
			}
			for n := range entries {
				o.write(&entry{key: key("a", fmt.Sprint(n)), object: configMap("a", "x"), resourceVersion: "2", since: time.Now()})
			}
			b.ReportAllocs()
			for b.Loop() {
				o.write(&entry{key: key("b", "x"), object: configMap("a", "x"), resourceVersion: "2", since: time.Now()})
			}
		})
	}
}
