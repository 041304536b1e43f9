package decode

import (
	"reflect"
	"unsafe"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// minPart is the shortest part of an object worth a sum.
const minPart = 24

// maxMembers is how many members the top level and metadata of an object may
// have for the fast path.
const maxMembers = 64

// jsonMember is a key and where its value is.
type jsonMember struct {
	quoted []byte
	jsonPlace
}

// jsonObjects decodes the objects of one kind. The top level and metadata of
// each are its own; their members are its parts, which are taken from its last
// state where their bytes are the same.
type jsonObjects struct {
	*jsonSource
	d        *Decoder
	plan     *jsonPlan // of the Go type; nil if it is no struct with plain rules
	typed    *jsonTyped
	walker   *jsonWalker
	index    jsonIndex
	metadata sum          // the salt of parts of metadata
	members  []jsonMember // scratch: of the top level
	within   []jsonMember // scratch: of metadata

	isUnstructured bool
}

// decode is the fast path. Where it is not ok, it is not known whether data is
// valid.
func (o *jsonObjects) decode(data []byte) (Object, bool) {
	defer func() { o.jsonCursor = jsonCursor{} }()
	if o.plan == nil && !o.isUnstructured || !o.begin(data) {
		return nil, false
	}
	data = o.data
	var ok bool
	if o.members, ok = o.list(o.members[:0]); !ok {
		return nil, false
	}
	o.within = o.within[:0]
	if m := findMember(o.members, "metadata"); m != nil && data[m.i] == '{' {
		o.back(m.jsonPlace)
		if o.within, ok = o.list(o.within); !ok {
			return nil, false
		}
	}
	last := o.d.known.get(o.plain("namespace"), o.plain("name"))
	obj := o.d.fresh()
	if o.isUnstructured {
		var old map[string]any
		if last != nil {
			old = last.object.(*unstructured.Unstructured).Object
		}
		content, ok := o.content(o.members, last, old, sum{})
		obj.(*unstructured.Unstructured).Object = content
		return obj, ok
	}
	var old unsafe.Pointer
	if last != nil {
		old = reflect.ValueOf(last.object).UnsafePointer()
	}
	return obj, o.structure(o.plan, reflect.ValueOf(obj).UnsafePointer(), last, old)
}

// begin goes to the beginning of data. It is indexed, unless the reader that it
// comes from did that.
func (o *jsonObjects) begin(data []byte) bool {
	if r := o.d.reader; r != nil {
		if c, ok := r.cursor(data); ok {
			o.jsonCursor = c
			return true
		}
	}
	data = data[jsonSpaceEnd(data, 0):]
	if len(data) == 0 || data[0] != '{' || len(data) > maxJSONLength {
		return false
	}
	x := &o.index
	x.reset()
	n, complete := x.scan(data)
	if !complete || !x.valid(data) || jsonSpaceEnd(data, n) < len(data) {
		return false
	}
	o.jsonCursor = jsonCursor{data: data[:n], at: x.at, mate: x.mate}
	return true
}

// list goes past an object and returns its members, whose values are not checked
// yet. It is not ok if a key appears twice.
func (o *jsonObjects) list(members []jsonMember) ([]jsonMember, bool) {
	if o.peek() != '{' {
		return members, false
	}
	o.enter()
	for first := true; ; first = false {
		more, ok := o.more('}', first)
		if !more || !ok {
			return members, ok
		}
		quoted, ok := o.key()
		if !ok || len(members) == maxMembers || !jsonPlain(quoted) || findMember(members, string(quoted)) != nil {
			return members, false
		}
		place, ok := o.place()
		if !ok {
			return members, false
		}
		members = append(members, jsonMember{quoted, place})
		o.jump(place)
	}
}

func findMember(members []jsonMember, key string) *jsonMember {
	for i := range members {
		if string(members[i].quoted) == key {
			return &members[i]
		}
	}
	return nil
}

// plain returns a string of metadata, if it is there in plain form.
func (o *jsonObjects) plain(key string) []byte {
	m := findMember(o.within, key)
	if m == nil || o.data[m.i] != '"' {
		return nil
	}
	return o.data[m.i+1 : m.end-1]
}

// same reports whether the last state had the same bytes under the same key. It
// adds the sum to the parts.
func (o *jsonObjects) same(m *jsonMember, k *jsonKey, salt sum, last *last) bool {
	if m.end-m.i < minPart {
		return false
	}
	part := o.hasher.sum(o.bytes(m.jsonPlace)).salted(k.salt).salted(salt)
	o.d.parts = append(o.d.parts, part)
	return last.has(part)
}

// content makes a map of members. old is what the last state has there. salt is
// zero for the top level.
func (o *jsonObjects) content(members []jsonMember, last *last, old map[string]any, salt sum) (map[string]any, bool) {
	content := make(map[string]any, len(members))
	top := salt == sum{}
	for i := range members {
		m := &members[i]
		k := o.walker.entry(m.quoted)
		o.back(m.jsonPlace)
		var v any
		var ok bool
		switch {
		case top && k.text == "metadata" && o.data[m.i] == '{':
			before, _ := old["metadata"].(map[string]any)
			if v, ok = o.content(o.within, last, before, o.metadata); !ok {
				return nil, false
			}
		case !top && o.d.dropManagedFields && k.text == "managedFields":
			continue
		case o.same(m, k, salt, last):
			v, ok = old[k.text]
		}
		if !ok {
			if v, ok = o.walker.value(&k.value, &k.elements); !ok {
				return nil, false
			}
		}
		content[k.text] = v
	}
	return content, true
}

// structure fills the struct at p, the object itself. The one at old, if there
// is a last state, is of the same type.
func (o *jsonObjects) structure(plan *jsonPlan, p unsafe.Pointer, last *last, old unsafe.Pointer) bool {
	for i := range o.members {
		m := &o.members[i]
		f := plan.fields[string(m.quoted)]
		if f == nil || f.plan.typ != objectMetaType || f.name != "metadata" || o.data[m.i] != '{' {
			if !o.field(m, f, p, last, old, sum{}) {
				return false
			}
			continue
		}
		p, old := unsafe.Add(p, f.offset), old
		if last != nil {
			old = unsafe.Add(old, f.offset)
		}
		for i := range o.within {
			m := &o.within[i]
			if o.d.dropManagedFields && string(m.quoted) == "managedFields" {
				continue
			}
			if !o.field(m, f.plan.fields[string(m.quoted)], p, last, old, o.metadata) {
				return false
			}
		}
	}
	return true
}

// field fills the field f of the struct at p, or only checks the member if f is
// nil.
func (o *jsonObjects) field(m *jsonMember, f *jsonField, p unsafe.Pointer, last *last, old unsafe.Pointer, salt sum) bool {
	same := o.same(m, o.walker.entry(m.quoted), salt, last)
	switch {
	case same && f == nil:
		return true
	case same:
		target := reflect.NewAt(f.plan.typ, unsafe.Add(p, f.offset)).Elem()
		target.Set(reflect.NewAt(f.plan.typ, unsafe.Add(old, f.offset)).Elem())
		return true
	}
	o.back(m.jsonPlace)
	if f == nil {
		return o.skip()
	}
	return o.typed.value(f.plan, unsafe.Add(p, f.offset), f)
}
