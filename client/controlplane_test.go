package client_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"governor/client"
	"governor/envtest"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
)

// TestE2EClient runs the client against a real API server, one for all of it.
func TestE2EClient(t *testing.T) {
	cp := envtest.RequireControlPlane(t, nil)
	c, err := client.New(cp.Config(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]func(*testing.T, *client.Direct, string){
		"create-read-update-delete": e2eCRUD,
		"conflicts":                 e2eConflicts,
		"apply":                     e2eApply,
		"status":                    e2eStatus,
		"subresources":              e2eSubresources,
		"watch":                     e2eWatch,
		"selections":                e2eSelections,
		"custom-resource":           e2eCustomResource,
		"dry-run":                   e2eDryRun,
	} {
		t.Run(name, func(t *testing.T) {
			ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: name + "-"}}
			must(t, c.Create(t.Context(), ns))
			test(t, c, ns.Name)
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func configMap(ns, name string, data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name, Labels: map[string]string{"of": name}}, Data: data}
}

var configMapKind = corev1.SchemeGroupVersion.WithKind("ConfigMap")

// Contract 1, 2, 3: one object through all forms.
func e2eCRUD(t *testing.T, c *client.Direct, ns string) {
	ctx := t.Context()
	cm := configMap(ns, "a", map[string]string{"k": "1"})
	must(t, c.Create(ctx, cm))
	if cm.UID == "" || cm.GroupVersionKind() != configMapKind {
		t.Errorf("created %+v", cm)
	}
	if err := c.Create(ctx, configMap(ns, "a", nil)); !apierrors.IsAlreadyExists(err) {
		t.Errorf("error %v, want AlreadyExists", err)
	}

	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(configMapKind)
	must(t, c.Get(ctx, client.ObjectKeyFromObject(cm), u))
	if v, _, _ := unstructured.NestedString(u.Object, "data", "k"); v != "1" {
		t.Errorf("read %v", u.Object)
	}
	must(t, unstructured.SetNestedField(u.Object, "2", "data", "k"))
	must(t, c.Update(ctx, u))

	m := &metav1.PartialObjectMetadata{}
	m.SetGroupVersionKind(configMapKind)
	must(t, c.Get(ctx, client.ObjectKeyFromObject(cm), m))
	if m.ResourceVersion != u.GetResourceVersion() || m.Labels["of"] != "a" || m.GroupVersionKind() != configMapKind {
		t.Errorf("metadata %+v", m)
	}
	p := client.MergeFrom(m)
	m.Labels["patched"] = "yes"
	must(t, c.Patch(ctx, m, p))

	must(t, c.Get(ctx, client.ObjectKeyFromObject(cm), cm))
	if cm.Data["k"] != "2" || cm.Labels["patched"] != "yes" {
		t.Errorf("read %+v", cm)
	}
	must(t, c.Delete(ctx, m, client.Preconditions{UID: &cm.UID}))
	if err := c.Get(ctx, client.ObjectKeyFromObject(cm), cm); !apierrors.IsNotFound(err) {
		t.Errorf("error %v, want NotFound", err)
	}
	if err := c.Update(ctx, cm); err == nil {
		t.Error("a deleted object was updated")
	}
}

// Case 50 (d), Case 52: stale updates and locked patches are refused, unlocked
// ones win.
func e2eConflicts(t *testing.T, c *client.Direct, ns string) {
	ctx := t.Context()
	mine := configMap(ns, "a", map[string]string{"k": "1"})
	must(t, c.Create(ctx, mine))
	theirs := mine.DeepCopy()
	theirs.Data["k"] = "2"
	must(t, c.Update(ctx, theirs))

	stale := mine.DeepCopy()
	stale.Data["other"] = "x"
	if err := c.Update(ctx, stale); !apierrors.IsConflict(err) || !strings.Contains(err.Error(), "update ConfigMap "+ns+"/a") {
		t.Errorf("error %v, want Conflict", err)
	}
	if err := c.Patch(ctx, stale, client.MergeFromWithOptions(mine, client.MergeFromWithOptimisticLock{})); !apierrors.IsConflict(err) {
		t.Errorf("error %v, want Conflict", err)
	}
	must(t, c.Patch(ctx, stale, client.MergeFrom(mine)))
	if stale.Data["k"] != "2" || stale.Data["other"] != "x" {
		t.Errorf("memory is not the reply: %v", stale.Data)
	}
}

// Contract 8; Case 52: two owners of one field.
func e2eApply(t *testing.T, c *client.Direct, ns string) {
	ctx := t.Context()
	apply := func(owner, value string, opts ...client.ApplyOption) (*applycorev1.ConfigMapApplyConfiguration, error) {
		cm := applycorev1.ConfigMap("a", ns).WithData(map[string]string{"k": value})
		return cm, c.Apply(ctx, cm, append(opts, client.FieldOwner(owner))...)
	}
	cm, err := apply("first", "1")
	must(t, err)
	if cm.UID == nil || *cm.Kind != "ConfigMap" {
		t.Errorf("the configuration is not the reply: %+v", cm)
	}
	_, err = apply("second", "2")
	if !apierrors.IsConflict(err) || !strings.Contains(err.Error(), `"first"`) || !strings.Contains(err.Error(), ".data.k") {
		t.Errorf("error %v, want a Conflict that names first and .data.k", err)
	}
	if !apierrors.HasStatusCause(err, metav1.CauseTypeFieldManagerConflict) {
		t.Errorf("no cause in %v", err)
	}
	if cm, err = apply("second", "2", client.ForceOwnership); err != nil || cm.Data["k"] != "2" {
		t.Errorf("forced: %v, %+v", err, cm)
	}
	if _, err = apply("first", "1"); !apierrors.IsConflict(err) || !strings.Contains(err.Error(), `"second"`) {
		t.Errorf("error %v, want a Conflict that names second", err)
	}

	u := &unstructured.Unstructured{Object: map[string]any{"data": map[string]any{"mine": "3"}}}
	u.SetGroupVersionKind(configMapKind)
	u.SetNamespace(ns)
	u.SetName("a")
	must(t, c.Apply(ctx, client.ApplyConfigurationFromUnstructured(u), client.FieldOwner("third")))
	if v, _, _ := unstructured.NestedString(u.Object, "data", "k"); v != "2" {
		t.Errorf("the object is not the reply: %v", u.Object)
	}
	// An object taken from the server has managedFields: the server says so.
	if err := c.Apply(ctx, client.ApplyConfigurationFromUnstructured(u), client.FieldOwner("third")); !apierrors.IsBadRequest(err) || !strings.Contains(err.Error(), "managedFields") {
		t.Errorf("error %v, want BadRequest about managedFields", err)
	}
}

// Case 50 (a): Update and Status().Update store their half each, and memory is
// the reply.
func e2eStatus(t *testing.T, c *client.Direct, ns string) {
	ctx := t.Context()
	d := deployment()
	d.ResourceVersion, d.Namespace = "", ns
	d.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	d.Spec.Template.Labels = map[string]string{"app": "web"}
	must(t, c.Create(ctx, d))

	d.Spec.Replicas, d.Status.Replicas = new(int32(2)), 7
	must(t, c.Update(ctx, d))
	if *d.Spec.Replicas != 2 || d.Status.Replicas != 0 {
		t.Errorf("after Update: spec %d, status %d", *d.Spec.Replicas, d.Status.Replicas)
	}
	d.Spec.Replicas, d.Status.Replicas = new(int32(3)), 7
	must(t, c.Status().Update(ctx, d, client.FieldOwner("me")))
	if *d.Spec.Replicas != 2 || d.Status.Replicas != 7 {
		t.Errorf("after Status().Update: spec %d, status %d", *d.Spec.Replicas, d.Status.Replicas)
	}
	p := client.StrategicMergeFrom(d)
	d.Status.Conditions = append(d.Status.Conditions, appsv1.DeploymentCondition{Type: "Fine", Status: corev1.ConditionTrue})
	must(t, c.Status().Patch(ctx, d, p))
	if len(d.Status.Conditions) != 1 || d.Status.Replicas != 7 {
		t.Errorf("after Status().Patch: %+v", d.Status)
	}
	// Case 50 (b): no such subresource is NotFound, and names it.
	cm := configMap(ns, "a", nil)
	must(t, c.Create(ctx, cm))
	if err := c.Status().Update(ctx, cm); !apierrors.IsNotFound(err) || !strings.Contains(err.Error(), "ConfigMap/status") {
		t.Errorf("error %v, want NotFound", err)
	}
}

// Contract 7: scale, eviction, token.
func e2eSubresources(t *testing.T, c *client.Direct, ns string) {
	ctx := t.Context()
	d := deployment()
	d.ResourceVersion, d.Namespace = "", ns
	d.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	d.Spec.Template.Labels = map[string]string{"app": "web"}
	must(t, c.Create(ctx, d))
	scale := &autoscalingv1.Scale{}
	must(t, c.SubResource("scale").Get(ctx, d, scale))
	scale.Spec.Replicas = 5
	must(t, c.SubResource("scale").Update(ctx, d, client.WithSubResourceBody(scale)))
	must(t, c.Get(ctx, client.ObjectKeyFromObject(d), d))
	if *d.Spec.Replicas != 5 || scale.Spec.Replicas != 5 || scale.Kind != "Scale" {
		t.Errorf("replicas %d, scale %+v", *d.Spec.Replicas, scale)
	}

	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "p"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
	must(t, c.Create(ctx, p))
	must(t, c.SubResource("eviction").Create(ctx, p, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "p"}}))
	if err := c.Get(ctx, client.ObjectKeyFromObject(p), p); !apierrors.IsNotFound(err) {
		t.Errorf("error %v, want NotFound: the pod was evicted", err)
	}

	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "sa"}}
	must(t, c.Create(ctx, account))
	token := &authenticationv1.TokenRequest{}
	must(t, c.SubResource("token").Create(ctx, account, token))
	if token.Status.Token == "" || token.Kind != "TokenRequest" {
		t.Error("no token")
	}
}

