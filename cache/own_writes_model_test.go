package cache

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"governor/client"
	"governor/envtest"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

var modelSeed = flag.Uint64("own-writes-seed", 0, "run this seed of TestOwnWritesModel only")

// The model: random writes by us, through a Delegating client, and by somebody else; a
// watch that is late, stalls and breaks; random reads. Contract 12: what a read
// shows is never before our last write of the key, nor before what an earlier read showed.
// In the end, when the watch has brought everything, the overlay is empty and the
// cache is what the server has.
func TestOwnWritesModel(t *testing.T) {
	seeds := []uint64{*modelSeed}
	if *modelSeed == 0 {
		seeds = seeds[:0]
		for seed := range uint64(100) {
			seeds = append(seeds, seed+1)
		}
	}
	for _, seed := range seeds {
		synctest.Test(t, func(t *testing.T) {
			m := newOwnWrites(t, seed)
			for range 60 {
				m.step()
			}
			m.settle()
		})
		if t.Failed() {
			t.Fatalf("run with -own-writes-seed=%d", seed)
		}
	}
}

// lateWatch is a transport whose watches are late.
type lateWatch struct {
	base    http.RoundTripper
	delay   atomic.Int64 // at most, of each read
	stalled atomic.Bool
}

func (l *lateWatch) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := l.base.RoundTrip(r)
	if err == nil && r.URL.Query().Get("watch") != "" {
		resp.Body = &lateBody{resp.Body, l}
	}
	return resp, err
}

type lateBody struct {
	io.ReadCloser
	late *lateWatch
}

func (b *lateBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if d := b.late.delay.Load(); d > 0 {
		time.Sleep(time.Duration(rand.Int64N(d)))
	}
	for b.late.stalled.Load() {
		time.Sleep(100 * time.Millisecond)
	}
	return n, err
}

// instant is a state of one key. version is empty while there is no object.
type instant struct {
	version string
	labels  map[string]string
}

type ownWrites struct {
	t     *testing.T
	ctx   context.Context
	rand  *rand.Rand
	s     *server
	late  *lateWatch
	cache *Cache
	ours  *client.Delegating
	trace []string

	pods    bool
	kept    labels.Selector // what the cache selects; nil: all
	onNode  bool            // it selects by spec.nodeName=a
	meta    bool            // it stores the metadata
	keys    []client.ObjectKey
	history map[client.ObjectKey][]instant
	least   map[client.ObjectKey]int // the earliest instant that a read may show
}

func newOwnWrites(t *testing.T, seed uint64) *ownWrites {
	m := &ownWrites{
		t: t, ctx: t.Context(), rand: rand.New(rand.NewPCG(seed, 7)), s: newServer(t), late: &lateWatch{},
		history: map[client.ObjectKey][]instant{}, least: map[client.ObjectKey]int{},
	}
	for _, ns := range []string{"a", "b"} {
		if err := m.s.admin.Create(m.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"x", "y", "z"} {
			m.keys = append(m.keys, key(ns, name))
		}
	}
	m.pods = m.chance(50)
	o := &Options{IdleTimeout: -1}
	switch m.rand.IntN(5) {
	case 0:
		o.DefaultNamespaces = map[string]Config{"a": {}, "b": {}}
	case 1:
		m.kept = labels.SelectorFromSet(labels.Set{"app": "yes"})
		o.DefaultLabelSelector = m.kept
	case 2:
		m.onNode = m.pods
		if m.pods {
			o.ByObject = map[client.Object]ByObject{&corev1.Pod{}: {Field: fields.OneTermEqualSelector("spec.nodeName", "a")}}
		}
	case 3:
		m.meta, m.onNode = true, m.pods && m.chance(50)
		by := ByObject{}
		if m.onNode {
			by.Field = fields.OneTermEqualSelector("spec.nodeName", "a")
		}
		o.ByObject = map[client.Object]ByObject{metadataFor(m.gvk()): by}
	}
	m.s.config.Wrap(func(base http.RoundTripper) http.RoundTripper {
		m.late.base = base
		return m.late
	})
	m.late.delay.Store(m.rand.Int64N(int64(3 * time.Second)))
	m.cache = newCache(t, m.s, o)
	start(t, m.cache)
	direct, err := client.New(m.s.AddUser("us"), &client.Options{Mapper: mapper()})
	if err != nil {
		t.Fatal(err)
	}
	if m.ours, err = client.NewDelegating(direct, m.cache, nil); err != nil {
		t.Fatal(err)
	}
	m.observe()
	m.informer()
	if m.chance(50) {
		m.readList()
	}
	return m
}

