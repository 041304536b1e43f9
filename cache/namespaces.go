package cache

import (
	"errors"
	"fmt"
	"maps"

	"governor/client"
)

// SetNamespaces changes Options.DefaultNamespaces while the Cache runs, or before. It makes
// no request, and does not wait.
//
// Reads know the new namespaces when it returns, and wait for their first list.
// Handlers hear of what is cached now as adds in the initial list, and of what is
// not any more as deletes whose final state is unknown, and then reads of it fail with
// ErrNamespaceNotCached. Indexes are kept. A namespace that stays, with the same
// settings, keeps its informer; one whose settings change, or which has a
// Transform of its own, gets a new one, as do all others together, when the set
// has metav1.NamespaceAll, whose request names those that it leaves out.
//
// Kinds with ByObject.Namespaces of their own keep them: see SetNamespacesOf.
// Upstream has none: the set is fixed when the cache is made.
func (c *Cache) SetNamespaces(namespaces map[string]Config) error {
	o := Options{DefaultNamespaces: namespaces}
	if err := o.valid(); err != nil {
		return err
	}
	namespaces = maps.Clone(namespaces)
	c.setting.Lock()
	defer c.setting.Unlock()
	c.mu.Lock()
	c.defaults = namespaces
	c.mu.Unlock()
	var errs []error
	for _, k := range c.sortedKinds() {
		errs = append(errs, k.change(func(o *Options, _ *declared) { o.DefaultNamespaces = namespaces }))
	}
	return errors.Join(errs...)
}

// SetNamespacesOf changes ByObject.Namespaces of obj's kind: nil inherits those of
// all kinds, empty means all there are. See SetNamespaces. The form of obj does not
// matter, and a kind that is not in ByObject is not declared by this.
func (c *Cache) SetNamespacesOf(obj client.Object, namespaces map[string]Config) error {
	gvk, err := c.client.GroupVersionKindFor(obj)
	if err != nil {
		return fmt.Errorf("cache: SetNamespacesOf: %w", err)
	}
	o := Options{ByObject: map[client.Object]ByObject{obj: {Namespaces: namespaces}}}
	if err := o.valid(); err != nil {
		return err
	}
	namespaces = maps.Clone(namespaces)
	c.setting.Lock()
	defer c.setting.Unlock()
	err = c.addKind(gvk).change(func(_ *Options, d *declared) { d.Namespaces = namespaces })
	if err != nil {
		return fmt.Errorf("cache: SetNamespacesOf %s: %w", kindText(gvk), err)
	}
	return nil
}

// change changes the kind's settings, or says why that cannot be.
func (k *KindInformer) change(f func(*Options, *declared)) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	o, d := *k.options, k.kind
	f(&o, &d)
	l := k.life.Load()
	if lay := l.layout.Load(); lay != nil && !l.over() {
		if err := k.layOutLocked(l, &layout{resource: lay.resource, served: lay.served}, &o, d); err != nil {
			return err
		}
	}
	k.options, k.kind = &o, d
	return nil
}