// Contract 9: the story of one object, in each form.
func e2eWatch(t *testing.T, c *client.Direct, ns string) {
	for _, form := range []client.Form{client.Typed, client.Unstructured, client.MetadataOnly} {
		t.Run(form.String(), func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			r, err := c.Resource(ctx, configMapKind, form)
			must(t, err)
			lw := &client.ListWatch{Resource: r, Namespace: ns, LabelSelector: "of=" + form.String()}
			listed, err := lw.List(ctx, metav1.ListOptions{}, func(client.Object, error) bool { return true })
			must(t, err)

			cm := configMap(ns, form.String(), map[string]string{"k": "1"})
			must(t, c.Create(ctx, cm))
			cm.Data["k"] = "2"
			must(t, c.Update(ctx, cm))
			must(t, c.Delete(ctx, cm))
			var got []string
			for ev, err := range lw.Watch(ctx, metav1.ListOptions{ResourceVersion: listed.ResourceVersion, AllowWatchBookmarks: true}) {
				must(t, err)
				if ev.Object.GetObjectKind().GroupVersionKind() != configMapKind || client.FormOf(ev.Object) != form {
					t.Errorf("event %+v", ev)
				}
				if got = append(got, string(ev.Type)); ev.Type == watch.Deleted {
					break
				}
			}
			if text := strings.Join(got, " "); text != "ADDED MODIFIED DELETED" {
				t.Errorf("events %s", text)
			}
		})
	}
	t.Run("streaming list", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		must(t, c.Create(ctx, configMap(ns, "one", nil)))
		r, err := c.Resource(ctx, configMapKind, client.Typed)
		must(t, err)
		lw := &client.ListWatch{Resource: r, Namespace: ns, LabelSelector: "of=one"}
		var got []string
		for ev, err := range lw.Watch(ctx, metav1.ListOptions{SendInitialEvents: new(true), ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan, AllowWatchBookmarks: true}) {
			must(t, err)
			got = append(got, string(ev.Type)+" "+ev.Object.GetName())
			if ev.Object.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true" {
				break
			}
		}
		if text := strings.Join(got, ", "); text != "ADDED one, BOOKMARK " {
			t.Errorf("events %s", text)
		}
	})
	t.Run("refused", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		list := &corev1.ConfigMapList{ListMeta: metav1.ListMeta{ResourceVersion: "not a version"}}
		for _, err := range c.Watch(ctx, list, client.InNamespace(ns)) {
			if _, ok := errors.AsType[*apierrors.StatusError](err); !ok || !strings.Contains(err.Error(), "not a version") {
				t.Errorf("error %v, want the server's", err)
			}
			return
		}
		t.Error("no error")
	})
}

