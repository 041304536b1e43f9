package scheme

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// SetVersionPriority puts versions of one group in front, best first. Versions
// that it does not name stay behind them in their order. Without it the order is
// that of registration.
func (s *Scheme) SetVersionPriority(versions ...schema.GroupVersion) error {
	return s.update(func(t *table) error {
		if len(versions) == 0 {
			return fmt.Errorf("set version priority: no version given")
		}
		group := versions[0].Group
		rest := t.versions[group]
		delete(t.versions, group)
		for _, gv := range versions {
			if gv.Group != group {
				return fmt.Errorf("set version priority: %s and %s are not of one group", versions[0], gv)
			}
			if gv.Version == "" || gv.Version == runtime.APIVersionInternal {
				return fmt.Errorf("set version priority: group %q: %q is not a version that is served", group, gv.Version)
			}
			t.observe(gv)
		}
		for _, version := range rest {
			t.observe(schema.GroupVersion{Group: group, Version: version})
		}
		return nil
	})
}

// PrioritizedVersionsForGroup returns the versions of a group, best first.
func (s *Scheme) PrioritizedVersionsForGroup(group string) []schema.GroupVersion {
	var result []schema.GroupVersion
	for _, version := range s.state.Load().versions[group] {
		result = append(result, schema.GroupVersion{Group: group, Version: version})
	}
	return result
}

// PrioritizedVersionsAllGroups returns the versions of every group: groups by
// name, the versions of each best first.
func (s *Scheme) PrioritizedVersionsAllGroups() []schema.GroupVersion {
	var result []schema.GroupVersion
	for _, group := range slices.Sorted(maps.Keys(s.state.Load().versions)) {
		result = append(result, s.PrioritizedVersionsForGroup(group)...)
	}
	return result
}
