package decode

import "unsafe"

// Keys are remembered up to this number, and this length: a text may have any.
const (
	maxJSONKeys = 4096
	maxJSONKey  = 256
)

// jsonSite is a place in the objects of one kind: what was shared there before
// tells whether it pays to try again.
type jsonSite struct{ strings, values credit }

func newJSONSite() jsonSite { return jsonSite{newCredit(), newCredit()} }

// jsonKey is a key of unstructured content.
type jsonKey struct {
	text     string
	salt     sum      // of the part of an object that is under the key
	value    jsonSite // of the value under the key
	elements jsonSite // of the elements, if the value is an array
}

// jsonWalker makes unstructured content, in which equal strings, maps and slices
// are the same.
type jsonWalker struct {
	*jsonSource
	keys    map[string]*jsonKey
	strings sum // salts of what is shared
	maps    sum
	slices  sum
}

func newJSONWalker(s *jsonSource) *jsonWalker {
	return &jsonWalker{
		jsonSource: s,
		keys:       map[string]*jsonKey{},
		strings:    s.hasher.salt("json any string"),
		maps:       s.hasher.salt("json any map"),
		slices:     s.hasher.salt("json any slice"),
	}
}

// entry returns what is remembered of a key.
func (w *jsonWalker) entry(quoted []byte) *jsonKey {
	text := w.text(quoted)
	k := w.keys[string(text)]
	if k != nil {
		return k
	}
	k = &jsonKey{text: string(text), salt: w.hasher.salt("json key " + string(text)), value: newJSONSite(), elements: newJSONSite()}
	if len(text) <= maxJSONKey {
		if len(w.keys) >= maxJSONKeys {
			clear(w.keys)
		}
		w.keys[k.text] = k
	}
	return k
}

// value makes the value that comes next. elements is the site of its elements.
func (w *jsonWalker) value(site, elements *jsonSite) (any, bool) {
	switch w.peek() {
	case 0:
		return nil, false
	case '{', '[':
		return w.container(site, elements)
	case '"':
		return w.string(w.text(w.quoted()), site), true
	}
	p, ok := w.place()
	if !ok {
		return nil, false
	}
	w.jump(p)
	switch literal := w.bytes(p); literal[0] {
	case 'n':
		return nil, true
	case 't', 'f':
		return literal[0] == 't', true
	default:
		return jsonNumber(literal)
	}
}

// string returns text as a string in an interface, shared as well.
func (w *jsonWalker) string(text []byte, site *jsonSite) any {
	if len(text) == 0 || len(text) > maxShared || !site.strings.try() {
		return string(text)
	}
	key := w.hasher.sum(text).salted(w.strings)
	v, seen := w.interner.lookup(key, len(text))
	if site.strings.settle(seen); seen {
		return boxed((*string)(v.ptr))
	}
	s := string(text)
	w.interner.store(key, len(text), shared{ptr: unsafe.Pointer(&s)})
	return boxed(&s)
}

// container makes a map or a slice.
func (w *jsonWalker) container(site, elements *jsonSite) (any, bool) {
	p, _ := w.place()
	salt := w.maps
	if w.data[p.i] == '[' {
		salt = w.slices
	}
	var key sum
	share := p.end-p.i <= maxShared && site.values.try()
	if share {
		key = w.hasher.sum(w.bytes(p)).salted(salt)
		v, seen := w.interner.lookup(key, p.end-p.i)
		if site.values.settle(seen); seen {
			w.jump(p)
			if salt == w.slices {
				return boxed((*[]any)(v.ptr)), true
			}
			return *(*map[string]any)(unsafe.Pointer(&v.ptr)), true
		}
	}
	if salt == w.slices {
		s, ok := w.slice(elements)
		if ok && share {
			w.interner.store(key, p.end-p.i, shared{ptr: unsafe.Pointer(s)})
		}
		return boxed(s), ok
	}
	m, ok := w.object()
	if ok && share {
		w.interner.store(key, p.end-p.i, shared{ptr: *(*unsafe.Pointer)(unsafe.Pointer(&m))})
	}
	return m, ok
}

func (w *jsonWalker) object() (map[string]any, bool) {
	m := make(map[string]any, w.count())
	w.enter()
	for first := true; ; first = false {
		more, ok := w.more('}', first)
		if !more || !ok {
			return m, ok
		}
		quoted, ok := w.key()
		if !ok {
			return nil, false
		}
		k := w.entry(quoted)
		v, ok := w.value(&k.value, &k.elements)
		if !ok {
			return nil, false
		}
		m[k.text] = v
	}
}

// slice makes a slice; elements is the site of its elements, and of theirs.
func (w *jsonWalker) slice(elements *jsonSite) (*[]any, bool) {
	s := make([]any, 0, w.count())
	w.enter()
	for first := true; ; first = false {
		more, ok := w.more(']', first)
		if !more || !ok {
			return &s, ok
		}
		v, ok := w.value(elements, elements)
		if !ok {
			return nil, false
		}
		s = append(s, v)
	}
}

// boxed returns *p in an interface that points to p.
func boxed[T any](p *T) any {
	var zero T
	var box any = zero
	(*[2]unsafe.Pointer)(unsafe.Pointer(&box))[1] = unsafe.Pointer(p)
	return box
}
