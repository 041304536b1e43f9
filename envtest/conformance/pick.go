package conformance

import (
	"fmt"
	"slices"
	"strings"
)

// pick leaves only some fields of a value: "spec.replicas", "items.metadata.name"
// (of each item), "resources[name=pods,nodes].verbs" (of those items).
func pick(value any, paths []string) any {
	var picked any
	for _, p := range paths {
		picked = merge(picked, pickOne(value, split(p)))
	}
	return picked
}

// split cuts a path at its dots, but not in brackets.
func split(path string) []string {
	var parts []string
	depth, start := 0, 0
	for i, r := range path {
		switch {
		case r == '[':
			depth++
		case r == ']':
			depth--
		case r == '.' && depth == 0:
			parts = append(parts, path[start:i])
			start = i + 1
		}
	}
	return append(parts, path[start:])
}

func pickOne(value any, path []string) any {
	if len(path) == 0 {
		return value
	}
	switch v := value.(type) {
	case []any:
		picked := []any{}
		for _, item := range v {
			picked = append(picked, pickOne(item, path))
		}
		return picked
	case map[string]any:
		key, condition, filtered := strings.Cut(strings.TrimSuffix(path[0], "]"), "[")
		below, ok := v[key]
		if !ok {
			return nil
		}
		if list, ok := below.([]any); ok && filtered {
			below = those(list, condition)
		}
		if picked := pickOne(below, path[1:]); picked != nil {
			return map[string]any{key: picked}
		}
	}
	return nil
}

// those returns the items of which a field has one of the values: "name=pods,nodes".
func those(list []any, condition string) []any {
	field, values, _ := strings.Cut(condition, "=")
	found := []any{}
	for _, item := range list {
		if slices.Contains(strings.Split(values, ","), fmt.Sprint(at(item, field))) {
			found = append(found, item)
		}
	}
	return found
}

// at returns the field at a path, nil when there is none.
func at(value any, path string) any {
	for _, key := range split(path) {
		m, ok := value.(map[string]any)
		if !ok {
			return nil
		}
		key, condition, filtered := strings.Cut(strings.TrimSuffix(key, "]"), "[")
		value = m[key]
		if list, ok := value.([]any); ok && filtered {
			if value = nil; len(those(list, condition)) > 0 {
				value = those(list, condition)[0]
			}
		}
	}
	return value
}

// merge unites two picks of one value.
func merge(a, b any) any {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok {
			return a
		}
		for k := range b {
			a[k] = merge(a[k], b[k])
		}
		return a
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return a
		}
		for i := range a {
			a[i] = merge(a[i], b[i])
		}
		return a
	}
	return a
}
