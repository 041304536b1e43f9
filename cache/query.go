package cache

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"

	"governor/client"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
)

// The fields that can be selected without an index.
const (
	fieldName      = "metadata.name"
	fieldNamespace = "metadata.namespace"
)

// query is what a list asks for, of one kind. All of it must hold for an object.
type query struct {
	gvk       schema.GroupVersionKind
	namespace string // empty: all
	name      string // empty: all
	terms     []term // of indexes
	labels    labels.Selector
	nothing   bool // the terms contradict each other

	limit int64 // zero: no limit
	after client.ObjectKey
	paged bool   // only what comes after after
	text  uint64 // hash of all but the page: it ties a token to its query
}

// term is one requirement: the object has the value in the index of the field.
type term struct{ field, value string }

// newQuery understands the options of a list, or says what it does not.
func newQuery(gvk schema.GroupVersionKind, o *client.ListOptions) (*query, error) {
	q := &query{gvk: gvk, namespace: o.Namespace, labels: labels.Everything(), limit: o.Limit}
	if o.Limit < 0 {
		return nil, fmt.Errorf("the limit is %d: it must not be negative", o.Limit)
	}
	hash := fnv.New64a()
	fmt.Fprintf(hash, "%q %q", gvk.String(), o.Namespace)
	if o.LabelSelector != nil {
		q.labels = o.LabelSelector
		fmt.Fprintf(hash, " labels %q", o.LabelSelector.String())
	}
	if o.FieldSelector != nil {
		fmt.Fprintf(hash, " fields %q", o.FieldSelector.String())
		requirements := o.FieldSelector.Requirements()
		// fields.Nothing() has no requirements, and is not empty.
		q.nothing = len(requirements) == 0 && !o.FieldSelector.Empty()
		for _, r := range requirements {
			if r.Operator != selection.Equals && r.Operator != selection.DoubleEquals {
				return nil, fmt.Errorf("field selector %q of %s: the cache does not support %q:"+
					" use =, or filter what an unselected list returns, or read from the server", r.Field, kindText(gvk), r.Operator)
			}
			q.require(r.Field, r.Value)
		}
	}
	q.text = hash.Sum64()
	if o.Continue != "" {
		if err := q.resume(o.Continue); err != nil {
			return nil, err
		}
	}
	return q, nil
}

func (q *query) require(field, value string) {
	one := func(have *string) {
		if value == "" || *have != "" && *have != value {
			q.nothing = true
		}
		*have = value
	}
	switch field {
	case fieldName:
		one(&q.name)
	case fieldNamespace:
		one(&q.namespace)
	default:
		q.terms = append(q.terms, term{field, value})
	}
}

// indexes returns the position of each term's index in st, which the caller has
// acquired.
func (q *query) indexes(st *state) ([]int, error) {
	at := make([]int, len(q.terms))
	for i, t := range q.terms {
		if at[i] = st.indexOf(t.field); at[i] < 0 {
			return nil, fmt.Errorf("field selector %q of %s: the cache has no index for it: declare one with IndexField(ctx, obj, %q, …)"+
				" before this list, or read from the server", t.field, kindText(q.gvk), t.field)
		}
		if err := st.complete(at[i]); err != nil {
			return nil, fmt.Errorf("field selector %q of %s: %w", t.field, kindText(q.gvk), err)
		}
	}
	return at, nil
}

// reaches says whether an object of this key may be selected.
func (q *query) reaches(key client.ObjectKey) bool {
	return !q.nothing && (q.namespace == "" || key.Namespace == q.namespace) && (q.name == "" || key.Name == q.name) &&
		(!q.paged || compareKeys(key, q.after) > 0)
}

// matches says whether an object is selected, of which the indexes have said
// v.values. at is what indexes has returned.
func (q *query) matches(at []int, key client.ObjectKey, v stored) bool {
	if !q.reaches(key) {
		return false
	}
	for i, t := range q.terms {
		if !slices.Contains(v.values[at[i]].values, t.value) {
			return false
		}
	}
	return q.labels.Empty() || q.labels.Matches(labels.Set(v.object.GetLabels()))
}

// run yields what st, which the caller has acquired, has for the query, in
// order, until yield returns false.
func (q *query) run(st *state, yield func(client.Object) bool) error {
	at, err := q.indexes(st)
	if err != nil || q.nothing {
		return err
	}
	start := client.ObjectKey{Namespace: q.namespace, Name: q.name}
	if q.paged && compareKeys(q.after, start) > 0 {
		start = q.after
	}
	from := st.from
	if len(q.terms) > 0 {
		from = func(key client.ObjectKey, yield func(*place) bool) {
			if b := st.indexes[at[0]].bucket(q.terms[0].value); b != nil {
				b.at(st.seq).from(key, yield)
			}
		}
	}
	from(start, func(p *place) bool {
		if q.namespace != "" && p.key.Namespace != q.namespace {
			return false
		}
		v := p.at(st.seq)
		return !q.matches(at, p.key, v) || yield(v.object)
	})
	return nil
}

// token is what a Continue holds: a place in the order, and the query that it
// belongs to.
type token struct {
	Version   string `json:"v"`
	Query     uint64 `json:"q"`
	Namespace string `json:"ns"`
	Name      string `json:"n"`
}

const tokenVersion = "cache.governor.dev/v1"

// token returns the Continue for what comes after last.
func (q *query) token(last client.ObjectKey) string {
	// Strings and numbers always marshal.
	data, _ := json.Marshal(token{Version: tokenVersion, Query: q.text, Namespace: last.Namespace, Name: last.Name})
	return base64.RawURLEncoding.EncodeToString(data)
}

func (q *query) resume(text string) error {
	var t token
	data, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		err = json.Unmarshal(data, &t)
	}
	switch {
	case err != nil || t.Version != tokenVersion:
		return fmt.Errorf("the continue token was not issued by this cache: begin the list anew, and do not mix cached and live lists")
	case t.Query != q.text:
		return fmt.Errorf("the continue token belongs to a list with other options: pass the same kind, namespace and selectors for each page")
	}
	q.after, q.paged = client.ObjectKey{Namespace: t.Namespace, Name: t.Name}, true
	return nil
}
