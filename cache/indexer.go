package cache

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"governor/client"
)

// Indexer holds the objects of one kind in one scope, in order of namespace
// and name, with indexes over them. It is the informer.Store of the cache.
//
// All that it holds is one state behind one pointer. A reader loads the pointer
// and reads on without a lock; a writer makes the next state, which shares what
// stays the same, and then swaps the pointer. Most writes change neither the keys
// nor an index: these write new versions into slots that both states share, and
// each state sees those that are not newer than itself:
//
//	readers ──► state{seq 7, objects, indexes}      writer: objects, indexes: shared, or copied in part
//	              ▲ atomic pointer     └──► slot            ▲
//	              └───────────── swap ──────│───── state{seq 8, objects', indexes'}
//	                                        └─current─► version{seq 8} ─prev─► version{seq 7}
//
// So every read is one state that was published, no read waits for a write, and
// no write waits for a read. Why it is so is in docs/design/indexer.md.
//
// Invariants, of which [Indexer.valid] checks 1 to 5, and tests the others. Go's
// atomics are in one order that all goroutines see.
//
//  1. objects has each key's slot once, under its namespace; the table of the
//     state has the same slots.
//  2. an index has an entry for each value of each object, and no other; failed
//     has each object that it lacks, and no other.
//  3. along a chain, seq falls; none is above that of the published state but
//     while a writer, who holds mu, is at work: it writes versions first and
//     publishes then, and does not run code of others in between.
//  4. a version's prev is cut only once its seq is published, and no reader has
//     acquired, or can yet acquire, a state with a lower seq.
//  5. each version that has a prev is in links, by seq; past has each earlier
//     state that had readers when it was last looked at. When no reader is left,
//     both are empty: no old object stays in memory longer than reads that began
//     before it was replaced.
//  6. whoever lets go of mu, or of the last hold on an earlier state, sees to 5:
//     the reader sets due and tries the lock; whoever has it looks at due after
//     letting go of it.
//
// Upstream: client-go tools/cache/thread_safe_store.go.
type Indexer struct {
	state atomic.Pointer[state]
	due   atomic.Bool // an earlier state has lost its last reader

	mu      sync.Mutex // serialises writers; readers do not wait for it
	past    []*state   // +checklocks:mu
	links   []link     // +checklocks:mu
	emptied []emptied  // +checklocks:mu; buckets without places, by seq
	batch   batch      // +checklocks:mu
}

// emptied is a bucket of an index that has no places from seq on. It stays in
// the table, where readers of earlier states find it, as long as there are such.
type emptied struct {
	seq    uint64
	field  string
	bucket *bucket
}

// NewIndexer returns an empty Indexer.
func NewIndexer() *Indexer {
	x := &Indexer{}
	x.state.Store(&state{table: newTable[stored](0)})
	return x
}

// Get returns the stored object, nil when there is none. It is shared: read it only.
//
// It does not acquire a state, since it can do with the published version or
// the one before, and knows when that was cut: after the version was published.
func (x *Indexer) Get(key client.ObjectKey) client.Object {
	st := x.state.Load()
	p := st.get(key)
	if p == nil {
		return nil
	}
	v := p.current.Load()
	if v.seq <= st.seq {
		return v.value.object
	}
	return x.published(v, x.state.Load().seq)
}

// published returns the object of v, or, if that is not published yet, the one
// before. seq is of a state that was published after v was found.
func (x *Indexer) published(v *version[stored], seq uint64) client.Object {
	if v.seq <= seq {
		return v.value.object
	}
	if prev := v.prev.Load(); prev != nil {
		return prev.value.object
	}
	if v.seq <= x.state.Load().seq {
		return v.value.object // published meanwhile, and prev was cut
	}
	return nil // a new key, which is not published yet
}

// List returns all objects of one state, in order of namespace and name. They
// are shared: read them only.
func (x *Indexer) List() []client.Object {
	st := x.acquire()
	defer x.release(st)
	out := make([]client.Object, 0, st.count)
	for _, b := range st.spaces {
		for _, c := range b.at(st.seq) {
			for _, p := range c.places {
				out = append(out, p.at(st.seq).object)
			}
		}
	}
	return out
}

// ByIndex returns the objects that have value in the index of field, of all
// namespaces if namespace is empty, in order of namespace and name. They are
// shared: read them only. It is an error when there is no such index, or when
// its function panicked on an object, since the answer would not be complete.
func (x *Indexer) ByIndex(field, value, namespace string) ([]client.Object, error) {
	st := x.acquire()
	defer x.release(st)
	i := st.indexOf(field)
	if i < 0 {
		return nil, fmt.Errorf("there is no index of field %q", field)
	}
	if err := st.complete(i); err != nil {
		return nil, err
	}
	var out []client.Object
	if b := st.indexes[i].bucket(value); b != nil {
		b.at(st.seq).from(client.ObjectKey{Namespace: namespace}, func(p *place) bool {
			if namespace != "" && p.key.Namespace != namespace {
				return false
			}
			out = append(out, p.at(st.seq).object)
			return true
		})
	}
	return out, nil
}

// Len returns how many objects there are.
func (x *Indexer) Len() int { return x.state.Load().count }

