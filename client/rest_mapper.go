package client

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// RESTMappingWithContext returns the resource of a kind in the first of the
// versions given that serves it; without versions, in the version that the
// server prefers.
func (m *Mapper) RESTMappingWithContext(ctx context.Context, gk schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	found, err := m.kinds(ctx, gk, versions)
	if err != nil {
		return nil, err
	}
	return found[0].rest(), nil
}

// RESTMappingsWithContext returns the resources of a kind in all of the versions
// given, in their order; without versions, in all that serve it, best first.
func (m *Mapper) RESTMappingsWithContext(ctx context.Context, gk schema.GroupKind, versions ...string) ([]*meta.RESTMapping, error) {
	found, err := m.kinds(ctx, gk, versions)
	if err != nil {
		return nil, err
	}
	result := make([]*meta.RESTMapping, 0, len(found))
	for _, one := range found {
		result = append(result, one.rest())
	}
	return result, nil
}

// KindForWithContext returns the kind of a resource, given by plural or singular
// name. An empty group or version stands for any: the core group comes first,
// then groups in the server's order, and in each the preferred version.
func (m *Mapper) KindForWithContext(ctx context.Context, resource schema.GroupVersionResource) (schema.GroupVersionKind, error) {
	found, err := m.resources(ctx, resource)
	if err != nil {
		return schema.GroupVersionKind{}, err
	}
	return found[0].kind, nil
}

// KindsForWithContext returns the kinds of all that KindFor chooses from.
func (m *Mapper) KindsForWithContext(ctx context.Context, resource schema.GroupVersionResource) ([]schema.GroupVersionKind, error) {
	found, err := m.resources(ctx, resource)
	if err != nil {
		return nil, err
	}
	result := make([]schema.GroupVersionKind, 0, len(found))
	for _, one := range found {
		result = append(result, one.kind)
	}
	return result, nil
}

// ResourceForWithContext completes a resource as KindFor does.
func (m *Mapper) ResourceForWithContext(ctx context.Context, input schema.GroupVersionResource) (schema.GroupVersionResource, error) {
	found, err := m.resources(ctx, input)
	if err != nil {
		return schema.GroupVersionResource{}, err
	}
	return found[0].resource, nil
}

// ResourcesForWithContext returns all that ResourceFor chooses from.
func (m *Mapper) ResourcesForWithContext(ctx context.Context, input schema.GroupVersionResource) ([]schema.GroupVersionResource, error) {
	found, err := m.resources(ctx, input)
	if err != nil {
		return nil, err
	}
	result := make([]schema.GroupVersionResource, 0, len(found))
	for _, one := range found {
		result = append(result, one.resource)
	}
	return result, nil
}

// ResourceSingularizerWithContext returns the singular name of a resource: "pod"
// for "pods".
func (m *Mapper) ResourceSingularizerWithContext(ctx context.Context, resource string) (string, error) {
	found, err := m.resources(ctx, schema.GroupVersionResource{Resource: resource})
	if err != nil {
		return resource, err
	}
	return found[0].singular, nil
}

// RESTMapping is RESTMappingWithContext without a context.
func (m *Mapper) RESTMapping(gk schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	return m.RESTMappingWithContext(context.Background(), gk, versions...)
}

// RESTMappings is RESTMappingsWithContext without a context.
func (m *Mapper) RESTMappings(gk schema.GroupKind, versions ...string) ([]*meta.RESTMapping, error) {
	return m.RESTMappingsWithContext(context.Background(), gk, versions...)
}

// KindFor is KindForWithContext without a context.
func (m *Mapper) KindFor(resource schema.GroupVersionResource) (schema.GroupVersionKind, error) {
	return m.KindForWithContext(context.Background(), resource)
}

// KindsFor is KindsForWithContext without a context.
func (m *Mapper) KindsFor(resource schema.GroupVersionResource) ([]schema.GroupVersionKind, error) {
	return m.KindsForWithContext(context.Background(), resource)
}

// ResourceFor is ResourceForWithContext without a context.
func (m *Mapper) ResourceFor(input schema.GroupVersionResource) (schema.GroupVersionResource, error) {
	return m.ResourceForWithContext(context.Background(), input)
}

// ResourcesFor is ResourcesForWithContext without a context.
func (m *Mapper) ResourcesFor(input schema.GroupVersionResource) ([]schema.GroupVersionResource, error) {
	return m.ResourcesForWithContext(context.Background(), input)
}

// ResourceSingularizer is ResourceSingularizerWithContext without a context.
func (m *Mapper) ResourceSingularizer(resource string) (string, error) {
	return m.ResourceSingularizerWithContext(context.Background(), resource)
}
