package cache

import (
	"reflect"
	"sync"
	"time"
	"unsafe"

	"governor/client"
	"governor/client/decode"

	"k8s.io/apimachinery/pkg/api/resource"
)

// What a guess at the memory of a store looks at: runs of neighbours, because these
// share what is equal: the Pods of one ReplicaSet are neighbours.
const (
	footprintRuns = 4
	footprintRun  = 32
	// placeBytes is what the Indexer takes for each object.
	placeBytes = 260
)

// measured is a guess at the memory of one object of a scope.
type measured struct {
	mu   sync.Mutex
	at   time.Time // +checklocks:mu
	each int64     // +checklocks:mu
}

// measuredFor is how long a guess stands.
const measuredFor = 10 * time.Second

// bytes guesses how much memory the scope's objects take.
func (s *scope) bytes() int64 {
	s.measured.mu.Lock()
	defer s.measured.mu.Unlock()
	st := s.indexer.acquire()
	defer s.indexer.release(st)
	if s.measured.each == 0 || time.Since(s.measured.at) >= measuredFor {
		s.measured.at, s.measured.each = time.Now(), st.footprint()
	}
	return s.measured.each * int64(st.count)
}

// footprint guesses how many bytes of memory one object of the state takes, and its
// place in it, from a sample. It follows every pointer of the objects in the sample,
// and counts what several of them share once. It is right within a quarter or so,
// unless neighbours are no sample of their kind; what indexes take is not in it. It
// takes as long as copying so many objects. The caller has acquired st.
func (st *state) footprint() int64 {
	if st.count == 0 {
		return 0
	}
	m := &meter{seen: map[any]bool{}}
	step, n, looked := max(st.count/footprintRuns, footprintRun), 0, 0
	for p := range st.all() {
		if n%step < footprintRun {
			m.object(p.at(st.seq).object)
			looked++
		}
		n++
	}
	return int64(m.bytes/looked + placeBytes)
}

// meter adds up the memory that objects take.
type meter struct {
	seen  map[any]bool // what was counted, by its address
	bytes int
}

// first says whether a piece of memory is seen for the first time, and counts it.
func (m *meter) first(id any, size int) bool {
	if m.seen[id] {
		return false
	}
	m.seen[id] = true
	m.bytes += allocated(size)
	return true
}

// allocated is about what an allocation of size bytes takes: there are sizes of 8, 16,
// 24, 32, 48, … bytes, and from then on about an eighth apart.
func allocated(size int) int {
	switch {
	case size <= 8:
		return 8
	case size <= 32:
		return (size + 7) &^ 7
	case size <= 128:
		return (size + 15) &^ 15
	}
	return size + size/16
}

func (m *meter) object(obj client.Object) {
	if c, is := obj.(*decode.Compact); is {
		for id, size := range c.Memory() {
			m.first(id, size)
		}
		return
	}
	m.value(reflect.ValueOf(obj))
}

// Types that are not looked into: others may write to the one, and all share the other.
var (
	quantityType = reflect.TypeFor[resource.Quantity]()
	timeType     = reflect.TypeFor[time.Time]()
)

// value counts what v refers to, not v itself.
func (m *meter) value(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() && m.first(v.UnsafePointer(), int(v.Type().Elem().Size())) {
			m.value(v.Elem())
		}
	case reflect.Interface:
		if v.IsNil() {
			return
		}
		if v = v.Elem(); v.Kind() != reflect.Pointer && v.Kind() != reflect.Map {
			m.bytes += allocated(int(v.Type().Size()))
		}
		m.value(v)
	case reflect.String:
		if v.Len() > 0 {
			s := v.String()
			m.first(unsafe.StringData(s), len(s))
		}
	case reflect.Slice:
		if v.Cap() > 0 && m.first(v.UnsafePointer(), v.Cap()*int(v.Type().Elem().Size())) && refers(v.Type().Elem()) {
			for i := range v.Len() {
				m.value(v.Index(i))
			}
		}
	case reflect.Map:
		m.entries(v)
	case reflect.Struct:
		if t := v.Type(); t == quantityType || t == timeType {
			return
		}
		for i := range v.NumField() {
			m.value(v.Field(i))
		}
	case reflect.Array:
		for i := range v.Len() {
			m.value(v.Index(i))
		}
	}
}

// entries counts a map: a head, and groups of eight entries.
func (m *meter) entries(v reflect.Value) {
	entry := int(v.Type().Key().Size() + v.Type().Elem().Size())
	groups := (v.Len() + 7) / 8
	if v.IsNil() || !m.first(v.UnsafePointer(), 48+groups*(8+8*entry)) {
		return
	}
	for of := v.MapRange(); of.Next(); {
		m.value(of.Key())
		m.value(of.Value())
	}
}

// refers says whether values of a type may refer to memory.
func refers(t reflect.Type) bool {
	return t.Kind() < reflect.Bool || t.Kind() > reflect.Complex128
}