func (m *ownWrites) informer() *KindInformer {
	obj := m.object(m.keys[0])
	if m.meta {
		obj = m.metadata(m.keys[0])
	}
	k, err := m.cache.GetInformer(m.ctx, obj)
	if err != nil {
		m.t.Fatal(err)
	}
	return k
}

func (m *ownWrites) chance(percent int) bool { return m.rand.IntN(100) < percent }

func (m *ownWrites) key() client.ObjectKey { return m.keys[m.rand.IntN(len(m.keys))] }

// object returns one of the kind, with a random label.
func (m *ownWrites) object(key client.ObjectKey) client.Object {
	var obj client.Object = &corev1.ConfigMap{}
	if m.pods {
		obj = pod(key.Namespace, key.Name, "", []string{"", "a", "b"}[m.rand.IntN(3)])
	}
	obj.SetNamespace(key.Namespace)
	obj.SetName(key.Name)
	m.relabel(obj)
	if m.chance(20) {
		obj.SetFinalizers([]string{"example.com/held"})
	}
	return obj
}

func (m *ownWrites) relabel(obj client.Object) {
	obj.SetLabels(map[string]string{"app": []string{"yes", "yes", "no"}[m.rand.IntN(3)], "n": fmt.Sprint(m.rand.IntN(1000))})
}

func (m *ownWrites) list() client.ObjectList {
	if m.pods {
		return &corev1.PodList{}
	}
	return &corev1.ConfigMapList{}
}

func (m *ownWrites) log(format string, args ...any) {
	m.trace = append(m.trace, fmt.Sprintf(format, args...))
}

func (m *ownWrites) fail(format string, args ...any) {
	m.t.Helper()
	m.late.stalled.Store(false)
	for _, line := range m.trace {
		m.t.Log(line)
	}
	m.t.Fatalf(format, args...)
}

// observe takes the server's state into the history. Nobody writes meanwhile.
func (m *ownWrites) observe() {
	list := m.list()
	if err := m.s.admin.List(m.ctx, list); err != nil {
		m.fail("%v", err)
	}
	now := map[client.ObjectKey]instant{}
	_ = meta.EachListItem(list, func(o runtime.Object) error {
		obj := o.(client.Object)
		if p, ok := obj.(*corev1.Pod); (!m.onNode || ok && p.Spec.NodeName == "a") && (m.kept == nil || m.kept.Matches(labels.Set(obj.GetLabels()))) {
			now[client.ObjectKeyFromObject(obj)] = instant{obj.GetResourceVersion(), obj.GetLabels()}
		}
		return nil
	})
	for _, key := range m.keys {
		h := m.history[key]
		if len(h) == 0 || h[len(h)-1].version != now[key].version {
			m.history[key] = append(h, now[key])
		}
	}
}

func (m *ownWrites) step() {
	switch n := m.rand.IntN(100); {
	case n < 45:
		m.write(m.ours, true)
	case n < 55:
		m.write(m.s.admin, false)
	case n < 70:
		m.readOne(m.key())
	case n < 85:
		m.readList()
	case n < 92:
		d := time.Duration(m.rand.Int64N(int64(4 * time.Second)))
		m.log("sleep %v", d)
		time.Sleep(d)
	case n < 95 && m.informer().HasSynced(): // a read before waits for the first list
		m.log("stalled: %v", !m.late.stalled.Load())
		m.late.stalled.Store(!m.late.stalled.Load())
	case n < 97:
		m.log("sleep for minutes")
		time.Sleep(time.Duration(m.rand.Int64N(int64(3 * time.Minute))))
	default:
		m.log("the next watch breaks")
		m.s.Inject(envtest.Match{User: "cache", Verb: "watch"}, envtest.Fault{Times: 1, Break: envtest.Cut, After: m.rand.IntN(3)})
	}
}

