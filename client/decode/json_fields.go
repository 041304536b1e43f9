package decode

import (
	"reflect"
	"strings"
	"unicode"
)

// structFields returns the fields of a struct by their names in JSON. It is not
// ok if the struct is one for sigs.k8s.io/json: two fields have one name, or an
// embedded struct is behind a pointer or is not exported.
func (ps *jsonPlans) structFields(t reflect.Type) (map[string]*jsonField, bool) {
	fields := map[string]*jsonField{}
	if !ps.addFields(fields, t, 0) || len(fields) > maxJSONFields {
		return nil, false
	}
	if t == objectMetaType {
		for _, name := range []string{"name", "uid", "resourceVersion"} {
			fields[name].unique = true
		}
	}
	return fields, true
}

// addFields adds the fields of t, which is embedded at offset.
func (ps *jsonPlans) addFields(fields map[string]*jsonField, t reflect.Type, offset uintptr) bool {
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Tag.Get("json") == "-" || !f.IsExported() && !f.Anonymous {
			continue
		}
		if !validJSONName(name) {
			name = ""
		}
		if f.Anonymous && !f.IsExported() {
			return false
		}
		if f.Anonymous && name == "" {
			switch {
			case f.Type.Kind() == reflect.Pointer:
				return false
			case f.Type.Kind() == reflect.Struct:
				if !ps.addFields(fields, f.Type, offset+f.Offset) {
					return false
				}
				continue
			}
		}
		if name == "" {
			name = f.Name
		}
		if fields[name] != nil {
			return false
		}
		plan := ps.plan(f.Type)
		if hasOption(options, "string") {
			plan = &jsonPlan{form: jsonStrange, typ: f.Type}
		}
		fields[name] = &jsonField{
			jsonSite: newJSONSite(),
			plan:     plan,
			name:     name,
			index:    len(fields),
			offset:   offset + f.Offset,
		}
	}
	return true
}

func hasOption(options, option string) bool {
	for o := range strings.SplitSeq(options, ",") {
		if o == option {
			return true
		}
	}
	return false
}

// validJSONName reports whether a tag's name counts, as encoding/json has it.
func validJSONName(name string) bool {
	for _, c := range name {
		if !strings.ContainsRune("!#$%&()*+-./:;<=>?@[]^_{|}~ ", c) && !unicode.IsLetter(c) && !unicode.IsDigit(c) {
			return false
		}
	}
	return name != ""
}
