package cache

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

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

	served
	measured measured
	started  bool          // for run
	left     chan struct{} // closed when it is not one of the kind's any more
	// own says that the Transform is that of the namespace.
	own bool
}

// tryOpen lays the kind out, if the server knows it.
func (k *KindInformer) tryOpen(ctx context.Context, l *life) error {
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
		next := &layout{resource: resource, served: served{mapping.Resource.GroupResource(), resource.Namespaced(), form}}
		if done, err := k.publish(l, next); done || err != nil {
			return err
		}
	}
}

// publish lays an opened kind out. It returns false if another form was asked for
// meanwhile.
func (k *KindInformer) publish(l *life, next *layout) (bool, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if next.form != k.form {
		return false, nil
	}
	if l.over() {
		return false, ErrStopped
	}
	if err := k.layOutLocked(l, next, k.options, k.kind); err != nil {
		return false, err
	}
	l.lastError = nil
	close(l.opened)
	return true, nil
}

// layOutLocked gives the kind the scopes that the settings ask for, in place of those
// that it has; what stays the same is kept.
func (k *KindInformer) layOutLocked(l *life, next *layout, o *Options, d declared) error {
	configs, err := o.scopes(d.ByObject, next.namespaced)
	if err != nil {
		return err
	}
	var before []*scope
	if lay := l.layout.Load(); lay != nil {
		before = lay.scopes
	}
	for _, ns := range slices.Sorted(maps.Keys(configs)) {
		s := k.newScope(l, next, ns, configs)
		s.own = d.Namespaces[ns].Transform != nil || o.DefaultNamespaces[ns].Transform != nil
		if n := slices.IndexFunc(before, s.same); n >= 0 {
			next.scopes = append(next.scopes, before[n])
			continue
		}
		for _, x := range k.indexes {
			// The Indexer is empty and the fields differ, so there is no error.
			_ = s.indexer.AddIndex(x.field, x.fn)
		}
		next.scopes = append(next.scopes, s)
		l.fresh = append(l.fresh, s)
	}
	l.layout.Store(next)
	for _, s := range before {
		if !slices.Contains(next.scopes, s) {
			close(s.left)
		}
	}
	for _, r := range k.registrations {
		r.moveLocked(next.scopes)
	}
	select {
	case l.changed <- struct{}{}:
	default: // it is told already
	}
	return nil
}

// same says whether x is what s would be.
func (s *scope) same(x *scope) bool {
	return s.namespace == x.namespace && s.live.Namespace == x.live.Namespace &&
		s.live.LabelSelector == x.live.LabelSelector && s.live.FieldSelector == x.live.FieldSelector && s.shared == x.shared && !s.own && !x.own &&
		s.syncPeriod() == x.syncPeriod()
}

func (s *scope) syncPeriod() time.Duration {
	if s.config.SyncPeriod == nil {
		return 0
	}
	return *s.config.SyncPeriod
}

func (k *KindInformer) newScope(l *life, lay *layout, namespace string, configs map[string]Config) *scope {
	c, resource, form := configs[namespace], lay.resource, lay.form
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
		lw.Decoder = resource.NewDecoder(&decode.Options{DropManagedFields: true, Compact: k.tier() == Compact})
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
		WatchErrorHandler: k.watchErrorHandlerLocked(),
		Metrics:           k.earLocked(l, namespace),
	}
	s := &scope{namespace: namespace, indexer: NewIndexer(), config: c, transform: o.Transform, served: lay.served, left: make(chan struct{})}
	o.ResyncPeriod = s.syncPeriod()
	if c.Transform != nil && k.tier() == Compact {
		o.Transform = compacted(o.Transform, resource.NewDecoder(&decode.Options{Compact: true}))
	}
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
func (k *KindInformer) failed(ctx context.Context, l *life, err error) {
	k.mu.Lock()
	l.lastError = err
	h := k.watchErrorHandlerLocked()
	k.mu.Unlock()
	if h != nil {
		h(ctx, fmt.Errorf("%s: %w", kindText(k.gvk), err))
		return
	}
	klog.FromContext(ctx).Error(err, "The kind cannot be listed yet, trying again", "kind", kindText(k.gvk))
}

func (k *KindInformer) watchErrorHandlerLocked() func(context.Context, error) {
	if h := k.kind.WatchErrorHandler; h != nil {
		return h
	}
	return k.options.DefaultWatchErrorHandler
}

// scopesFor returns the scopes that a read of a namespace needs; empty stands for
// all.
func (k *KindInformer) scopesFor(lay *layout, namespace string) ([]*scope, error) {
	if namespace == "" || !lay.namespaced {
		return lay.scopes, nil
	}
	find := func(ns string) []*scope {
		if i, found := slices.BinarySearchFunc(lay.scopes, ns, func(s *scope, ns string) int {
			return strings.Compare(s.namespace, ns)
		}); found {
			return lay.scopes[i : i+1]
		}
		return nil
	}
	if own := find(namespace); own != nil {
		return own, nil
	}
	if rest := find(""); rest != nil {
		return rest, nil
	}
	return nil, fmt.Errorf("%w: %s in %q: add it to Options.DefaultNamespaces,"+
		" or to the kind's ByObject.Namespaces, or call SetNamespaces", ErrNamespaceNotCached, kindText(k.gvk), namespace)
}