// Contract 6; Case 47: paging, and what must not be widened.
func e2eSelections(t *testing.T, c *client.Direct, ns string) {
	ctx := t.Context()
	for _, name := range []string{"a", "b", "c"} {
		must(t, c.Create(ctx, configMap(ns, name, nil)))
	}
	count := func(opts ...client.ListOption) int {
		var list corev1.ConfigMapList
		must(t, c.List(ctx, &list, append(opts, client.InNamespace(ns))...))
		return len(list.Items)
	}
	for what, err := range map[string]error{
		"invalid label":       c.DeleteAllOf(ctx, &corev1.ConfigMap{}, client.InNamespace(ns), client.MatchingLabels{"of": `""`}),
		"nil selector":        c.DeleteAllOf(ctx, &corev1.ConfigMap{}, client.InNamespace(ns), client.MatchingLabelsSelector{}),
		"unknown field":       c.DeleteAllOf(ctx, &corev1.ConfigMap{}, client.InNamespace(ns), client.MatchingFields{"data.k": "1"}),
		"no namespace":        c.DeleteAllOf(ctx, &corev1.ConfigMap{}, client.MatchingLabels{"of": "a"}),
		"namespace for none":  c.DeleteAllOf(ctx, &rbacv1.ClusterRole{}, client.InNamespace(ns)),
		"list, unknown field": c.List(ctx, &corev1.ConfigMapList{}, client.InNamespace(ns), client.MatchingFields{"data.k": "1"}),
	} {
		if err == nil {
			t.Errorf("%s: no error", what)
		}
	}
	if n := count(); n != 3 {
		t.Fatalf("%d are left of 3", n)
	}
	var page corev1.ConfigMapList
	must(t, c.List(ctx, &page, client.InNamespace(ns), client.Limit(2)))
	if len(page.Items) != 2 || page.Continue == "" || page.Items[0].GroupVersionKind() != configMapKind {
		t.Errorf("page of %d, continue %q", len(page.Items), page.Continue)
	}
	must(t, c.List(ctx, &page, client.InNamespace(ns), client.Limit(2), client.Continue(page.Continue)))
	if len(page.Items) != 1 || page.Continue != "" {
		t.Errorf("page of %d, continue %q", len(page.Items), page.Continue)
	}
	must(t, c.DeleteAllOf(ctx, &corev1.ConfigMap{}, client.InNamespace(ns), client.MatchingLabels{"of": "a"}, client.HasLabels{"of"}))
	if n := count(); n != 2 {
		t.Errorf("%d are left, want 2", n)
	}
	if n := count(client.MatchingFields{"metadata.name": "b"}); n != 1 {
		t.Errorf("%d by field, want 1", n)
	}
}

