package cache

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"governor/client"
	"governor/envtest"
	"governor/informer"

	corev1 "k8s.io/api/core/v1"
)

// story writes down what a handler hears, and complains if two calls overlap.
type story struct {
	t     *testing.T
	busy  atomic.Bool
	lines []string

	registration *Registration // of follow
}

func (s *story) tell(line string) {
	if s.busy.Swap(true) {
		s.t.Error("two calls at once")
	}
	time.Sleep(time.Millisecond) // in a bubble: lets the other informer call as well
	s.lines = append(s.lines, line)
	s.busy.Store(false)
}

func (s *story) OnAdd(o client.Object, initial bool) {
	s.tell(fmt.Sprintf("add %s %t", o.GetName(), initial))
}
func (s *story) OnUpdate(_, o client.Object)      { s.tell("update " + o.GetName()) }
func (s *story) OnDelete(o client.Object, _ bool) { s.tell("delete " + o.GetName()) }

// A handler hears of all namespaces, one call at a time, whenever it came.
func TestHandlerOfSeveralNamespaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		for i := range 10 {
			s.put(pod(fmt.Sprintf("ns%d", i%3), fmt.Sprintf("p%d", i), "x", "n"))
		}
		c := newCache(t, s, &Options{DefaultNamespaces: map[string]Config{"ns0": {}, "ns1": {}}})
		k, err := c.GetInformer(t.Context(), &corev1.Pod{})
		if err != nil {
			t.Fatal(err)
		}
		early, late := &story{t: t}, &story{t: t}
		first, err := k.AddHandler(early, nil)
		if err != nil {
			t.Fatal(err)
		}
		if k.HasSynced() {
			t.Error("synced before Start")
		}
		start(t, c)
		if err := first.WaitForSync(within(t, time.Second)); err != nil {
			t.Fatal(err)
		}
		second, err := k.AddHandler(late, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := second.WaitForSync(within(t, time.Second)); err != nil || !k.HasSynced() {
			t.Fatal(err)
		}
		want := []string{}
		for _, i := range []int{0, 1, 3, 4, 6, 7, 9} {
			want = append(want, fmt.Sprintf("add p%d true", i))
		}
		for name, st := range map[string]*story{"early": early, "late": late} {
			if got := slices.Sorted(slices.Values(st.lines)); !slices.Equal(got, want) {
				t.Errorf("%s heard %v, want %v", name, got, want)
			}
			st.lines = nil
		}

		s.put(pod("ns0", "new", "x", "n"))
		s.put(pod("ns1", "p1", "y", "n"))
		s.removePod("ns1", "p4")
		s.put(pod("ns2", "p5", "y", "n"))
		time.Sleep(time.Second)
		synctest.Wait()
		want = []string{"add new false", "delete p4", "update p1", "update p4"} // p4 with its deletionTimestamp
		for name, st := range map[string]*story{"early": early, "late": late} {
			if got := slices.Sorted(slices.Values(st.lines)); !slices.Equal(got, want) {
				t.Errorf("%s heard %v, want %v", name, got, want)
			}
			st.lines = nil
		}

		first.Remove()
		first.Remove()
		s.put(pod("ns0", "after", "x", "n"))
		time.Sleep(time.Second)
		synctest.Wait()
		if len(early.lines) > 0 || len(late.lines) != 1 {
			t.Errorf("after Remove: %v, %v", early.lines, late.lines)
		}
		if _, err := k.AddHandler(nil, nil); err == nil {
			t.Error("a nil handler is no error")
		}
	})
}

// A handler that is removed before the cache starts hears nothing.
func TestHandlerRemovedBeforeStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		s.put(pod("ns1", "a", "x", "n"))
		c := newCache(t, s, nil)
		k, err := c.GetInformer(t.Context(), &corev1.Pod{})
		if err != nil {
			t.Fatal(err)
		}
		st := &story{t: t}
		r, err := k.AddHandler(st, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Remove()
		start(t, c)
		if err := r.WaitForSync(within(t, time.Second)); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if len(st.lines) > 0 {
			t.Errorf("heard %v", st.lines)
		}
	})
}

// Contract 3: what has not synced is named, and so is the reason.
func TestWaitForSyncNamesWhatIsMissing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		s.put(pod("ns1", "a", "x", "n"))
		s.forbid(envtest.Match{Namespace: "ns2"})
		c := newCache(t, s, &Options{DefaultNamespaces: map[string]Config{"ns1": {}, "ns2": {}},
			DefaultWatchErrorHandler: func(context.Context, error) {}})
		k, err := c.GetInformer(t.Context(), &corev1.Pod{})
		if err != nil {
			t.Fatal(err)
		}
		r, err := k.AddHandler(&story{t: t}, nil)
		if err != nil {
			t.Fatal(err)
		}
		stop := start(t, c)
		for name, wait := range map[string]func(context.Context) error{
			"KindInformer": k.WaitForSync, "Registration": r.WaitForSync, "Cache": c.WaitForCacheSync,
		} {
			err := wait(within(t, 5*time.Second))
			e, ok := errors.AsType[*NotSyncedError](err)
			if !ok || e.Kind != podGVK || !slices.Equal(e.Namespaces, []string{"ns2"}) || e.LastError == nil ||
				!errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "no permission") {
				t.Errorf("%s: %v", name, err)
			}
		}
		// The namespace that can be listed is read all the same.
		if err := c.Get(within(t, time.Second), key("ns1", "a"), &corev1.Pod{}); err != nil {
			t.Error(err)
		}
		if err := c.List(within(t, time.Second), &corev1.PodList{}); err == nil {
			t.Error("a list of all namespaces, without one of them")
		}
		waited := make(chan error)
		go func() { waited <- r.WaitForSync(context.Background()) }()
		synctest.Wait()
		stop()
		if err := <-waited; !errors.Is(err, ErrStopped) {
			t.Errorf("whoever waited when the cache stopped got %v", err)
		}
	})
}

