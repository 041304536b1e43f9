package play

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"governor/client"
	"governor/cmd/demo/config"
	"governor/cmd/demo/v1alpha1"
	"governor/envtest"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
)

const (
	source, blue, green = "team-source", "team-blue", "team-green"

	// storyLabel marks what the play made, so that it never takes another's
	// namespace for its own.
	storyLabel = "replicator.governor.dev/story"
	// leaveTimeout bounds the cleaning up of another's cluster.
	leaveTimeout = 20 * time.Second
)

// actor does on the server what a user would.
type actor struct {
	client  *client.Direct
	script  *script
	foreign bool // the cluster is another's: leave it as it was

	madeCRD    bool
	namespaces []string // made by this play, or by one before it
	left       bool
}

// setStage installs the CRD and makes the namespaces and the source.
func (a *actor) setStage(ctx context.Context) error {
	crd, err := replicaCRD()
	if err != nil {
		return err
	}
	err = a.client.Get(ctx, client.ObjectKeyFromObject(crd), crd.DeepCopy())
	if client.IgnoreNotFound(err) != nil {
		return err
	}
	a.madeCRD = apierrors.IsNotFound(err)
	a.script.line("story", "the kind Replica is installed")
	if err := envtest.InstallCRDs(ctx, a.client, crd); err != nil {
		return err
	}
	for _, name := range []string{source, blue, green} {
		if err := a.makeNamespace(ctx, name); err != nil {
			return err
		}
	}
	return client.IgnoreAlreadyExists(a.client.Create(ctx, settings(source)))
}

func replicaCRD() (*unstructured.Unstructured, error) {
	crd := &unstructured.Unstructured{}
	if err := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(config.CRD), 4096).Decode(crd); err != nil {
		return nil, fmt.Errorf("read the Replica CRD: %w", err)
	}
	return crd, nil
}

func (a *actor) makeNamespace(ctx context.Context, name string) error {
	a.script.line("story", "namespace "+name+" is made")
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{storyLabel: "true"}}}
	err := a.client.Create(ctx, namespace)
	if apierrors.IsAlreadyExists(err) {
		err = a.client.Get(ctx, client.ObjectKey{Name: name}, namespace)
	}
	if err != nil {
		return err
	}
	if namespace.Labels[storyLabel] == "" || !namespace.DeletionTimestamp.IsZero() {
		return fmt.Errorf("the cluster has a namespace %s already: delete it, or play on another cluster", name)
	}
	a.namespaces = append(a.namespaces, name)
	return nil
}

// play acts, and waits after each act until it shows.
func (a *actor) play(ctx context.Context) error {
	for _, act := range []struct {
		text string
		do   func() error
		want map[string]string // namespace → greeting of its copy; empty for none
	}{
		{"team-source asks for copies of its ConfigMap settings wherever the label copies=wanted is",
			func() error { return a.client.Create(ctx, replica()) }, nil},
		{"team-blue is given the label copies=wanted",
			func() error { return a.label(ctx, blue, "wanted") }, map[string]string{blue: "hello"}},
		{"team-green too",
			func() error { return a.label(ctx, green, "wanted") }, map[string]string{green: "hello"}},
		{"the source changes",
			func() error { return a.greet(ctx, source, "good day") }, map[string]string{blue: "good day", green: "good day"}},
		{"somebody edits team-blue's copy by hand",
			func() error { return a.greet(ctx, blue, "mine") }, map[string]string{blue: "good day"}},
		{"team-green loses the label",
			func() error { return a.label(ctx, green, "") }, map[string]string{green: ""}},
	} {
		a.script.act(ctx, act.text)
		if err := act.do(); client.IgnoreAlreadyExists(err) != nil {
			return err
		}
		if err := a.awaitReady(ctx); err != nil {
			return err
		}
		for namespace, greeting := range act.want {
			if err := a.awaitGreeting(ctx, namespace, greeting); err != nil {
				return err
			}
		}
	}
	return nil
}

func settings(namespace string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "settings"},
		Data:       map[string]string{"greeting": "hello"},
	}
}

func replica() *v1alpha1.Replica {
	return &v1alpha1.Replica{
		ObjectMeta: metav1.ObjectMeta{Namespace: source, Name: "settings"},
		Spec: v1alpha1.ReplicaSpec{
			Source:            v1alpha1.Source{Kind: v1alpha1.KindConfigMap, Name: "settings"},
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"copies": "wanted"}},
		},
	}
}

func (a *actor) greet(ctx context.Context, namespace, greeting string) error {
	before := &corev1.ConfigMap{}
	if err := a.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "settings"}, before); err != nil {
		return err
	}
	after := before.DeepCopy()
	after.Data["greeting"] = greeting
	return a.client.Patch(ctx, after, client.MergeFrom(before))
}

func (a *actor) label(ctx context.Context, namespace, value string) error {
	before := &corev1.Namespace{}
	if err := a.client.Get(ctx, client.ObjectKey{Name: namespace}, before); err != nil {
		return err
	}
	after := before.DeepCopy()
	after.Labels["copies"] = value
	if value == "" {
		delete(after.Labels, "copies")
	}
	return a.client.Patch(ctx, after, client.MergeFrom(before))
}

func (a *actor) awaitReady(ctx context.Context) error {
	_, err := envtest.WaitFor(ctx, a.client, replica(), func(r *v1alpha1.Replica) bool {
		return r != nil && meta.IsStatusConditionTrue(r.Status.Conditions, v1alpha1.ConditionReady)
	})
	return err
}

// awaitGreeting waits for a copy with a greeting; empty means for its end.
func (a *actor) awaitGreeting(ctx context.Context, namespace, greeting string) error {
	_, err := envtest.WaitFor(ctx, a.client, settings(namespace), func(m *corev1.ConfigMap) bool {
		if m == nil || greeting == "" {
			return m == nil && greeting == ""
		}
		return m.Data["greeting"] == greeting
	})
	return err
}

// leave removes from another's cluster what the play made. The Replica goes
// first and is waited for, since its finalizer needs the replicator.
func (a *actor) leave(ctx context.Context) {
	if !a.foreign || a.left {
		return
	}
	a.left = true
	ctx, cancel := context.WithTimeout(ctx, leaveTimeout)
	defer cancel()
	a.script.line("story", "what the play made is removed")
	if err := a.remove(ctx); err != nil {
		a.script.line("story", fmt.Sprintf("not all of it could be removed: %v", err))
	}
}

func (a *actor) remove(ctx context.Context) error {
	if len(a.namespaces) > 0 {
		if err := a.removeReplica(ctx); err != nil {
			return err
		}
	}
	for _, name := range a.namespaces {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if err := a.client.Delete(ctx, namespace); client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	if !a.madeCRD {
		return nil
	}
	crd, err := replicaCRD()
	if err != nil {
		return err
	}
	return client.IgnoreNotFound(a.client.Delete(ctx, crd))
}

func (a *actor) removeReplica(ctx context.Context) error {
	if err := a.client.Delete(ctx, replica()); err != nil {
		return client.IgnoreNotFound(err)
	}
	_, err := envtest.WaitFor(ctx, a.client, replica(), func(r *v1alpha1.Replica) bool { return r == nil })
	if err != nil {
		return fmt.Errorf("the Replica keeps its finalizer until a replicator has removed its copies: %w", err)
	}
	return nil
}
