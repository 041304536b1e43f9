package decode

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// jsonForm is how values of a Go type are decoded.
type jsonForm uint8

const (
	jsonStrange     jsonForm = iota // the whole object goes to sigs.k8s.io/json
	jsonGeneral                     // the value goes to sigs.k8s.io/json
	jsonUnmarshaler                 // the value goes to the type's UnmarshalJSON
	jsonTime                        // metav1.Time
	jsonBool
	jsonSigned
	jsonUnsigned
	jsonFloat
	jsonString
	jsonBytes // a slice of bytes
	jsonPointer
	jsonSlice
	jsonStringMap // map[string]string
	jsonMap       // with keys of a string kind
	jsonStruct
	jsonInterface // any
)

// maxJSONFields is how many fields a struct may have for the fast path.
const maxJSONFields = 256

// jsonPlan says how to decode values of one Go type.
type jsonPlan struct {
	form   jsonForm
	typ    reflect.Type
	elem   *jsonPlan // of a pointer, slice or map
	fields map[string]*jsonField
	salt   sum  // of shared values
	cloned bool // whether an Unmarshaler gets bytes of its own
}

// jsonField is a field of a struct, or of one embedded in it.
type jsonField struct {
	jsonSite
	plan   *jsonPlan
	name   string
	index  int // among the struct's fields
	offset uintptr
	unique bool // its strings are hardly ever equal
}

// jsonPlans makes the plans of one Decoder.
type jsonPlans struct {
	hasher *hasher
	plans  map[reflect.Type]*jsonPlan
}

var (
	numberType          = reflect.TypeFor[json.Number]()
	stringMapType       = reflect.TypeFor[map[string]string]()
	unmarshalerType     = reflect.TypeFor[json.Unmarshaler]()
	textUnmarshalerType = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// plan returns the plan of a type.
func (ps *jsonPlans) plan(t reflect.Type) *jsonPlan {
	if p := ps.plans[t]; p != nil {
		return p
	}
	p := &jsonPlan{typ: t, salt: ps.hasher.salt(fmt.Sprint("json value ", len(ps.plans)))}
	ps.plans[t] = p // before its parts: a type may contain itself
	ps.fill(p)
	return p
}

func (ps *jsonPlans) fill(p *jsonPlan) {
	t := p.typ
	pointer := reflect.PointerTo(t)
	switch {
	case t == timeType:
		p.form = jsonTime
		return
	case pointer.Implements(unmarshalerType) && t.Kind() != reflect.Interface:
		if t.Name() != "" { // sigs.k8s.io/json takes no notice of the others, mostly
			p.form = jsonUnmarshaler
			p.cloned = !strings.HasPrefix(t.PkgPath(), "k8s.io/apimachinery/")
		}
		return
	case pointer.Implements(textUnmarshalerType) && t.Kind() != reflect.Interface:
		if t.Name() != "" {
			p.form = jsonGeneral
		}
		return
	case t == numberType:
		p.form = jsonGeneral
		return
	}
	switch t.Kind() {
	case reflect.Bool:
		p.form = jsonBool
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		p.form = jsonSigned
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		p.form = jsonUnsigned
	case reflect.Float32, reflect.Float64:
		p.form = jsonFloat
	case reflect.String:
		p.form = jsonString
	case reflect.Interface:
		if p.form = jsonGeneral; t.NumMethod() == 0 {
			p.form = jsonInterface
		}
	case reflect.Pointer:
		p.form, p.elem = jsonPointer, ps.plan(t.Elem())
	case reflect.Slice:
		if p.form = jsonBytes; t.Elem().Kind() != reflect.Uint8 {
			p.form, p.elem = jsonSlice, ps.plan(t.Elem())
		}
	case reflect.Map:
		ps.fillMap(p)
	case reflect.Struct:
		p.form = jsonGeneral
		if fields, ok := ps.structFields(t); ok {
			p.form, p.fields = jsonStruct, fields
		}
	default: // arrays, and what JSON has not
		p.form = jsonGeneral
	}
}

func (ps *jsonPlans) fillMap(p *jsonPlan) {
	key := p.typ.Key()
	switch {
	case p.typ == stringMapType:
		p.form = jsonStringMap
	case key.Kind() != reflect.String || reflect.PointerTo(key).Implements(textUnmarshalerType):
		p.form = jsonGeneral
	default:
		p.form, p.elem = jsonMap, ps.plan(p.typ.Elem())
	}
}
