package envtest

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"governor/client"
	"governor/envtest/storage"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const watched = "/api/v1/namespaces/default/configmaps?watch=1"

// watchLog is a watch under way: what it says, as it comes.
type watchLog struct {
	t    *testing.T
	resp *http.Response
	got  chan string
}

// watchLines starts a watch. Its events are read at once, in a goroutine that ends with the test.
func watchLines(t *testing.T, s *Server, path string, header ...string) *watchLog {
	t.Helper()
	l := &watchLog{t: t, resp: openAnswer(t, s, "GET", path, header...), got: make(chan string, 1000)}
	t.Cleanup(func() { l.resp.Body.Close() })
	go func() {
		defer close(l.got)
		scanner := bufio.NewScanner(l.resp.Body)
		for scanner.Scan() {
			l.got <- briefEvent(scanner.Bytes())
		}
	}()
	return l
}

// briefEvent is what matters of an event: ADDED default/a@5.
func briefEvent(line []byte) string {
	var event struct {
		Type   string
		Object struct {
			metav1.PartialObjectMetadata
			Message string
			Code    int
		}
	}
	if err := json.Unmarshal(line, &event); err != nil {
		return err.Error()
	}
	o := event.Object
	switch {
	case event.Type == "ERROR":
		return fmt.Sprintf("ERROR %d %s", o.Code, o.Message)
	case event.Type == "BOOKMARK":
		text := "BOOKMARK @" + o.ResourceVersion
		if o.Annotations[metav1.InitialEventsAnnotationKey] == "true" {
			text += " initial events end"
		}
		return text
	}
	return fmt.Sprintf("%s %s@%s", event.Type, o.Name, o.ResourceVersion)
}

