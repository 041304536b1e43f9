package kinds

import (
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
)

// prune removes from an object the fields that its schema does not know, and
// returns their paths, sorted. It leaves alone apiVersion, kind and metadata: who
// decodes an object, of whatever kind, takes care of those.
func prune(object map[string]any, s *structural) []string {
	p := &pruner{}
	p.fields(object, s, true)
	slices.Sort(p.unknown)
	return p.unknown
}

// pruner is one pass over an object.
type pruner struct {
	path    []string
	unknown []string
}

func (p *pruner) prune(x any, s *structural) {
	switch x := x.(type) {
	case map[string]any:
		if s.embedded {
			p.metadata(x)
		}
		p.fields(x, s, s.embedded)
	case []any:
		for i, value := range x {
			// Below a list without a schema of its items nothing is known.
			switch {
			case s.items != nil && s.preserve: // for the items, too
				items := *s.items
				items.preserve = true
				p.below(index(i), value, &items)
			case s.items != nil:
				p.below(index(i), value, s.items)
			case !s.preserve:
				p.below(index(i), value, &structural{})
			}
		}
	}
}

// fields prunes the fields of an object, which is a resource or not.
func (p *pruner) fields(object map[string]any, s *structural, resource bool) {
	for name, value := range object {
		if resource && isMeta(name) {
			continue
		}
		switch sub := s.of(name); {
		case sub != nil:
			p.below(dot(name), value, sub)
		case s == nil || !s.preserve:
			p.unknown = append(p.unknown, strings.TrimPrefix(strings.Join(p.path, "")+dot(name), "."))
			delete(object, name)
		}
	}
}

// metadata drops what metav1.ObjectMeta does not know. Metadata that cannot be
// read stays as it is, for validation to complain of.
func (p *pruner) metadata(object map[string]any) {
	meta, ok := object["metadata"].(map[string]any)
	if _, err := readMetadata(object); !ok || err != nil {
		return
	}
	unknown := (&pruner{path: append(slices.Clone(p.path), dot("metadata"))})
	unknown.prune(meta, metadataStructural())
	p.unknown = append(p.unknown, unknown.unknown...)
	if meta["creationTimestamp"] == nil {
		delete(meta, "creationTimestamp")
	}
}

func (p *pruner) below(step string, x any, s *structural) {
	p.path = append(p.path, step)
	p.prune(x, s)
	p.path = p.path[:len(p.path)-1]
}

func dot(name string) string { return "." + name }
func index(i int) string     { return "[" + strconv.Itoa(i) + "]" }

func isMeta(field string) bool {
	return field == "apiVersion" || field == "kind" || field == "metadata"
}

// setDefaults fills in the defaults of a schema: fields that are missing, or null
// where null is not allowed. A null that is neither allowed nor has a default is
// removed.
func setDefaults(x any, s *structural) {
	if s == nil {
		return
	}
	switch x := x.(type) {
	case map[string]any:
		for name, property := range s.properties {
			if value, found := x[name]; property.fallback != nil && (!found || value == nil && !property.nullable) {
				x[name] = runtime.DeepCopyJSONValue(property.fallback)
			}
		}
		for name, value := range x {
			sub := s.of(name)
			if value == nil && sub != nil && !sub.nullable {
				if sub.fallback == nil {
					delete(x, name)
					continue
				}
				x[name] = runtime.DeepCopyJSONValue(sub.fallback)
			}
			setDefaults(x[name], sub)
		}
	case []any:
		for i := range x {
			if x[i] == nil && s.items != nil && !s.items.nullable {
				x[i] = runtime.DeepCopyJSONValue(s.items.fallback)
			}
			setDefaults(x[i], s.items)
		}
	}
}
