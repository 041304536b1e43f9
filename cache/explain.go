package cache

import (
	"context"
	"fmt"
	"strings"

	"governor/client"
)

// Explanation says how a list is answered now. It has no upstream counterpart.
type Explanation struct {
	// Kind of the objects, as v1/Pod.
	Kind string
	// Scopes has one entry for each informer that is asked: one, unless the kind
	// is cached by namespace.
	Scopes []ScopeExplanation
}

// ScopeExplanation is what an Explanation says of one informer's objects.
type ScopeExplanation struct {
	// Namespace is what the informer is of; empty for all.
	Namespace string
	// Index is what is looked through: "all objects", "namespace x", "index of
	// field x", "index on demand of label x", ….
	Index string
	// Objects is how many there are, Candidates how many of them are in the part
	// of the index that is looked through, Results how many of these are selected.
	// A Limit does not count. Own writes that the watch has not brought yet come on
	// top.
	Objects, Candidates, Results int
	// Wanting are indexes on demand that there are not, since too few reads have
	// been in want of them so far.
	Wanting []string
}

// String is a line for each informer.
func (e *Explanation) String() string {
	var b strings.Builder
	for i, s := range e.Scopes {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(e.Kind)
		if s.Namespace != "" {
			fmt.Fprintf(&b, " in %s", s.Namespace)
		}
		fmt.Fprintf(&b, ": %d of %d objects, from %d candidates by %s", s.Results, s.Objects, s.Candidates, s.Index)
		if len(s.Wanting) > 0 {
			fmt.Fprintf(&b, "; there is no %s yet", strings.Join(s.Wanting, ", no "))
		}
	}
	return b.String()
}

// Explain says how List with the same arguments is answered now, and answers it
// without handing out what it finds. It waits as List does, and has the same errors.
// It does not count for indexes on demand.
func (c *Cache) Explain(ctx context.Context, list client.ObjectList, opts ...client.ListOption) (*Explanation, error) {
	gvk, err := c.itemKind(list)
	if err != nil {
		return nil, fmt.Errorf("cache: Explain: %w", err)
	}
	k, q, _, err := c.listed(ctx, "Explain", gvk, client.FormOf(list), opts)
	if err != nil {
		return nil, err
	}
	scopes, err := k.asked(ctx, c.options.syncTimeout(), q)
	if err != nil {
		return nil, err
	}
	e := &Explanation{Kind: kindText(gvk)}
	for _, s := range scopes {
		at, err := q.explain(s.indexer)
		if err != nil {
			return nil, fmt.Errorf("cache: Explain %w", err)
		}
		at.Namespace = s.namespace
		e.Scopes = append(e.Scopes, at)
	}
	return e, nil
}

func (q *query) explain(x *Indexer) (e ScopeExplanation, err error) {
	st := x.acquire()
	defer x.release(st)
	p, err := q.plan(st)
	if err != nil {
		return e, err
	}
	e.Index, e.Objects, e.Candidates = p.source.name, st.count, p.candidates
	for _, a := range p.missing {
		e.Wanting = append(e.Wanting, a.name)
	}
	_, e.Results = p.run(func(client.Object) bool { return true })
	return e, nil
}
