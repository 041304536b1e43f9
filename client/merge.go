package client

import (
	"bytes"
	"encoding/json"
	"reflect"
)

// mergeDifference returns the JSON merge patch (RFC 7386) that makes modified
// out of base. Numbers are compared and kept as they are spelled: no integer
// is too large.
func mergeDifference(base, modified []byte) (map[string]any, error) {
	from, err := decodeNumbers(base)
	if err != nil {
		return nil, err
	}
	to, err := decodeNumbers(modified)
	if err != nil {
		return nil, err
	}
	return changes(from, to), nil
}

// changes returns what to adds, changes and (as null) removes.
func changes(from, to map[string]any) map[string]any {
	patch := map[string]any{}
	for key := range from {
		if _, ok := to[key]; !ok {
			patch[key] = nil
		}
	}
	for key, value := range to {
		old, ok := from[key]
		if !ok {
			patch[key] = value
			continue
		}
		oldMap, isMap := old.(map[string]any)
		newMap, isStillMap := value.(map[string]any)
		if isMap && isStillMap {
			if inner := changes(oldMap, newMap); len(inner) > 0 {
				patch[key] = inner
			}
			continue
		}
		if !reflect.DeepEqual(old, value) {
			patch[key] = value
		}
	}
	return patch
}

// decodeNumbers decodes a JSON object; numbers stay as they are spelled.
func decodeNumbers(data []byte) (map[string]any, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var m map[string]any
	return m, dec.Decode(&m)
}
