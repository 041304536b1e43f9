package workqueue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// model is the contract again, as slowly and plainly as can be: slices that are
// searched. Times are since the start.
type model struct {
	tenant                        func(key int) string
	cap                           int
	ageing, debounce, minInterval time.Duration

	ready     []modelItem      // in the order in which they became ready
	turns     map[int][]string // of each priority: who may take, the next one first
	waiting   []modelItem      // in the order in which they got their due time
	inFlight  []modelItem
	held      []modelItem
	causes    map[int][]any // of the next run
	notBefore map[int]time.Duration
	failures  map[int]int
	shut      bool
	gets      int
	added     int
	retries   int
}

type modelItem struct {
	key, priority int
	due           time.Duration // or since when it is ready
}

func find(items []modelItem, key int) int {
	return slices.IndexFunc(items, func(i modelItem) bool { return i.key == key })
}

// passed is called after every lapse of time.
func (m *model) passed(now time.Duration) {
	for {
		next := -1
		for i, w := range m.waiting {
			if w.due <= now && (next < 0 || w.due < m.waiting[next].due) {
				next = i
			}
		}
		if next < 0 {
			return
		}
		w := m.waiting[next]
		m.waiting = slices.Delete(m.waiting, next, next+1)
		m.due(w)
	}
}

func (m *model) due(i modelItem) {
	if find(m.inFlight, i.key) >= 0 {
		m.held = append(m.held, i)
	} else {
		m.ready = append(m.ready, i)
		m.turn()
	}
}

// capped says whether a tenant has as many in flight as it may.
func (m *model) capped(tenant string) bool {
	n := 0
	for _, i := range m.inFlight {
		if m.tenant(i.key) == tenant {
			n++
		}
	}
	return m.cap > 0 && n >= m.cap
}

// turn brings turns up to date: who has nothing ready or is capped leaves, who
// is new goes to the end.
func (m *model) turn() {
	want := map[int]map[string]bool{}
	for _, r := range m.ready {
		if t := m.tenant(r.key); !m.capped(t) {
			if want[r.priority] == nil {
				want[r.priority] = map[string]bool{}
			}
			want[r.priority][t] = true
		}
	}
	for priority, turns := range m.turns {
		m.turns[priority] = slices.DeleteFunc(turns, func(t string) bool { return !want[priority][t] })
	}
	for priority, tenants := range want {
		for t := range tenants {
			if !slices.Contains(m.turns[priority], t) {
				m.turns[priority] = append(m.turns[priority], t)
			}
		}
	}
}

func (m *model) add(now time.Duration, key, priority int, after time.Duration, cause any) {
	if m.shut {
		return
	}
	if cause != nil {
		m.causes[key] = append(m.causes[key], cause)
	}
	if i := find(m.ready, key); i >= 0 {
		if priority > m.ready[i].priority {
			since := m.ready[i].due
			m.ready = slices.Delete(m.ready, i, i+1)
			m.turn()
			m.ready = append(m.ready, modelItem{key, priority, since})
			m.turn()
		}
		return
	}
	if i := find(m.held, key); i >= 0 {
		m.held[i].priority = max(m.held[i].priority, priority)
		return
	}
	due := max(later(now, max(after, m.debounce)), m.notBefore[key], now)
	if i := find(m.waiting, key); i >= 0 {
		w := m.waiting[i]
		w.priority = max(w.priority, priority)
		if due >= w.due {
			m.waiting[i] = w
			return
		}
		m.waiting = slices.Delete(m.waiting, i, i+1)
		priority = w.priority
	} else {
		m.added++
		if after > 0 {
			m.retries++
		}
	}
	if due == now {
		m.due(modelItem{key, priority, now})
		return
	}
	m.waiting = append(m.waiting, modelItem{key, priority, due})
}

// heads are those that may come out: of every priority and tenant the first.
func (m *model) heads() (heads []modelItem) {
	for priority, turns := range m.turns {
		for _, t := range turns {
			i := slices.IndexFunc(m.ready, func(r modelItem) bool { return r.priority == priority && m.tenant(r.key) == t })
			heads = append(heads, m.ready[i])
		}
	}
	return heads
}

