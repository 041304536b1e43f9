package cache

import (
	"context"
	"fmt"
	"time"

	"governor/client"
)

// find returns what a read of a key is to show: nil for no object.
func (k *KindInformer) find(ctx context.Context, s *scope, key client.ObjectKey, o *client.GetOptions) (client.Object, error) {
	for {
		over := s.overlay.current.Load() // before the store is looked at
		if o.DisableReadYourWritesConsistency {
			over = nil
		}
		if over == nil && o.MinResourceVersion == "" {
			return s.indexer.Get(key), nil
		}
		var e *entry
		floor := ""
		if over != nil {
			e, floor = over.get(key), over.floor
		}
		for _, least := range [...]string{floor, o.MinResourceVersion} {
			if e != nil && reached(e.resourceVersion, least) {
				continue // the entry is from there, or later
			}
			if err := k.catchUp(ctx, s, least); err != nil {
				return nil, err
			}
		}
		if e == nil {
			return s.indexer.Get(key), nil
		}
		version, stored := s.indexer.at(key)
		if obj, sure := e.judge(version, stored, time.Now()); sure {
			return obj, nil
		}
		if err := k.ask(ctx, s, []*entry{e}); err != nil {
			return nil, err
		}
	}
}

// at returns the object of a key, nil if there is none, in one state.
func (x *Indexer) at(key client.ObjectKey) (resourceVersion string, obj client.Object) {
	st := x.acquire()
	defer x.release(st)
	return st.resourceVersion, st.object(key)
}

// object returns the object of a key; nil if there is none. See from.
func (st *state) object(key client.ObjectKey) client.Object {
	if p := st.get(key); p != nil {
		return p.at(st.seq).object
	}
	return nil
}

// search runs the query on one state of the scope, and on what its overlay has.
// yield only collects: the state is held as short as can be.
func (k *KindInformer) search(ctx context.Context, s *scope, q *query, o *client.ListOptions, yield func(client.Object) bool) (resourceVersion string, err error) {
	for {
		over := s.overlay.current.Load() // before the state is acquired
		if o.DisableReadYourWritesConsistency {
			over = nil
		}
		if err := k.catchUp(ctx, s, o.MinResourceVersion); err != nil {
			return "", err
		}
		if over == nil {
			resourceVersion, err := q.runOn(s.indexer, yield)
			if err != nil {
				err = fmt.Errorf("cache: List %w", err)
			}
			return resourceVersion, err
		}
		if err := k.catchUp(ctx, s, over.floor); err != nil {
			return "", err
		}
		resourceVersion, doubts, err := q.runOver(s.indexer, over, yield)
		if err != nil {
			return "", fmt.Errorf("cache: List %w", err)
		}
		if len(doubts) == 0 {
			return resourceVersion, nil
		}
		if err := k.ask(ctx, s, doubts); err != nil {
			return "", err
		}
	}
}

// runOver runs the query on one state, with what over has put over it. If there are
// entries of which only the server knows what is to be shown, it yields nothing, and
// returns them.
func (q *query) runOver(x *Indexer, over *overlaid, yield func(client.Object) bool) (resourceVersion string, doubts []*entry, err error) {
	st := x.acquire()
	defer x.release(st)
	found, doubts, err := q.inOverlay(st, over)
	if err != nil || len(doubts) > 0 {
		return "", doubts, err
	}
	return st.resourceVersion, nil, q.merge(st, found, yield)
}

// replaced is what is shown of a key in place of what the store has; nil: nothing.
type replaced struct {
	key    client.ObjectKey
	object client.Object
}

// inOverlay returns what over has for the query over a state, in order.
func (q *query) inOverlay(st *state, over *overlaid) (found []replaced, doubts []*entry, err error) {
	at, err := q.indexes(st)
	if err != nil {
		return nil, nil, err
	}
	now := time.Now()
	for _, e := range over.entries {
		if !q.reaches(e.key) {
			continue
		}
		stored := st.object(e.key)
		if e.passed(st.resourceVersion, stored) {
			continue
		}
		obj, sure := e.judge(st.resourceVersion, stored, now)
		if !sure {
			doubts = append(doubts, e)
			continue
		}
		if obj != nil {
			matches, err := q.selects(st, at, obj)
			if err != nil {
				return nil, nil, err
			}
			if !matches {
				obj = nil
			}
		}
		found = append(found, replaced{e.key, obj})
	}
	return found, doubts, nil
}

// selects says whether an object that is not in the state is selected.
func (q *query) selects(st *state, at []int, obj client.Object) (bool, error) {
	v := stored{object: obj}
	if len(at) > 0 {
		v.values = make([]indexed, len(st.indexes))
	}
	for _, i := range at {
		if i < 0 {
			continue // the query reads the field itself
		}
		if v.values[i] = st.indexes[i].of(obj); v.values[i].err != nil {
			return false, v.values[i].err
		}
	}
	return q.matches(at, client.ObjectKeyFromObject(obj), v), nil
}

// merge yields what st has for the query, with found over it, in order.
func (q *query) merge(st *state, found []replaced, yield func(client.Object) bool) error {
	left := false
	show := func(obj client.Object) bool {
		left = left || obj != nil && !yield(obj)
		return !left
	}
	err := q.run(st, func(obj client.Object) bool {
		key := client.ObjectKeyFromObject(obj)
		for len(found) > 0 {
			order := compareKeys(found[0].key, key)
			if order > 0 {
				break
			}
			if order == 0 {
				obj = nil // the one in found is in its place
			}
			over := found[0].object
			if found = found[1:]; !show(over) {
				return false
			}
		}
		return show(obj)
	})
	for _, f := range found {
		if err != nil || !show(f.object) {
			break
		}
	}
	return err
}
