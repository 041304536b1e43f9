package cache

import (
	"context"
	"fmt"
	"time"

	"governor/client"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
)

// Wrote makes what the server has answered to a write visible to reads at once,
// though the watch has not brought it yet. It implements client.WriteObserver. It
// does nothing for a kind that has no informer, and for what is not cached.
func (c *Cache) Wrote(_ context.Context, r *client.Reply) {
	c.mu.RLock()
	k := c.kinds[r.Kind]
	c.mu.RUnlock()
	if k == nil {
		return
	}
	select {
	case <-k.opened:
	default:
		return // the first list is yet to come, and will have it
	}
	key := r.Key
	if !k.namespaced {
		key.Namespace = ""
	}
	scopes, err := k.scopesFor(key.Namespace)
	if err != nil {
		return // the namespace is not cached
	}
	for _, s := range scopes {
		s.overlay.write(s.entries(key, r)...)
	}
}

// entries returns what an answer says of the scope's objects.
func (s *scope) entries(key client.ObjectKey, r *client.Reply) []*entry {
	now := time.Now()
	if r.Verb == "deletecollection" {
		return s.collection(key.Namespace, r, now)
	}
	if r.SubResource == "token" {
		return nil // it changes nothing of the account
	}
	e := &entry{key: key, since: now}
	kind, about := r.About()
	e.uid, e.resourceVersion = about.GetUID(), about.GetResourceVersion()
	if e.resourceVersion != "" && !reached(e.resourceVersion, e.resourceVersion) {
		return nil // a server that breaks the rules
	}
	e.verdict = verdictOf(kind, about, r)
	if e.verdict == doubtful && r.Verb == "delete" || about.DeletionTimestamp != nil && e.verdict == doubtful {
		e.resourceVersion = "" // it may have been removed later
	}
	if e.verdict == shown {
		s.show(e, r)
	}
	if e.verdict == hidden && r.Verb == "create" && r.SubResource == "" {
		return nil // it never was in this scope
	}
	return []*entry{e}
}

// verdictOf is shown for whatever is an object that exists.
func verdictOf(kind string, about *metav1.PartialObjectMetadata, r *client.Reply) verdict {
	removing := r.Verb == "delete" && r.SubResource == ""
	going, grace := about.DeletionTimestamp != nil, about.DeletionGracePeriodSeconds
	switch {
	case kind == "Status" && removing && about.UID != "":
		return gone
	case about.UID == "" || about.ResourceVersion == "":
		return doubtful
	case kind != r.Kind.Kind && kind != "PartialObjectMetadata":
		return doubtful // of a subresource: the version is the object's, if there is one
	case removing && !going:
		return gone // its last state
	case !going || len(about.Finalizers) > 0 || grace != nil && *grace > 0:
		return shown
	case grace != nil:
		return gone // nothing held it any more
	}
	return doubtful // a Namespace, for one, is held by its spec
}

// show puts the object into e, or finds that it is not for the scope, or that the
// answer is not all of it.
func (s *scope) show(e *entry, r *client.Reply) {
	obj, err := r.Object(s.live.Resource)
	if err != nil {
		e.verdict = doubtful
		return
	}
	selected, sure := s.selects(obj)
	switch {
	case !sure:
		e.verdict = doubtful
		return
	case !selected:
		e.verdict = hidden
		return
	}
	if e.object, err = s.toStore(obj); err != nil {
		e.verdict, e.object = doubtful, nil
	}
}

// selects says whether the scope's selectors select an object, as the server has
// it. Of fields other than name and namespace only the server is sure.
func (s *scope) selects(obj client.Object) (selected, sure bool) {
	if l := s.config.LabelSelector; l != nil && !l.Matches(labels.Set(obj.GetLabels())) {
		return false, true
	}
	f := s.config.FieldSelector
	if f == nil {
		return true, true
	}
	known := fields.Set{fieldName: obj.GetName(), fieldNamespace: obj.GetNamespace()}
	for _, r := range f.Requirements() {
		if !known.Has(r.Field) {
			return false, false
		}
	}
	return f.Matches(known), true
}

// toStore makes a new object what the informer would have stored.
func (s *scope) toStore(obj client.Object) (stored client.Object, err error) {
	key := client.ObjectKeyFromObject(obj)
	defer func() {
		if r := recover(); r != nil {
			stored, err = nil, fmt.Errorf("the transform function panicked on %s: %v", key, r)
		}
	}()
	if s.config.Transform == nil && obj.GetManagedFields() != nil {
		obj.SetManagedFields(nil) // as the informer's Decoder does
	}
	stored, err = s.transform(obj)
	if err == nil && client.ObjectKeyFromObject(stored) != key {
		err = fmt.Errorf("the transform function renamed %s to %s", key, client.ObjectKeyFromObject(stored))
	}
	return stored, err
}

// collection returns entries for what a deletecollection may have changed: each
// object was removed, or told to go, or the request was over before.
func (s *scope) collection(namespace string, r *client.Reply, now time.Time) []*entry {
	items, err := r.Items()
	if err != nil {
		// All that is known, then.
		items = s.indexer.List()
		if o := s.overlay.current.Load(); o != nil {
			for _, e := range o.entries {
				if e.verdict == shown {
					items = append(items, e.object)
				}
			}
		}
	}
	entries := make([]*entry, 0, len(items))
	for _, item := range items {
		if key := client.ObjectKeyFromObject(item); key.Namespace == namespace {
			entries = append(entries, &entry{key: key, verdict: doubtful, uid: item.GetUID(), since: now})
		}
	}
	return entries
}
