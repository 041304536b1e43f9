package kinds

import (
	_ "embed"
	"encoding/json"
	"slices"
	"sync"

	"governor/scheme"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
)

// builtinJSON is the table of the resources that a Kubernetes 1.37 API server
// serves by default, a line each, in the order of its discovery. It is recorded
// from a real one: see table_e2e_test.go.
//
//go:embed builtin.json
var builtinJSON []byte

// row is a line of the table.
type row struct {
	Group        string           `json:"group,omitempty"`
	Version      string           `json:"version"`
	Resource     string           `json:"resource"`
	Singular     string           `json:"singular"`
	Kind         string           `json:"kind"`
	Namespaced   bool             `json:"namespaced,omitempty"`
	ShortNames   []string         `json:"shortNames,omitempty"`
	Categories   []string         `json:"categories,omitempty"`
	Verbs        []string         `json:"verbs"`
	Storage      string           `json:"storage,omitempty"` // group/version; none if not stored
	Subresources []subresourceRow `json:"subresources,omitempty"`
}

type subresourceRow struct {
	Name    string   `json:"name"`
	Group   string   `json:"group,omitempty"`
	Version string   `json:"version"`
	Kind    string   `json:"kind"`
	Verbs   []string `json:"verbs"`
}

// builtinTable parses the table, once per process.
var builtinTable = sync.OnceValue(func() []row {
	var rows []row
	if err := json.Unmarshal(builtinJSON, &rows); err != nil {
		panic("kinds: builtin.json: " + err.Error()) // embedded: our own mistake
	}
	return rows
})

// builtinResources returns the resources of the table whose kinds s knows.
func builtinResources(s *scheme.Scheme, fields *typedFields) []*Resource {
	known := s.AllKnownTypes()
	var all []*Resource
	versions := map[schema.GroupResource][]schema.GroupVersion{} // served ones
	for _, row := range builtinTable() {
		gvk := schema.GroupVersionKind{Group: row.Group, Version: row.Version, Kind: row.Kind}
		if known[gvk] == nil && gvk != crdKind {
			continue
		}
		r := row.resource()
		versions[r.GroupVersionResource.GroupResource()] = append(versions[r.GroupVersionResource.GroupResource()], gvk.GroupVersion())
		all = append(all, r)
	}
	for _, r := range all {
		// The server may store a version that it does not serve by default. We have
		// no conversion, and nobody can see: then it is the one that is served.
		served := versions[r.GroupVersionResource.GroupResource()]
		if r.Storage == r.GroupVersionResource.GroupResource() && !slices.Contains(served, r.StorageVersion) {
			r.StorageVersion = served[0]
		}
	}
	for _, r := range all {
		if r.GroupVersionKind == crdKind {
			defineCRDs(r)
			continue
		}
		r.FieldManager = fieldManagers(r, func(subresource string) *managedfields.FieldManager {
			return fields.manager(r, subresource, resets(r, subresource, versions[r.GroupVersionResource.GroupResource()]))
		})
	}
	return all
}

// resource returns the Resource of a row.
func (row *row) resource() *Resource {
	gv := schema.GroupVersion{Group: row.Group, Version: row.Version}
	r := &Resource{
		GroupVersionResource: gv.WithResource(row.Resource),
		GroupVersionKind:     gv.WithKind(row.Kind),
		ListKind:             row.Kind + "List",
		Singular:             row.Singular,
		ShortNames:           row.ShortNames,
		Categories:           row.Categories,
		Namespaced:           row.Namespaced,
		Verbs:                row.Verbs,
		Subresources:         make(map[string]*Subresource, len(row.Subresources)),
	}
	if row.Storage != "" {
		r.StorageVersion, _ = schema.ParseGroupVersion(row.Storage)
		r.Storage = schema.GroupResource{Group: r.StorageVersion.Group, Resource: row.Resource}
	}
	for _, sub := range row.Subresources {
		r.Subresources[sub.Name] = &Subresource{
			Kind:  schema.GroupVersionKind{Group: sub.Group, Version: sub.Version, Kind: sub.Kind},
			Verbs: sub.Verbs,
		}
	}
	return r
}
