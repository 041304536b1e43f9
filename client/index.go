package client

import "context"

// IndexerFunc returns the values under which an object is found. It must not
// change the object.
type IndexerFunc func(Object) []string

// FieldIndexer declares indexes. A list with the option [MatchingFields] on
// the same field then reads the index. cache.Cache is one.
type FieldIndexer interface {
	IndexField(ctx context.Context, obj Object, field string, fn IndexerFunc) error
}
