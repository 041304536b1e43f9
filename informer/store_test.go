package informer_test

import (
	"maps"
	"slices"
	"sync"

	"governor/client"
)

// store is the least that an informer.Store can be.
type store struct {
	mu      sync.RWMutex
	objects map[client.ObjectKey]client.Object
}

func newStore() *store { return &store{objects: map[client.ObjectKey]client.Object{}} }

func (s *store) Get(key client.ObjectKey) client.Object {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.objects[key]
}

func (s *store) List() []client.Object {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.Collect(maps.Values(s.objects))
}

func (s *store) Update(put []client.Object, remove []client.ObjectKey, _ string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range put {
		s.objects[client.ObjectKeyFromObject(o)] = o
	}
	for _, key := range remove {
		delete(s.objects, key)
	}
	return nil
}

func (s *store) Replace(objects []client.Object, rv string) error {
	s.mu.Lock()
	clear(s.objects)
	s.mu.Unlock()
	return s.Update(objects, nil, rv)
}
