package decode

import (
	"encoding/base64"
	"reflect"
	"strconv"
	"unsafe"
)

// jsonTyped decodes into Go types by plans. Whenever it is not ok, the whole
// object goes to sigs.k8s.io/json: either that knows what is wrong, or it knows
// how to go on.
type jsonTyped struct {
	*jsonSource
	walker *jsonWalker
	yes    *bool // what all pointers to true, or false, point to
	no     *bool
}

// sliceHeader is a slice as it is in memory.
type sliceHeader struct {
	ptr      unsafe.Pointer
	len, cap int
}

// value decodes the value that comes next into the zero value at p. site is
// where in the objects it is.
func (t *jsonTyped) value(plan *jsonPlan, p unsafe.Pointer, site *jsonField) bool {
	switch plan.form {
	case jsonStrange:
		return false
	case jsonGeneral, jsonUnmarshaler, jsonTime:
		return t.special(plan, p)
	case jsonInterface:
		v, ok := t.walker.value(&site.jsonSite, &site.jsonSite)
		*(*any)(p) = v
		return ok
	}
	switch c := t.peek(); c {
	case 0:
		return false
	case '"':
		return t.string(plan, p, site)
	case '{', '[':
		return t.container(plan, p, site, c)
	}
	place, ok := t.place()
	if !ok {
		return false
	}
	literal := t.bytes(place)
	if literal[0] == 'n' {
		t.jump(place)
		return true // what is nil already stays so, and others do not mind
	}
	if plan.form == jsonPointer {
		return t.pointer(plan, p, site)
	}
	t.jump(place)
	return t.scalar(plan, p, literal)
}

// pointer decodes what a pointer points to, which is not null.
func (t *jsonTyped) pointer(plan *jsonPlan, p unsafe.Pointer, site *jsonField) bool {
	if plan.elem.form == jsonBool {
		var b bool
		if !t.value(plan.elem, unsafe.Pointer(&b), site) {
			return false
		}
		target := t.no
		if b {
			target = t.yes
		}
		*(*unsafe.Pointer)(p) = unsafe.Pointer(target)
		return true
	}
	target := reflect.New(plan.elem.typ).UnsafePointer()
	*(*unsafe.Pointer)(p) = target
	return t.value(plan.elem, target, site)
}

func (t *jsonTyped) string(plan *jsonPlan, p unsafe.Pointer, site *jsonField) bool {
	switch plan.form {
	case jsonPointer:
		return t.pointer(plan, p, site)
	case jsonString:
		*(*string)(p) = t.intern(t.text(t.quoted()), site)
		return true
	case jsonBytes:
		text := t.text(t.quoted())
		b := make([]byte, base64.StdEncoding.DecodedLen(len(text)))
		n, err := base64.StdEncoding.Decode(b, text)
		*(*[]byte)(p) = b[:n]
		return err == nil
	}
	return false
}

// intern returns text as a string, shared if that pays there.
func (t *jsonTyped) intern(text []byte, site *jsonField) string {
	if len(text) == 0 {
		return ""
	}
	if site.unique || !site.strings.try() {
		return string(text)
	}
	s, seen := t.interner.string(text)
	site.strings.settle(seen)
	return s
}

// container decodes an object or array; where that pays, one that was decoded
// from equal bytes takes its place.
func (t *jsonTyped) container(plan *jsonPlan, p unsafe.Pointer, site *jsonField, bracket byte) bool {
	if plan.form == jsonStruct {
		return bracket == '{' && t.structure(plan, p)
	}
	place, _ := t.place()
	size := place.end - place.i
	share := size <= maxShared && site.values.try()
	var key sum
	if share {
		key = t.hasher.sum(t.bytes(place)).salted(plan.salt)
		v, seen := t.interner.lookup(key, size)
		if site.values.settle(seen); seen {
			t.jump(place)
			if plan.form == jsonSlice || plan.form == jsonBytes {
				*(*sliceHeader)(p) = sliceHeader{v.ptr, v.n, v.n}
			} else {
				*(*unsafe.Pointer)(p) = v.ptr
			}
			return true
		}
	}
	v := shared{}
	switch {
	case plan.form == jsonPointer:
		if !t.pointer(plan, p, site) {
			return false
		}
		v.ptr = *(*unsafe.Pointer)(p)
	case bracket == '{' && plan.form == jsonStringMap, bracket == '{' && plan.form == jsonMap:
		if !t.mapping(plan, p, site) {
			return false
		}
		v.ptr = *(*unsafe.Pointer)(p)
	case bracket == '[' && plan.form == jsonSlice:
		if !t.slice(plan, p, site) {
			return false
		}
		header := (*sliceHeader)(p)
		v = shared{ptr: header.ptr, n: header.len}
	case bracket == '[' && plan.form == jsonBytes:
		return t.general(plan, p)
	default:
		return false
	}
	if share {
		t.interner.store(key, size, v)
	}
	return true
}

