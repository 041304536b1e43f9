package conformance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// width is how long a line of an answer may be, unless one scalar is longer.
const width = 110

// first are the keys that stand before the others, as people write objects.
var first = []string{"apiVersion", "kind", "metadata", "name", "namespace", "type", "spec", "status"}

// render writes a JSON value as YAML: each map or list on one line where it fits.
func render(value any) []string {
	m, ok := value.(map[string]any)
	if !ok || len(m) == 0 {
		return block(value, 0)
	}
	return blockMap(m, 0)
}

func block(value any, indent int) []string {
	if line := flow(value, false); len(line)+indent <= width {
		return []string{line}
	}
	switch v := value.(type) {
	case map[string]any:
		return blockMap(v, indent)
	case []any:
		var lines []string
		for _, item := range v {
			bullet := "- "
			for _, line := range block(item, indent+2) {
				lines = append(lines, bullet+line)
				bullet = "  "
			}
		}
		return lines
	}
	return []string{flow(value, false)}
}

func blockMap(m map[string]any, indent int) []string {
	var lines []string
	for _, k := range keys(m) {
		key := scalar(k, true) + ":"
		if line := flow(m[k], false); len(key)+1+len(line)+indent <= width || isScalar(m[k]) {
			lines = append(lines, key+" "+line)
			continue
		}
		lines = append(lines, key)
		for _, line := range block(m[k], indent+2) {
			lines = append(lines, "  "+line)
		}
	}
	return lines
}

func isScalar(value any) bool {
	switch value.(type) {
	case map[string]any, []any:
		return false
	}
	return true
}

// flow writes a value on one line; inside says whether brackets surround it.
func flow(value any, inside bool) string {
	var parts []string
	switch v := value.(type) {
	case map[string]any:
		for _, k := range keys(v) {
			parts = append(parts, scalar(k, true)+": "+flow(v[k], true))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case []any:
		for _, item := range v {
			parts = append(parts, flow(item, true))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case string:
		return scalar(v, inside)
	}
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(text)
}

func keys(m map[string]any) []string {
	var ks []string
	for k := range m {
		ks = append(ks, k)
	}
	rank := func(k string) int {
		if i := slices.Index(first, k); i >= 0 {
			return i
		}
		return len(first)
	}
	slices.SortFunc(ks, func(a, b string) int {
		if d := rank(a) - rank(b); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	return ks
}

// plain is what YAML reads as a string without quotes.
var plain = regexp.MustCompile(`^[A-Za-z$/._(<*…][^\n\t]*$`)

func scalar(s string, inside bool) string {
	_, number := strconv.ParseFloat(s, 64)
	switch {
	case !plain.MatchString(s), number == nil,
		slices.Contains([]string{"true", "false", "null", "yes", "no", "on", "off", "y", "n"}, strings.ToLower(s)),
		strings.Contains(s, ": "), strings.Contains(s, " #"), strings.HasSuffix(s, ":"), strings.HasSuffix(s, " "),
		s[0] == '*', inside && strings.ContainsAny(s, ",[]{}\""):
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		if e.Encode(s) != nil {
			return strconv.Quote(s)
		}
		return strings.TrimSpace(b.String())
	}
	return s
}
