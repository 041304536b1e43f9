package cache

import (
	"context"
	"fmt"
	"time"

	"governor/client"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
)

// freshTimeout bounds, besides the context, how long a read waits for the watch,
// or for what it asks the server.
const freshTimeout = 5 * time.Second

// catchUp waits until the scope's store has come to a version; empty is none.
func (k *KindInformer) catchUp(ctx context.Context, s *scope, resourceVersion string) error {
	if resourceVersion == "" || reached(s.indexer.ResourceVersion(), resourceVersion) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, freshTimeout)
	defer cancel()
	if err := s.informer.WaitFor(ctx, resourceVersion); err != nil {
		return &BehindError{Kind: k.gvk, Namespace: s.namespace, ResourceVersion: resourceVersion, Err: err}
	}
	return nil
}

// ask asks the server for the objects of entries, and puts the answers in their
// place. It lists, which whoever has an informer may do: and the answer tells at
// which resourceVersion an object is not there, or not selected.
func (k *KindInformer) ask(ctx context.Context, s *scope, entries []*entry) error {
	ctx, cancel := context.WithTimeout(ctx, freshTimeout)
	defer cancel()
	spaces := map[string]map[client.ObjectKey]*entry{}
	for _, e := range entries {
		space := spaces[e.key.Namespace]
		if space == nil {
			space = map[client.ObjectKey]*entry{}
			spaces[e.key.Namespace] = space
		}
		space[e.key] = e
	}
	for namespace, asked := range spaces {
		err := s.ask(ctx, namespace, asked)
		if err == nil {
			continue
		}
		if apierrors.IsNotFound(err) { // the kind is gone: that says nothing of an object
			return fmt.Errorf("cache: %s: what became of a write is not known: %v", kindText(k.gvk), err)
		}
		return fmt.Errorf("cache: %s: what became of a write is not known: %w", kindText(k.gvk), err)
	}
	return nil
}

// ask is about the objects of one namespace. For several it lists them all: they
// have been deleted, mostly.
func (s *scope) ask(ctx context.Context, namespace string, asked map[client.ObjectKey]*entry) error {
	lw := *s.live
	if namespace != "" {
		lw.Namespace = namespace
	}
	opts := metav1.ListOptions{Limit: 500}
	if len(asked) == 1 {
		for key := range asked {
			opts.FieldSelector = fields.OneTermEqualSelector(fieldName, key.Name).String()
		}
	}
	answers := map[client.ObjectKey]client.Object{}
	var bad error
	for version := ""; ; {
		page, err := lw.List(ctx, opts, func(obj client.Object, err error) bool {
			if err != nil {
				bad = err
				return false
			}
			if key := client.ObjectKeyFromObject(obj); asked[key] != nil {
				answers[key], bad = s.toStore(obj)
			}
			return bad == nil
		})
		if err == nil {
			err = bad
		}
		if err != nil {
			return err
		}
		if version == "" {
			version = page.ResourceVersion
		}
		if page.Continue == "" {
			s.answer(asked, answers, version)
			return nil
		}
		opts.Continue = page.Continue
	}
}

// answer puts what the server has answered, at a version, in the place of what was asked.
func (s *scope) answer(asked map[client.ObjectKey]*entry, answers map[client.ObjectKey]client.Object, version string) {
	now := time.Now()
	for key, e := range asked {
		next := &entry{key: key, verdict: hidden, resourceVersion: version, since: now}
		if obj := answers[key]; obj != nil {
			next.verdict, next.object = shown, obj
			next.uid, next.resourceVersion = obj.GetUID(), obj.GetResourceVersion()
		}
		s.overlay.learn(e, next)
	}
}
