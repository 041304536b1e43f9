package decode

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	kjson "sigs.k8s.io/json"
)

// odd is a custom resource with every kind of field.
type odd struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   oddSpec        `json:"spec,omitempty"`
	Status *oddSpec       `json:"status,omitempty"`
	Data   map[string]any `json:"data"`
	Pod    corev1.PodSpec
	Labels map[string]string `json:"labels"` // also a part of metadata
	Other  metav1.ObjectMeta `json:"other"`
}

// DeepCopyObject makes odd a runtime.Object.
func (o *odd) DeepCopyObject() runtime.Object { return o }

type oddSpec struct {
	OddNumbers
	Strings   []string
	Named     []oddString         `json:"named"`
	Nested    [][]map[string]*int `json:"nested"`
	Fixed     [2]int              `json:"fixed"`
	Bytes     []byte              `json:"bytes"`
	NamedByte []oddByte           `json:"namedByte"`
	Any       any                 `json:"any"`
	Anys      []any               `json:"anys"`
	Stringer  fmt.Stringer        `json:"stringer"`
	Raw       json.RawMessage     `json:"raw"`
	RawPtr    *json.RawMessage    `json:"rawPtr"`
	Ext       runtime.RawExtension
	Quantity  resource.Quantity            `json:"quantity"`
	Resources map[string]resource.Quantity `json:"resources"`
	Port      *intstr.IntOrString          `json:"port"`
	Time      metav1.Time                  `json:"time"`
	TimePtr   *metav1.Time                 `json:"timePtr"`
	Micro     metav1.MicroTime             `json:"micro"`
	Duration  metav1.Duration              `json:"duration"`
	GoTime    time.Time                    `json:"goTime"`
	Address   netip.Addr                   `json:"address"`
	Addresses map[netip.Addr]string        `json:"addresses"`
	IntKeys   map[int]string               `json:"intKeys"`
	NamedKeys map[oddString]int            `json:"namedKeys"`
	TextKeys  map[oddText]oddText          `json:"textKeys"`
	Structs   map[string]oddPart           `json:"structs"`
	Number    json.Number                  `json:"number"`
	Quoted    int                          `json:"quoted,string"`
	Ptr2      **int                        `json:"ptr2"`
	PtrStr    *string                      `json:"ptrStr"`
	PtrBool   *bool                        `json:"ptrBool"`
	PtrPart   *oddPart                     `json:"ptrPart"`
	Parts     []oddPart                    `json:"parts"`
	PtrSlice  *[]int                       `json:"ptrSlice"`
	PtrMap    *map[string]string           `json:"ptrMap"`
	Lower     oddLower                     `json:"lower"`
	Anonymous struct {
		A int
		metav1.Time
	} `json:"anonymous"`
	Plain    struct{ A, B int } `json:"plain"`
	Conflict oddConflict        `json:"conflict"`
	Behind   oddBehind          `json:"behind"`
	Self     *oddSpec           `json:"self"`
	Minus    int                `json:"-"`
	Ünïcode  int                `json:"ünïcode"`
}

type (
	oddString string
	oddByte   byte
)

// OddNumbers is embedded, so its name is exported.
type OddNumbers struct {
	I8  int8
	I16 int16
	I32 int32
	I64 int64
	I   int
	U8  uint8
	U64 uint64
	F32 float32
	F64 float64
	B   bool
}

// OddMore is embedded as well.
type OddMore struct {
	More string `json:"more"`
}

// OddPointers is embedded behind a pointer.
type OddPointers struct{ Behind string }

type oddPart struct {
	OddMore `json:",inline"`
	A       int            `json:"a"`
	B       string         `json:"b"`
	C       []oddPart      `json:"c"`
	D       map[string]any `json:"d"`
	E       *bool          `json:"e"`
}

type oddBehind struct {
	*OddPointers
	A int
}

// oddConflict has two fields X, so that JSON sees none.
type oddConflict struct {
	OddX
	OddY
	C int
}

// OddX is embedded.
type OddX struct{ X int }

// OddY is embedded.
type OddY struct{ X int }

// oddText has TextUnmarshaler only.
type oddText string

func (o *oddText) UnmarshalText(text []byte) error {
	if string(text) == "bad" {
		return fmt.Errorf("bad text")
	}
	*o = oddText(strings.ToUpper(string(text)))
	return nil
}

// oddLower has an Unmarshaler that keeps the bytes that it gets, as it should
// not.
type oddLower struct{ Raw []byte }

func (o *oddLower) UnmarshalJSON(data []byte) error {
	if string(data) == `"bad"` {
		return fmt.Errorf("bad JSON")
	}
	o.Raw = data
	return nil
}

// oddTags are tags that no linter would let pass, on fields A, B and so on.
var oddTags = []reflect.StructTag{`json:"-,"`, `json:"b\"name"`, `json:"-"`, `json:","`, `json:"e,unknown"`, `json:" f"`, `json:"a/b~c"`, `json`, `json:"\u00fc"`}

// Contract 1: names are what encoding/json takes for names.
func TestOddTagsOfJSON(t *testing.T) {
	var fields []reflect.StructField
	names := []string{`"none":0`}
	for i, tag := range oddTags {
		name := string(rune('A' + i))
		fields = append(fields, reflect.StructField{Name: name, Tag: tag, Type: reflect.TypeFor[int]()})
		tagged, _, _ := strings.Cut(tag.Get("json"), ",")
		quoted, _ := json.Marshal(tagged)
		names = append(names, fmt.Sprintf(`"%s":%d`, name, i+1), fmt.Sprintf(`%s:%d`, quoted, 10*i+10))
	}
	typ := reflect.StructOf(fields)
	d := New(func() Object { return &odd{} }, nil)
	o := newJSONObjects(d)
	plan := (&jsonPlans{hasher: &d.hasher, plans: map[reflect.Type]*jsonPlan{}}).plan(typ)
	for _, name := range names {
		data := []byte("{" + name + "}")
		got, want := reflect.New(typ), reflect.New(typ)
		if err := kjson.UnmarshalCaseSensitivePreserveInts(data, want.Interface()); err != nil {
			t.Fatal(err)
		}
		if !o.begin(data) || !o.typed.value(plan, got.UnsafePointer(), nil) || !reflect.DeepEqual(got.Interface(), want.Interface()) {
			t.Errorf("%s: %v, want %v", data, got.Elem(), want.Elem())
		}
	}
}
