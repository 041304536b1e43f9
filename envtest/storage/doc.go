// Package storage holds what an API server in memory knows: objects, the order
// of their changes, and what they were before.
//
// # Where it sits
//
//	               Write                                Snapshot, List
//	request ─► verb ─► STORE ─ table of a resource ─┬─ tree ──────────► get, list
//	                                                └─ changes ─ Cursor ─► watch ─► client
//	                                                                 │
//	                              bytes, made once per version ◄── Object.Encoded
//
// # Contract
//
//  1. One order: writes to all resources come one after the other, and each has
//     a resourceVersion greater than all before. A write is seen whole or not
//     at all; one that fails, or changes nothing, leaves no trace.
//  2. Unchanging: an Object, a Snapshot and a Change never change. Whoever has one
//     may read it for ever, without a lock; nobody may write to it.
//  3. The past: the state of a resource at any resourceVersion since the last
//     History changes of it, or since CompactTo, can be had; before that it is
//     ErrTooOld, never something else. The future is ErrTooLarge.
//  4. Complete: a Cursor returns every change after its place once, in order, or
//     ErrTooOld; after the last it says how to wait for more.
//  5. Nobody waits for a reader: a slow one costs the others nothing, and a reader that has
//     gone needs no cleaning up. There are no goroutines.
//  6. Bytes once: what Encoded has made of an object is kept as long as the
//     object, and shared.
//
// # Upstream
//
//	Store           etcd's mvcc; apiserver pkg/storage/etcd3/store.go
//	Object.Encoded  apiserver pkg/storage/cacher/caching_object.go
//	Snapshot, tree  apiserver pkg/storage/cacher/store (its b-tree, cloned per change)
//	table, Cursor   apiserver pkg/storage/cacher/watch_cache.go, cache_watcher.go
//	CompactTo       etcd's Compact
//
// Differs on purpose: upstream keeps bytes in etcd and decoded copies in a cache that
// follows; here there is one store, so reads are never stale. A watcher reads the one
// log at its own pace, where upstream gives each a channel and ends those that
// are slow. The tree is written to in place until somebody has a snapshot of it; from
// then on a change costs the copy of a path. A state of the past is made by
// undoing what came after it, when it is asked for.
package storage
