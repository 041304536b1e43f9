package cache

import (
	"slices"
	"time"

	"governor/client"
)

// source is a place where all objects that a query selects are, and others.
type source struct {
	name string // as Explain words it
	// buckets are read as one. They have no place in common.
	buckets []sorted
	use     *use // nil, if it is not an index on demand
}

// plan is how a state answers a query: it looks through the smallest source that
// it has, and asks of each object there whether the query matches.
//
//	all objects ─┐
//	namespace   ─┤                              ┌─ namespace and page: a part of each bucket
//	name        ─┼─ fewest candidates ─► merge ─┤
//	field index ─┤                              └─ query.matches ─► result
//	label index ─┘
//
// All sources are in order of namespace and name, so the result is too.
type plan struct {
	*query
	state      *state // acquired
	at         []int  // see query.indexes
	source     source
	candidates int // in the source, from first to end
	first, end client.ObjectKey
	// missing are what an index on demand could be of.
	missing []attribute
}

// plan chooses. The caller has acquired st, and holds it as long as it uses the plan.
func (q *query) plan(st *state) (*plan, error) {
	p := &plan{query: q, state: st, first: client.ObjectKey{Namespace: q.namespace, Name: q.name}}
	var err error
	if p.at, err = q.indexes(st); err != nil || q.nothing {
		p.source.name = "nothing"
		return p, err
	}
	if q.namespace != "" {
		// No namespace is between the two.
		p.end = client.ObjectKey{Namespace: q.namespace + "\x00"}
	}
	if q.paged && compareKeys(q.after, p.first) > 0 {
		p.first = q.after
	}
	p.spaces()
	p.fields()
	p.labels()
	return p, nil
}

// spaces considers what the key is known to be.
func (p *plan) spaces() {
	s := source{name: "all objects"}
	if p.namespace != "" {
		s.name = "namespace " + p.namespace
	}
	spaces := p.state.spaces
	n, _ := p.state.space(p.first.Namespace)
	for _, b := range spaces[n:] {
		if p.namespace != "" && b.key.Name != p.namespace {
			break
		}
		s.buckets = append(s.buckets, b.at(p.state.seq))
	}
	if p.name != "" {
		s.name = "name " + p.name
		for i, b := range s.buckets {
			s.buckets[i] = b.named(p.name)
		}
	}
	p.source, p.candidates = s, p.count(s)
}

// fields considers the indexes of fields, of those that were declared and those on
// demand.
func (p *plan) fields() {
	for i, t := range p.terms {
		switch {
		case t.not:
		case p.at[i] >= 0:
			p.consider(source{name: "index of field " + t.field}, &p.state.indexes[p.at[i]], t.value)
		default:
			name := "index on demand of field " + t.field
			if x := p.state.index(indexName{name, true}); x != nil {
				p.consider(source{name: name, use: x.use}, x, t.value)
				continue
			}
			kind, field := p.gvk.GroupKind(), t.field
			p.missing = append(p.missing, attribute{name, func() readFunc { return fieldReader(kind, field) }})
		}
	}
}

// labels considers the indexes of labels.
func (p *plan) labels() {
	for _, r := range p.wanted {
		name := "index on demand of label " + r.key
		x := p.state.index(indexName{name, true})
		switch {
		case x == nil:
			p.missing = append(p.missing, attribute{name, func() readFunc { return readLabel(r.key) }})
		case r.values == nil:
			p.consider(source{name: name, use: x.use}, x, anyValue)
		default:
			p.consider(source{name: name, use: x.use}, x, r.values...)
		}
	}
}

// consider takes a source of an index if it has fewer candidates.
func (p *plan) consider(s source, x *index, values ...string) {
	for _, v := range values {
		if b := x.bucket(v); b != nil {
			s.buckets = append(s.buckets, b.at(p.state.seq))
		}
	}
	if n := p.count(s); n < p.candidates {
		p.source, p.candidates = s, n
	}
}

// count returns how many places of a source the plan would look at.
func (p *plan) count(s source) (n int) {
	for _, b := range s.buckets {
		if p.end.Namespace == "" {
			n += b.len() - b.rank(p.first)
		} else {
			n += b.rank(p.end) - b.rank(p.first)
		}
	}
	return n
}

// run yields what is selected, in order, until yield returns false. It returns at
// how many candidates it has looked, of which how many were selected.
func (p *plan) run(yield func(client.Object) bool) (looked, selected int) {
	if p.source.use != nil {
		p.source.use.last.Store(time.Now().UnixNano())
	}
	p.source.from(p.first, func(at *place) bool {
		if p.end.Namespace != "" && compareKeys(at.key, p.end) >= 0 {
			return false
		}
		looked++
		v := at.at(p.state.seq)
		if !p.matches(p.at, at.key, v) {
			return true
		}
		selected++
		return yield(v.object)
	})
	return looked, selected
}

// run yields what st, which the caller has acquired, has for the query, in order,
// until yield returns false.
func (q *query) run(st *state, yield func(client.Object) bool) error {
	p, err := q.plan(st)
	if err != nil {
		return err
	}
	looked, selected := p.run(yield)
	st.demand.wish(p.missing, looked-selected, st.count)
	return nil
}

// runOn runs the query on one state, whose resourceVersion it returns. yield
// only collects: the state is held as short as can be.
func (q *query) runOn(x *Indexer, yield func(client.Object) bool) (resourceVersion string, err error) {
	st := x.acquire()
	defer x.release(st)
	return st.resourceVersion, q.run(st, yield)
}

// from yields the places from key on, in order, until yield returns false.
func (s *source) from(key client.ObjectKey, yield func(*place) bool) {
	inOrder := true // in the buckets, one after the other
	for i := 1; i < len(s.buckets) && inOrder; i++ {
		a, b := s.buckets[i-1], s.buckets[i]
		inOrder = len(a) == 0 || len(b) == 0 || compareKeys(a.last().key, b[0].places[0].key) < 0
	}
	if inOrder {
		for _, b := range s.buckets {
			if !b.from(key, yield) {
				return
			}
		}
		return
	}
	var places []*place
	for _, b := range s.buckets {
		b.from(key, func(p *place) bool {
			places = append(places, p)
			return true
		})
	}
	slices.SortFunc(places, func(a, b *place) int { return compareKeys(a.key, b.key) })
	for _, p := range places {
		if !yield(p) {
			return
		}
	}
}
