package kinds_test

import (
	"fmt"

	"governor/envtest/kinds"
	"governor/scheme"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// A CRD is served as soon as it is set; its schema says what becomes of objects.
func Example() {
	registry := kinds.New(scheme.Builtin(), nil)
	deployments := registry.Lookup(schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"})
	fmt.Println(deployments.GroupVersionKind.Kind, deployments.ShortNames, deployments.Subresources["scale"].Kind)

	err := registry.SetCRD(&unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": "widgets.example.com"},
		"spec": map[string]any{
			"group": "example.com", "scope": "Namespaced",
			"names": map[string]any{"plural": "widgets", "kind": "Widget"},
			"versions": []any{map[string]any{
				"name": "v1", "served": true, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "properties": map[string]any{
					"size": map[string]any{"type": "integer", "maximum": int64(9), "default": int64(3)},
				}}},
			}},
		},
	}})
	if err != nil {
		fmt.Println(err)
	}
	widgets := registry.ForKind(schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"})
	widget := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Widget", "colour": "red"}}
	fmt.Println("unknown:", widgets.Rules.Prune(widget))
	widgets.Rules.Default(widget)
	fmt.Println("size:", widget.Object["size"])
	widget.Object["size"] = int64(10)
	fmt.Println(widgets.Rules.Validate(widget, nil).ToAggregate())

	// Output:
	// Deployment [deploy] autoscaling/v1, Kind=Scale
	// unknown: [colour]
	// size: 3
	// size: Invalid value: 10: size in body should be less than or equal to 9
}
