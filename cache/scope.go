package cache

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"governor/client"
	"governor/client/decode"
	"governor/informer"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"
)

// scope is a kind in one namespace, or in all: its store and what keeps it true.
type scope struct {
	namespace string // empty: all, or those that have no scope of their own
	indexer   *Indexer
	informer  *informer.Informer
	// shared says that reads hand out the stored objects: no deep copy.
	shared bool

	overlay   *overlay
	config    Config
	transform TransformFunc
	live      *client.ListWatch // asks the server for what the overlay does not know
}

// tryOpen makes the kind's scopes, if the server knows the kind.
func (k *KindInformer) tryOpen(ctx context.Context) error {
	for {
		k.mu.Lock()
		form := k.form
		k.mu.Unlock()
		resource, err := k.client.Resource(ctx, k.gvk, form)
		if err != nil {
			return err
		}
		mapping, err := k.client.RESTMapper().RESTMapping(k.gvk.GroupKind(), k.gvk.Version)
		if err != nil {
			return err
		}
		configs, err := k.options.scopes(k.kind.ByObject, resource.Namespaced())
		if err != nil {
			return err
		}
		scopes := make([]*scope, 0, len(configs))
		for _, ns := range slices.Sorted(maps.Keys(configs)) {
			scopes = append(scopes, k.newScope(resource, form, ns, configs))
		}
		if k.publish(form, scopes, mapping.Resource.GroupResource(), resource.Namespaced()) {
			return nil
		}
	}
}

// publish gives the scopes what has waited for them, and makes them visible.
// It returns false if another form was asked for meanwhile.
func (k *KindInformer) publish(form client.Form, scopes []*scope, resource schema.GroupResource, namespaced bool) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if form != k.form {
		return false
	}
	for _, s := range scopes {
		for _, x := range k.indexes {
			// The Indexer is empty and the fields differ, so there is no error.
			_ = s.indexer.AddIndex(x.field, x.fn)
		}
	}
	k.scopes, k.resource, k.namespaced, k.lastError = scopes, resource, namespaced, nil
	for _, r := range k.registrations {
		// The informer refuses a nil handler only, and AddHandler did before.
		_ = r.attachLocked(scopes)
	}
	k.registrations = nil
	close(k.opened)
	return true
}

func (k *KindInformer) newScope(resource *client.Resource, form client.Form, namespace string, configs map[string]Config) *scope {
	c := configs[namespace]
	lw := &client.ListWatch{Resource: resource, Namespace: namespace}
	if c.LabelSelector != nil {
		lw.LabelSelector = c.LabelSelector.String()
	}
	terms := []fields.Selector{}
	if c.FieldSelector != nil {
		terms = append(terms, c.FieldSelector)
		// Who may list one namespace only has no right to the list of all.
		if ns, exact := c.FieldSelector.RequiresExactMatch(fieldNamespace); exact && namespace == "" && resource.Namespaced() {
			lw.Namespace = ns
		}
	}
	if c.Transform == nil {
		// What is cached is read only, so it may share memory. A function of the
		// user's may change its objects in place: they must be its own.
		lw.Decoder = resource.NewDecoder(&decode.Options{DropManagedFields: true})
	}
	name := kindText(k.gvk)
	if namespace != "" {
		name += " in " + namespace
	} else {
		for _, other := range slices.Sorted(maps.Keys(configs)) {
			if other != "" { // it has a scope of its own
				terms = append(terms, fields.OneTermNotEqualSelector(fieldNamespace, other))
			}
		}
	}
	lw.FieldSelector = fields.AndSelectors(terms...).String()
	o := &informer.Options{
		Name:              name,
		Transform:         transform(c.Transform, k.gvk, form),
		WatchErrorHandler: k.options.DefaultWatchErrorHandler,
	}
	if c.SyncPeriod != nil {
		o.ResyncPeriod = *c.SyncPeriod
	}
	s := &scope{namespace: namespace, indexer: NewIndexer(), config: c, transform: o.Transform}
	s.shared = c.UnsafeDisableDeepCopy != nil && *c.UnsafeDisableDeepCopy
	s.overlay = &overlay{indexer: s.indexer}
	s.live = &client.ListWatch{Resource: resource, Namespace: lw.Namespace, LabelSelector: lw.LabelSelector, FieldSelector: lw.FieldSelector}
	s.informer = informer.New(lw, &overlaidStore{s.indexer, s.overlay}, o)
	return s
}

// transform returns what is done to each object before it is stored: the
// user's function, if there is one, and its kind set, so that no read has to do
// that to a shared object.
func transform(fn TransformFunc, gvk schema.GroupVersionKind, form client.Form) TransformFunc {
	return func(in client.Object) (client.Object, error) {
		obj := in
		if fn != nil {
			var err error
			if obj, err = fn(in); err != nil {
				return nil, err
			}
			if obj == nil || reflect.TypeOf(obj) != reflect.TypeOf(in) {
				return nil, fmt.Errorf("the transform function turned a %T (%s) into a %T: it must keep the type", in, form, obj)
			}
		}
		if kind := obj.GetObjectKind(); kind.GroupVersionKind() != gvk {
			kind.SetGroupVersionKind(gvk)
		}
		return obj, nil
	}
}

// failed keeps the error of a try to open, and reports it.
func (k *KindInformer) failed(ctx context.Context, err error) {
	k.mu.Lock()
	k.lastError = err
	k.mu.Unlock()
	if h := k.options.DefaultWatchErrorHandler; h != nil {
		h(ctx, fmt.Errorf("%s: %w", kindText(k.gvk), err))
		return
	}
	klog.FromContext(ctx).Error(err, "The kind cannot be listed yet, trying again", "kind", kindText(k.gvk))
}

// scopesFor returns the scopes of an open kind that a read of a namespace
// needs; empty stands for all.
func (k *KindInformer) scopesFor(namespace string) ([]*scope, error) {
	if namespace == "" || !k.namespaced {
		return k.scopes, nil
	}
	find := func(ns string) []*scope {
		if i, found := slices.BinarySearchFunc(k.scopes, ns, func(s *scope, ns string) int {
			return strings.Compare(s.namespace, ns)
		}); found {
			return k.scopes[i : i+1]
		}
		return nil
	}
	if own := find(namespace); own != nil {
		return own, nil
	}
	if rest := find(""); rest != nil {
		return rest, nil
	}
	return nil, fmt.Errorf("cache: %s is not cached in namespace %q:"+
		" add the namespace to Options.DefaultNamespaces or to the kind's ByObject.Namespaces", kindText(k.gvk), namespace)
}
