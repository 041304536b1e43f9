package storage_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"governor/client"
	"governor/envtest/storage"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	configMaps = schema.GroupResource{Resource: "configmaps"}
	secrets    = schema.GroupResource{Resource: "secrets"}
)

// configMap is one with a key whose value tells versions apart.
func configMap(namespace, name, value string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Data:       map[string]string{"value": value},
	}
}

// put writes an object whatever was there before.
func put(t testing.TB, s *storage.Store, namespace, name, value string) *storage.Object {
	t.Helper()
	o, err := s.Write(configMaps, namespace, name, func(*storage.Object) (client.Object, error) {
		return configMap(namespace, name, value), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func remove(t testing.TB, s *storage.Store, namespace, name string) *storage.Object {
	t.Helper()
	o, err := s.Write(configMaps, namespace, name, func(*storage.Object) (client.Object, error) { return nil, nil })
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func value(o *storage.Object) string { return o.Value.(*corev1.ConfigMap).Data["value"] }

// texts is what objects say: key=value@resourceVersion.
func texts(objects []*storage.Object) []string {
	var all []string
	for _, o := range objects {
		all = append(all, text(o))
	}
	return all
}

func text(o *storage.Object) string {
	return fmt.Sprintf("%s=%s@%d", o.Key(), value(o), o.ResourceVersion)
}

func list(t testing.TB, s *storage.Store, namespace string, at uint64) []string {
	t.Helper()
	objects, _, err := s.List(configMaps, namespace, at)
	if err != nil {
		t.Fatal(err)
	}
	return texts(objects)
}

func wantEqual(t testing.TB, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n got %q\nwant %q", what, got, want)
	}
}

// Contract 1.
func TestWritesHaveOneOrder(t *testing.T) {
	s := storage.New(nil)
	if got := s.ResourceVersion(); got != 1 {
		t.Fatalf("an empty store is at %d, want 1", got)
	}
	a := put(t, s, "ns", "a", "1")
	other, err := s.Write(secrets, "ns", "a", func(*storage.Object) (client.Object, error) {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a"}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	b := put(t, s, "ns", "a", "2")
	gone := remove(t, s, "ns", "a")
	for i, o := range []*storage.Object{a, other, b, gone} {
		if want := uint64(i + 2); o.ResourceVersion != want || o.Value.GetResourceVersion() != strconv.FormatUint(want, 10) {
			t.Errorf("write %d: resourceVersion %d, in the value %q, want %d", i, o.ResourceVersion, o.Value.GetResourceVersion(), want)
		}
	}
	if got := s.ResourceVersion(); got != gone.ResourceVersion {
		t.Errorf("the store is at %d, want %d", got, gone.ResourceVersion)
	}
}

// Contract 1: a failed write, and one that changes nothing, leave no trace.
func TestWriteThatDoesNothing(t *testing.T) {
	s := storage.New(nil)
	before := put(t, s, "ns", "a", "1")
	cursor := s.Cursor(configMaps, s.ResourceVersion())
	broken := errors.New("broken")
	if o, err := s.Write(configMaps, "ns", "a", func(*storage.Object) (client.Object, error) { return nil, broken }); err != broken || o != nil {
		t.Errorf("write with an error: %v, %v", o, err)
	}
	if o, err := s.Write(configMaps, "ns", "a", func(o *storage.Object) (client.Object, error) { return o.Value, nil }); err != nil || o != before {
		t.Errorf("write of the same: %v, %v", o, err)
	}
	if o, err := s.Write(configMaps, "ns", "none", func(o *storage.Object) (client.Object, error) {
		if o != nil {
			t.Errorf("current is %v", o)
		}
		return nil, nil
	}); err != nil || o != nil {
		t.Errorf("delete of nothing: %v, %v", o, err)
	}
	if changes, _, err := cursor.Next(); err != nil || len(changes) != 0 {
		t.Errorf("changes %v, %v", changes, err)
	}
	if got := s.ResourceVersion(); got != before.ResourceVersion {
		t.Errorf("the store is at %d, want %d", got, before.ResourceVersion)
	}
}

// Contract 2: what has been handed out stays as it is.
func TestVersionsDoNotChange(t *testing.T) {
	s := storage.New(nil)
	first := put(t, s, "ns", "a", "1")
	snapshot, err := s.Snapshot(configMaps, 0)
	if err != nil {
		t.Fatal(err)
	}
	put(t, s, "ns", "a", "2")
	remove(t, s, "ns", "a")
	put(t, s, "ns", "b", "3")
	if got := snapshot.Get("ns", "a"); got != first || text(got) != "ns/a=1@2" || got.Value.GetResourceVersion() != "2" {
		t.Errorf("the snapshot has %v", got)
	}
	if n := snapshot.Len("", ""); n != 1 {
		t.Errorf("the snapshot has %d objects", n)
	}
}

// Lists are in the byte order of keys, in which "a-b/x" is before "a/x", as in etcd.
func TestListOrderAndNamespaces(t *testing.T) {
	s := storage.New(nil)
	for _, key := range [][2]string{{"b", "x"}, {"a", "z"}, {"a", "y"}, {"a-b", "x"}, {"a0", "x"}} {
		put(t, s, key[0], key[1], "v")
	}
	wantEqual(t, "all", list(t, s, "", 0), []string{"a-b/x=v@5", "a/y=v@4", "a/z=v@3", "a0/x=v@6", "b/x=v@2"})
	wantEqual(t, "namespace a", list(t, s, "a", 0), []string{"a/y=v@4", "a/z=v@3"})
	wantEqual(t, "namespace c", list(t, s, "c", 0), nil)
	snapshot, err := s.Snapshot(configMaps, 0)
	if err != nil {
		t.Fatal(err)
	}
	if all, a, rest := snapshot.Len("", ""), snapshot.Len("a", ""), snapshot.Len("a", "a/y\x00"); all != 5 || a != 2 || rest != 1 {
		t.Errorf("lengths %d, %d, %d, want 5, 2, 1", all, a, rest)
	}
	wantEqual(t, "from", texts(slices.Collect(snapshot.From("", "a/y\x00"))), []string{"a/z=v@3", "a0/x=v@6", "b/x=v@2"})
}

// A tree stays flat, whatever the order in which keys come and go.
func TestTreeStaysBalanced(t *testing.T) {
	for _, order := range []string{"rising", "falling", "mixed"} {
		s := storage.New(&storage.Options{History: 1})
		const n = 2000
		for i := range n {
			key := map[string]int{"rising": i, "falling": n - i, "mixed": i * 7919 % n}[order]
			put(t, s, "ns", fmt.Sprintf("%04d", key), "v")
			if i%3 == 0 {
				remove(t, s, "ns", fmt.Sprintf("%04d", key))
			}
		}
		if err := s.Valid(); err != nil {
			t.Errorf("%s: %v", order, err)
		}
		if depth := s.Depth(configMaps); depth > 50 { // 11 at best, about 25 by chance
			t.Errorf("%s: %d deep", order, depth)
		}
	}
}

// Contract 3.
func TestThePast(t *testing.T) {
	s := storage.New(&storage.Options{History: 2})
	for i := range 5 {
		put(t, s, "ns", "a", strconv.Itoa(i)) // resourceVersions 2 to 6
	}
	wantEqual(t, "now", list(t, s, "", 0), []string{"ns/a=4@6"})
	wantEqual(t, "at 5", list(t, s, "", 5), []string{"ns/a=3@5"})
	wantEqual(t, "at 4", list(t, s, "", 4), []string{"ns/a=2@4"})
	if _, _, err := s.List(configMaps, "", 2); !errors.Is(err, storage.ErrTooOld) {
		t.Errorf("at 2: %v", err)
	}
	if _, _, err := s.List(configMaps, "", 7); !errors.Is(err, storage.ErrTooLarge) {
		t.Errorf("at 7: %v", err)
	}
	// What other resources do does not make this one's past any shorter.
	for range 10 {
		if _, err := s.Write(secrets, "ns", "a", func(*storage.Object) (client.Object, error) {
			return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a"}}, nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	wantEqual(t, "at 4, later", list(t, s, "", 4), []string{"ns/a=2@4"})
	wantEqual(t, "at 9, between", list(t, s, "", 9), []string{"ns/a=4@6"})
}

// Contract 3: what is compacted is gone for all resources, also those that nobody has
// used yet; the state at the very resourceVersion is still there.
func TestCompactTo(t *testing.T) {
	s := storage.New(nil)
	for i := range 3 {
		put(t, s, "ns", "a", strconv.Itoa(i)) // 2 to 4
	}
	if err := s.CompactTo(3); err != nil {
		t.Fatal(err)
	}
	wantEqual(t, "at 3", list(t, s, "", 3), []string{"ns/a=1@3"})
	for _, resource := range []schema.GroupResource{configMaps, secrets} {
		if _, _, err := s.List(resource, "", 2); !errors.Is(err, storage.ErrTooOld) {
			t.Errorf("%s at 2: %v", resource, err)
		}
		if _, _, err := s.Cursor(resource, 2).Next(); !errors.Is(err, storage.ErrTooOld) {
			t.Errorf("cursor of %s at 2: %v", resource, err)
		}
		if _, _, err := s.Cursor(resource, 3).Next(); err != nil {
			t.Errorf("cursor of %s at 3: %v", resource, err)
		}
	}
	// A version at which something else has changed.
	other := storage.New(nil)
	put(t, other, "ns", "a", "1") // 2
	if _, err := other.Write(secrets, "ns", "a", func(*storage.Object) (client.Object, error) { return configMap("ns", "a", ""), nil }); err != nil {
		t.Fatal(err)
	}
	if err := other.CompactTo(3); err != nil {
		t.Fatal(err)
	}
	if _, _, err := other.List(configMaps, "", 2); !errors.Is(err, storage.ErrTooOld) {
		t.Errorf("at 2, the last change of configmaps: %v", err)
	}

	if err := s.CompactTo(5); !errors.Is(err, storage.ErrTooLarge) {
		t.Errorf("compact the future: %v", err)
	}
	if err := s.CompactTo(1); err != nil { // not back
		t.Error(err)
	}
	if _, _, err := s.List(configMaps, "", 2); !errors.Is(err, storage.ErrTooOld) {
		t.Errorf("at 2, later: %v", err)
	}
}

// Contract 4.
func TestCursorReturnsEveryChangeOnce(t *testing.T) {
	s := storage.New(nil)
	put(t, s, "ns", "a", "1")
	cursor := s.Cursor(configMaps, 1)
	put(t, s, "ns", "a", "2")
	remove(t, s, "ns", "a")

	changes, more, err := cursor.Next()
	if err != nil || more != nil {
		t.Fatalf("more %v, error %v", more, err)
	}
	var got []string
	for _, c := range changes {
		got = append(got, fmt.Sprintf("%d %s", c.Type, text(c.Object)))
	}
	wantEqual(t, "changes", got, []string{"0 ns/a=1@2", "1 ns/a=2@3", "2 ns/a=2@4"})
	if text(changes[1].Previous) != "ns/a=1@2" || text(changes[2].Previous) != "ns/a=2@3" {
		t.Errorf("previous %v, %v", changes[1].Previous, changes[2].Previous)
	}

	changes, more, err = cursor.Next()
	if err != nil || len(changes) != 0 || more == nil {
		t.Fatalf("caught up: %v, %v, %v", changes, more, err)
	}
	select {
	case <-more:
		t.Fatal("there is nothing more")
	default:
	}
	put(t, s, "ns", "b", "3")
	<-more
	if changes, _, _ = cursor.Next(); len(changes) != 1 || text(changes[0].Object) != "ns/b=3@5" {
		t.Errorf("changes %v", changes)
	}
	if cursor.Position() != 5 {
		t.Errorf("position %d", cursor.Position())
	}
}

// Contract 4: what happens elsewhere is progress.
func TestCursorProgress(t *testing.T) {
	s := storage.New(nil)
	cursor := s.Cursor(secrets, s.ResourceVersion())
	put(t, s, "ns", "a", "1")
	if changes, _, err := cursor.Next(); len(changes) != 0 || err != nil || cursor.Position() != 2 {
		t.Errorf("changes %v, error %v, position %d", changes, err, cursor.Position())
	}
}

// Contract 4: a cursor in the future waits for it.
func TestCursorInTheFuture(t *testing.T) {
	s := storage.New(nil)
	cursor := s.Cursor(configMaps, 3)
	if changes, _, err := cursor.Next(); len(changes) != 0 || err != nil {
		t.Fatalf("changes %v, error %v", changes, err)
	}
	for i := range 4 {
		put(t, s, "ns", "a", strconv.Itoa(i)) // 2 to 5
	}
	changes, _, err := cursor.Next()
	if err != nil || len(changes) != 2 || changes[0].ResourceVersion != 4 {
		t.Errorf("changes %v, error %v", changes, err)
	}
}

// Contract 4 and 5: one who is too slow is told so, and nothing else.
func TestCursorTooSlow(t *testing.T) {
	s := storage.New(&storage.Options{History: 2})
	slow, fast := s.Cursor(configMaps, 1), s.Cursor(configMaps, 1)
	seen := 0
	for i := range 10 {
		put(t, s, "ns", "a", strconv.Itoa(i))
		changes, _, err := fast.Next()
		if err != nil {
			t.Fatal(err)
		}
		seen += len(changes)
	}
	if seen != 10 {
		t.Errorf("the fast one has seen %d changes", seen)
	}
	if _, _, err := slow.Next(); !errors.Is(err, storage.ErrTooOld) {
		t.Errorf("the slow one: %v", err)
	}
}

// When a CRD goes its objects go without a word, and streams end; what comes next
// under its name has no past.
func TestDrop(t *testing.T) {
	s := storage.New(nil)
	cursor := s.Cursor(configMaps, 1)
	put(t, s, "ns", "a", "1")
	s.Drop(configMaps)
	if changes, _, err := cursor.Next(); len(changes) != 1 || err != nil {
		t.Errorf("what was before is still told: %v, %v", changes, err)
	}
	if _, _, err := cursor.Next(); !errors.Is(err, storage.ErrDropped) {
		t.Errorf("the stream ends with %v", err)
	}
	if got := list(t, s, "", 0); len(got) != 0 {
		t.Errorf("left: %q", got)
	}
	if _, _, err := s.List(configMaps, "", 2); !errors.Is(err, storage.ErrTooOld) {
		t.Errorf("the past: %v", err)
	}
	put(t, s, "ns", "b", "2")
	if _, _, err := cursor.Next(); !errors.Is(err, storage.ErrDropped) {
		t.Errorf("the old stream: %v", err)
	}
	wantEqual(t, "new", list(t, s, "", 0), []string{"ns/b=2@4"})
}

// Contract 4: Drop wakes those who wait.
func TestDropWakes(t *testing.T) {
	s := storage.New(nil)
	_, more, err := s.Cursor(configMaps, 1).Next()
	if err != nil {
		t.Fatal(err)
	}
	s.Drop(configMaps)
	<-more
}

// A version is reached by whatever is written.
func TestReach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := storage.New(nil)
		if err := s.Reach(t.Context(), s.ResourceVersion()); err != nil {
			t.Errorf("what has been: %v", err)
		}
		reached := make(chan error)
		go func() { reached <- s.Reach(t.Context(), 3) }()
		put(t, s, "ns", "a", "1")
		synctest.Wait()
		select {
		case err := <-reached:
			t.Fatalf("at 2: %v", err)
		default:
		}
		s.Drop(secrets)
		if err := <-reached; err != nil {
			t.Error(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := s.Reach(ctx, 5); !errors.Is(err, storage.ErrTooLarge) {
			t.Errorf("the future: %v", err)
		}
		put(t, s, "ns", "a", "2") // nobody waits any more
		put(t, s, "ns", "a", "3")
	})
}

// Contract 6.
func TestEncodedOnce(t *testing.T) {
	s := storage.New(nil)
	o := put(t, s, "ns", "a", "1")
	made := 0
	encode := func(text string, err error) func() ([]byte, error) {
		return func() ([]byte, error) {
			made++
			return []byte(text), err
		}
	}
	broken := errors.New("broken")
	if _, err := o.Encoded("json", encode("", broken)); err != broken {
		t.Errorf("error %v", err)
	}
	for range 3 {
		if b, err := o.Encoded("json", encode("J", nil)); err != nil || string(b) != "J" {
			t.Errorf("json: %q, %v", b, err)
		}
		if b, err := o.Encoded("protobuf", encode("P", nil)); err != nil || string(b) != "P" {
			t.Errorf("protobuf: %q, %v", b, err)
		}
	}
	if made != 3 { // the error is not kept
		t.Errorf("made %d times", made)
	}
}

func TestDeparture(t *testing.T) {
	s := storage.New(nil)
	put(t, s, "ns", "a", "1")
	put(t, s, "ns", "a", "2")
	changes, _, err := s.Cursor(configMaps, 2).Next()
	if err != nil {
		t.Fatal(err)
	}
	gone := changes[0].Departure()
	if text(gone) != "ns/a=1@3" || gone.Value.GetResourceVersion() != "3" || changes[0].Departure() != gone {
		t.Errorf("departure %s", text(gone))
	}
	if text(changes[0].Previous) != "ns/a=1@2" || changes[0].Previous.Value.GetResourceVersion() != "2" {
		t.Errorf("previous has become %s", text(changes[0].Previous))
	}
}

// Contract 2 and 5: readers and writers at once; for the race detector.
func TestReadersBesideWriters(t *testing.T) {
	s := storage.New(&storage.Options{History: 100})
	done := make(chan int)
	for range 2 {
		go func() {
			cursor, seen := s.Cursor(configMaps, 1), 0
			for seen < 200 {
				changes, more, err := cursor.Next()
				if err != nil {
					break
				}
				for _, c := range changes {
					_ = value(c.Object)
					seen++
				}
				if _, _, err := s.List(configMaps, "ns", 0); err != nil {
					break
				}
				if more != nil {
					<-more
				}
			}
			done <- seen
		}()
	}
	for i := range 200 {
		put(t, s, "ns", strconv.Itoa(i%7), strconv.Itoa(i))
	}
	for range 2 {
		<-done
	}
}
