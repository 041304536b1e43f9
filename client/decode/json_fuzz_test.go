package decode

import (
	"strings"
	"testing"
)

// oddTexts are values with something odd about them.
var oddTexts = []string{
	`"\u00e9\ud83d\ude00\ud83d \ude00\ud83d\u0041"`, `"\ud83d\ud83d\ude00"`, `"\ud83d12de00"`, `"\u12"`, `"\x"`, `"\'"`, `"\/\b\f\n\r\t\"\\"`,
	"\"\xff\xc3\"", "\"a\xe2\x28\xa1\"", "\"\x01\"", "\"\t\"", `"<>&\u2028"`, `"`, `"\`, `"\"`, `"\\`, `"\\"`,
	`1e3`, `-0`, `0`, `-`, `01`, `1.`, `1.0`, `.5`, `1e`, `1e+`, `1E-2`, `-0.0`, `1e400`, `-1`, `255`, `256`, `128`, `3000000000`,
	`9223372036854775807`, `9223372036854775808`, `-9223372036854775808`, `-9223372036854775809`, `18446744073709551615`,
	`18446744073709551616`, `999999999999999999`, `1000000000000000000`, `00`, `+1`, `0x1`, `NaN`, `Infinity`,
	`true`, `false`, `null`, `tru`, `nul`, `True`, `truex`, `nullnull`,
	`{}`, `[]`, `[null]`, `[1,]`, `[,1]`, `[,]`, `[1 2]`, `{"a":1,}`, `{,}`, `{"a"}`, `{"a":}`, `{"a" 1}`, `{a:1}`, `{1:1}`, `[}`, `{]`, `{"a":]}`,
	`{"a":1,"a":2}`, `{"a":{"b":1},"a":{"c":2}}`, `{"a":[1,2],"a":[3]}`, `{"A":1,"a":2}`, `{"d":{"x":1},"d":{"y":2}}`, `{"c":[{"a":1},{"a":2}],"c":[{"b":"x"}]}`, `{"":1}`, `{"":{"":""}}`, `{"\u0061":7}`,
	"{\"\xff\":1}", `{"a":null,"b":null,"c":null,"d":null,"e":null}`, `{"b":"x","more":"y","c":[{"a":1,"c":[{}]}],"d":{"e":[1.5,{}]}}`,
	`"aGVsbG8="`, `"aGVs\nbG8="`, `"!"`, `[1,2,300]`, `[1,2,3]`, `"2023-11-14T22:13:27Z"`, `"2023-02-30T22:13:27Z"`, `"2023-02-28T24:00:00Z"`,
	`"2023-11-14T22:13:27.5+01:00"`, `"0000-01-01T00:00:00Z"`, `"1h"`, `"500m"`, `"bad"`, `"127.0.0.1"`, `{"127.0.0.1":"a"}`, `{"1":"a","2":"b"}`,
	`{"bad":"x","good":"bad"}`, `"12"`, `"null"`, `" 12"`, `"Y_y"`, `Y`, `_`, "\x7f", `"{[}]"`, " \t\r\n1 ", "\v1", "\ufeff{}", "\x00", "1\x00",
	`[[{"a":1},null],null,[]]`, `{"a":{"A":1,"more":"m"},"b":null}`, `["a",null,"b"]`, `[1,"a",true,null,{},[]]`,
	`"` + strings.Repeat("long ", 50) + `\""`, `"` + strings.Repeat(`\\`, 70) + `"`, `"` + strings.Repeat(`\\`, 70) + `\"`,
}

