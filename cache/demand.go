package cache

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"governor/client"
)

// What indexes on demand may cost. Each is a table of buckets beside the store.
const (
	// minVain is how many objects are looked at in vain without a thought.
	minVain = 256
	// paysAfter is how many scans of all objects an index has to be worth before
	// it is built. Building it takes as long as three to ten.
	paysAfter = 4
	// maxDemanded is how many an Indexer has.
	maxDemanded = 8
	// maxDemandedBytes is what all of them may take, for each object that there
	// is: about a tenth of a small Pod.
	maxDemandedBytes = 512
	// bytesPerEntry and bytesPerValue are what one takes.
	bytesPerEntry = 8
	bytesPerValue = 200
	// idleAfter is how long one is kept that no read has used; after yieldsAfter
	// another one may take its place.
	idleAfter   = 10 * time.Minute
	yieldsAfter = time.Minute
	// refused is for how many scans one is not tried again that was too large.
	refused = 40
	// maxWishes is how many attributes are counted.
	maxWishes = 64
)

// anyValue is the value under which an index of labels has every object that has
// the label. No label or field has it.
const anyValue = "\x00"

// demand counts what scans cost that an index would have spared: the first few
// selectors by a label scan, and then there is an index of that label. It also makes indexes of the fields that are known without a
// declaration, and of owners.
//
//	scan ──► wishes[label app] += objects looked at ──► enough ──► build
//	                                                                 │ state.demanded
//	                    no read has used it for 10 minutes ──► gone ◄┘
//
// Reads go on while an index is built; a write waits. The read that builds it
// never waits for a write: it scans once more.
type demand struct {
	mu     sync.Mutex // guards wishes
	wishes map[string]int
	due    atomic.Pointer[attribute] // what is to be built, or nil
}

// use is when an index on demand was used last, in Unix nanoseconds.
type use struct{ last atomic.Int64 }

// attribute is what an index on demand may be of.
type attribute struct {
	name string // as Explain words it
	read func() readFunc
}

// readLabel returns a reader of one label, for an index.
func readLabel(key string) readFunc {
	return func(values []string, o client.Object) []string {
		if value, has := labelsOf(o).Lookup(key); has {
			values = append(values, value, anyValue)
		}
		return values
	}
}

// wish counts the candidates that a read has looked at in vain for want of an index
// of one of the attributes. If one would have paid by now, it is due: whoever lets
// go of a state builds it. count is how many objects there are.
func (d *demand) wish(missing []attribute, vain, count int) {
	if len(missing) == 0 || vain < minVain {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range missing {
		name := missing[i].name
		if len(d.wishes) >= maxWishes && d.wishes[name] == 0 {
			clear(d.wishes)
		}
		if d.wishes[name] += vain; d.wishes[name] >= paysAfter*count {
			d.due.Store(&missing[i])
			return
		}
	}
}

// settle forgets what was counted, or makes it so little that it takes long.
func (d *demand) settle(name string, count int, built bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if built {
		delete(d.wishes, name)
	} else {
		d.wishes[name] = -refused * count
	}
}

// build makes the index that is due. It does not wait for a writer: then it stays
// due.
func (x *Indexer) build() {
	a := x.demand.due.Load()
	if a == nil || !x.mu.TryLock() {
		return
	}
	defer x.tidy()
	defer x.mu.Unlock()
	x.demand.due.Store(nil)
	if x.state.Load().index(indexName{a.name, true}) != nil {
		return // another reader was faster
	}
	b := x.beginLocked()
	added := index{field: a.name, read: a.read(), use: &use{}}
	added.use.last.Store(time.Now().UnixNano())
	added.fill(b.next)
	fits := b.next.admit(added)
	x.demand.settle(a.name, b.next.count, fits)
	if fits {
		x.publishLocked()
	}
}

// fill makes the buckets from what st has, which is to be published.
func (x *index) fill(st *state) {
	lists := map[string]*[]*place{}
	var values []string
	for p := range st.all() {
		now, _ := p.last()
		values = distinct(x.read(values[:0], now.object))
		for _, v := range values {
			list := lists[v]
			if list == nil {
				list = &[]*place{}
				lists[v] = list
			}
			*list = append(*list, p)
		}
	}
	x.values = newTable[sorted](len(lists))
	for v, list := range lists {
		x.add(v).write(st.seq, cut(nil, slices.Clip(*list)), nil)
	}
}

// bytes is about what an index on demand takes, of so many objects.
func (x *index) bytes(count int) int {
	return 2*count*bytesPerEntry + x.values.live*bytesPerValue
}

// admit adds an index on demand to st, which is to be published, if there is room.
// One that was not used for a while makes room.
func (st *state) admit(added index) bool {
	st.demanded = slices.Clone(st.demanded)
	unused := func() int { // the one to go first, or -1
		oldest, at := added.use.last.Load()-int64(yieldsAfter), -1
		for i, x := range st.demanded {
			if last := x.use.last.Load(); last <= oldest {
				oldest, at = last, i
			}
		}
		return at
	}
	st.demanded = append(st.demanded, added)
	for len(st.demanded) > maxDemanded || st.overDemanded() {
		i := unused()
		if i < 0 {
			return false
		}
		st.demanded = slices.Delete(st.demanded, i, i+1)
	}
	return true
}

// overDemanded says whether the indexes on demand take too much.
func (st *state) overDemanded() bool {
	bytes := 0
	for i := range st.demanded {
		bytes += st.demanded[i].bytes(st.count)
	}
	return bytes > maxDemandedBytes*st.count
}

// trimDemanded takes from the next state the indexes on demand that no read has
// used for long, and all of them when they have grown too large.
func (x *Indexer) trimDemanded(next *state, now time.Time) {
	if len(next.demanded) == 0 {
		return
	}
	if next.overDemanded() {
		for i := range next.demanded {
			x.demand.settle(next.demanded[i].field, next.count, false)
		}
		next.demanded = nil
		return
	}
	idle := func(i index) bool { return now.UnixNano()-i.use.last.Load() >= int64(idleAfter) }
	if slices.ContainsFunc(next.demanded, idle) {
		next.demanded = slices.DeleteFunc(slices.Clone(next.demanded), idle)
	}
}

// follow collects what comes and goes in the i-th index on demand. What was is read
// from the object that was: its values are not kept.
func (b *batch) follow(i int) {
	x := b.next.demanded[i]
	for _, p := range b.written {
		now, before := p.last()
		if now.object == before.object {
			continue
		}
		b.is, b.was = b.is[:0], b.was[:0]
		if now.object != nil {
			b.is = distinct(x.read(b.is, now.object))
		}
		if before.object != nil {
			b.was = distinct(x.read(b.was, before.object))
		}
		b.move(&x, p, b.was, b.is)
	}
	if x.values != b.next.demanded[i].values {
		b.next.demanded = slices.Clone(b.next.demanded)
		b.next.demanded[i] = x
	}
}

// distinct returns each value once.
func distinct(values []string) []string {
	if len(values) > 1 {
		slices.Sort(values)
		values = slices.Compact(values)
	}
	return values
}
