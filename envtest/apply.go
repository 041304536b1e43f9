package envtest

import (
	"fmt"

	"governor/client"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// applied returns the state after a server-side apply, which merges what the
// manager wants into the object, and takes away what it no longer wants. live is nil if
// there is no object; both are in the version of the path.
func (p *patcher) applied(live client.Object) (client.Object, error) {
	wanted := &unstructured.Unstructured{Object: map[string]any{}}
	if err := yaml.Unmarshal(p.body, &wanted.Object); err != nil {
		return nil, errBadRequest(fmt.Sprintf("error decoding patch: %v", err))
	}
	if live == nil {
		empty, err := p.server.empty(p.kind)
		if err != nil {
			return nil, err
		}
		live = empty
	}
	force := p.options.Force != nil && *p.options.Force
	merged, err := p.write.fieldManager().Apply(live, wanted, p.options.FieldManager, force)
	if err != nil {
		return nil, err // a conflict has its status
	}
	object, ok := merged.(client.Object)
	if !ok {
		return nil, fmt.Errorf("apply: %T has no metadata", merged)
	}
	if err := p.scanApply(); err != nil {
		return nil, err
	}
	// It comes in the version in which the object is stored.
	return p.write.resource.Convert(object, p.kind.GroupVersion())
}

// scanApply finds fields that are given twice; unknown ones have failed before.
func (p *patcher) scanApply() error {
	if p.options.FieldValidation == metav1.FieldValidationIgnore {
		return nil
	}
	err := yaml.UnmarshalStrict(p.body, &map[string]any{})
	switch {
	case err == nil:
		return nil
	case p.options.FieldValidation == metav1.FieldValidationStrict:
		return errBadRequest(fmt.Sprintf("error strict decoding patch: %v", err))
	}
	p.call.warnAll([]error{err})
	return nil
}
