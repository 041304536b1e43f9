package workqueue

// flow is the queue of one fairness key within one priority: first in, first
// out. Without fairness keys a lane has one flow.
type flow[K comparable] struct {
	list[K]
	lane   *lane[K]
	tenant *tenant[K]
	turn   int // its place in lane.turns
	age    int // its place in lanes.ages
	index  int // its place in tenant.flows
	free   *flow[K]
}

// place is called by lane.turns.
func (f *flow[K]) place(index int) { f.turn = index }

// agedFlow is a flow as lanes.ages sees it.
type agedFlow[K comparable] struct{ *flow[K] }

// place is called by lanes.ages.
func (f agedFlow[K]) place(index int) { f.age = index }

// tenant is a fairness key. It lives as long as the queue has an entry of it.
type tenant[K comparable] struct {
	name     string
	entries  int // how many
	inFlight int // how many of these workers have
	flows    []*flow[K]
	ready    int  // how many entries the flows have
	capped   bool // nothing of it may be taken, until inFlight is less
	free     *tenant[K]
}

// tenants are the fairness keys that a queue has entries of.
type tenants[K comparable] struct {
	cap    int // how many of a fairness key may be in flight; zero: any number
	byName table[string, *tenant[K]]
	free   *tenant[K] // linked by free: to use again
	spare  int        // how many those are
}

// keepTenants is how many tenants, and how many flows, are kept to use again.
const keepTenants = 256

// join returns the tenant of that name and counts one entry more.
func (ts *tenants[K]) join(name string) *tenant[K] {
	t := ts.byName.get(name)
	if t == nil {
		t = ts.free
		if t == nil {
			t = &tenant[K]{}
		} else {
			ts.free, t.free = t.free, nil
			ts.spare--
		}
		t.name = name
		ts.byName.set(name, t)
	}
	t.entries++
	return t
}

// leave counts one entry less.
func (ts *tenants[K]) leave(t *tenant[K]) {
	t.entries--
	if t.entries > 0 {
		return
	}
	ts.byName.remove(t.name)
	if ts.spare < keepTenants {
		*t = tenant[K]{free: ts.free, flows: t.flows[:0]}
		ts.free = t
		ts.spare++
	}
}

// start counts an entry of t that a worker has got, of which t may have limit.
func (ls *lanes[K]) start(t *tenant[K], limit int) {
	t.inFlight++
	if t.capped || limit <= 0 || t.inFlight < limit {
		return
	}
	t.capped = true
	ls.capped += t.ready
	for _, f := range t.flows {
		ls.close(f)
	}
}

// end is the reverse of start.
func (ls *lanes[K]) end(t *tenant[K]) {
	t.inFlight--
	if !t.capped {
		return
	}
	t.capped = false
	ls.capped -= t.ready
	for _, f := range t.flows {
		ls.open(f)
	}
}
