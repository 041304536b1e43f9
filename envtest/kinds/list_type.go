package kinds

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// validateListTypes checks that no two items of a set are equal, and no two items
// of a map have the same keys.
func validateListTypes(at *field.Path, x any, s *structural) field.ErrorList {
	if s == nil {
		return nil
	}
	var errs field.ErrorList
	switch x := x.(type) {
	case map[string]any:
		for name, value := range x {
			if property := s.properties[name]; property != nil {
				errs = append(errs, validateListTypes(at.Child(name), value, property)...)
			} else {
				errs = append(errs, validateListTypes(at.Key(name), value, s.additional)...)
			}
		}
	case []any:
		switch s.listType {
		case "set":
			for _, i := range duplicates(x) {
				errs = append(errs, field.Duplicate(at.Index(i), x[i]))
			}
		case "map":
			errs = append(errs, validateListMap(at, x, s)...)
		}
		for i, value := range x {
			errs = append(errs, validateListTypes(at.Index(i), value, s.items)...)
		}
	}
	return errs
}

func validateListMap(at *field.Path, list []any, s *structural) field.ErrorList {
	keys := make([]any, len(list))
	for i, item := range list {
		fields, ok := item.(map[string]any)
		if item != nil && !ok {
			return field.ErrorList{field.Invalid(at.Index(i), item, "must be an object for an array of list-type map")}
		}
		key := map[string]any{}
		for _, name := range s.mapKeys {
			if value, ok := fields[name]; ok {
				key[name] = value
			}
		}
		keys[i] = key
	}
	var errs field.ErrorList
	for _, i := range duplicates(keys) {
		errs = append(errs, field.Duplicate(at.Index(i), keys[i]))
	}
	return errs
}

// duplicates returns the index of each value that stands there a second time; a
// third and fourth time count for nothing.
func duplicates(list []any) []int {
	if len(list) < 2 {
		return nil
	}
	var again []int
	seen := make(map[string]int, len(list))
	for i, value := range list {
		text := canonical(value)
		if seen[text]++; seen[text] == 2 {
			again = append(again, i)
		}
	}
	return again
}

// mapKey returns what identifies an item of a list of type map.
func mapKey(item any, s *structural) (string, bool) {
	fields, ok := item.(map[string]any)
	if !ok {
		return "", false
	}
	key := make([]any, len(s.mapKeys))
	for i, name := range s.mapKeys {
		key[i] = fields[name]
	}
	return canonical(key), true
}

// canonical is a text that two values share if they are equal.
func canonical(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return "" // no JSON: cannot be in an unstructured object
	}
	return string(text)
}
