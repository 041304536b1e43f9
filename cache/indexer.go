package cache

import (
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
// All that it holds is one immutable state behind one pointer. A reader loads
// the pointer and reads on without a lock, however long it takes; a writer
// builds the next state, sharing what stays the same, and then swaps the pointer:
//
//	readers ──► state{rv 7, objects, indexes}      writer: objects' = objects + batch
//	              ▲ atomic pointer                         indexes' = indexes + batch
//	              └───────────── swap ──────────── state{rv 9, objects', indexes'}
//
// So every read is one state that the writer published, and no read waits.
// Upstream: client-go tools/cache/thread_safe_store.go.
type Indexer struct {
	state atomic.Pointer[state]
	mu    sync.Mutex // serialises writers; readers do not take it
}

// state is all that an Indexer holds at one moment. It never changes.
//
// Invariants, which valid checks:
//
//  1. each item of objects is there under its namespace, and has a value set
//     for each index.
//  2. an index has an entry for each value of each object, and no other.
type state struct {
	resourceVersion string
	count           int
	objects         sorted // by namespace, name
	indexes         []index
}

// index is one index in a state.
type index struct {
	field  string
	fn     client.IndexerFunc
	values sorted // by value, namespace, name
	failed sorted // the objects on which fn panicked, by namespace, name
}

// NewIndexer returns an empty Indexer.
func NewIndexer() *Indexer {
	x := &Indexer{}
	x.state.Store(&state{})
	return x
}

// Get returns the stored object, nil when there is none. It is shared: read it only.
func (x *Indexer) Get(key client.ObjectKey) client.Object {
	if it := x.state.Load().get(key); it != nil {
		return it.object
	}
	return nil
}

// List returns all objects of one state, in order of namespace and name. They
// are shared: read them only.
func (x *Indexer) List() []client.Object {
	st := x.state.Load()
	out := make([]client.Object, 0, st.count)
	for _, chunk := range st.objects {
		for i := range chunk {
			out = append(out, chunk[i].item.object)
		}
	}
	return out
}

// ByIndex returns the objects that have value in the index of field, of all
// namespaces if namespace is empty, in order of namespace and name. They are
// shared: read them only. It is an error when there is no such index, or when
// its function panicked on an object, since the answer would not be complete.
func (x *Indexer) ByIndex(field, value, namespace string) ([]client.Object, error) {
	st := x.state.Load()
	i := st.indexOf(field)
	if i < 0 {
		return nil, fmt.Errorf("there is no index of field %q", field)
	}
	if err := st.complete(i); err != nil {
		return nil, err
	}
	var out []client.Object
	st.indexes[i].values.from(value, client.ObjectKey{Namespace: namespace}, func(e *entry) bool {
		if e.value != value || namespace != "" && e.item.key.Namespace != namespace {
			return false
		}
		out = append(out, e.item.object)
		return true
	})
	return out, nil
}

// Len returns how many objects there are.
func (x *Indexer) Len() int { return x.state.Load().count }

// ResourceVersion returns the server's version of the state that is held now;
// empty before the first Replace.
func (x *Indexer) ResourceVersion() string { return x.state.Load().resourceVersion }

// Update removes and puts objects in one step; what is in both is put, and the
// last of several objects with one key counts. An empty resourceVersion leaves
// the one that is there. It has no error today.
//
// An index function that panics does not stop the object from being stored:
// reads through that index are errors until the object is one that the
// function can take.
func (x *Indexer) Update(put []client.Object, remove []client.ObjectKey, resourceVersion string) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.state.Store(x.state.Load().update(put, remove, resourceVersion))
	return nil
}

// Replace makes objects the whole content, in one step. See Update.
func (x *Indexer) Replace(objects []client.Object, resourceVersion string) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	st := x.state.Load()
	items := make([]*item, 0, len(objects))
	for _, o := range objects {
		items = append(items, newItem(o, st.indexes))
	}
	x.state.Store(build(lastOfEach(items), st.indexes, resourceVersion))
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
	defer x.mu.Unlock()
	st := x.state.Load()
	if st.indexOf(field) >= 0 {
		return fmt.Errorf("field %q has an index already", field)
	}
	added := index{field: field, fn: fn}
	items := make([]*item, 0, st.count)
	for _, chunk := range st.objects {
		for _, e := range chunk {
			v := added.of(e.item.object)
			if v.err != nil {
				return v.err
			}
			items = append(items, &item{key: e.item.key, object: e.item.object,
				values: append(slices.Clip(e.item.values), v)})
		}
	}
	x.state.Store(build(items, append(slices.Clip(st.indexes), added), st.resourceVersion))
	return nil
}

// removeIndex takes back an AddIndex.
func (x *Indexer) removeIndex(field string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	st := x.state.Load()
	i := st.indexOf(field)
	items := make([]*item, 0, st.count)
	for _, chunk := range st.objects {
		for _, e := range chunk {
			items = append(items, &item{key: e.item.key, object: e.item.object,
				values: slices.Delete(slices.Clone(e.item.values), i, i+1)})
		}
	}
	x.state.Store(build(items, slices.Delete(slices.Clone(st.indexes), i, i+1), st.resourceVersion))
}

// newItem runs the index functions on o.
func newItem(o client.Object, indexes []index) *item {
	it := &item{key: client.ObjectKeyFromObject(o), object: o}
	if len(indexes) > 0 {
		it.values = make([]indexed, len(indexes))
		for i := range indexes {
			it.values[i] = indexes[i].of(o)
		}
	}
	return it
}

// of runs the index function; a panic becomes an error.
func (x *index) of(o client.Object) (v indexed) {
	defer func() {
		if r := recover(); r != nil {
			v = indexed{err: fmt.Errorf("the index function of field %q panicked on %s: %v",
				x.field, client.ObjectKeyFromObject(o), r)}
		}
	}()
	values := x.fn(o)
	if len(values) > 1 {
		values = slices.Compact(slices.Sorted(slices.Values(values)))
	}
	return indexed{values: values}
}

// lastOfEach sorts items by key and keeps the last of those with the same.
func lastOfEach(items []*item) []*item {
	slices.SortStableFunc(items, func(a, b *item) int { return compareKeys(a.key, b.key) })
	kept := items[:0]
	for i, it := range items {
		if i+1 == len(items) || items[i+1].key != it.key {
			kept = append(kept, it)
		}
	}
	return kept
}