func (t *jsonTyped) structure(plan *jsonPlan, p unsafe.Pointer) bool {
	var seen [maxJSONFields / 64]uint64
	t.enter()
	for first := true; ; first = false {
		more, ok := t.more('}', first)
		if !more || !ok {
			return ok
		}
		quoted, ok := t.key()
		if !ok {
			return false
		}
		f := plan.fields[string(quoted)]
		if f == nil {
			if f = plan.fields[string(t.text(quoted))]; f == nil {
				if !t.skip() {
					return false
				}
				continue
			}
		}
		bit := uint64(1) << (f.index & 63)
		if seen[f.index>>6]&bit != 0 {
			return false // the second value is merged into the first
		}
		seen[f.index>>6] |= bit
		if !t.value(f.plan, unsafe.Add(p, f.offset), f) {
			return false
		}
	}
}

func (t *jsonTyped) slice(plan *jsonPlan, p unsafe.Pointer, site *jsonField) bool {
	n := t.count()
	array := reflect.MakeSlice(plan.typ, n, n).UnsafePointer()
	*(*sliceHeader)(p) = sliceHeader{array, n, n}
	size := plan.elem.typ.Size()
	t.enter()
	for i := 0; ; i++ {
		more, ok := t.more(']', i == 0)
		if !more || !ok {
			return ok && i == n
		}
		if i == n || !t.value(plan.elem, unsafe.Add(array, uintptr(i)*size), site) {
			return false
		}
	}
}

func (t *jsonTyped) mapping(plan *jsonPlan, p unsafe.Pointer, site *jsonField) bool {
	n := t.count()
	var stringMap map[string]string
	var m, key, elem reflect.Value
	if plan.form == jsonStringMap {
		stringMap = make(map[string]string, n)
		*(*map[string]string)(p) = stringMap
	} else {
		m = reflect.MakeMapWithSize(plan.typ, n)
		reflect.NewAt(plan.typ, p).Elem().Set(m)
		key, elem = reflect.New(plan.typ.Key()).Elem(), reflect.New(plan.elem.typ).Elem()
	}
	t.enter()
	for first := true; ; first = false {
		more, ok := t.more('}', first)
		if !more || !ok {
			return ok
		}
		quoted, ok := t.key()
		if !ok {
			return false
		}
		name := t.intern(t.text(quoted), site)
		if stringMap != nil {
			s := ""
			if !t.value(stringPlan, unsafe.Pointer(&s), site) {
				return false
			}
			stringMap[name] = s
			continue
		}
		elem.SetZero()
		if !t.value(plan.elem, elem.Addr().UnsafePointer(), site) {
			return false
		}
		key.SetString(name)
		m.SetMapIndex(key, elem)
	}
}

// stringPlan is the plan of the values of a map[string]string.
var stringPlan = &jsonPlan{form: jsonString, typ: reflect.TypeFor[string]()}

func (t *jsonTyped) scalar(plan *jsonPlan, p unsafe.Pointer, literal []byte) bool {
	word := literal[0] == 't' || literal[0] == 'f'
	if word != (plan.form == jsonBool) {
		return false
	}
	v := reflect.NewAt(plan.typ, p).Elem()
	switch plan.form {
	case jsonBool:
		*(*bool)(p) = literal[0] == 't'
		return true
	case jsonSigned:
		n, ok := jsonInt(literal)
		if !ok || v.OverflowInt(n) {
			return false
		}
		v.SetInt(n)
		return true
	case jsonUnsigned:
		n, ok := jsonUint(literal)
		if !ok || v.OverflowUint(n) {
			return false
		}
		v.SetUint(n)
		return true
	}
	if plan.form != jsonFloat {
		return false
	}
	f, err := strconv.ParseFloat(string(literal), plan.typ.Bits())
	v.SetFloat(f)
	return err == nil
}