// get returns what must come out now. If several are as old as each other, any
// of them may come out for its age: got is the one that did.
func (m *model) get(now time.Duration, got int) (modelItem, bool) {
	heads := m.heads()
	if len(heads) == 0 {
		return modelItem{}, false
	}
	m.gets++
	oldest := slices.MinFunc(heads, func(a, b modelItem) int { return cmp.Compare(a.due, b.due) })
	urgent := slices.MaxFunc(heads, func(a, b modelItem) int { return cmp.Compare(a.priority, b.priority) })
	item := heads[slices.IndexFunc(heads, func(i modelItem) bool {
		return i.priority == urgent.priority && m.tenant(i.key) == m.turns[i.priority][0]
	})]
	if m.ageing > 0 && m.gets%8 == 0 && now-oldest.due >= m.ageing {
		item = oldest
		if i := find(heads, got); i >= 0 && heads[i].due == oldest.due {
			item = heads[i]
		}
	}
	tenant := m.tenant(item.key)
	turns := m.turns[item.priority]
	turns = slices.DeleteFunc(turns, func(t string) bool { return t == tenant })
	m.turns[item.priority] = append(turns, tenant)
	i := find(m.ready, item.key)
	m.ready = slices.Delete(m.ready, i, i+1)
	m.inFlight = append(m.inFlight, item)
	m.turn()
	m.notBefore[item.key] = now + m.minInterval
	return item, true
}

func (m *model) done(key int) {
	i := find(m.inFlight, key)
	if i < 0 {
		return
	}
	m.inFlight = slices.Delete(m.inFlight, i, i+1)
	m.turn()
	if i := find(m.held, key); i >= 0 {
		item := m.held[i]
		m.held = slices.Delete(m.held, i, i+1)
		m.due(item)
	}
}

// line writes down a snapshot of m; see snapshotLine.
func (m *model) line() string {
	s := "ready"
	left := slices.Clone(m.ready)
	for _, priority := range slices.Backward(slices.Sorted(maps.Keys(m.turns))) {
		for turns := slices.Clone(m.turns[priority]); len(turns) > 0; {
			t := turns[0]
			turns = turns[1:]
			i := slices.IndexFunc(left, func(r modelItem) bool { return r.priority == priority && m.tenant(r.key) == t })
			if i >= 0 {
				s += fmt.Sprintf(" %d^%d", left[i].key, priority)
				left = slices.Delete(left, i, i+1)
				turns = append(turns, t)
			}
		}
	}
	slices.SortStableFunc(left, func(a, b modelItem) int {
		return cmp.Or(b.priority-a.priority, cmp.Compare(m.tenant(a.key), m.tenant(b.key)))
	})
	for _, i := range left {
		s += fmt.Sprintf(" capped %d^%d", i.key, i.priority)
	}
	waiting := slices.Clone(m.waiting)
	slices.SortStableFunc(waiting, func(a, b modelItem) int { return cmp.Compare(a.due, b.due) })
	s += " waiting"
	for _, i := range waiting {
		s += fmt.Sprintf(" %d^%d@%v", i.key, i.priority, i.due)
	}
	s += " inflight"
	for _, i := range m.inFlight {
		s += fmt.Sprintf(" %d^%d", i.key, i.priority)
		if find(m.held, i.key) >= 0 {
			s += "+"
		}
	}
	return s
}

func snapshotLine(s Snapshot[int], start time.Time) string {
	line := "ready"
	for _, i := range s.Ready {
		if i.Capped {
			line += " capped"
		}
		line += fmt.Sprintf(" %d^%d", i.Key, i.Priority)
	}
	line += " waiting"
	for _, i := range s.Waiting {
		line += fmt.Sprintf(" %d^%d@%v", i.Key, i.Priority, i.Next.Sub(start))
	}
	line += " inflight"
	for _, i := range s.InFlight {
		line += fmt.Sprintf(" %d^%d", i.Key, i.Priority)
		if i.Again {
			line += "+"
		}
	}
	return line
}

