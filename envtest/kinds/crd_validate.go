package kinds

import (
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// validateCRD checks a CRD, and the update of one. It checks less than the real
// server: names, versions, conversion, columns, and that schemas are structural; not
// the CEL rules in them.
func validateCRD(crd, old *unstructured.Unstructured) field.ErrorList {
	d, err := parseDefinition(crd)
	if err != nil {
		return field.ErrorList{field.Invalid(field.NewPath("spec"), "", err.Error())}
	}
	var errs field.ErrorList
	if d.Name != d.Spec.Names.Plural+"."+d.Spec.Group {
		errs = append(errs, field.Invalid(field.NewPath("metadata", "name"), d.Name, `must be spec.names.plural+"."+spec.group`))
	}
	at := field.NewPath("spec")
	errs = append(errs, d.validateSpec(at)...)
	if old == nil {
		errs = append(errs, d.validateStoredVersions()...)
		return append(errs, d.validateApproval()...)
	}
	before, err := parseDefinition(old)
	if err != nil {
		return errs // a state that never was
	}
	if before.is(established) {
		errs = append(errs, validation.ValidateImmutableField(d.Spec.Scope, before.Spec.Scope, at.Child("scope"))...)
		errs = append(errs, validation.ValidateImmutableField(d.Spec.Names.Kind, before.Spec.Names.Kind, at.Child("names", "kind"))...)
	}
	errs = append(errs, validation.ValidateImmutableField(d.Spec.Group, before.Spec.Group, at.Child("group"))...)
	errs = append(errs, validation.ValidateImmutableField(d.Spec.Names.Plural, before.Spec.Names.Plural, at.Child("names", "plural"))...)
	return append(errs, d.validateStoredVersions()...)
}

func (d *definition) validateSpec(at *field.Path) field.ErrorList {
	var errs field.ErrorList
	spec := &d.Spec
	if spec.Group == "" {
		errs = append(errs, field.Required(at.Child("group"), ""))
	} else if wrong := utilvalidation.IsDNS1123Subdomain(spec.Group); len(wrong) > 0 {
		errs = append(errs, field.Invalid(at.Child("group"), spec.Group, strings.Join(wrong, ",")))
	} else if !strings.Contains(spec.Group, ".") {
		errs = append(errs, field.Invalid(at.Child("group"), spec.Group, "should be a domain with at least one dot"))
	}
	errs = append(errs, validateEnum(at.Child("scope"), spec.Scope, "Cluster", "Namespaced")...)
	for i, v := range spec.Versions {
		if v.openAPI() == nil {
			errs = append(errs, field.Required(at.Child("versions").Index(i).Child("schema", "openAPIV3Schema"), ""))
		}
	}
	storage, names := 0, map[string]bool{}
	for i := range spec.Versions {
		v := &spec.Versions[i]
		if v.Storage {
			storage++
		}
		names[v.Name] = true
		errs = append(errs, v.validate(at.Child("versions").Index(i), spec.placesOf(at, i))...)
	}
	if len(spec.Versions) > 0 {
		if wrong := utilvalidation.IsDNS1035Label(spec.Versions[0].Name); len(wrong) > 0 {
			errs = append(errs, field.Invalid(at.Child("version"), spec.Versions[0].Name, strings.Join(wrong, ",")))
		}
	}
	if len(names) != len(spec.Versions) {
		errs = append(errs, field.Invalid(at.Child("versions"), dumpVersions(spec.Versions), "must contain unique version names"))
	}
	if storage != 1 {
		errs = append(errs, field.Invalid(at.Child("versions"), dumpVersions(spec.Versions), "must have exactly one version marked as storage version"))
	}
	errs = append(errs, spec.Names.validate(at.Child("names"))...)
	if spec.PreserveUnknownFields {
		errs = append(errs, field.Invalid(at.Child("preserveUnknownFields"), true, "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"))
	}
	return append(errs, spec.Conversion.validate(at.Child("conversion"))...)
}

// approvalAnnotation says who has approved an API in a group of Kubernetes' own.
const approvalAnnotation = "api-approved.kubernetes.io"

func (d *definition) validateApproval() field.ErrorList {
	group := "." + d.Spec.Group
	if !strings.HasSuffix(group, ".k8s.io") && !strings.HasSuffix(group, ".kubernetes.io") {
		return nil
	}
	at, see := field.NewPath("metadata", "annotations").Key(approvalAnnotation), ", see https://github.com/kubernetes/enhancements/pull/1111"
	approval := d.Annotations[approvalAnnotation]
	where, err := url.ParseRequestURI(approval)
	switch {
	case approval == "":
		return field.ErrorList{field.Required(at, fmt.Sprintf("protected groups must have approval annotation %q", approvalAnnotation)+see)}
	case strings.HasPrefix(approval, "unapproved"), err == nil && where.Host != "" && where.Scheme != "":
		return nil
	}
	return field.ErrorList{field.Invalid(at, approval, fmt.Sprintf("protected groups must have approval annotation %q with either a URL or a reason starting with \"unapproved\"", approvalAnnotation)+see)}
}

// versionDump is a version as the real server shows it in errors: a type of its own, from
// which it has moved what all versions share.
type versionDump struct {
	Name                                                             string
	Served, Storage, Deprecated                                      bool
	DeprecationWarning                                               *string
	Schema, Subresources, AdditionalPrinterColumns, SelectableFields *struct{}
}

func dumpVersions(versions []definitionVersion) []versionDump {
	var dump []versionDump
	for _, v := range versions {
		dump = append(dump, versionDump{Name: v.Name, Served: v.Served, Storage: v.Storage, Deprecated: v.Deprecated, DeprecationWarning: v.DeprecationWarning})
	}
	return dump
}

func validateEnum(at *field.Path, value string, values ...string) field.ErrorList {
	switch {
	case value == "":
		return field.ErrorList{field.Required(at, "")}
	case !slices.Contains(values, value):
		return field.ErrorList{field.NotSupported(at, value, values)}
	}
	return nil
}

func (n *names) validate(at *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, name := range []struct{ field, value, hint string }{
		{"plural", n.Plural, ""},
		{"singular", n.Singular, ""},
		{"kind", n.Kind, "may have mixed case, but should otherwise match: "},
		{"listKind", n.ListKind, "may have mixed case, but should otherwise match: "},
	} {
		value := name.value
		if name.hint != "" {
			value = strings.ToLower(value)
		}
		if value == "" {
			errs = append(errs, field.Required(at.Child(name.field), ""))
		} else if wrong := utilvalidation.IsDNS1035Label(value); len(wrong) > 0 {
			errs = append(errs, field.Invalid(at.Child(name.field), name.value, name.hint+strings.Join(wrong, ",")))
		}
	}
	if n.Kind != "" && n.Kind == n.ListKind {
		errs = append(errs, field.Invalid(at.Child("listKind"), n.ListKind, "kind and listKind may not be the same"))
	}
	for list, values := range map[string][]string{"shortNames": n.ShortNames, "categories": n.Categories} {
		for i, value := range values {
			if wrong := utilvalidation.IsDNS1035Label(value); len(wrong) > 0 {
				errs = append(errs, field.Invalid(at.Child(list).Index(i), value, strings.Join(wrong, ",")))
			}
		}
	}
	return errs
}

// places is where errors in parts of a version are said to be.
type places struct{ schema, subresources, columns *field.Path }

// placesOf says where they are for one version: what is the same for all versions the
// real server takes as that of the whole CRD.
func (s *definitionSpec) placesOf(at *field.Path, i int) places {
	version := at.Child("versions").Index(i)
	p := places{version.Child("schema"), version.Child("subresources"), version.Child("additionalPrinterColumns")}
	same := func(part func(v *definitionVersion) any) bool {
		for j := range s.Versions {
			if !reflect.DeepEqual(part(&s.Versions[0]), part(&s.Versions[j])) {
				return false
			}
		}
		return true
	}
	if same(func(v *definitionVersion) any { return v.Schema }) {
		p.schema = at.Child("validation")
	}
	if same(func(v *definitionVersion) any { return v.Subresources }) {
		p.subresources = at.Child("subresources")
	}
	if same(func(v *definitionVersion) any { return v.PrinterColumns }) {
		p.columns = at.Child("additionalPrinterColumns")
	}
	return p
}

func (v *definitionVersion) validate(at *field.Path, p places) field.ErrorList {
	var errs field.ErrorList
	if wrong := utilvalidation.IsDNS1035Label(v.Name); len(wrong) > 0 {
		errs = append(errs, field.Invalid(at.Child("name"), v.Name, strings.Join(wrong, ",")))
	}
	if v.DeprecationWarning != nil && !v.Deprecated {
		errs = append(errs, field.Invalid(at.Child("deprecationWarning"), *v.DeprecationWarning, "can only be set for deprecated versions"))
	}
	if openAPI := v.openAPI(); openAPI != nil {
		errs = append(errs, validateStructural(p.schema.Child("openAPIV3Schema"), openAPI)...)
	}
	if v.Subresources != nil && v.Subresources.Scale != nil {
		errs = append(errs, v.Subresources.Scale.validate(p.subresources)...)
	}
	for i, column := range v.PrinterColumns {
		errs = append(errs, column.validate(p.columns.Index(i))...)
	}
	return errs
}

func (s *scaleSubresource) validate(at *field.Path) field.ErrorList {
	var errs field.ErrorList
	check := func(name, path, hint string, below ...string) {
		at := at.Child("scale." + name)
		switch {
		case path == "":
			errs = append(errs, field.Required(at, ""))
		case path[0] != '.':
			errs = append(errs, field.Invalid(at, path, "must be a simple json path starting with ."))
		case !slices.ContainsFunc(below, func(prefix string) bool { return strings.HasPrefix(path, prefix) }):
			errs = append(errs, field.Invalid(at, path, "should be a json path under "+hint))
		}
	}
	check("specReplicasPath", s.SpecReplicasPath, ".spec", ".spec.")
	check("statusReplicasPath", s.StatusReplicasPath, ".status", ".status.")
	if s.LabelSelectorPath != nil && *s.LabelSelectorPath != "" {
		check("labelSelectorPath", *s.LabelSelectorPath, "either .spec or .status", ".spec.", ".status.")
	}
	return errs
}

var (
	columnTypes   = []string{"boolean", "date", "integer", "number", "string"}
	columnFormats = []string{"byte", "date", "date-time", "double", "float", "int32", "int64", "password"}
)

func (c *Column) validate(at *field.Path) field.ErrorList {
	var errs field.ErrorList
	if c.Name == "" {
		errs = append(errs, field.Required(at.Child("name"), ""))
	}
	oneOf := "must be one of " + strings.Join(columnTypes, ",")
	switch {
	case c.Type == "":
		errs = append(errs, field.Required(at.Child("type"), oneOf))
	case !slices.Contains(columnTypes, c.Type):
		errs = append(errs, field.Invalid(at.Child("type"), c.Type, oneOf))
	}
	if c.Format != "" && !slices.Contains(columnFormats, c.Format) {
		errs = append(errs, field.Invalid(at.Child("format"), c.Format, "must be one of "+strings.Join(columnFormats, ",")))
	}
	switch {
	case c.JSONPath == "":
		errs = append(errs, field.Required(at.Child("JSONPath"), ""))
	case c.JSONPath[0] != '.':
		errs = append(errs, field.Invalid(at.Child("JSONPath"), c.JSONPath, "must be a simple json path starting with ."))
	}
	return errs
}

func (c *conversion) validate(at *field.Path) field.ErrorList {
	errs := validateEnum(at.Child("strategy"), c.Strategy, "None", "Webhook")
	webhook := at.Child("webhookClientConfig")
	switch {
	case c.Strategy == "None" && c.Webhook != nil:
		return append(errs, field.Forbidden(webhook, "should not be set when strategy is not set to Webhook"))
	case c.Strategy != "Webhook":
		return errs
	case c.Webhook == nil || c.Webhook.ClientConfig == nil:
		errs = append(errs, field.Required(webhook, "required when strategy is set to Webhook"))
	case (c.Webhook.ClientConfig.URL == nil) == (c.Webhook.ClientConfig.Service == nil):
		errs = append(errs, field.Required(webhook, "exactly one of url or service is required"))
	}
	versions := at.Child("conversionReviewVersions")
	switch {
	case c.Webhook == nil || len(c.Webhook.ReviewVersions) == 0:
		errs = append(errs, field.Required(versions, ""))
	case !slices.Contains(c.Webhook.ReviewVersions, "v1") && !slices.Contains(c.Webhook.ReviewVersions, "v1beta1"):
		errs = append(errs, field.Invalid(versions, c.Webhook.ReviewVersions, "must include at least one of v1, v1beta1"))
	}
	return errs
}
