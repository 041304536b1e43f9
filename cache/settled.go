package cache

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"governor/client"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// Settled says whether all that has reached the Cache has gone its way: it has started, each of
// its kinds has synced, and every handler has heard of everything that is stored. A kind that the
// server does not know is left out. It makes no request, so it cannot know what is still to
// come: see [Cache.CaughtUp].
func (c *Cache) Settled() bool { return c.Unsettled() == "" }

// Unsettled is why the Cache is not settled, for people; empty if it is.
func (c *Cache) Unsettled() string {
	kinds, running := c.all()
	if !running {
		return "the cache has not started"
	}
	var reasons []string
	for _, k := range kinds {
		if why := k.unsettled(); why != "" {
			reasons = append(reasons, "the cache of "+kindText(k.gvk)+" "+why)
		}
	}
	return strings.Join(reasons, "; ")
}

// CaughtUp returns nil when the Cache has what the server has now, or else an error that says
// what it lacks. It lists the metadata of each kind, without the Cache: it is for tests, and for
// whoever doubts what he reads.
func (c *Cache) CaughtUp(ctx context.Context) error {
	kinds, _ := c.all()
	for _, k := range kinds {
		if err := k.caughtUp(ctx); err != nil {
			return fmt.Errorf("the cache of %s: %w", kindText(k.gvk), err)
		}
	}
	return nil
}

// all returns the kinds, in order, and whether the Cache has started. One that has ended has none.
func (c *Cache) all() (kinds []*KindInformer, running bool) {
	c.mu.RLock()
	running, ended := c.running, c.ended
	c.mu.RUnlock()
	if ended {
		return nil, true
	}
	return c.sortedKinds(), running
}

// laidOut returns the kind's layout, nil if the server does not know the kind, as far as is known
// here, and whether it has been asked at all. A kind that nobody needs has none, and need not be asked.
func (k *KindInformer) laidOut() (lay *layout, asked bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	l := k.life.Load()
	if l.over() {
		return nil, true
	}
	lay = l.layout.Load()
	return lay, lay != nil || l.lastError != nil
}

func (k *KindInformer) unsettled() string {
	lay, asked := k.laidOut()
	switch {
	case !asked:
		return "has not asked the server for the kind"
	case lay == nil:
		return "" // it would be listed later, if ever
	}
	for _, s := range lay.scopes {
		status := s.informer.Status()
		if !s.informer.HasSynced() {
			if status.LastError != nil {
				return fmt.Sprintf("has not synced: %v", status.LastError)
			}
			return "has not synced"
		}
		for _, h := range status.Handlers {
			if !h.Synced || h.Lag > 0 {
				return fmt.Sprintf("has %d events for %s", h.Lag, h.Name)
			}
		}
	}
	return ""
}

// caughtUp compares what is stored with what the server has. In a state of the server as it was at
// the store's resourceVersion there is all that is not newer; and what has been deleted since is one too many.
func (k *KindInformer) caughtUp(ctx context.Context) error {
	if k.life.Load().over() {
		return nil
	}
	resource, err := k.client.Resource(ctx, k.gvk, client.MetadataOnly)
	lay, _ := k.laidOut()
	if lay == nil {
		if err != nil {
			return nil // as before
		}
		return errors.New("the server knows the kind by now")
	}
	if err != nil {
		return err
	}
	for _, s := range lay.scopes {
		status := s.informer.Status() // before the list: the store only gets nearer
		if !s.informer.HasSynced() {
			return errors.New("it has not synced")
		}
		objects, newest, err := k.count(ctx, s, lay, resource.Namespaced())
		if err != nil {
			return err
		}
		behind, err := resourceversion.CompareResourceVersion(status.ResourceVersion, newest)
		switch {
		case err != nil:
			return err
		case behind < 0:
			return fmt.Errorf("it is at resourceVersion %s, and %s has been written", status.ResourceVersion, newest)
		case status.UnreadObjects > 0:
			return fmt.Errorf("%d of its objects could not be read, the first of them %w", status.UnreadObjects, status.Unread[0].Err)
		case status.Objects != objects:
			return fmt.Errorf("it has %d objects at resourceVersion %s, the server has %d", status.Objects, status.ResourceVersion, objects)
		}
	}
	return nil
}

// count counts the objects that the server has in a scope, and finds when the newest of them was written; "1" if
// there are none.
func (k *KindInformer) count(ctx context.Context, s *scope, lay *layout, namespaced bool) (objects int, newest string, err error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(k.gvk.GroupVersion().WithKind(k.gvk.Kind + "List"))
	options := &client.ListOptions{Namespace: s.namespace, LabelSelector: s.config.LabelSelector, FieldSelector: s.config.FieldSelector}
	if options.FieldSelector != nil && s.namespace == "" && namespaced {
		// Who may list one namespace only has no right to the list of all.
		options.Namespace, _ = options.FieldSelector.RequiresExactMatch(fieldNamespace)
	}
	if err := k.client.List(ctx, list, options); err != nil {
		return 0, "", err
	}
	newest = "1"
	for i := range list.Items {
		item := &list.Items[i]
		own := func(other *scope) bool { return other.namespace == item.Namespace }
		if s.namespace == "" && item.Namespace != "" && slices.ContainsFunc(lay.scopes, own) {
			continue // it is in a scope of its own
		}
		objects++
		later, err := resourceversion.CompareResourceVersion(item.ResourceVersion, newest)
		if err != nil {
			return 0, "", err
		}
		if later > 0 {
			newest = item.ResourceVersion
		}
	}
	return objects, newest, nil
}
