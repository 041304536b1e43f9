package cache

import (
	"reflect"
	"sync"
	"time"

	"governor/client"
	"governor/client/decode"
)

// sample is the mean size of some objects of a scope.
type sample struct {
	mu   sync.Mutex
	at   time.Time // +checklocks:mu; when it was taken
	each int64     // +checklocks:mu
}

const (
	sampled     = 32 // objects that are looked at
	sampleStays = 10 * time.Second
)

// bytes guesses how much memory the scope's objects take.
func (s *scope) bytes() int64 {
	s.sample.mu.Lock()
	defer s.sample.mu.Unlock()
	st := s.indexer.acquire()
	defer s.indexer.release(st)
	if s.sample.each == 0 || time.Since(s.sample.at) >= sampleStays {
		s.sample.at, s.sample.each = time.Now(), st.meanSize(sampled)
	}
	return s.sample.each * int64(st.count)
}

// meanSize returns the mean size of about n objects, spread over all. The caller has
// acquired st.
func (st *state) meanSize(n int) int64 {
	var chunks []*chunk
	for _, b := range st.spaces {
		chunks = append(chunks, b.at(st.seq)...)
	}
	var sum, seen int64
	for i := 0; i < len(chunks); i += max(len(chunks)/n, 1) {
		places := chunks[i].places
		for j := 0; j < len(places); j += max(len(places)*len(chunks)/n, 1) {
			sum += sizeOf(places[j].at(st.seq).object)
			seen++
		}
	}
	if seen == 0 {
		return 0
	}
	return sum / seen
}

// sizeOf guesses how much memory an object takes, with all that it points at.
func sizeOf(obj client.Object) int64 {
	if c, is := obj.(*decode.Compact); is {
		return c.Size()
	}
	v := reflect.ValueOf(obj).Elem()
	return int64(v.Type().Size()) + beyond(v)
}

// perEntry is what a map takes for an entry besides key and value, about.
const perEntry = 8

// beyond is how much memory v points at. Objects are trees: they were decoded.
func beyond(v reflect.Value) (bytes int64) {
	switch v.Kind() {
	case reflect.String:
		return int64(v.Len())
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return 0
		}
		return int64(v.Elem().Type().Size()) + beyond(v.Elem())
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return 0 // its location is everybody's
		}
		for i := range v.NumField() {
			bytes += beyond(v.Field(i))
		}
	case reflect.Slice:
		bytes = int64(v.Cap()) * int64(v.Type().Elem().Size())
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return bytes
		}
		for i := range v.Len() {
			bytes += beyond(v.Index(i))
		}
	case reflect.Map:
		each := int64(v.Type().Key().Size()) + int64(v.Type().Elem().Size()) + perEntry
		bytes = each * int64(v.Len())
		for entries := v.MapRange(); entries.Next(); {
			bytes += beyond(entries.Key()) + beyond(entries.Value())
		}
	}
	return bytes
}
