package workqueue

import (
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
	ready    []modelItem // in the order in which they became ready
	waiting  []modelItem // in the order in which they got their due time
	inFlight []modelItem
	held     []modelItem
	failures map[int]int
	shut     bool
	added    int
	retries  int
}

type modelItem struct {
	key, priority int
	due           time.Duration
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
		m.due(w.key, w.priority)
	}
}

func (m *model) due(key, priority int) {
	if find(m.inFlight, key) >= 0 {
		m.held = append(m.held, modelItem{key: key, priority: priority})
	} else {
		m.ready = append(m.ready, modelItem{key: key, priority: priority})
	}
}

func (m *model) add(now time.Duration, key, priority int, delay time.Duration) {
	if m.shut {
		return
	}
	if i := find(m.ready, key); i >= 0 {
		if priority > m.ready[i].priority {
			m.ready = slices.Delete(m.ready, i, i+1)
			m.ready = append(m.ready, modelItem{key: key, priority: priority})
		}
		return
	}
	if i := find(m.held, key); i >= 0 {
		m.held[i].priority = max(m.held[i].priority, priority)
		return
	}
	due := later(now, delay)
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
		if delay > 0 {
			m.retries++
		}
	}
	if delay <= 0 {
		m.due(key, priority)
		return
	}
	m.waiting = append(m.waiting, modelItem{key, priority, due})
}

// get returns what must come out now.
func (m *model) get() (modelItem, bool) {
	if len(m.ready) == 0 {
		return modelItem{}, false
	}
	best := 0
	for i, r := range m.ready {
		if r.priority > m.ready[best].priority {
			best = i
		}
	}
	item := m.ready[best]
	m.ready = slices.Delete(m.ready, best, best+1)
	m.inFlight = append(m.inFlight, item)
	return item, true
}

func (m *model) done(key int) {
	i := find(m.inFlight, key)
	if i < 0 {
		return
	}
	m.inFlight = slices.Delete(m.inFlight, i, i+1)
	if i := find(m.held, key); i >= 0 {
		m.ready = append(m.ready, m.held[i])
		m.held = slices.Delete(m.held, i, i+1)
	}
}

// line writes down a snapshot of m; see snapshotLine.
func (m *model) line() string {
	ready := slices.Clone(m.ready)
	slices.SortStableFunc(ready, func(a, b modelItem) int { return b.priority - a.priority })
	waiting := slices.Clone(m.waiting)
	slices.SortStableFunc(waiting, func(a, b modelItem) int { return int(a.due - b.due) })
	s := "ready"
	for _, i := range ready {
		s += fmt.Sprintf(" %d^%d", i.key, i.priority)
	}
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

// run plays a program, two bytes an operation, to a queue and to the model.
func run(t *testing.T, program []byte) {
	const step = 10 * time.Millisecond
	var c counts
	q := New(&Options[int]{
		Metrics:     &c,
		RateLimiter: NewItemExponentialFailureRateLimiter[int](step, 8*step),
	})
	defer q.ShutDown()
	m, start := &model{failures: map[int]int{}}, time.Now()
	now := func() time.Duration { return time.Since(start) }

	for n := 0; n+1 < len(program); n += 2 {
		op, arg := program[n], int(program[n+1])
		key, priority, delay := arg%8, (arg/8%4-2)*5, time.Duration(arg/32)*step
		what := ""
		switch op % 12 {
		case 0, 1, 2:
			what = fmt.Sprintf("add %d^%d", key, priority)
			q.AddWith(AddOptions{Priority: priority}, key)
			m.add(now(), key, priority, 0)
		case 3, 4:
			delay -= step // negative, none, and positive ones
			what = fmt.Sprintf("add %d^%d after %v", key, priority, delay)
			q.AddWith(AddOptions{Priority: priority, After: delay}, key)
			m.add(now(), key, priority, delay)
		case 5:
			what = fmt.Sprintf("add %d^%d limited, after %v", key, priority, delay)
			q.AddWith(AddOptions{Priority: priority, After: delay, RateLimited: true}, key)
			limit := min(step<<m.failures[key], 8*step)
			m.failures[key]++
			if delay > 0 {
				limit = min(limit, delay)
			}
			m.add(now(), key, priority, limit)
		case 6, 7, 8:
			what = "get"
			// Half a step, so that no deadline is when something is due.
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(arg%4)*step+step/2)
			item, err := q.Get(ctx)
			cancel()
			m.passed(now())
			want, ok := m.get()
			switch {
			case ok && (err != nil || item.Key != want.key || item.Priority != want.priority):
				t.Fatalf("op %d: got %v and %v, want %v (contract 4, 5)", n/2, item, err, want)
			case !ok && m.shut && !errors.Is(err, ErrShutDown):
				t.Fatalf("op %d: got %v and %v from a queue that is shut (contract 9)", n/2, item, err)
			case !ok && !m.shut && !errors.Is(err, context.DeadlineExceeded):
				t.Fatalf("op %d: got %v and %v, nothing is due", n/2, item, err)
			}
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
		}
		m.same(t, fmt.Sprintf("op %d (%s)", n/2, what), q, &c, start)
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
	for range 40 {
		program := make([]byte, 400)
		for i := range program {
			program[i] = byte(r.Uint32())
		}
		f.Add(program)
	}
	f.Fuzz(func(t *testing.T, program []byte) {
		synctest.Test(t, func(t *testing.T) { run(t, program[:min(len(program), 2000)]) })
	})
}
