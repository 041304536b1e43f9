package decode

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"weak"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// base is an object's bytes from which those of similar objects differ little, and
// what else these have in common. It never changes. It lives as long as one of them.
type base struct {
	text      string // at most maxBase of them
	namespace string
	traits    *traits
}

const (
	// maxBase bounds a base: what is larger has rarely a twin.
	maxBase = 64 << 10
	// firstPatience is how many poor deltas in a row it takes until a base is
	// replaced. Each replacement doubles it, until one was good: there may be
	// no good one.
	firstPatience = 4
	maxPatience   = 1 << 16
)

// family are the objects of one owner, or all the objects of the kind: they are
// likely to be alike.
type family struct {
	base weak.Pointer[base]
	// Until there is one: whose delta was last, and how long all were.
	last  string
	spent int
	// From then on: poor deltas in a row, and how many it takes.
	misses, patience int
}

// families finds a base for each object. That of the kind is the first object. An
// owner gets one when its objects' deltas from that have come to be as long as a
// base: so owners of one or two objects get none.
type families struct {
	byOwner map[types.UID]*family
	kind    family
	swept   int // how many owners there were after the last sweep
}

// delta returns the difference of an object's bytes from the best base there is,
// and gives c that base, and traits. The delta is good until the next call.
func (p *press) delta(c *Compact, obj Object, data []byte) []byte {
	own := p.families.of(obj)
	f := own
	if f.base.Value() == nil {
		f = &p.families.kind
	}
	if c.base = f.base.Value(); c.base == nil {
		c.base = f.found(obj, data)
	}
	delta := p.writer.write(c.base.text, c.head(), data)
	switch {
	case f != own && own.pays(c.name, len(delta), len(data)):
		f = own
	case !f.outgrown(len(delta), len(data)):
		f = nil
	}
	if f != nil {
		c.base = f.found(obj, data)
		delta = p.writer.write(c.base.text, c.head(), data)
	}
	if c.traits = c.base.traits; !c.traits.are(obj) {
		c.traits = traitsOf(obj)
	}
	return delta
}

// pays counts a delta from the kind's base, and says whether a base of its own
// would have paid by now for a family that has none.
func (f *family) pays(name string, delta, size int) bool {
	if name != f.last { // an object that changes often is still one
		f.last = name
		f.spent += delta
	}
	return f.spent > size
}

// outgrown counts a delta, and says whether it is time for another base.
func (f *family) outgrown(delta, size int) bool {
	if delta <= size/3 {
		f.misses, f.patience = 0, firstPatience
		return false
	}
	f.misses++
	return f.misses >= f.patience
}

// found makes an object the base of the family.
func (f *family) found(obj Object, data []byte) *base {
	b := &base{
		text:      string(data[:min(len(data), maxBase)]),
		namespace: strings.Clone(obj.GetNamespace()),
		traits:    traitsOf(obj),
	}
	patience := min(max(2*f.patience, firstPatience), maxPatience)
	*f = family{base: weak.Make(b), patience: patience}
	return b
}

// of returns the family of an object.
func (s *families) of(obj Object) *family {
	owners := obj.GetOwnerReferences()
	if len(owners) == 0 {
		return &s.kind
	}
	uid := owners[0].UID
	f := s.byOwner[uid]
	if f == nil {
		if s.byOwner == nil {
			s.byOwner = map[types.UID]*family{}
		}
		s.sweep()
		f = &family{}
		s.byOwner[types.UID(strings.Clone(string(uid)))] = f
	}
	return f
}

// sweep forgets, now and then, owners whose objects are gone, and those that had
// one only.
func (s *families) sweep() {
	if len(s.byOwner) < 2*s.swept+64 {
		return
	}
	alive := map[types.UID]*family{}
	for uid, f := range s.byOwner {
		if f.base.Value() != nil {
			alive[uid] = f
		}
	}
	s.byOwner, s.swept = alive, len(alive)
}

// traitsOf returns those of an object, without keeping more of it.
func traitsOf(obj Object) *traits {
	t := &traits{}
	if from := obj.GetLabels(); len(from) > 0 {
		t.labels = make(map[string]string, len(from))
		for k, v := range from {
			t.labels[strings.Clone(k)] = strings.Clone(v)
		}
	}
	for _, o := range obj.GetOwnerReferences() {
		t.owners = append(t.owners, *o.DeepCopy())
	}
	return t
}

// are says whether an object has these.
func (t *traits) are(obj Object) bool {
	return maps.Equal(t.labels, obj.GetLabels()) &&
		slices.EqualFunc(t.owners, obj.GetOwnerReferences(), func(a, b metav1.OwnerReference) bool { return reflect.DeepEqual(a, b) })
}