// An unstructured custom resource: found as soon as it is served, all verbs,
// no status without the subresource.
func e2eCustomResource(t *testing.T, c *client.Direct, ns string) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	crd := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": "gadgets.example.com"},
		"spec": map[string]any{
			"group": "example.com", "scope": "Namespaced",
			"names": map[string]any{"kind": "Gadget", "plural": "gadgets", "singular": "gadget", "listKind": "GadgetCollection"},
			"versions": []any{map[string]any{
				"name": "v1", "served": true, "storage": true, "subresources": map[string]any{"status": map[string]any{}},
				"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
			}},
		},
	}}
	crd.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
	gadgetKind := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Gadget"}
	gadget := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"size": int64(9007199254740993)}}}
	gadget.SetGroupVersionKind(gadgetKind)
	gadget.SetNamespace(ns)
	gadget.SetName("g")
	if err := c.Create(ctx, gadget.DeepCopy()); !meta.IsNoMatchError(err) {
		t.Errorf("error %v, want no match", err)
	}
	must(t, c.Create(ctx, crd))
	_, err := envtest.WaitFor(ctx, c, crd, func(u *unstructured.Unstructured) bool {
		if u == nil {
			return false
		}
		conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
		for _, cond := range conditions {
			m := cond.(map[string]any)
			if m["type"] == "Established" && m["status"] == "True" {
				return true
			}
		}
		return false
	})
	must(t, err)
	for {
		// Established is said a moment before it is served.
		if err = c.Create(ctx, gadget); err == nil || ctx.Err() != nil || !(meta.IsNoMatchError(err) || apierrors.IsNotFound(err)) {
			break
		}
		wait(ctx, 200*time.Millisecond)
	}
	must(t, err)

	p := client.MergeFrom(gadget)
	must(t, unstructured.SetNestedField(gadget.Object, int64(9007199254740995), "spec", "size"))
	must(t, unstructured.SetNestedField(gadget.Object, "x", "status", "note"))
	must(t, c.Patch(ctx, gadget, p))
	if n, _, _ := unstructured.NestedInt64(gadget.Object, "spec", "size"); n != 9007199254740995 {
		t.Errorf("size %d", n)
	}
	if _, found, _ := unstructured.NestedString(gadget.Object, "status", "note"); found {
		t.Error("the status was written through the object")
	}
	must(t, unstructured.SetNestedField(gadget.Object, "y", "status", "note"))
	must(t, c.Status().Update(ctx, gadget))

	for _, kind := range []string{"Gadget", "GadgetList"} {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(gadgetKind.GroupVersion().WithKind(kind))
		must(t, c.List(ctx, list, client.InNamespace(ns)))
		if len(list.Items) != 1 || list.Items[0].GroupVersionKind() != gadgetKind {
			t.Fatalf("as %s: %+v", kind, list)
		}
		if note, _, _ := unstructured.NestedString(list.Items[0].Object, "status", "note"); note != "y" {
			t.Errorf("note %q", note)
		}
	}
	m := &metav1.PartialObjectMetadata{}
	m.SetGroupVersionKind(gadgetKind)
	metas := &metav1.PartialObjectMetadataList{}
	metas.SetGroupVersionKind(gadgetKind)
	must(t, c.List(ctx, metas, client.InNamespace(ns)))
	if len(metas.Items) != 1 || metas.Items[0].GroupVersionKind() != gadgetKind {
		t.Fatalf("metadata %+v", metas)
	}
	must(t, c.DeleteAllOf(ctx, m, client.InNamespace(ns)))
	if err := c.Get(ctx, client.ObjectKeyFromObject(gadget), gadget); !apierrors.IsNotFound(err) {
		t.Errorf("error %v, want NotFound", err)
	}
}

func wait(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// Case 52: a dry run fills the object and stores nothing.
func e2eDryRun(t *testing.T, c *client.Direct, ns string) {
	ctx := t.Context()
	cm := configMap(ns, "a", nil)
	must(t, c.Create(ctx, cm, client.DryRunAll))
	if cm.UID == "" {
		t.Error("the object is not filled")
	}
	if err := c.Get(ctx, client.ObjectKeyFromObject(cm), &corev1.ConfigMap{}); !apierrors.IsNotFound(err) {
		t.Errorf("error %v, want NotFound", err)
	}
	must(t, c.Create(ctx, configMap(ns, "a", nil)))
	must(t, c.Delete(ctx, configMap(ns, "a", nil), client.DryRunAll))
	must(t, c.DeleteAllOf(ctx, &corev1.ConfigMap{}, client.InNamespace(ns), client.DryRunAll))
	must(t, c.Get(ctx, client.ObjectKeyFromObject(cm), &corev1.ConfigMap{}))
}
