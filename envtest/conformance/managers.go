package conformance

import (
	"slices"
	"strings"
)

// managedFields writes metadata.managedFields as people think of them: one line
// for each manager, with the paths of the fields that it owns.
func managedFields(meta map[string]any) {
	entries, ok := meta["managedFields"].([]any)
	if !ok {
		return
	}
	var lines []any
	for _, e := range entries {
		entry, _ := e.(map[string]any)
		text := func(key string) string { s, _ := entry[key].(string); return s }
		line := []string{text("manager"), text("operation"), text("apiVersion")}
		if sub := text("subresource"); sub != "" {
			line = append(line, "/"+sub)
		}
		if text("time") == "" {
			line = append(line, "(no time)")
		}
		fields, _ := entry["fieldsV1"].(map[string]any)
		var paths []string
		leaves(fields, "", &paths)
		slices.Sort(paths)
		lines = append(lines, strings.Join(line, " ")+": "+strings.Join(paths, " "))
	}
	meta["managedFields"] = lines
}

// leaves appends the paths of a set of fields: f:spec{f:replicas{}} is spec.replicas,
// an item of a list by its key is containers[name=a].
func leaves(set map[string]any, path string, paths *[]string) {
	for key, value := range set {
		below, _ := value.(map[string]any)
		if key == "." {
			*paths = append(*paths, path)
			continue
		}
		kind, name, _ := strings.Cut(key, ":")
		at := path + "[" + strings.NewReplacer(`"`, "", "{", "", "}", "", ":", "=").Replace(name) + "]"
		if kind == "f" {
			at = strings.TrimPrefix(path+"."+name, ".")
		}
		if len(below) == 0 {
			*paths = append(*paths, at)
			continue
		}
		leaves(below, at, paths)
	}
}
