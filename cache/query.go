package cache

import (
	"fmt"
	"hash/fnv"
	"slices"

	"governor/client"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
)

// The fields of metadata that the cache gives a meaning.
const (
	fieldName      = "metadata.name"
	fieldNamespace = "metadata.namespace"
)

// query is what a list asks for, of one kind. All of it must hold for an object.
// It is for one goroutine.
type query struct {
	gvk       schema.GroupVersionKind
	stored    client.Form // the form of the objects that are asked
	within    string      // the namespace that was given as such; empty: none
	namespace string      // empty: all
	name      string      // empty: all
	terms     []term
	labels    labels.Selector
	wanted    []requirement // of labels, those that an index could answer
	nothing   bool          // the terms contradict each other

	limit int64 // zero: no limit
	after client.ObjectKey
	paged bool   // only what comes after after
	text  uint64 // hash of all but the page: it ties a token to its query

	scratch []string
}

// readFunc appends what a stored object has in a field, or as a label, to values.
type readFunc = func(values []string, o client.Object) []string

// term is one requirement: the field has the value, or, if not is set, has it not.
// A field with an index may have several values; any other has exactly one.
type term struct {
	field, value string
	not          bool
	read         readFunc // without an index; nil: there is no way
}

// requirement says that the label has one of the values, each given once; nil stands
// for any value.
type requirement struct {
	key    string
	values []string
}

// newQuery understands the options of a list, or says what it does not.
func newQuery(gvk schema.GroupVersionKind, o *client.ListOptions) (*query, error) {
	q := &query{gvk: gvk, within: o.Namespace, namespace: o.Namespace, labels: labels.Everything(), limit: o.Limit}
	if o.Limit < 0 {
		return nil, fmt.Errorf("the limit is %d: it must not be negative", o.Limit)
	}
	hash := fnv.New64a()
	fmt.Fprintf(hash, "%q %q", gvk.String(), o.Namespace)
	if o.LabelSelector != nil {
		q.selectLabels(o.LabelSelector)
		fmt.Fprintf(hash, " labels %q", o.LabelSelector.String())
	}
	if o.FieldSelector != nil {
		fmt.Fprintf(hash, " fields %q", o.FieldSelector.String())
		requirements := o.FieldSelector.Requirements()
		// fields.Nothing() has no requirements, and is not empty.
		q.nothing = q.nothing || len(requirements) == 0 && !o.FieldSelector.Empty()
		for _, r := range requirements {
			switch r.Operator {
			case selection.Equals, selection.DoubleEquals:
				q.require(r.Field, r.Value, false)
			case selection.NotEquals:
				q.require(r.Field, r.Value, true)
			default:
				return nil, fmt.Errorf("field selector %q of %s: the operator %q is none of =, ==, !=", r.Field, kindText(gvk), r.Operator)
			}
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

// everything says that q asks for all objects, on one page.
func (q *query) everything() bool {
	return q.namespace == "" && q.name == "" && len(q.terms) == 0 && q.labels.Empty() && !q.nothing && q.limit == 0 && !q.paged
}

func (q *query) selectLabels(selector labels.Selector) {
	q.labels = selector
	requirements, selectable := selector.Requirements()
	q.nothing = !selectable
	for _, r := range requirements {
		switch r.Operator() {
		case selection.In, selection.Equals, selection.DoubleEquals:
			q.wanted = append(q.wanted, requirement{r.Key(), distinct(r.ValuesUnsorted())})
		case selection.Exists:
			q.wanted = append(q.wanted, requirement{r.Key(), nil})
		}
	}
}

func (q *query) require(field, value string, not bool) {
	one := func(have *string) {
		q.nothing = q.nothing || *have != "" && *have != value
		*have = value
	}
	_, known := fieldLabelOf(q.gvk.GroupKind(), field)
	switch simple := known && value != "" && !not; {
	case simple && field == fieldName:
		one(&q.name)
	case simple && field == fieldNamespace:
		one(&q.namespace)
	default:
		q.terms = append(q.terms, term{field, value, not, fieldReader(q.gvk.GroupKind(), field)})
	}
}

// indexes returns the position of each term's declared index in st, which the
// caller has acquired; -1 for one that can be read from the object. An index that
// was declared answers for its field, also where the field is known.
func (q *query) indexes(st *state) ([]int, error) {
	if len(q.terms) == 0 {
		return nil, nil
	}
	at := make([]int, len(q.terms))
	for i, t := range q.terms {
		at[i] = st.indexOf(t.field)
		switch {
		case at[i] >= 0:
			if err := st.complete(at[i]); err != nil {
				return nil, fmt.Errorf("field selector %q of %s: %w", t.field, kindText(q.gvk), err)
			}
		case t.read == nil:
			return nil, fmt.Errorf("field selector %q of %s: the server knows no such field of the kind, or the cache does not know that,"+
				" and there is no index for it: declare one with IndexField(ctx, obj, %q, …) before this list", t.field, kindText(q.gvk), t.field)
		case q.stored == client.MetadataOnly && !inMetadata(q.gvk.GroupKind(), t.field):
			return nil, fmt.Errorf("field selector %q of %s: the kind is stored metadata-only, without that field:"+
				" have the cache store all of it, or read from the server", t.field, kindText(q.gvk))
		}
	}
	return at, nil
}

// reaches says whether an object of this key may be selected.
func (q *query) reaches(key client.ObjectKey) bool {
	return !q.nothing && (q.namespace == "" || key.Namespace == q.namespace) && (q.name == "" || key.Name == q.name) &&
		(!q.paged || compareKeys(key, q.after) > 0)
}

// matches says whether an object is selected, of which the declared indexes have
// said v.values. at is what indexes has returned.
func (q *query) matches(at []int, key client.ObjectKey, v stored) bool {
	if !q.reaches(key) {
		return false
	}
	for i, t := range q.terms {
		var values []string
		if at[i] >= 0 {
			values = v.values[at[i]].values
		} else {
			q.scratch = t.read(q.scratch[:0], v.object)
			values = q.scratch
		}
		if slices.Contains(values, t.value) == t.not {
			return false
		}
	}
	return q.labels.Empty() || q.labels.Matches(labelsOf(v.object))
}