// want waits until nothing happens any more, and compares what has come.
func (l *watchLog) want(want ...string) {
	l.t.Helper()
	synctest.Wait()
	var got []string
	for {
		select {
		case line, ok := <-l.got:
			if !ok {
				line, l.got = "end", nil
			}
			got = append(got, line)
			continue
		default:
		}
		break
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		l.t.Errorf("got\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

// putConfigMap writes a ConfigMap whose resourceVersion it returns.
func putConfigMap(t testing.TB, s *Server, name string, labels ...string) uint64 {
	o := &corev1.ConfigMap{ObjectMeta: metaNamed("default", name)}
	for _, l := range labels {
		key, value, _ := strings.Cut(l, "=")
		metav1.SetMetaDataLabel(&o.ObjectMeta, key, value)
	}
	return putObject(t, s, "configmaps", o).ResourceVersion
}

func dropConfigMap(t testing.TB, s *Server, name string) uint64 {
	o, err := s.store.Write(schema.GroupResource{Resource: "configmaps"}, "default", name,
		func(*storage.Object) (client.Object, error) { return nil, nil })
	if err != nil {
		t.Fatal(err)
	}
	return o.ResourceVersion
}

// inBubble runs a test of a server in a bubble.
func inBubble(t *testing.T, run func(t *testing.T, s *Server)) {
	synctest.Test(t, func(t *testing.T) { run(t, newQuiet(t)) })
}

func eventLine(event, name string, version uint64) string {
	return fmt.Sprintf("%s %s@%d", event, name, version)
}

func fromVersion(version uint64) string { return "&resourceVersion=" + strconv.FormatUint(version, 10) }

func TestWatchFromAResourceVersion(t *testing.T) {
	inBubble(t, func(t *testing.T, s *Server) {
		a := putConfigMap(t, s, "a")
		b := putConfigMap(t, s, "b")
		w := watchLines(t, s, watched+fromVersion(a))
		w.want(eventLine("ADDED", "b", b))
		a = putConfigMap(t, s, "a")
		gone := dropConfigMap(t, s, "b")
		putObject(t, s, "configmaps", &corev1.ConfigMap{ObjectMeta: metaNamed("other", "x")})
		putObject(t, s, "secrets", &corev1.Secret{ObjectMeta: metaNamed("default", "x")})
		w.want(eventLine("MODIFIED", "a", a), eventLine("DELETED", "b", gone))
		if got := w.resp.Header.Get("Content-Type"); got != "application/json" {
			t.Errorf("Content-Type %q", got)
		}
	})
}

// Without a resourceVersion, and with 0, a watch begins with all there is. A client that knows
// bookmarks is told when that was all.
func TestWatchFromNothing(t *testing.T) {
	inBubble(t, func(t *testing.T, s *Server) {
		a := putConfigMap(t, s, "a")
		now := putConfigMap(t, s, "b")
		end := fmt.Sprintf("BOOKMARK @%d initial events end", now)
		all := []string{eventLine("ADDED", "a", a), eventLine("ADDED", "b", now)}
		watchLines(t, s, watched).want(all...)
		watchLines(t, s, watched+"&resourceVersion=0").want(all...)
		watchLines(t, s, watched+"&allowWatchBookmarks=1").want(append(all, end)...)
		watchLines(t, s, watched+"&allowWatchBookmarks=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan").want(append(all, end)...)
		watchLines(t, s, watched+"&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"+fromVersion(a)).want(all...)
		quiet := watchLines(t, s, watched+"&sendInitialEvents=false&resourceVersionMatch=NotOlderThan")
		quiet.want()
		quiet.want()
		c := putConfigMap(t, s, "c")
		quiet.want(eventLine("ADDED", "c", c))
	})
}

// A watch that wants all objects of the future waits three seconds for it; one that wants only
// changes after that has nothing to wait for.
func TestWatchOfTheFuture(t *testing.T) {
	inBubble(t, func(t *testing.T, s *Server) {
		const initial = "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
		start, now := time.Now(), s.store.ResourceVersion()
		changes := watchLines(t, s, watched+fromVersion(now+1))
		go func() {
			time.Sleep(time.Second)
			putObject(t, s, "secrets", &corev1.Secret{ObjectMeta: metaNamed("default", "x")})
		}()
		patient := watchLines(t, s, watched+initial+fromVersion(now+1))
		if got := time.Since(start); got != time.Second {
			t.Errorf("it began after %v", got)
		}
		patient.want()
		a := putConfigMap(t, s, "a")
		patient.want(eventLine("ADDED", "a", a))
		changes.want(eventLine("ADDED", "a", a))
		watchLines(t, s, watched+initial+fromVersion(1000)).want(
			fmt.Sprintf("ERROR 504 Timeout: Too large resource version: 1000, current: %d", a), "end")
		if got := time.Since(start); got != time.Second+catchUp {
			t.Errorf("it gave up after %v", got)
		}
	})
}

// What happens after the client has the header, it sees: of what is there and what comes nothing falls
// in between.
func TestWatchLosesNothing(t *testing.T) {
	s := newQuiet(t)
	for i := range 200 {
		name := strconv.Itoa(i)
		resp := openAnswer(t, s, "GET", watched+"&fieldSelector=metadata.name%3D"+name)
		putConfigMap(t, s, name)
		deleted := dropConfigMap(t, s, name)
		events := bufio.NewReader(resp.Body)
		for _, want := range []string{eventLine("ADDED", name, deleted-1), eventLine("DELETED", name, deleted)} {
			text, err := events.ReadBytes('\n')
			if got := briefEvent(text); err != nil || got != want {
				t.Fatalf("%s, %v, want %s", got, err, want)
			}
		}
		resp.Body.Close()
	}
}

func TestWatchTooOld(t *testing.T) {
	inBubble(t, func(t *testing.T, s *Server) {
		a := putConfigMap(t, s, "a")
		b := putConfigMap(t, s, "b")
		c := putConfigMap(t, s, "c")
		if err := s.store.CompactTo(b); err != nil {
			t.Fatal(err)
		}
		w := watchLines(t, s, watched+fromVersion(a))
		w.want(fmt.Sprintf("ERROR 410 too old resource version: %d (%d)", a, b), "end")
		if w.resp.StatusCode != 200 {
			t.Errorf("status %d", w.resp.StatusCode)
		}
		watchLines(t, s, watched+fromVersion(b)).want(eventLine("ADDED", "c", c))
	})
}

// An object that begins to match is added; one that ceases to is deleted, as it was when it last
// matched, at the resourceVersion of the change.
func TestWatchSelectors(t *testing.T) {
	inBubble(t, func(t *testing.T, s *Server) {
		start := s.store.ResourceVersion()
		w, one := watchLines(t, s, watched+fromVersion(start)+"&labelSelector=on%3Dyes"), watchLines(t, s, watched+fromVersion(start)+"&fieldSelector=metadata.name%3Da")
		var at []uint64
		at = append(at, putConfigMap(t, s, "a", "on=no"))
		at = append(at, putConfigMap(t, s, "a", "on=yes"))
		at = append(at, putConfigMap(t, s, "a", "on=yes", "x=y"))
		at = append(at, putConfigMap(t, s, "a", "on=no"))
		at = append(at, putConfigMap(t, s, "b", "on=yes"))
		at = append(at, dropConfigMap(t, s, "b"))
		at = append(at, dropConfigMap(t, s, "a"))
		w.want(eventLine("ADDED", "a", at[1]), eventLine("MODIFIED", "a", at[2]), eventLine("DELETED", "a", at[3]), eventLine("ADDED", "b", at[4]), eventLine("DELETED", "b", at[5]))
		one.want(eventLine("ADDED", "a", at[0]), eventLine("MODIFIED", "a", at[1]), eventLine("MODIFIED", "a", at[2]), eventLine("MODIFIED", "a", at[3]), eventLine("DELETED", "a", at[6]))
	})
}

// What leaves a selection is told in the state in which it matched.
func TestWatchDepartureHasTheOldState(t *testing.T) {
	inBubble(t, func(t *testing.T, s *Server) {
		start := putConfigMap(t, s, "a", "on=yes")
		resp := openAnswer(t, s, "GET", watched+fromVersion(start)+"&labelSelector=on%3Dyes")
		defer resp.Body.Close()
		putConfigMap(t, s, "a", "on=no")
		text, err := bufio.NewReader(resp.Body).ReadString('\n')
		if err != nil || !strings.Contains(text, `"labels":{"on":"yes"}`) {
			t.Errorf("%s %v", text, err)
		}
	})
}

// Bookmarks come each minute, if anything has happened anywhere since the watch began, and
// shortly before its end.
func TestWatchBookmarks(t *testing.T) {
	inBubble(t, func(t *testing.T, s *Server) {
		start := putConfigMap(t, s, "a")
		w := watchLines(t, s, watched+fromVersion(start)+"&allowWatchBookmarks=true&timeoutSeconds=150")
		without := watchLines(t, s, watched+fromVersion(start)+"&timeoutSeconds=150")
		time.Sleep(bookmarkPeriod)
		w.want()
		other := putObject(t, s, "secrets", &corev1.Secret{ObjectMeta: metaNamed("default", "x")}).ResourceVersion
		time.Sleep(bookmarkPeriod)
		w.want(fmt.Sprintf("BOOKMARK @%d", other))
		time.Sleep(28 * time.Second)
		w.want(fmt.Sprintf("BOOKMARK @%d", other))
		time.Sleep(2 * time.Second)
		w.want("end")
		without.want("end")
	})
}

// A watch ends when its time is up; without a word about it, between half an hour and an hour.
func TestWatchEnds(t *testing.T) {
	inBubble(t, func(t *testing.T, s *Server) {
		short, long := watchLines(t, s, watched+"&timeoutSeconds=1"), watchLines(t, s, watched)
		time.Sleep(time.Second)
		short.want("end")
		time.Sleep(minWatch - 2*time.Second)
		long.want()
		time.Sleep(minWatch + 2*time.Second)
		long.want("end")
	})
}

// The stream of a resource that is no longer served ends.
func TestWatchOfADroppedResource(t *testing.T) {
	inBubble(t, func(t *testing.T, s *Server) {
		w := watchLines(t, s, watched+fromVersion(s.store.ResourceVersion()))
		w.want()
		s.store.Drop(schema.GroupResource{Resource: "configmaps"})
		w.want("end")
	})
}

// The deprecated paths below /watch/ are still served, and are the only watches of one name.
func TestWatchPaths(t *testing.T) {
	inBubble(t, func(t *testing.T, s *Server) {
		a := putConfigMap(t, s, "a")
		b := putConfigMap(t, s, "b")
		watchLines(t, s, "/api/v1/watch/namespaces/default/configmaps/a").want(eventLine("ADDED", "a", a))
		watchLines(t, s, "/api/v1/watch/configmaps").want(eventLine("ADDED", "a", a), eventLine("ADDED", "b", b))
		if _, body := askServer(t, s, "GET", "/api/v1/namespaces/default/configmaps/a?watch=1"); !strings.HasPrefix(body, `{"kind":"ConfigMap"`) {
			t.Errorf("a get with watch=1: %s", body)
		}
	})
}

func TestWatchOfMetadata(t *testing.T) {
	inBubble(t, func(t *testing.T, s *Server) {
		putConfigMap(t, s, "a")
		resp := openAnswer(t, s, "GET", watched+"&allowWatchBookmarks=1", "Accept: application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1")
		defer resp.Body.Close()
		events := bufio.NewReader(resp.Body)
		for _, event := range []string{"ADDED", "BOOKMARK"} {
			text, err := events.ReadString('\n')
			if want := `{"type":"` + event + `","object":{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{`; err != nil || !strings.HasPrefix(text, want) {
				t.Errorf("%s %v, want %s", text, err, want)
			}
		}
	})
}

func TestWatchInProtobuf(t *testing.T) {
	inBubble(t, func(t *testing.T, s *Server) {
		putConfigMap(t, s, "a")
		resp := openAnswer(t, s, "GET", watched, "Accept: application/vnd.kubernetes.protobuf;stream=watch")
		defer resp.Body.Close()
		if got := resp.Header.Get("Content-Type"); got != "application/vnd.kubernetes.protobuf;stream=watch" {
			t.Errorf("Content-Type %q", got)
		}
		var length [4]byte
		if _, err := io.ReadFull(resp.Body, length[:]); err != nil {
			t.Fatal(err)
		}
		frame := make([]byte, binary.BigEndian.Uint32(length[:]))
		if _, err := io.ReadFull(resp.Body, frame); err != nil {
			t.Fatal(err)
		}
		var event metav1.WatchEvent
		if err := event.Unmarshal(frame); err != nil || event.Type != "ADDED" {
			t.Fatalf("%+v %v", event, err)
		}
		info, _ := runtime.SerializerInfoForMediaType(s.scheme.Codecs().SupportedMediaTypes(), runtime.ContentTypeProtobuf)
		object, _, err := info.Serializer.Decode(event.Object.Raw, nil, nil)
		if configMap, ok := object.(*corev1.ConfigMap); err != nil || !ok || configMap.Name != "a" {
			t.Errorf("%v %v", object, err)
		}
	})
}

// A watch whose client has gone ends, whatever it is doing; the bubble would not end otherwise.
func TestWatchEndsWithItsClient(t *testing.T) {
	inBubble(t, func(t *testing.T, s *Server) {
		waiting := openAnswer(t, s, "GET", watched)
		writing := openAnswer(t, s, "GET", watched)
		for i := range 10 {
			putConfigMap(t, s, strconv.Itoa(i)) // nobody reads
		}
		synctest.Wait()
		waiting.Body.Close()
		writing.Body.Close()
	})
}

// BenchmarkWatch delivers events of 1 KB objects to clients in process: one operation is one
// event to one watcher.
func BenchmarkWatch(b *testing.B) {
	for _, accept := range []string{"application/json", "application/vnd.kubernetes.protobuf;stream=watch"} {
		for _, watchers := range []int{1, 10} {
			b.Run(fmt.Sprintf("%s/watchers=%d", strings.TrimSuffix(strings.TrimPrefix(accept, "application/"), ";stream=watch"), watchers), func(b *testing.B) {
				benchmarkWatch(b, accept, watchers)
			})
		}
	}
}

func benchmarkWatch(b *testing.B, accept string, watchers int) {
	s := NewServer(&Options{History: 1 << 20}) // the writer is faster than the readers
	payload := strings.Repeat("x", 1000)
	const objects = 1000
	start := formatVersion(s.store.ResourceVersion())
	done := make(chan error)
	for range watchers {
		resp := openAnswer(b, s, "GET", watched+"&resourceVersion="+start, "Accept: "+accept)
		defer resp.Body.Close()
		go func() { done <- countEvents(resp.Body, b.N/watchers) }()
	}
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N / watchers {
		o := &corev1.ConfigMap{ObjectMeta: metaNamed("default", strconv.Itoa(i%objects)), Data: map[string]string{"k": payload}}
		putObject(b, s, "configmaps", o)
	}
	for range watchers {
		if err := <-done; err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
}

// countEvents reads until it has seen so many events, by the letters of their payload.
func countEvents(r io.Reader, n int) error {
	buffer := make([]byte, 64<<10)
	for x := 0; x < n*1000; {
		got, err := r.Read(buffer)
		x += bytes.Count(buffer[:got], []byte("x"))
		if err != nil {
			return err
		}
	}
	return nil
}