// write makes a random change. Ours is one that no later read may be before.
func (m *ownWrites) write(c client.Client, ours bool) {
	key := m.key()
	changed, what, err := m.change(c, key)
	m.observe()
	who := "they"
	if ours {
		who = "we"
	}
	m.log("%s %s %s: %v; now %s", who, what, key, err, m.last(key).version)
	if err != nil || !ours {
		return
	}
	for _, key := range changed {
		m.least[key] = len(m.history[key]) - 1
	}
	switch m.rand.IntN(3) {
	case 0:
		m.readOne(key)
	case 1:
		m.readList()
	}
}

func (m *ownWrites) last(key client.ObjectKey) instant {
	h := m.history[key]
	return h[len(h)-1]
}

func (m *ownWrites) change(c client.Client, key client.ObjectKey) (changed []client.ObjectKey, what string, err error) {
	obj, one := m.object(key), []client.ObjectKey{key}
	current := func() client.Object {
		live := obj.DeepCopyObject().(client.Object)
		if err = m.s.admin.Get(m.ctx, key, live); err != nil {
			return obj // the write fails
		}
		return live
	}
	switch m.rand.IntN(13) {
	case 0, 1, 2:
		return one, "create", c.Create(m.ctx, obj)
	case 3:
		o := current()
		m.relabel(o)
		return one, "update", c.Update(m.ctx, o)
	case 4:
		o := current()
		o.SetFinalizers(nil)
		return one, "let go", c.Update(m.ctx, o)
	case 5:
		return one, "patch", c.Patch(m.ctx, obj, m.patch())
	case 6:
		return one, "patch metadata", c.Patch(m.ctx, m.metadata(key), m.patch())
	case 7:
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(m.gvk())
		u.SetNamespace(key.Namespace)
		u.SetName(key.Name)
		return one, "patch unstructured", c.Patch(m.ctx, u, m.patch())
	case 8:
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(m.gvk())
		u.SetNamespace(key.Namespace)
		u.SetName(key.Name)
		u.SetLabels(map[string]string{"n": fmt.Sprint(m.rand.IntN(1000))})
		return one, "apply", c.Apply(m.ctx, client.ApplyConfigurationFromUnstructured(u), client.FieldOwner("model"), client.ForceOwnership)
	case 9:
		if m.pods && m.chance(50) {
			return one, "delete at once", c.Delete(m.ctx, obj, client.GracePeriodSeconds(0))
		}
		return one, "delete", c.Delete(m.ctx, obj)
	case 10:
		return one, "delete metadata", c.Delete(m.ctx, m.metadata(key))
	case 11:
		for _, k := range m.keys {
			if k.Namespace == key.Namespace && m.last(k).version != "" {
				changed = append(changed, k)
			}
		}
		return changed, "delete all of", c.DeleteAllOf(m.ctx, obj, client.InNamespace(key.Namespace))
	default:
		if !m.pods {
			return one, "delete", c.Delete(m.ctx, obj)
		}
		if m.chance(50) {
			return one, "evict", c.SubResource("eviction").Create(m.ctx, obj, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}})
		}
		patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"status":{"message":"%d"}}`, m.rand.IntN(1000)))
		return one, "patch status", c.Status().Patch(m.ctx, obj, patch)
	}
}

func (m *ownWrites) gvk() schema.GroupVersionKind {
	if m.pods {
		return podGVK
	}
	return corev1.SchemeGroupVersion.WithKind("ConfigMap")
}

func (m *ownWrites) metadata(key client.ObjectKey) *metav1.PartialObjectMetadata {
	o := metadataFor(m.gvk())
	o.Namespace, o.Name = key.Namespace, key.Name
	return o
}

func (m *ownWrites) patch() client.Patch {
	return client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"labels":{"n":"%d","app":"%s"}}}`,
		m.rand.IntN(1000), []string{"yes", "yes", "no"}[m.rand.IntN(3)]))
}