// ResourceVersion returns the server's version of the state that is held now;
// empty before the first Replace.
func (x *Indexer) ResourceVersion() string { return x.state.Load().resourceVersion }

// Update removes and puts objects in one step; what is in both is put, and the
// last of several objects with one key counts. An empty resourceVersion leaves
// the one that is there. The slices are the caller's again when it returns. It
// has no error today.
//
// An index function that panics does not stop the object from being stored:
// reads through that index are errors until the object is one that the
// function can take.
func (x *Indexer) Update(put []client.Object, remove []client.ObjectKey, resourceVersion string) error {
	x.mu.Lock()
	defer x.tidy()
	defer x.mu.Unlock()
	b := x.beginLocked()
	b.next.resourceVersion = cmp.Or(resourceVersion, b.next.resourceVersion)
	b.prepare(put)
	b.put()
	b.remove(remove)
	b.index()
	x.publishLocked()
	return nil
}

// Replace makes objects the whole content, in one step. See Update.
func (x *Indexer) Replace(objects []client.Object, resourceVersion string) error {
	x.mu.Lock()
	defer x.tidy()
	defer x.mu.Unlock()
	b := x.beginLocked()
	b.next.resourceVersion = resourceVersion
	b.prepare(objects)
	b.put()
	b.removeOthers()
	b.index()
	x.publishLocked()
	return nil
}

// AddIndex adds an index, whether or not there are objects already. It is an
// error, and changes nothing, when the field has one, or when fn panics on an
// object that is there.
func (x *Indexer) AddIndex(field string, fn client.IndexerFunc) error {
	if field == "" || fn == nil {
		return errors.New("an index needs a field name and a function")
	}
	x.mu.Lock()
	defer x.tidy()
	defer x.mu.Unlock()
	b := x.beginLocked()
	if b.next.indexOf(field) >= 0 {
		return fmt.Errorf("field %q has an index already", field)
	}
	added := index{field: field, fn: fn, values: newTable[sorted](0)}
	said := make([]indexed, 0, b.next.count)
	for p := range b.next.all() {
		stored, _ := p.last()
		v := added.of(stored.object)
		if v.err != nil {
			return v.err
		}
		said = append(said, v)
	}
	b.next.indexes = append(slices.Clip(b.next.indexes), added)
	b.reindex(func(n int, values []indexed) []indexed { return append(slices.Clip(values), said[n]) })
	b.index()
	x.publishLocked()
	return nil
}

// removeIndex takes back an AddIndex.
func (x *Indexer) removeIndex(field string) {
	x.mu.Lock()
	defer x.tidy()
	defer x.mu.Unlock()
	b := x.beginLocked()
	i := b.next.indexOf(field)
	b.next.indexes = slices.Delete(slices.Clone(b.next.indexes), i, i+1)
	// What is in buckets stays as it is.
	b.reindex(func(_ int, values []indexed) []indexed { return slices.Delete(slices.Clone(values), i, i+1) })
	x.publishLocked()
}

// valid checks the invariants, while nobody writes.
func (x *Indexer) valid() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	st := x.state.Load()
	if err := st.valid(); err != nil {
		return err
	}
	linked := make(map[any]bool, len(x.links))
	for n, l := range x.links {
		if n > 0 && x.links[n-1].seq > l.seq || l.seq > st.seq {
			return fmt.Errorf("links: %d after %d in %d", l.seq, x.links[max(n-1, 0)].seq, st.seq)
		}
		linked[l.version] = true
	}
	for n, p := range x.past {
		if p.seq >= st.seq || n > 0 && x.past[n-1].seq >= p.seq {
			return fmt.Errorf("past: %d after %d in %d", p.seq, x.past[max(n-1, 0)].seq, st.seq)
		}
	}
	for p := range st.all() {
		if err := validChain(p, st.seq, linked); err != nil {
			return err
		}
	}
	for _, b := range st.spaces {
		if err := validChain(b, st.seq, linked); err != nil {
			return err
		}
	}
	for i := range st.indexes {
		values := st.indexes[i].values
		for c := range values.cells {
			b := values.cells[c].slot.Load()
			if b == nil || b == values.gone {
				continue
			}
			if err := validChain(b, st.seq, linked); err != nil {
				return err
			}
			listed := slices.ContainsFunc(x.emptied, func(e emptied) bool { return e.bucket == b })
			if now, _ := b.last(); len(now) == 0 && !listed {
				return fmt.Errorf("index %q keeps the empty bucket of %q for ever", st.indexes[i].field, b.key.Name)
			}
		}
	}
	return nil
}

func validChain[V any](s *slot[V], seq uint64, linked map[any]bool) error {
	for v := s.current.Load(); v != nil; v = v.prev.Load() {
		prev := v.prev.Load()
		switch {
		case v.seq > seq:
			return fmt.Errorf("%v: a version of %d in %d", s.key, v.seq, seq)
		case prev != nil && prev.seq >= v.seq:
			return fmt.Errorf("%v: a version of %d before one of %d", s.key, prev.seq, v.seq)
		case prev != nil && !linked[v]:
			return fmt.Errorf("%v: the version of %d has one before it, which will never be cut", s.key, v.seq)
		}
	}
	return nil
}
