package informer

import "governor/client"

// Store is the copy that an Informer keeps true. cache.Indexer is one. The
// Informer is its only writer, from one goroutine at a time; reads may come
// from anywhere, at any time. Upstream: client-go's cache.Store.
//
// A method that returns an error has changed nothing. The Informer then lists
// anew, after a back-off, so that what was refused is not lost.
type Store interface {
	// Get returns the stored object, nil when there is none.
	Get(key client.ObjectKey) client.Object
	// List returns all objects: one consistent state. The slice is the caller's.
	List() []client.Object
	// Update puts and deletes objects in one step: a reader sees all of it or
	// none. No key is in both. When it returns, the slices are the Informer's
	// again. resourceVersion is the server's after the step.
	Update(put []client.Object, remove []client.ObjectKey, resourceVersion string) error
	// Replace makes objects the whole content, in one step. No key comes twice.
	Replace(objects []client.Object, resourceVersion string) error
}
