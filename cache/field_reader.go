package cache

import (
	"reflect"
	"strconv"
	"strings"

	"governor/client"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// fieldReader returns how to read a field of a kind without an index, or nil.
func fieldReader(kind schema.GroupKind, field string) readFunc {
	if field == client.FieldOwnerUID {
		return owners
	}
	label, known := fieldLabelOf(kind, field)
	if !known {
		return nil
	}
	read := label.reader()
	switch field { // these need no reflection, nor decoding
	case fieldName:
		read = client.Object.GetName
	case fieldNamespace:
		read = client.Object.GetNamespace
	}
	return func(values []string, o client.Object) []string { return append(values, read(o)) }
}

// owners reads the UIDs of an object's owners.
func owners(values []string, o client.Object) []string {
	for _, r := range o.GetOwnerReferences() {
		values = append(values, string(r.UID))
	}
	return values
}

// reader returns a function that reads the field of objects that are stored. It
// is for one goroutine: it remembers how to read the last type.
func (l fieldLabel) reader() func(client.Object) string {
	var known reflect.Type
	var steps [][]string // names; for the unstructured
	var ways [][]int     // positions in structs; for the typed
	for _, p := range l.paths {
		steps = append(steps, strings.Split(p, "."))
	}
	return func(o client.Object) string {
		o = expand(o)
		if u, ok := o.(*unstructured.Unstructured); ok {
			for _, s := range steps {
				if v := loose(u.Object, s); v != "" {
					return v
				}
			}
			return l.zero
		}
		v := reflect.ValueOf(o).Elem()
		if v.Type() != known {
			known, ways = v.Type(), nil
			for _, s := range steps {
				ways = append(ways, wayTo(known, s))
			}
		}
		for _, w := range ways {
			if v := walk(v, w); v != "" {
				return v
			}
		}
		return l.zero
	}
}

// loose reads the text at a path of JSON values.
func loose(v any, path []string) string {
	for _, step := range path {
		switch in := v.(type) {
		case map[string]any:
			v = in[step]
		case []any:
			n, err := strconv.Atoi(step)
			if err != nil || n >= len(in) {
				return ""
			}
			v = in[n]
		}
	}
	switch v := v.(type) {
	case string:
		return v
	case bool:
		return strconv.FormatBool(v)
	case int64:
		return strconv.FormatInt(v, 10)
	}
	return ""
}

// wayTo returns the positions of the fields that a path of JSON names leads
// through, nil if the type has no such field.
func wayTo(t reflect.Type, path []string) (way []int) {
	for _, step := range path {
		for t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		switch t.Kind() {
		case reflect.Struct:
			n := fieldNamed(t, step)
			if n < 0 {
				return nil
			}
			way, t = append(way, n), t.Field(n).Type
		case reflect.Slice:
			n, err := strconv.Atoi(step)
			if err != nil {
				return nil
			}
			way, t = append(way, n), t.Elem()
		default:
			return nil
		}
	}
	return way
}

func fieldNamed(t reflect.Type, name string) int {
	for i := range t.NumField() {
		if tag, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ","); tag == name {
			return i
		}
	}
	return -1
}

// walk reads the text at the end of a way; that of what is absent is empty.
func walk(v reflect.Value, way []int) string {
	if way == nil {
		return ""
	}
	for _, n := range way {
		for v.Kind() == reflect.Pointer {
			if v.IsNil() {
				return ""
			}
			v = v.Elem()
		}
		if v.Kind() == reflect.Slice {
			if n >= v.Len() {
				return ""
			}
			v = v.Index(n)
			continue
		}
		v = v.Field(n)
	}
	for v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return ""
		}
		v = v.Elem()
	}
	switch v.Kind() {
	case reflect.String:
		return v.String()
	case reflect.Bool:
		return strconv.FormatBool(v.Bool())
	case reflect.Int32, reflect.Int64:
		return strconv.FormatInt(v.Int(), 10)
	}
	return ""
}

// labelsOf returns the labels of an object. Those of an unstructured one are not
// copied.
func labelsOf(o client.Object) labels.Labels {
	u, ok := o.(*unstructured.Unstructured)
	if !ok {
		return labels.Set(o.GetLabels())
	}
	metadata, _ := u.Object["metadata"].(map[string]any)
	found, _ := metadata["labels"].(map[string]any)
	return looseLabels(found)
}

// looseLabels are labels as JSON has them.
type looseLabels map[string]any

// Has implements labels.Labels.
func (l looseLabels) Has(key string) bool {
	_, has := l.Lookup(key)
	return has
}

// Get implements labels.Labels.
func (l looseLabels) Get(key string) string {
	value, _ := l.Lookup(key)
	return value
}

// Lookup implements labels.Labels.
func (l looseLabels) Lookup(key string) (value string, has bool) {
	value, has = l[key].(string)
	return value, has
}
