package cache

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"governor/client"
)

// A key that is there all the while is found, whatever comes and goes around
// it; and the table has what a map has.
func TestTable(t *testing.T) {
	var mu sync.Mutex // guards table, which readers of an Indexer get from a state
	table := newTable[stored](0)
	current := func() *placeTable {
		mu.Lock()
		defer mu.Unlock()
		return &placeTable{table}
	}
	slotOf := func(name string) *place {
		k := key("ns", name)
		return &place{key: k, hash: table.hash(k)}
	}
	want := map[string]*place{}
	for n := range 50 {
		s := slotOf(fmt.Sprint("stays", n))
		want[s.key.Name], table = s, table.add(s)
	}
	done := make(chan struct{})
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-done:
					return
				default:
				}
				if name := fmt.Sprint("stays", n%50); current().get(key("ns", name)) == nil {
					t.Errorf("%s is not there", name)
					return
				}
			}
		})
	}
	random := rand.New(rand.NewPCG(1, 2))
	for n := range 20_000 {
		name := fmt.Sprint(random.IntN(10 + n%1000))
		if s := want[name]; s != nil {
			table.remove(s)
			delete(want, name)
		} else {
			s = slotOf(name)
			next := table.add(s)
			mu.Lock()
			table = next
			mu.Unlock()
			want[name] = s
		}
	}
	close(done)
	readers.Wait()
	for n := range 1010 {
		name := fmt.Sprint(n)
		if got := current().get(key("ns", name)); got != want[name] {
			t.Errorf("%s: got %v, want %v", name, got, want[name])
		}
	}
	if table.live != len(want) || len(table.cells) > 4096 {
		t.Errorf("%d live in %d cells, want %d", table.live, len(table.cells), len(want))
	}
	for name, s := range want {
		if name != "stays0" {
			table.remove(s)
		}
	}
	if table = table.add(slotOf("last")); len(table.cells) != minCells || current().get(key("ns", "stays0")) == nil {
		t.Errorf("%d cells are left for two", len(table.cells))
	}
	if s := table.get(client.ObjectKey{}, 0); s != nil {
		t.Errorf("the empty key has a slot: %v", s)
	}
}

// placeTable hashes for itself.
type placeTable struct{ *table[stored] }

func (t *placeTable) get(k client.ObjectKey) *place { return t.table.get(k, t.hash(k)) }
