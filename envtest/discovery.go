package envtest

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"slices"
	"strings"

	"governor/envtest/kinds"

	apidiscovery "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// discover answers /api and /apis, and what is right below them. Below /api is the
// group without a name; its paths are one part shorter.
//
//	/api   /apis          APIVersions   APIGroupList      or, for both, APIGroupDiscoveryList
//	       /apis/GROUP                  APIGroup
//	/api/v1 /apis/GROUP/v1              APIResourceList
func (s *Server) discover(w http.ResponseWriter, r *http.Request, parts []string) {
	all := s.kinds.All()
	root := parts[0]
	if root == "api" {
		parts = append([]string{"apis", ""}, parts[1:]...)
	}
	switch {
	case len(parts) == 1 || root == "api" && len(parts) == 2:
		s.discoverRoot(w, r, root, all)
	case len(parts) == 2:
		group := groupOf(parts[1], all)
		if group == nil {
			http.NotFound(w, r)
			return
		}
		group.Kind, group.APIVersion = "APIGroup", "v1"
		s.writeValue(w, r, group, nil)
	default:
		gv := schema.GroupVersion{Group: parts[1], Version: parts[2]}
		list := resourceList(gv, all)
		switch {
		case len(list.APIResources) > 0:
			s.writeValue(w, r, list, nil)
		case builtinGroup(gv.Group, all):
			s.writeError(w, r, errNotServed())
		default:
			http.NotFound(w, r)
		}
	}
}

// discoverRoot answers /api and /apis: all at once for clients that want that.
func (s *Server) discoverRoot(w http.ResponseWriter, r *http.Request, root string, all []*kinds.Resource) {
	if r.Method != http.MethodGet {
		s.writeError(w, r, errMethodNotAllowed())
		return
	}
	groups := groupsOf(all)
	w.Header().Set("Vary", "Accept")
	f, err := negotiateFor(r, func(f format) bool { return f.as == aggregated || f.as.Empty() })
	switch {
	case err == nil && f.as == aggregated:
		s.writeValue(w, r, aggregate(root, groups, all), &aggregated)
	case root == "api":
		s.writeValue(w, r, &metav1.APIVersions{
			TypeMeta:                   metav1.TypeMeta{Kind: "APIVersions"},
			Versions:                   []string{"v1"},
			ServerAddressByClientCIDRs: []metav1.ServerAddressByClientCIDR{{ClientCIDR: "0.0.0.0/0", ServerAddress: r.Host}},
		}, nil)
	default:
		list := &metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}}
		for _, group := range groups {
			if group != "" {
				list.Groups = append(list.Groups, *groupOf(group, all))
			}
		}
		s.writeValue(w, r, list, nil)
	}
}

// groupsOf are the names of all groups, in order.
func groupsOf(all []*kinds.Resource) []string {
	var groups []string
	for _, resource := range all {
		if group := resource.GroupVersionResource.Group; !slices.Contains(groups, group) {
			groups = append(groups, group)
		}
	}
	return groups
}

// versionsOf are the versions of a group, the best first.
func versionsOf(group string, all []*kinds.Resource) []string {
	var versions []string
	for _, resource := range all {
		if gvr := resource.GroupVersionResource; gvr.Group == group && !slices.Contains(versions, gvr.Version) {
			versions = append(versions, gvr.Version)
		}
	}
	return versions
}

// builtinGroup says whether a group is one of Kubernetes' own.
func builtinGroup(group string, all []*kinds.Resource) bool {
	return slices.ContainsFunc(all, func(r *kinds.Resource) bool {
		return r.GroupVersionResource.Group == group && r.Custom == nil
	})
}

// groupOf describes a group, nil if it is not served.
func groupOf(name string, all []*kinds.Resource) *metav1.APIGroup {
	group := &metav1.APIGroup{Name: name}
	for _, version := range versionsOf(name, all) {
		gv := schema.GroupVersion{Group: name, Version: version}
		group.Versions = append(group.Versions, metav1.GroupVersionForDiscovery{GroupVersion: gv.String(), Version: version})
	}
	if group.Versions == nil {
		return nil
	}
	group.PreferredVersion = group.Versions[0]
	return group
}

