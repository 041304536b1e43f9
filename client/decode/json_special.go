package decode

import (
	"encoding/json"
	"reflect"
	"time"
	"unsafe"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kjson "sigs.k8s.io/json"
)

// special decodes values of types that have rules of their own.
func (t *jsonTyped) special(plan *jsonPlan, p unsafe.Pointer) bool {
	if plan.form == jsonGeneral {
		return t.general(plan, p)
	}
	place, ok := t.place()
	if !ok || !t.skip() {
		return false
	}
	data := t.bytes(place)
	if plan.form == jsonTime {
		if moment, ok := jsonMoment(data); ok {
			(*metav1.Time)(p).Time = moment
			return true
		}
	}
	if plan.cloned {
		data = append([]byte(nil), data...)
	}
	return reflect.NewAt(plan.typ, p).Interface().(json.Unmarshaler).UnmarshalJSON(data) == nil
}

// general decodes the next value with sigs.k8s.io/json.
func (t *jsonTyped) general(plan *jsonPlan, p unsafe.Pointer) bool {
	place, ok := t.place()
	if !ok || !t.skip() {
		return false
	}
	return kjson.UnmarshalCaseSensitivePreserveInts(t.bytes(place), reflect.NewAt(plan.typ, p).Interface()) == nil
}

// jsonMoment returns the time that metav1.Time makes of the usual form,
// "2023-11-14T22:13:27Z". It leaves the end of a month to the time package.
func jsonMoment(quoted []byte) (time.Time, bool) {
	if len(quoted) != len(`"2006-01-02T15:04:05Z"`) {
		return time.Time{}, false
	}
	for i, c := range []byte(`"0000-00-00T00:00:00Z"`) {
		if c == '0' && (quoted[i] < '0' || quoted[i] > '9') || c != '0' && quoted[i] != c {
			return time.Time{}, false
		}
	}
	two := func(i int) int { return int(quoted[i]-'0')*10 + int(quoted[i+1]-'0') }
	year, month, day := two(1)*100+two(3), two(6), two(9)
	hour, minute, second := two(12), two(15), two(18)
	if month < 1 || month > 12 || day < 1 || day > 28 || hour > 23 || minute > 59 || second > 59 {
		return time.Time{}, false
	}
	return time.Date(year, time.Month(month), day, hour, minute, second, 0, time.UTC).Local(), true
}
