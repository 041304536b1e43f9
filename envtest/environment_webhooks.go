package envtest

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"time"

	"governor/client"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// uninstallTimeout limits how long Stop talks to an existing cluster.
const uninstallTimeout = 30 * time.Second

// ReadWebhooks reads MutatingWebhookConfigurations and ValidatingWebhookConfigurations
// (admissionregistration.k8s.io/v1) as ReadCRDs does CRDs. Other objects in the
// files are passed over: generators put Services beside them.
func ReadWebhooks(paths ...string) ([]*unstructured.Unstructured, error) {
	return readManifests("webhooks", "webhook configuration", paths, func(o *unstructured.Unstructured) (bool, error) {
		return isWebhook(o), nil
	})
}

func isWebhook(o *unstructured.Unstructured) bool {
	return o.GetAPIVersion() == "admissionregistration.k8s.io/v1" &&
		(o.GetKind() == "MutatingWebhookConfiguration" || o.GetKind() == "ValidatingWebhookConfiguration")
}

// installWebhooks creates or updates webhook configurations.
func installWebhooks(ctx context.Context, c client.Client, webhooks ...*unstructured.Unstructured) error {
	for _, w := range webhooks {
		if !isWebhook(w) {
			return fmt.Errorf("install webhooks: %s %s %q is no webhook configuration", w.GetAPIVersion(), w.GetKind(), w.GetName())
		}
		if err := c.Apply(ctx, client.ApplyConfigurationFromUnstructured(w.DeepCopy()), crdOwner, client.ForceOwnership); err != nil {
			return fmt.Errorf("install %s %s: %w", w.GetKind(), w.GetName(), err)
		}
	}
	return nil
}

// serveWebhooksLocked makes the handler answer.
func (e *Environment) serveWebhooksLocked() (err error) {
	switch h := e.options.WebhookHandler; {
	case h == nil:
	case e.server != nil:
		e.server.HandleWebhook("", h)
	default:
		e.webhooks, err = listenSecurely(loopback(0), h)
	}
	return err
}

// uninstallLocked removes the webhooks that point at this process from an existing cluster.
func (e *Environment) uninstallLocked(ctx context.Context) error {
	if len(e.undo) == 0 {
		return nil
	}
	// Also when the context of a start has ended.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), uninstallTimeout)
	defer cancel()
	c, err := client.New(e.config, nil)
	if err != nil {
		return err
	}
	var errs []error
	for _, w := range e.undo {
		if err := client.IgnoreNotFound(c.Delete(ctx, w.DeepCopy())); err != nil {
			errs = append(errs, fmt.Errorf("uninstall %s %s: %w", w.GetKind(), w.GetName(), err))
		}
	}
	return errors.Join(errs...)
}

// redirectLocked returns copies of manifests whose webhooks are where the handler is, if
// that has a port of its own.
func (e *Environment) redirectLocked(manifests []*unstructured.Unstructured) []*unstructured.Unstructured {
	if e.webhooks == nil {
		return manifests
	}
	var redirected []*unstructured.Unstructured
	for _, m := range manifests {
		m = m.DeepCopy()
		hooks, _, _ := unstructured.NestedSlice(m.Object, "webhooks")
		for _, h := range hooks {
			if hook, ok := h.(map[string]any); ok {
				e.redirectOne(hook)
			}
		}
		if len(hooks) > 0 {
			m.Object["webhooks"] = hooks
		}
		if conversion, ok, _ := unstructured.NestedMap(m.Object, "spec", "conversion", "webhook"); ok {
			e.redirectOne(conversion)
			_ = unstructured.SetNestedMap(m.Object, conversion, "spec", "conversion", "webhook") // there is one
		}
		redirected = append(redirected, m)
	}
	return redirected
}

// redirectOne changes where one webhook is.
func (e *Environment) redirectOne(webhook map[string]any) {
	config, ok := webhook["clientConfig"].(map[string]any)
	if !ok {
		return
	}
	path, _, _ := unstructured.NestedString(config, "service", "path")
	if raw, ok := config["url"].(string); ok {
		if u, err := url.Parse(raw); err == nil {
			path = u.Path
		}
	}
	webhook["clientConfig"] = map[string]any{
		"url":      e.webhooks.url + path,
		"caBundle": base64.StdEncoding.EncodeToString(e.webhooks.ca),
	}
}