// resourceList lists the resources of a version, each followed by its subresources.
func resourceList(gv schema.GroupVersion, all []*kinds.Resource) *metav1.APIResourceList {
	list := &metav1.APIResourceList{
		TypeMeta:     metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"},
		GroupVersion: gv.String(),
	}
	if gv.Group == "" {
		list.APIVersion = "" // as the real server says it
	}
	for _, resource := range all {
		if resource.GroupVersionResource.GroupVersion() != gv {
			continue
		}
		name := resource.GroupVersionResource.Resource
		if len(resource.Verbs) > 0 {
			list.APIResources = append(list.APIResources, metav1.APIResource{
				Name:               name,
				SingularName:       resource.Singular,
				Namespaced:         resource.Namespaced,
				Kind:               resource.GroupVersionKind.Kind,
				Verbs:              resource.ListedVerbs(),
				ShortNames:         resource.ShortNames,
				Categories:         resource.Categories,
				StorageVersionHash: storageVersionHash(resource),
			})
		}
		for _, sub := range sortedSubresources(resource) {
			kind := resource.Subresources[sub].Kind
			entry := metav1.APIResource{
				Name:       name + "/" + sub,
				Namespaced: resource.Namespaced,
				Kind:       kind.Kind,
				Verbs:      resource.Subresources[sub].Verbs,
			}
			if kind.GroupVersion() != gv {
				entry.Group, entry.Version = kind.Group, kind.Version
			}
			list.APIResources = append(list.APIResources, entry)
		}
	}
	return list
}

// sortedSubresources are the names of a resource's subresources in the order of discovery.
func sortedSubresources(resource *kinds.Resource) []string {
	var names []string
	for name := range resource.Subresources {
		names = append(names, name)
	}
	slices.Sort(names)
	if resource.Custom != nil {
		slices.Reverse(names) // status, scale: as the real server has them
	}
	return names
}

// storageVersionHash tells clients when the version changes in which objects are stored.
func storageVersionHash(resource *kinds.Resource) string {
	if resource.StorageVersion.Empty() {
		return ""
	}
	gv := resource.StorageVersion
	sum := sha256.Sum256([]byte(gv.Group + "/" + gv.Version + "/" + resource.GroupVersionKind.Kind))
	return base64.StdEncoding.EncodeToString(sum[:8])
}

// aggregated is the kind of the list that has all of discovery.
var aggregated = schema.GroupVersionKind{Group: apidiscovery.GroupName, Version: "v2", Kind: "APIGroupDiscoveryList"}

// aggregate describes all groups below /api or /apis at once.
func aggregate(root string, groups []string, all []*kinds.Resource) *apidiscovery.APIGroupDiscoveryList {
	list := &apidiscovery.APIGroupDiscoveryList{
		TypeMeta: metav1.TypeMeta{Kind: aggregated.Kind, APIVersion: aggregated.GroupVersion().String()},
	}
	for _, group := range groups {
		if (group == "") != (root == "api") {
			continue
		}
		g := apidiscovery.APIGroupDiscovery{ObjectMeta: metav1.ObjectMeta{Name: group}}
		for _, version := range versionsOf(group, all) {
			g.Versions = append(g.Versions, apidiscovery.APIVersionDiscovery{
				Version:   version,
				Freshness: apidiscovery.DiscoveryFreshnessCurrent,
				Resources: discoveries(schema.GroupVersion{Group: group, Version: version}, all),
			})
		}
		list.Items = append(list.Items, g)
	}
	return list
}

// discoveries describes the resources of a version.
func discoveries(gv schema.GroupVersion, all []*kinds.Resource) []apidiscovery.APIResourceDiscovery {
	var list []apidiscovery.APIResourceDiscovery
	for _, resource := range all {
		if resource.GroupVersionResource.GroupVersion() != gv {
			continue
		}
		scope := apidiscovery.ScopeCluster
		if resource.Namespaced {
			scope = apidiscovery.ScopeNamespace
		}
		d := apidiscovery.APIResourceDiscovery{
			Resource:         resource.GroupVersionResource.Resource,
			ResponseKind:     responseKind(resource, resource.GroupVersionKind),
			Scope:            scope,
			SingularResource: resource.Singular,
			Verbs:            resource.ListedVerbs(),
			ShortNames:       resource.ShortNames,
			Categories:       resource.Categories,
		}
		for _, sub := range sortedSubresources(resource) {
			d.Subresources = append(d.Subresources, apidiscovery.APISubresourceDiscovery{
				Subresource:  sub,
				ResponseKind: responseKind(resource, resource.Subresources[sub].Kind),
				Verbs:        resource.Subresources[sub].Verbs,
			})
		}
		list = append(list, d)
	}
	return list
}

// responseKind is a kind as discovery says it: of built-in resources, without what the
// path says already.
func responseKind(resource *kinds.Resource, kind schema.GroupVersionKind) *metav1.GroupVersionKind {
	if resource.Custom == nil && kind.GroupVersion() == resource.GroupVersionKind.GroupVersion() {
		return &metav1.GroupVersionKind{Kind: kind.Kind}
	}
	return &metav1.GroupVersionKind{Group: kind.Group, Version: kind.Version, Kind: kind.Kind}
}

// pathParts splits a path at its slashes; none at all gives one empty part.
func pathParts(path string) []string { return strings.Split(strings.Trim(path, "/"), "/") }
