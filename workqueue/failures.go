package workqueue

import "sync"

// failures counts for those rate limiters that treat each key on its own. It
// has two of the three methods of a RateLimiter.
type failures[K comparable] struct {
	mu     sync.Mutex
	counts table[K, int] // +checklocks:mu
}

// count counts a failure of key, and returns how many there are now.
func (f *failures[K]) count(key K) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := f.counts.get(key) + 1
	f.counts.set(key, n)
	return n
}

func (f *failures[K]) Forget(key K) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.counts.remove(key)
}

func (f *failures[K]) NumRequeues(key K) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.counts.get(key)
}
