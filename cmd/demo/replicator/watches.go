package replicator

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"governor/client"
	"governor/cmd/demo/v1alpha1"
	"governor/controller"
	"governor/manager"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
)

const (
	// indexReplicaUID finds the copies of a Replica.
	indexReplicaUID = "replicaUID"
	// indexSource finds the Replicas of a source, by its kind and name.
	indexSource = "source"
)

// Options tunes Setup. The zero value, and nil, are ready to use.
type Options struct {
	// Tell hears at each station what happens, in words: "event", "reconcile"
	// or "write". Nil means the log, at verbosity 1.
	Tell func(station, text string)
}

// Setup adds the replicator to a manager whose scheme knows v1alpha1.
func Setup(ctx context.Context, mgr *manager.Manager, o *Options) error {
	if err := addIndexes(ctx, mgr.GetFieldIndexer()); err != nil {
		return err
	}
	r := &Reconciler{
		client: mgr.GetClient(),
		live:   mgr.GetAPIReader(),
		events: mgr.GetEventRecorder("replicator"),
		tell:   teller(mgr.GetLogger(), o),
	}
	copyOrSource := controller.EnqueueRequestsFromMapFunc(r.replicasOfContent)
	_, err := controller.ControllerManagedBy(mgr).
		For(&v1alpha1.Replica{}, controller.WithPredicates(controller.GenerationChangedPredicate{}, r.tellReplica())).
		Watches(&corev1.ConfigMap{}, copyOrSource).
		Watches(&corev1.Secret{}, copyOrSource).
		Watches(&corev1.Namespace{}, controller.EnqueueRequestsFromMapFunc(r.replicasOfNamespace)).
		WithOptions(controller.Options[controller.Request]{MaxConcurrentReconciles: 4}).
		Build(r)
	if err != nil {
		return fmt.Errorf("set up the replicator: %w", err)
	}
	return nil
}

func teller(log klog.Logger, o *Options) func(station, format string, args ...any) {
	if o != nil && o.Tell != nil {
		return func(station, format string, args ...any) { o.Tell(station, fmt.Sprintf(format, args...)) }
	}
	return func(station, format string, args ...any) {
		if log := log.V(1); log.Enabled() {
			log.Info(fmt.Sprintf(format, args...), "station", station)
		}
	}
}

func addIndexes(ctx context.Context, indexer client.FieldIndexer) error {
	byReplica := func(obj client.Object) []string {
		if uid := obj.GetLabels()[LabelReplicaUID]; uid != "" {
			return []string{uid}
		}
		return nil
	}
	bySource := func(obj client.Object) []string {
		source := obj.(*v1alpha1.Replica).Spec.Source
		return []string{source.Kind + "/" + source.Name}
	}
	for _, index := range []struct {
		obj   client.Object
		field string
		fn    client.IndexerFunc
	}{
		{&corev1.ConfigMap{}, indexReplicaUID, byReplica},
		{&corev1.Secret{}, indexReplicaUID, byReplica},
		{&v1alpha1.Replica{}, indexSource, bySource},
	} {
		if err := indexer.IndexField(ctx, index.obj, index.field, index.fn); err != nil {
			return fmt.Errorf("declare index %s: %w", index.field, err)
		}
	}
	return nil
}

// replicasOfContent maps a ConfigMap or Secret to the Replica whose copy it
// is, and to those that copy something of its name: it may be their source, or
// stand where their copy belongs.
func (r *Reconciler) replicasOfContent(ctx context.Context, obj client.Object) []controller.Request {
	var requests []controller.Request
	if obj.GetLabels()[LabelReplicaUID] != "" {
		if namespace, name, ok := strings.Cut(obj.GetAnnotations()[AnnotationReplica], "/"); ok {
			requests = append(requests, controller.Request{NamespacedName: client.ObjectKey{Namespace: namespace, Name: name}})
		}
	}
	var replicas v1alpha1.ReplicaList
	err := r.client.List(ctx, &replicas, client.MatchingFields{indexSource: kindOf(obj) + "/" + obj.GetName()})
	if err != nil {
		klog.FromContext(ctx).Error(err, "Cannot list the Replicas that copy an object of this name", "object", klog.KObj(obj))
	}
	for i := range replicas.Items {
		requests = append(requests, controller.Request{NamespacedName: client.ObjectKeyFromObject(&replicas.Items[i])})
	}
	return r.told(kindOf(obj), obj, requests)
}

// replicasOfNamespace maps a namespace to the Replicas that choose it. Of an
// update both sides are mapped, so that a namespace that lost a label is found too.
func (r *Reconciler) replicasOfNamespace(ctx context.Context, obj client.Object) []controller.Request {
	var replicas v1alpha1.ReplicaList
	if err := r.client.List(ctx, &replicas); err != nil {
		klog.FromContext(ctx).Error(err, "Cannot list the Replicas that choose a namespace", "namespace", obj.GetName())
	}
	var requests []controller.Request
	for i := range replicas.Items {
		replica := &replicas.Items[i]
		if chosen, trouble := choose(replica); trouble == nil && chosen.includes(obj.(*corev1.Namespace)) {
			requests = append(requests, controller.Request{NamespacedName: client.ObjectKeyFromObject(replica)})
		}
	}
	return r.told("Namespace", obj, requests)
}

// told tells of the keys that an event leads to, each once.
func (r *Reconciler) told(kind string, obj client.Object, requests []controller.Request) []controller.Request {
	slices.SortFunc(requests, func(a, b controller.Request) int { return strings.Compare(a.String(), b.String()) })
	requests = slices.Compact(requests)
	for _, request := range requests {
		r.tell("event", "%s %s → key %s", kind, klog.KObj(obj), request.NamespacedName)
	}
	return requests
}

// tellReplica lets every event of a Replica pass, and tells of it.
func (r *Reconciler) tellReplica() controller.Predicate {
	return controller.NewPredicateFuncs(func(obj client.Object) bool {
		r.told("Replica", obj, []controller.Request{{NamespacedName: client.ObjectKeyFromObject(obj)}})
		return true
	})
}

// copyLists returns an empty list of each kind that copies have.
func copyLists() []client.ObjectList {
	return []client.ObjectList{&corev1.ConfigMapList{}, &corev1.SecretList{}}
}

func copyItems(list client.ObjectList) []client.Object {
	var items []client.Object
	switch l := list.(type) {
	case *corev1.ConfigMapList:
		for i := range l.Items {
			items = append(items, &l.Items[i])
		}
	case *corev1.SecretList:
		for i := range l.Items {
			items = append(items, &l.Items[i])
		}
	}
	return items
}