// oddObjects have the odd texts in place of each field's value.
func oddObjects(fields ...string) (objects []string) {
	for _, text := range oddTexts {
		objects = append(objects, text, text+text, `{"metadata":`+text+`}`, `{"metadata":{"name":"a","labels":`+text+`}}`)
		for _, field := range fields {
			objects = append(objects, `{"kind":"Odd","metadata":{"name":"a"},"`+strings.ReplaceAll(field, ".", `":{"`)+`":`+text+
				strings.Repeat("}", 1+strings.Count(field, ".")))
		}
	}
	for _, depth := range []int{maxJSONDepth - 10, maxJSONDepth + 10, 9_990, 10_010} {
		objects = append(objects,
			`{"data":{"a":`+strings.Repeat(`[`, depth)+strings.Repeat(`]`, depth)+`}}`,
			strings.Repeat(`{"data":`, depth)+`1`+strings.Repeat(`}`, depth),
			`{"data":{"a":`+strings.Repeat(`[`, depth)+`}}`)
	}
	many := `{"metadata":{"name":"a"}` + strings.Repeat(`,"a":{}`, 3)
	for i := range 2 * maxMembers {
		many += `,"` + strings.Repeat("k", i) + `":` + strings.Repeat("1", i+1)
	}
	return append(objects, many+"}", ``, ` `, `{`, `{"metadata":{"name":"a"}} x`, `{"metadata":{"name":"a"}},`, `{"metadata":{"name":"a"}}{}`,
		`{"spec":{"i8":1,"I8":2},"kind":1}`, `{"metadata":{"name":"a"}} "\`, `{"metadata":{"name":"a"}}"\x"`, `{"kind":"A","kind":"B"}`, `{"kind":"A","apiVersion":"a/b/c"}`, `{"kind":["A"]}`, `{"kind":"A","spec":{"named":["a"],"named":[1]}}`,
		`{"metadata":{"name":"a","managedFields":[{"manager":"m"}]},"labels":{"a":"0123456789012345678901234"}}`,
		`{"metadata":{"name":"a","labels":{"a":"0123456789012345678901234"}},"labels":{"a":"1123456789012345678901234"}}`,
		`{"metadata":{"name":"a","managedFields":1}}`, `{"metadata":{"name":"a"},"metadata":{"labels":{"a":"b"}}}`)
}

// oddFields are the fields of odd, by their names in JSON.
var oddFields = []string{
	"spec", "status", "data", "labels", "Pod", "Pod.containers", "metadata", "apiVersion", "spec.More", "spec.I8", "spec.I16", "spec.I32", "spec.I64", "spec.I",
	"spec.U8", "spec.U64", "spec.F32", "spec.F64", "spec.B", "spec.Strings", "spec.named", "spec.nested", "spec.fixed", "spec.bytes", "spec.namedByte", "spec.any",
	"spec.anys", "spec.stringer", "spec.raw", "spec.rawPtr", "spec.Ext", "spec.quantity", "spec.resources", "spec.port", "spec.time", "spec.timePtr", "spec.micro",
	"spec.duration", "spec.goTime", "spec.address", "spec.addresses", "spec.intKeys", "spec.namedKeys", "spec.textKeys", "spec.structs", "spec.number", "spec.quoted",
	"spec.ptr2", "spec.ptrStr", "spec.ptrBool", "spec.ptrPart", "spec.parts", "spec.ptrSlice", "spec.ptrMap", "spec.lower", "spec.anonymous", "spec.anonymous.A",
	"spec.plain", "spec.conflict", "spec.conflict.X", "spec.behind", "spec.behind.Behind", "spec.self", "spec.self.parts", "other", "other.labels", `spec.ünïcode`,
	"spec.NAMED", "status.parts", "status.named", "data.a", "unknown", "unknown.a", "spec.unknown",
}

// Contract 1, with what is odd in each place, one Decoder for all: what is wrong
// in one text must not show in the next.
func TestOddJSONIsDecodedAsBySigsJSON(t *testing.T) {
	for name, d := range jsonDecoders(false) {
		t.Run(name, func(t *testing.T) {
			objects := oddObjects("data", "spec.any", "status.phase")
			if name == "odd" {
				objects = oddObjects(oddFields...)
			}
			for _, object := range objects {
				checkJSON(t, d, []byte(object))
				checkJSON(t, d, []byte(object))
			}
		})
	}
}

func fuzzJSON(f *testing.F, names ...string) {
	for _, object := range oddObjects("spec.any", "spec.parts", "data") {
		if len(object) < 1000 {
			f.Add([]byte(object), []byte(`{"metadata":{"name":"a"},"spec":{"parts":[{"a":1}]}}`))
		}
	}
	f.Add(testPod(f), testPod(f)[:5000])
	decoders := jsonDecoders(false) // one for all: to make their plans takes longer than all the rest
	f.Fuzz(func(t *testing.T, first, second []byte) {
		for _, name := range names {
			for _, data := range [][]byte{first, second, first} {
				checkJSON(t, decoders[name], data)
			}
		}
	})
}

func FuzzJSONTyped(f *testing.F) { fuzzJSON(f, "typed", "odd", "metadata") }

func FuzzJSONUnstructured(f *testing.F) { fuzzJSON(f, "unstructured") }
