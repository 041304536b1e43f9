package storage_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"governor/envtest/storage"
)

// model is a Store as one would write it first: every state is a map of its own.
type model struct {
	version, compacted, dropped uint64
	states                      map[uint64]map[string]string // what text says, by key, at each resourceVersion
	log                         []step
}

type step struct {
	version uint64
	text    string
}

func newModel() *model {
	return &model{version: 1, states: map[uint64]map[string]string{1: {}}}
}

func (m *model) change(kind storage.ChangeType, key, text string) {
	next := maps.Clone(m.states[m.version])
	m.version++
	said := fmt.Sprintf("%s@%d", text, m.version)
	if kind == storage.Deleted {
		delete(next, key)
	} else {
		next[key] = said
	}
	m.states[m.version] = next
	m.log = append(m.log, step{m.version, fmt.Sprintf("%d %s", kind, said)})
}

func (m *model) list(at uint64) []string {
	var all []string
	state := m.states[at]
	for _, key := range slices.Sorted(maps.Keys(state)) {
		all = append(all, state[key])
	}
	return all
}

func (m *model) floor() uint64 { return max(m.compacted, m.dropped) }

// FuzzStore runs a program of writes, compactions and drops, and compares every state, present and
// past, and what a cursor sees, with the model.
func FuzzStore(f *testing.F) {
	f.Add([]byte{0x01, 0x12, 0x01, 0x81, 0x23, 0x45, 0x02})
	f.Add([]byte{0x00, 0x00, 0x80, 0x00, 0xf0, 0x00, 0x01})
	f.Add([]byte{0x00, 0x10, 0x20, 0xe1, 0x30, 0x40, 0x90, 0xa0})
	f.Add([]byte{0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x84, 0x82, 0x86, 0x80})
	f.Fuzz(func(t *testing.T, program []byte) {
		if len(program) > 200 {
			return
		}
		s, m := storage.New(nil), newModel()
		cursor := s.Cursor(configMaps, 1)
		var seen []string
		var held []storage.Snapshot
		for i, op := range program {
			namespace, name := string('a'+rune(op>>3&1)), string('a'+rune(op&7))
			key := namespace + "/" + name
			current, exists := m.states[m.version][key]
			switch {
			case op >= 0xf0:
				s.Drop(configMaps)
				m.version++
				m.dropped, m.states[m.version], m.log = m.version, map[string]string{}, nil
				cursor, seen = s.Cursor(configMaps, m.version), nil
			case op >= 0xe0:
				to := m.version - min(m.version-1, uint64(op&7))
				if err := s.CompactTo(to); err != nil {
					t.Fatal(err)
				}
				m.compacted = max(m.compacted, to)
			case op >= 0x80: // delete
				o := remove(t, s, namespace, name)
				if (o != nil) != exists {
					t.Fatalf("op %d: delete of %s: %v, existed %v (contract 1)", i, key, o, exists)
				}
				if exists {
					m.change(storage.Deleted, key, current[:len(current)-len(fmt.Sprintf("@%d", versionOf(current)))])
				}
			default:
				kind := storage.Added
				if exists {
					kind = storage.Modified
				}
				value := fmt.Sprint(op >> 4)
				put(t, s, namespace, name, value)
				m.change(kind, key, key+"="+value)
			}
			if op&0x20 != 0 {
				seen = advance(t, cursor, m, seen, i)
			}
			compare(t, s, m, i)
			snapshot, err := s.Snapshot(configMaps, 0)
			if err != nil {
				t.Fatal(err)
			}
			held = append(held, snapshot)
		}
		for _, snapshot := range held {
			if got, want := texts(slices.Collect(snapshot.From("", ""))), m.list(snapshot.ResourceVersion); !slices.Equal(got, want) {
				t.Fatalf("the snapshot at %d has become %q, want %q (contract 2)", snapshot.ResourceVersion, got, want)
			}
		}
		seen = advance(t, cursor, m, seen, len(program))
		var want []string
		for _, step := range m.log {
			want = append(want, step.text)
		}
		if seen != nil && !slices.Equal(seen, want) {
			t.Fatalf("the cursor has seen %q, want %q (contract 4)", seen, want)
		}
		if err := s.Valid(); err != nil {
			t.Fatal(err)
		}
	})
}

func versionOf(text string) (v uint64) {
	for i := len(text) - 1; i >= 0; i-- {
		if text[i] == '@' {
			_, _ = fmt.Sscan(text[i+1:], &v)
			return v
		}
	}
	return 0
}

// advance moves the cursor as far as it goes. It returns nil for good once the cursor is too old,
// which it may be only if the model is compacted behind it.
func advance(t *testing.T, cursor *storage.Cursor, m *model, seen []string, op int) []string {
	for {
		at := cursor.Position()
		changes, more, err := cursor.Next()
		if errors.Is(err, storage.ErrTooOld) {
			if at >= m.floor() {
				t.Fatalf("op %d: the cursor at %d is too old, the floor is %d (contract 4)", op, at, m.floor())
			}
			return nil
		}
		if err != nil {
			t.Fatalf("op %d: %v", op, err)
		}
		for _, c := range changes {
			seen = append(seen, fmt.Sprintf("%d %s", c.Type, text(c.Object)))
		}
		if more != nil {
			return seen
		}
	}
}

// compare compares all states that can be had.
func compare(t *testing.T, s *storage.Store, m *model, op int) {
	if got := s.ResourceVersion(); got != m.version {
		t.Fatalf("op %d: at %d, want %d (contract 1)", op, got, m.version)
	}
	for at := uint64(1); at <= m.version; at++ {
		objects, version, err := s.List(configMaps, "", at)
		if at < m.floor() {
			if !errors.Is(err, storage.ErrTooOld) {
				t.Fatalf("op %d: list at %d: %v, the floor is %d (contract 3)", op, at, err, m.floor())
			}
			continue
		}
		if err != nil || version != at || !slices.Equal(texts(objects), m.list(at)) {
			t.Fatalf("op %d: list at %d: %q, %d, %v, want %q (contract 3)", op, at, texts(objects), version, err, m.list(at))
		}
	}
	snapshot, err := s.Snapshot(configMaps, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, namespace := range []string{"", "a", "b"} {
		for _, from := range []string{"", "a/c", "a/c\x00", "b/", "zz"} {
			got := slices.Collect(snapshot.From(namespace, from))
			if snapshot.Len(namespace, from) != len(got) {
				t.Fatalf("op %d: %d objects of %q from %q, Len says %d", op, len(got), namespace, from, snapshot.Len(namespace, from))
			}
			for _, o := range got {
				if snapshot.Get(o.Namespace, o.Name) != o || s.Get(configMaps, o.Namespace, o.Name) != o {
					t.Fatalf("op %d: %s cannot be found", op, o.Key())
				}
			}
		}
	}
}