// counts is a Metrics that adds up.
type counts struct {
	added, retries, got, done int
	depth                     map[int]int
	waited, worked            time.Duration
}

func (c *counts) Added(retry bool) {
	c.added++
	if retry {
		c.retries++
	}
}
func (c *counts) Depth(priority, change int) {
	if c.depth == nil {
		c.depth = map[int]int{}
	}
	c.depth[priority] += change
	if c.depth[priority] == 0 {
		delete(c.depth, priority)
	}
}
func (c *counts) Got(waited time.Duration)  { c.got++; c.waited += waited }
func (c *counts) Done(worked time.Duration) { c.done++; c.worked += worked }

// options are what the first byte of a program chooses.
func options(choice byte, step time.Duration) *Options[int] {
	o := &Options[int]{RateLimiter: NewItemExponentialFailureRateLimiter[int](step, 8*step)}
	if choice&1 != 0 {
		o.FairnessKey = func(key int) string { return fmt.Sprint("tenant ", key%3) }
		o.MaxPerFairnessKey = int(choice >> 1 & 3)
	}
	if choice&8 != 0 {
		o.Ageing = 3 * step
	}
	if choice&16 != 0 {
		o.Debounce = 2 * step
	}
	if choice&32 != 0 {
		o.MinInterval = 5 * step
	}
	return o
}

// run plays a program, two bytes an operation, to a queue and to the model.
func run(t *testing.T, program []byte) {
	const step = 10 * time.Millisecond
	if len(program) == 0 {
		return
	}
	var c counts
	o := options(program[0], step)
	o.Metrics = &c
	program = program[1:]
	q := New(o)
	defer q.ShutDown()
	start := time.Now()
	m := &model{
		tenant: o.FairnessKey, cap: o.MaxPerFairnessKey, ageing: o.Ageing, debounce: o.Debounce, minInterval: o.MinInterval,
		turns: map[int][]string{}, causes: map[int][]any{}, notBefore: map[int]time.Duration{}, failures: map[int]int{},
	}
	if m.tenant == nil {
		m.tenant = func(int) string { return "" }
	}
	now := func() time.Duration { return time.Since(start) }

	for n := 0; n+1 < len(program); n += 2 {
		op, arg := program[n], int(program[n+1])
		key, priority, delay := arg%8, (arg/8%4-2)*5, time.Duration(arg/32)*step
		var cause any
		if arg%3 > 0 {
			cause = n
		}
		what := ""
		switch op % 14 {
		case 0, 1, 2:
			what = fmt.Sprintf("add %d^%d", key, priority)
			q.AddWith(AddOptions{Priority: priority, Cause: cause}, key)
			m.add(now(), key, priority, 0, cause)
		case 3, 4:
			delay -= step // negative, none, and positive ones
			what = fmt.Sprintf("add %d^%d after %v", key, priority, delay)
			q.AddWith(AddOptions{Priority: priority, After: delay, Cause: cause}, key)
			m.add(now(), key, priority, delay, cause)
		case 5:
			what = fmt.Sprintf("add %d^%d limited, after %v", key, priority, delay)
			q.AddWith(AddOptions{Priority: priority, After: delay, RateLimited: true, Cause: cause}, key)
			limit := min(step<<m.failures[key], 8*step)
			m.failures[key]++
			if delay > 0 {
				limit = min(limit, delay)
			}
			m.add(now(), key, priority, limit, cause)
		case 6, 7, 8:
			what = "get"
			m.getBeside(t, q, n, time.Duration(arg%4)*step+step/2, now)
			time.Sleep(time.Since(start) % step) // back to whole steps
			m.passed(now())
		case 9:
			what = fmt.Sprintf("done %d", key)
			q.Done(key)
			m.done(key)
		case 10:
			what = fmt.Sprintf("%v pass", delay)
			time.Sleep(delay)
			m.passed(now())
		case 11:
			if arg < 128 {
				what = fmt.Sprintf("forget %d", key)
				q.Forget(key)
				delete(m.failures, key)
			} else if arg > 250 {
				what = "shut down"
				q.ShutDown()
				m.shut, m.waiting = true, nil
			}
		case 12: // far into the wheel
			delay = step << (arg / 8)
			what = fmt.Sprintf("add %d after %v", key, delay)
			q.AddAfter(key, delay)
			m.add(now(), key, 0, delay, nil)
		case 13:
			delay = step << (arg % 16)
			what = fmt.Sprintf("%v pass", delay)
			time.Sleep(delay)
			m.passed(now())
		}
		m.same(t, fmt.Sprintf("op %d (%s)", n/2, what), q, &c, start)
	}
}

