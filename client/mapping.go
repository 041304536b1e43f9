package client

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// mappings is what one discovery told, indexed. It never changes.
type mappings struct {
	// started is when the discovery began: what was installed later is not in it.
	started    time.Time
	versions   []servedVersion
	byKind     map[schema.GroupKind][]mapping // versions best first
	byResource map[string][]mapping           // by plural and by singular name; groups in the server's order
	broken     []*DiscoveryError
}

// mapping is one kind in one version.
type mapping struct {
	kind     schema.GroupVersionKind
	resource schema.GroupVersionResource
	singular string
	scope    meta.RESTScope
}

func (m mapping) rest() *meta.RESTMapping {
	return &meta.RESTMapping{Resource: m.resource, GroupVersionKind: m.kind, Scope: m.scope}
}

// newMappings indexes versions. Of a broken version it keeps what before, which
// may be nil, knew: a kind whose server is down has not gone.
func newMappings(started time.Time, versions []servedVersion, before *mappings) *mappings {
	m := &mappings{
		started:    started,
		versions:   versions,
		byKind:     map[schema.GroupKind][]mapping{},
		byResource: map[string][]mapping{},
	}
	for i := range versions {
		v := &versions[i]
		if v.broken != nil {
			m.broken = append(m.broken, &DiscoveryError{GroupVersion: v.GroupVersion, Err: v.broken})
			if len(v.resources) == 0 {
				v.resources = before.resources(v.GroupVersion)
			}
		}
		for _, r := range v.resources {
			m.add(v.GroupVersion, r)
		}
	}
	return m
}

func (m *mappings) add(gv schema.GroupVersion, r servedResource) {
	one := mapping{kind: gv.WithKind(r.kind), resource: gv.WithResource(r.name), singular: r.singular, scope: meta.RESTScopeRoot}
	if r.namespaced {
		one.scope = meta.RESTScopeNamespace
	}
	gk := one.kind.GroupKind()
	m.byKind[gk] = append(m.byKind[gk], one)
	m.byResource[r.name] = append(m.byResource[r.name], one)
	if r.singular != r.name {
		m.byResource[r.singular] = append(m.byResource[r.singular], one)
	}
}

// resources returns what a version had; nothing if m is nil.
func (m *mappings) resources(gv schema.GroupVersion) []servedResource {
	if m == nil {
		return nil
	}
	for _, v := range m.versions {
		if v.GroupVersion == gv {
			return v.resources
		}
	}
	return nil
}

// kinds finds a kind in the versions given, in their order; without any, in all
// of its versions, best first.
func (m *mappings) kinds(gk schema.GroupKind, versions []string) ([]mapping, error) {
	versions = slices.DeleteFunc(slices.Clone(versions), notServed)
	found := m.byKind[gk]
	if len(versions) > 0 {
		found = nil
		for _, version := range versions {
			for _, one := range m.byKind[gk] {
				if one.kind.Version == version {
					found = append(found, one)
				}
			}
		}
	}
	if len(found) > 0 {
		return found, nil
	}
	noMatch := &meta.NoKindMatchError{GroupKind: gk, SearchedVersions: versions}
	return nil, m.doubt(noMatch, func(gv schema.GroupVersion) bool {
		return gv.Group == gk.Group && (len(versions) == 0 || slices.Contains(versions, gv.Version))
	})
}

// byName finds a resource by its plural or singular name. An empty group or
// version stands for any.
func (m *mappings) byName(partial schema.GroupVersionResource) ([]mapping, error) {
	fits := func(gv schema.GroupVersion) bool {
		return (partial.Group == "" || gv.Group == partial.Group) && (notServed(partial.Version) || gv.Version == partial.Version)
	}
	var found []mapping
	for _, one := range m.byResource[strings.ToLower(partial.Resource)] {
		if fits(one.kind.GroupVersion()) {
			found = append(found, one)
		}
	}
	if len(found) > 0 {
		return found, nil
	}
	return nil, m.doubt(&meta.NoResourceMatchError{PartialResource: partial}, fits)
}

func notServed(version string) bool {
	return version == "" || version == runtime.APIVersionInternal
}

// doubt turns noMatch into the failures of the versions that might have had the
// answer.
func (m *mappings) doubt(noMatch error, concerns func(schema.GroupVersion) bool) error {
	var err error
	for _, e := range m.broken {
		switch {
		case !concerns(e.GroupVersion):
		case err == nil:
			// %v: as long as the server cannot tell, this is no NoMatch error.
			err = fmt.Errorf("%v, but %w", noMatch, e)
		default:
			err = fmt.Errorf("%w; %w", err, e)
		}
	}
	if err == nil {
		return noMatch
	}
	return err
}