// saw checks what a read has shown of a key: the version, or nothing. Of a read
// with a selector, an object that it does not select is nothing.
func (m *ownWrites) saw(how string, key client.ObjectKey, version string, selector labels.Selector) {
	m.t.Helper()
	h := m.history[key]
	for n := m.least[key]; n < len(h); n++ {
		shown := h[n].version
		if !selector.Matches(labels.Set(h[n].labels)) {
			shown = ""
		}
		if shown == version {
			m.least[key] = n
			return
		}
	}
	m.fail("%s of %s shows %q, want one of %v", how, key, version, h[m.least[key]:])
}

func (m *ownWrites) readOne(key client.ObjectKey) {
	m.t.Helper()
	obj := m.object(key)
	if m.meta || m.chance(30) {
		obj = m.metadata(key)
	}
	err := m.ours.Get(m.ctx, key, obj)
	version := obj.GetResourceVersion()
	m.log("get %s: %q %v", key, version, err)
	switch {
	case client.IgnoreNotFound(err) != nil:
		m.fail("get %s: %v", key, err)
	case err != nil:
		version = ""
	}
	m.saw("Get", key, version, labels.Everything())
}

func (m *ownWrites) readList() {
	m.t.Helper()
	var opts []client.ListOption
	in, selector := "", labels.Everything()
	if m.chance(40) {
		in = m.key().Namespace
		opts = append(opts, client.InNamespace(in))
	}
	if m.chance(40) {
		selector = labels.SelectorFromSet(labels.Set{"app": []string{"yes", "no"}[m.rand.IntN(2)]})
		opts = append(opts, client.MatchingLabelsSelector{Selector: selector})
	}
	if m.chance(40) {
		opts = append(opts, client.Limit(1+m.rand.Int64N(3)))
	}
	shown := map[client.ObjectKey]string{}
	var order []client.ObjectKey
	for next := ""; ; {
		list := m.list()
		if m.meta {
			of := &metav1.PartialObjectMetadataList{}
			of.SetGroupVersionKind(m.gvk())
			list = of
		}
		if err := m.ours.List(m.ctx, list, append(opts, client.Continue(next))...); err != nil {
			m.fail("list: %v", err)
		}
		_ = meta.EachListItem(list, func(o runtime.Object) error {
			key := client.ObjectKeyFromObject(o.(client.Object))
			shown[key] = o.(client.Object).GetResourceVersion()
			order = append(order, key)
			return nil
		})
		if next = list.GetContinue(); next == "" {
			break
		}
	}
	m.log("list %q %v: %v", in, selector, shown)
	if !slices.IsSortedFunc(order, compareKeys) || len(order) != len(shown) {
		m.fail("list in the order %v", order)
	}
	for _, key := range m.keys {
		if in == "" || key.Namespace == in {
			m.saw("List", key, shown[key], selector)
		}
	}
}

// settle lets the watch bring everything, and compares.
func (m *ownWrites) settle() {
	m.late.stalled.Store(false)
	m.late.delay.Store(0)
	time.Sleep(forget + time.Minute)
	for _, key := range m.keys { // so that each scope hears of something
		_ = m.s.admin.Create(m.ctx, m.object(key))
		_ = m.s.admin.Patch(m.ctx, m.object(key), client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"app":"yes","n":"last"}}}`)))
	}
	time.Sleep(10 * time.Minute) // watches that broke back off
	m.observe()
	for _, s := range m.informer().scopes() {
		if over := s.overlay.current.Load(); over != nil {
			m.fail("the overlay of %q keeps %d entries, floor %q: %+v at %s", s.namespace, len(over.entries), over.floor, over.entries[0], s.indexer.ResourceVersion())
		}
	}
	for _, key := range m.keys {
		m.least[key] = len(m.history[key]) - 1
	}
	m.readList()
	for _, key := range m.keys {
		m.readOne(key)
	}
}