// Contract 7: SyncPeriod has handlers hear of everything again.
func TestSyncPeriod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, c := tenPods(t, &Options{SyncPeriod: new(time.Minute), ByObject: map[client.Object]ByObject{&corev1.Node{}: {SyncPeriod: new(time.Duration(0))}}})
		pods, nodes := 0, 0
		for obj, n := range map[client.Object]*int{&corev1.Pod{}: &pods, &corev1.Node{}: &nodes} {
			k, err := c.GetInformer(t.Context(), obj)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := k.AddHandler(informer.HandlerFuncs{UpdateFunc: func(_, _ client.Object) { *n++ }}, nil); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(150 * time.Second)
		synctest.Wait()
		if pods != 20 || nodes != 0 {
			t.Errorf("%d resyncs of 10 pods, %d of a node in 150 s; want 20 and 0", pods, nodes)
		}
	})
}

// A kind that is installed later is found, and its informer syncs.
func TestKindThatIsInstalledLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		c := newCache(t, s, &Options{DefaultWatchErrorHandler: func(context.Context, error) {}})
		start(t, c)
		k, err := c.GetInformer(t.Context(), unstructuredOf(widgetGVK))
		if err != nil {
			t.Fatal(err)
		}
		if err := k.WaitForSync(within(t, 10*time.Second)); err == nil {
			t.Fatal("synced although the server does not have the kind")
		}
		if err := envtest.InstallCRDs(t.Context(), s.admin, widgetCRD()); err != nil {
			t.Fatal(err)
		}
		w := unstructuredOf(widgetGVK)
		w.SetName("w")
		w.SetNamespace("ns1")
		s.put(w)
		if err := k.WaitForSync(within(t, 30*time.Second)); err != nil {
			t.Fatal(err)
		}
		synctest.Wait() // for the event, if the kind was listed before w came
		got := unstructuredOf(widgetGVK)
		if err := c.Get(t.Context(), key("ns1", "w"), got); err != nil || got.GetName() != "w" {
			t.Errorf("Get: %v, %v", got, err)
		}
		m := metadataFor(widgetGVK)
		if err := c.Get(t.Context(), key("ns1", "w"), m); err != nil || m.Name != "w" || m.Kind != "Widget" {
			t.Errorf("metadata of an unstructured object: %v, %v", m, err)
		}
	})
}

// Contract 1: a wider form that is asked for while the kind is looked up counts.
func TestFormAskedForWhileOpening(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		s.put(pod("ns1", "a", "x", "n"))
		m := &hooked{RESTMapper: mapper()}
		c := newCacheWith(t, s, m, nil)
		m.hook = sync.OnceValue(func() error {
			_, err := c.GetInformer(context.Background(), &corev1.Pod{})
			return err
		})
		start(t, c)
		for _, obj := range []client.Object{metadataFor(podGVK), &corev1.Pod{}} {
			if err := c.Get(t.Context(), key("ns1", "a"), obj); err != nil {
				t.Errorf("Get %T: %v", obj, err)
			}
		}
	})
}

// Contract 3: a kind that the server does not know is asked for again, less and
// less often, and handlers and indexes wait for it.
func TestKindThatTheServerLearns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		s.put(pod("ns1", "a", "x", "n1"))
		var asked, told atomic.Int32
		var known atomic.Bool
		m := &hooked{RESTMapper: mapper(), hook: func() error {
			if asked.Add(1); !known.Load() {
				return errors.New("no such kind yet")
			}
			return nil
		}}
		c := newCacheWith(t, s, m, &Options{DefaultWatchErrorHandler: func(_ context.Context, err error) {
			if told.Add(1); !strings.Contains(err.Error(), "v1/Pod: no such kind yet") {
				t.Errorf("told %v", err)
			}
		}})
		start(t, c)
		k, err := c.GetInformer(t.Context(), &corev1.Pod{})
		if err != nil {
			t.Fatal(err)
		}
		st := &story{t: t}
		r, err := k.AddHandler(st, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.IndexField(t.Context(), &corev1.Pod{}, "spec.nodeName", byNodeName); err != nil {
			t.Fatal(err)
		}
		if err := r.WaitForSync(within(t, time.Minute)); err == nil || !strings.Contains(err.Error(), "no such kind yet") {
			t.Errorf("WaitForSync: %v", err)
		}
		synctest.Wait()
		if n := asked.Load(); n < 6 || n > 12 || told.Load() != n {
			t.Errorf("asked %d times in a minute, told %d times", n, told.Load())
		}
		known.Store(true)
		if err := r.WaitForSync(within(t, 11*time.Second)); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(st.lines, []string{"add a true"}) {
			t.Errorf("heard %v", st.lines)
		}
		var list corev1.PodList
		if err := c.List(t.Context(), &list, client.MatchingFields{"spec.nodeName": "n1"}); err != nil || len(list.Items) != 1 {
			t.Errorf("List: %v, %v", names(t, &list), err)
		}
	})
}
