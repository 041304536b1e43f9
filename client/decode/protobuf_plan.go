package decode

import (
	"path/filepath"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"unsafe"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// plan says how to decode the messages of one Go type.
type plan struct {
	typ    reflect.Type
	how    how
	fields []*field // by number; nil for those that the type does not have
}

func (p *plan) field(number uint64) *field {
	if number < uint64(len(p.fields)) {
		return p.fields[number]
	}
	return nil
}

// literal makes the zero value at dst what T{} is: that of a slice or a map is
// not nil.
func (p *plan) literal(dst unsafe.Pointer) {
	switch p.typ.Kind() {
	case reflect.Slice:
		reflect.NewAt(p.typ, dst).Elem().Set(reflect.MakeSlice(p.typ, 0, 0))
	case reflect.Map:
		reflect.NewAt(p.typ, dst).Elem().Set(reflect.MakeMap(p.typ))
	}
}

// how is the way to decode a message.
type how uint8

const (
	byFields    how = iota // by plan.fields
	byTime                 // as metav1.Time does
	byMicroTime            // as metav1.MicroTime does
	byUnmarshal            // with the type's own method
)

// role is a message's place in the object.
type role uint8

const (
	within   role = iota // anywhere but:
	root                 // the object itself
	metadata             // its ObjectMeta
)

// shape is what a field is in Go.
type shape uint8

const (
	aString      shape = iota // string
	aStringPtr                // *string
	aBytes                    // []byte
	aBool                     // bool
	aBoolPtr                  // *bool
	aNumber                   // int32, uint32, int64, uint64
	aNumberPtr                // a pointer to one
	aMessage                  // T
	aMessagePtr               // *T
	someStrings               // []string
	someNumbers               // []int32 …
	someMessages              // []T
	aMap                      // map[string]T
	nothing                   // to be skipped
)

// field says how to decode one field.
type field struct {
	wire   uint64
	shape  shape
	offset uintptr
	typ    reflect.Type // in Go
	elem   reflect.Type // of a pointer, a slice, a map: what it has
	size   uintptr      // of elem; of a number
	sub    *plan        // of the message that typ or elem is

	// part is set if the known object's value is taken for equal bytes.
	part     bool
	partSalt sum
	// salt tells the values of typ from those of other types.
	salt sum
	// whole is the credit of the field's values, texts of the strings in them.
	whole, texts credit
}

// repeated reports whether the field's bytes are all values in a row, with
// their tags.
func (f *field) repeated() bool {
	return f.shape == someStrings || f.shape == someNumbers || f.shape == someMessages || f.shape == aMap || f.shape == nothing
}

type planKey struct {
	typ  reflect.Type
	role role
}

// planner makes plans by reflection over the generated types.
type planner struct {
	hasher            *hasher
	dropManagedFields bool
	plans             map[planKey]*plan
	salts             map[reflect.Type]sum
}

var (
	messageType    = reflect.TypeFor[message]()
	timeType       = reflect.TypeFor[metav1.Time]()
	microTimeType  = reflect.TypeFor[metav1.MicroTime]()
	objectMetaType = reflect.TypeFor[metav1.ObjectMeta]()
	typeMetaType   = reflect.TypeFor[metav1.TypeMeta]()
)

// salt returns what tells the values of a type from those of all others. Names
// would not do: there is a v1.Condition in several packages.
func (pl *planner) salt(typ reflect.Type) sum {
	s, ok := pl.salts[typ]
	if !ok {
		s = pl.hasher.salt("protobuf type " + strconv.Itoa(len(pl.salts)))
		pl.salts[typ] = s
	}
	return s
}

// plan returns the plan of a type whose pointer is a message.
func (pl *planner) plan(typ reflect.Type, role role) *plan {
	key := planKey{typ, role}
	if p := pl.plans[key]; p != nil {
		return p
	}
	p := &plan{typ: typ, how: byUnmarshal}
	pl.plans[key] = p // now: a type may contain itself
	switch {
	case typ == timeType:
		p.how = byTime
	case typ == microTimeType:
		p.how = byMicroTime
	case typ.Kind() == reflect.Struct && isGenerated(typ):
		if fields, ok := pl.fields(typ, role); ok {
			p.how, p.fields = byFields, fields
		}
	}
	return p
}

// isGenerated reports whether the type's Unmarshal is generated from its tags,
// not written by hand, nor that of an embedded type.
func isGenerated(typ reflect.Type) bool {
	method, ok := reflect.PointerTo(typ).MethodByName("Unmarshal")
	if !ok {
		return false
	}
	pc := method.Func.Pointer()
	file, _ := runtime.FuncForPC(pc).FileLine(pc)
	return strings.HasSuffix(filepath.Base(file), ".pb.go")
}

// maxPlanned bounds the table of a plan. The highest number in Kubernetes is
// below 100.
const maxPlanned = 512

// fields returns the fields of a struct, or false if there is one whose tag or
// type is not understood.
func (pl *planner) fields(typ reflect.Type, role role) ([]*field, bool) {
	var fields []*field
	for i := range typ.NumField() {
		sf := typ.Field(i)
		tag := sf.Tag.Get("protobuf")
		if tag == "" || tag == "-" {
			if isUnusual(sf) {
				return nil, false
			}
			continue
		}
		words := strings.Split(tag, ",")
		if len(words) < 2 {
			return nil, false
		}
		number, err := strconv.ParseUint(words[1], 10, 64)
		f, ok := pl.newField(sf, words[0])
		if err != nil || number == 0 || number > maxPlanned || !ok {
			return nil, false
		}
		for uint64(len(fields)) <= number {
			fields = append(fields, nil)
		}
		if fields[number] != nil {
			return nil, false
		}
		pl.place(f, sf, role)
		fields[number] = f
	}
	return fields, true
}

// isUnusual reports whether a field without a tag may get something from a
// message nevertheless.
func isUnusual(sf reflect.StructField) bool {
	_, oneOf := sf.Tag.Lookup("protobuf_oneof")
	return oneOf || strings.HasPrefix(sf.Name, "XXX_") || sf.Anonymous && sf.Type != typeMetaType
}

// place makes f what its place in the object asks for.
func (pl *planner) place(f *field, sf reflect.StructField, role role) {
	if role == within {
		return
	}
	if role == root && f.shape == aMessage && f.typ == objectMetaType {
		f.sub = pl.plan(f.typ, metadata)
		return
	}
	if role == metadata && sf.Name == "ManagedFields" && pl.dropManagedFields {
		f.shape = nothing
		return
	}
	switch f.shape {
	case aMessage:
		f.part = f.sub.how == byFields
	case aMessagePtr, someStrings, someMessages, aMap:
		f.part = true
	}
	f.partSalt = pl.hasher.salt("protobuf " + strconv.Itoa(int(role)) + sf.Name)
}
