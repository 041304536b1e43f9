package storage_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"governor/envtest/storage"
)

// Creates of 1 KB objects, the storage part of them, among ten thousand others.
func BenchmarkCreate(b *testing.B) {
	s := storage.New(nil)
	payload := strings.Repeat("x", 1000)
	i := 0
	for ; i < 10_000; i++ {
		put(b, s, "ns", strconv.Itoa(i), payload)
	}
	b.ReportAllocs()
	for b.Loop() {
		put(b, s, "ns", strconv.Itoa(i), payload)
		i++
	}
}

func BenchmarkUpdate(b *testing.B) {
	s := storage.New(nil)
	for i := range 10_000 {
		put(b, s, "ns", strconv.Itoa(i), "x")
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		put(b, s, "ns", strconv.Itoa(i%10_000), "y")
	}
}

// One change to some watchers that wait for it.
func BenchmarkCursor(b *testing.B) {
	for _, watchers := range []int{1, 100} {
		b.Run(fmt.Sprintf("watchers=%d", watchers), func(b *testing.B) {
			s := storage.New(nil)
			cursors := make([]*storage.Cursor, watchers)
			for i := range cursors {
				cursors[i] = s.Cursor(configMaps, 1)
			}
			b.ReportAllocs()
			for b.Loop() {
				put(b, s, "ns", "a", "x")
				for _, c := range cursors {
					for more := (<-chan struct{})(nil); more == nil; {
						var err error
						if _, more, err = c.Next(); err != nil {
							b.Fatal(err)
						}
					}
				}
			}
		})
	}
}

func BenchmarkSnapshotPage(b *testing.B) {
	s := storage.New(nil)
	for i := range 100_000 {
		put(b, s, "ns", strconv.Itoa(i), "x")
	}
	b.ReportAllocs()
	for b.Loop() {
		snapshot, err := s.Snapshot(configMaps, 0)
		if err != nil {
			b.Fatal(err)
		}
		n := 0
		for range snapshot.From("ns", "ns/5") {
			if n++; n == 500 {
				break
			}
		}
		_ = snapshot.Len("ns", "ns/5")
	}
}