// getBeside has a worker wait for a key, in the queue and in the model. The
// patience has half a step, so that it does not end when something is due.
func (m *model) getBeside(t *testing.T, q *Queue[int], n int, patience time.Duration, now func() time.Duration) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	item, err := q.Get(ctx)
	cancel()
	m.passed(now())
	want, ok := m.get(now(), item.Key)
	switch {
	case ok && (err != nil || item.Key != want.key || item.Priority != want.priority):
		t.Fatalf("op %d: got %v and %v, want %v (contract 4, 5)", n/2, item, err, want)
	case !ok && m.shut && len(m.ready) == 0 && !errors.Is(err, ErrShutDown):
		t.Fatalf("op %d: got %v and %v from a queue that is shut (contract 9)", n/2, item, err)
	case !ok && !(m.shut && len(m.ready) == 0) && !errors.Is(err, context.DeadlineExceeded):
		t.Fatalf("op %d: got %v and %v, nothing may be taken", n/2, item, err)
	}
	if !ok {
		return
	}
	causes := m.causes[want.key]
	delete(m.causes, want.key)
	if latest := causes[max(0, len(causes)-8):]; item.Causes.Total() != len(causes) || !slices.Equal(item.Causes.Latest(), latest) {
		t.Fatalf("op %d: %d came out because of %v, %d in all; want %v, %d (contract 14)",
			n/2, item.Key, item.Causes.Latest(), item.Causes.Total(), latest, len(causes))
	}
}

// same fails t unless q is in the state of m.
func (m *model) same(t *testing.T, after string, q *Queue[int], c *counts, start time.Time) {
	t.Helper()
	if err := q.valid(); err != nil {
		t.Fatalf("%s: %v", after, err)
	}
	if got, want := snapshotLine(q.Snapshot(), start), m.line(); got != want {
		t.Fatalf("%s: the queue holds\n%s\nthe model\n%s", after, got, want)
	}
	if got := q.Len(); got != len(m.ready) {
		t.Fatalf("%s: Len is %d, want %d", after, got, len(m.ready))
	}
	for key := range 8 {
		if got := q.NumRequeues(key); got != m.failures[key] {
			t.Fatalf("%s: NumRequeues(%d) is %d, want %d", after, key, got, m.failures[key])
		}
	}
	depth := map[int]int{}
	for _, r := range m.ready {
		depth[r.priority]++
	}
	q.mu.Lock() // which the queue has when it calls Metrics
	defer q.mu.Unlock()
	if !maps.Equal(depth, c.depth) {
		t.Fatalf("%s: depth is %v, want %v", after, c.depth, depth)
	}
	if c.added != m.added || c.retries != m.retries {
		t.Fatalf("%s: metrics say %d added, %d of them to wait; want %d, %d", after, c.added, c.retries, m.added, m.retries)
	}
}

// FuzzQueue plays programs beside the model, in virtual time.
func FuzzQueue(f *testing.F) {
	// The corpus makes `go test` find what fuzzing would.
	r := rand.New(rand.NewPCG(1, 2))
	for n := range 80 {
		program := make([]byte, 300)
		for i := range program {
			program[i] = byte(r.Uint32())
		}
		if n < 10 {
			program[0] = 0 // no option is used
		}
		f.Add(program)
	}
	f.Fuzz(func(t *testing.T, program []byte) {
		synctest.Test(t, func(t *testing.T) { run(t, program[:min(len(program), 2000)]) })
	})
}
