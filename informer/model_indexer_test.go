package informer_test

import (
	"testing"

	"governor/cache"
	"governor/informer"
)

// The model again, on the Store of real life.
func TestModelOnIndexer(t *testing.T) {
	informer.RunModels(t, 1, func() informer.Store { return cache.NewIndexer() })
}
