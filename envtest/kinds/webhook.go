package kinds

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
)

// convertFunc converts a custom object to another version. It does not write to
// the object, and returns it as it is if it is of that version already.
type convertFunc = func(object *unstructured.Unstructured, to schema.GroupVersion) (*unstructured.Unstructured, error)

// converter returns the conversion that a CRD asks for.
func (r *Registry) converter(d *definition) convertFunc {
	change := changeVersion
	if d.Spec.Conversion.Strategy == "Webhook" {
		change = (&conversionWebhook{call: r.webhook, d: d}).convert
	}
	known := map[schema.GroupVersion]bool{}
	for _, v := range d.Spec.Versions {
		known[schema.GroupVersion{Group: d.Spec.Group, Version: v.Name}] = true
	}
	return func(object *unstructured.Unstructured, to schema.GroupVersion) (*unstructured.Unstructured, error) {
		from := object.GroupVersionKind().GroupVersion()
		switch {
		case from == to:
			return object, nil
		case !known[to]:
			return nil, runtime.NewNotRegisteredErrForTarget("request to convert CR to an invalid group/version", nil, to)
		case !known[from]:
			return nil, fmt.Errorf("request to convert CR from an invalid group/version: %s", from)
		}
		return change(object, to)
	}
}

// changeVersion is the strategy None.
func changeVersion(object *unstructured.Unstructured, to schema.GroupVersion) (*unstructured.Unstructured, error) {
	object = object.DeepCopy()
	object.SetAPIVersion(to.String())
	return object, nil
}

// webhookTimeout bounds a call of a conversion webhook, as in the real server.
const webhookTimeout = 30 * time.Second

// CallWebhook posts a question to a webhook, as JSON, and reads its answer.
type CallWebhook func(ctx context.Context, where admissionregistrationv1.WebhookClientConfig, question, answer any, timeout time.Duration) error

// conversionWebhook is the strategy Webhook.
type conversionWebhook struct {
	call CallWebhook
	d    *definition
}

// review is a ConversionReview of v1 or v1beta1, which have the same fields.
type review struct {
	metav1.TypeMeta `json:",inline"`
	Request         *reviewRequest  `json:"request,omitempty"`
	Response        *reviewResponse `json:"response,omitempty"`
}

type reviewRequest struct {
	UID               types.UID                    `json:"uid"`
	DesiredAPIVersion string                       `json:"desiredAPIVersion"`
	Objects           []*unstructured.Unstructured `json:"objects"`
}

type reviewResponse struct {
	UID              types.UID         `json:"uid"`
	ConvertedObjects []json.RawMessage `json:"convertedObjects"`
	Result           metav1.Status     `json:"result"`
}

func (w *conversionWebhook) convert(object *unstructured.Unstructured, to schema.GroupVersion) (*unstructured.Unstructured, error) {
	kind := object.GroupVersionKind()
	fail := func(err error) error { return fmt.Errorf("conversion webhook for %v failed: %w", kind, err) }
	answer, err := w.ask(object, to)
	if err != nil {
		return nil, fail(err)
	}
	if n := len(answer.ConvertedObjects); n != 1 {
		return nil, fmt.Errorf("conversion webhook for %v returned %d objects, expected 1", kind, n)
	}
	converted := &unstructured.Unstructured{}
	if err := converted.UnmarshalJSON(answer.ConvertedObjects[0]); err != nil {
		return nil, fail(err)
	}
	if err := checkConverted(object, converted, to); err != nil {
		return nil, fmt.Errorf("conversion webhook for %v returned invalid object at index 0: %w", kind, err)
	}
	return converted, nil
}

// ask sends one object and returns a response that says Success.
func (w *conversionWebhook) ask(object *unstructured.Unstructured, to schema.GroupVersion) (*reviewResponse, error) {
	webhook := w.d.Spec.Conversion.Webhook
	switch {
	case webhook == nil || webhook.ClientConfig == nil:
		return nil, errors.New("the CRD has no webhook")
	case w.call == nil:
		return nil, errors.New("nobody calls webhooks here: give kinds.New an Options.Webhook")
	}
	at := slices.IndexFunc(webhook.ReviewVersions, func(v string) bool { return v == "v1" || v == "v1beta1" })
	if at < 0 {
		return nil, errors.New("no supported conversion review versions")
	}
	request := &review{Request: &reviewRequest{UID: uuid.NewUUID(), DesiredAPIVersion: to.String(), Objects: []*unstructured.Unstructured{object}}}
	request.Kind, request.APIVersion = "ConversionReview", "apiextensions.k8s.io/"+webhook.ReviewVersions[at]
	answer := &review{}
	if err := w.call(context.Background(), *webhook.ClientConfig, request, answer, webhookTimeout); err != nil {
		return nil, err
	}
	switch {
	case answer.Response == nil:
		return nil, errors.New("no response provided")
	case request.APIVersion == "apiextensions.k8s.io/v1" && answer.TypeMeta != request.TypeMeta:
		return nil, fmt.Errorf("expected webhook response of %v, got %v", request.GroupVersionKind(), answer.GroupVersionKind())
	case request.APIVersion == "apiextensions.k8s.io/v1" && answer.Response.UID != request.Request.UID:
		return nil, fmt.Errorf("expected response.uid=%q, got %q", request.Request.UID, answer.Response.UID)
	}
	switch result := answer.Response.Result; {
	case result.Status == metav1.StatusSuccess:
		return answer.Response, nil
	case result.Message != "":
		return nil, errors.New(result.Message)
	default:
		return nil, fmt.Errorf("response.result.status was '%s', not 'Success'", result.Status)
	}
}

// checkConverted checks that a webhook has kept what an object is, and gives back its
// metadata: a webhook may change labels and annotations.
func checkConverted(in, out *unstructured.Unstructured, to schema.GroupVersion) error {
	if got := out.GroupVersionKind().GroupVersion(); got != to {
		return fmt.Errorf("invalid groupVersion (expected %v, received %v)", to, got)
	}
	for _, same := range []struct{ what, in, out string }{
		{"kind", in.GetKind(), out.GetKind()},
		{"name", in.GetName(), out.GetName()},
		{"namespace", in.GetNamespace(), out.GetNamespace()},
		{"UID", string(in.GetUID()), string(out.GetUID())},
	} {
		if same.in != same.out {
			return fmt.Errorf("must have the same %s: %v != %v", same.what, same.in, same.out)
		}
	}
	if _, ok := out.Object["metadata"].(map[string]any); !ok {
		return errors.New("missing metadata in converted object")
	}
	labels, annotations := out.GetLabels(), out.GetAnnotations()
	out.Object["metadata"] = in.DeepCopy().Object["metadata"]
	if out.Object["metadata"] == nil {
		out.Object["metadata"] = map[string]any{}
	}
	out.SetLabels(labels)
	out.SetAnnotations(annotations)
	return nil
}
