package kinds

import (
	"fmt"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// definition is a CustomResourceDefinition, of which we have no Go type: what of
// it matters here.
type definition struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   definitionSpec   `json:"spec"`
	Status definitionStatus `json:"status,omitempty"`
}

type definitionSpec struct {
	Group                 string              `json:"group"`
	Names                 names               `json:"names"`
	Scope                 string              `json:"scope"`
	Versions              []definitionVersion `json:"versions"`
	Conversion            *conversion         `json:"conversion,omitempty"`
	PreserveUnknownFields bool                `json:"preserveUnknownFields,omitempty"`
}

type definitionStatus struct {
	Conditions     []condition `json:"conditions"`
	AcceptedNames  names       `json:"acceptedNames"`
	StoredVersions []string    `json:"storedVersions"`
}

type names struct {
	Plural     string   `json:"plural"`
	Singular   string   `json:"singular,omitempty"`
	ShortNames []string `json:"shortNames,omitempty"`
	Kind       string   `json:"kind"`
	ListKind   string   `json:"listKind,omitempty"`
	Categories []string `json:"categories,omitempty"`
}

type definitionVersion struct {
	Name               string            `json:"name"`
	Served             bool              `json:"served"`
	Storage            bool              `json:"storage"`
	Deprecated         bool              `json:"deprecated,omitempty"`
	DeprecationWarning *string           `json:"deprecationWarning,omitempty"`
	Schema             *versionSchema    `json:"schema,omitempty"`
	Subresources       *subresources     `json:"subresources,omitempty"`
	PrinterColumns     []Column          `json:"additionalPrinterColumns,omitempty"`
	SelectableFields   []selectableField `json:"selectableFields,omitempty"`
}

type versionSchema struct {
	OpenAPIV3Schema map[string]any `json:"openAPIV3Schema,omitempty"`
}

type subresources struct {
	Status *struct{}         `json:"status,omitempty"`
	Scale  *scaleSubresource `json:"scale,omitempty"`
}

type scaleSubresource struct {
	SpecReplicasPath   string  `json:"specReplicasPath"`
	StatusReplicasPath string  `json:"statusReplicasPath"`
	LabelSelectorPath  *string `json:"labelSelectorPath,omitempty"`
}

type selectableField struct {
	JSONPath string `json:"jsonPath"`
}

type conversion struct {
	Strategy string             `json:"strategy"`
	Webhook  *webhookConversion `json:"webhook,omitempty"`
}

type webhookConversion struct {
	// ClientConfig has the fields of admission's.
	ClientConfig   *admissionregistrationv1.WebhookClientConfig `json:"clientConfig,omitempty"`
	ReviewVersions []string                                     `json:"conversionReviewVersions"`
}

type condition struct {
	Type               string      `json:"type"`
	Status             string      `json:"status"`
	LastTransitionTime metav1.Time `json:"lastTransitionTime,omitempty"`
	Reason             string      `json:"reason,omitempty"`
	Message            string      `json:"message,omitempty"`
}

// The types of a CRD's conditions.
const (
	namesAccepted = "NamesAccepted"
	established   = "Established"
	terminating   = "Terminating"
)

// parseDefinition reads a CRD; it shares nothing with it that it may write to.
func parseDefinition(crd *unstructured.Unstructured) (*definition, error) {
	d := &definition{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(crd.DeepCopy().Object, d); err != nil {
		return nil, fmt.Errorf("CustomResourceDefinition %s: %w", crd.GetName(), err)
	}
	d.setDefaults()
	return d, nil
}

// setDefaults fills in what a CRD may leave out.
func (d *definition) setDefaults() {
	if d.Spec.Names.Singular == "" {
		d.Spec.Names.Singular = strings.ToLower(d.Spec.Names.Kind)
	}
	if d.Spec.Names.ListKind == "" && d.Spec.Names.Kind != "" {
		d.Spec.Names.ListKind = d.Spec.Names.Kind + "List"
	}
	if d.Spec.Conversion == nil {
		d.Spec.Conversion = &conversion{Strategy: "None"}
	}
}

// writeStatus returns a copy of a CRD with the status of d.
func (d *definition) writeStatus(crd *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	status, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&d.Status)
	if err != nil {
		return nil, fmt.Errorf("CustomResourceDefinition %s: %w", crd.GetName(), err)
	}
	crd = crd.DeepCopy()
	crd.Object["status"] = status
	return crd, nil
}

func (d *definition) condition(kind string) *condition {
	for i := range d.Status.Conditions {
		if d.Status.Conditions[i].Type == kind {
			return &d.Status.Conditions[i]
		}
	}
	return nil
}

func (d *definition) is(kind string) bool {
	c := d.condition(kind)
	return c != nil && c.Status == "True"
}

// setCondition sets a condition; its time changes with its status alone.
func (d *definition) setCondition(next condition) {
	next.LastTransitionTime = metav1.Now().Rfc3339Copy()
	c := d.condition(next.Type)
	switch {
	case c == nil:
		d.Status.Conditions = append(d.Status.Conditions, next)
	case c.Status == next.Status:
		next.LastTransitionTime = c.LastTransitionTime
		*c = next
	default:
		*c = next
	}
}

// storage returns the version in which objects are stored; zero if there is none.
func (d *definition) storage() schema.GroupVersion {
	for _, v := range d.Spec.Versions {
		if v.Storage {
			return schema.GroupVersion{Group: d.Spec.Group, Version: v.Name}
		}
	}
	return schema.GroupVersion{}
}

// openAPI returns the schema of a version as it stands in the CRD, nil if it has none.
func (v *definitionVersion) openAPI() map[string]any {
	if v.Schema == nil {
		return nil
	}
	return v.Schema.OpenAPIV3Schema
}
