package cache

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// errLeft is what ends the wait for a scope that is not one of the kind's any more.
var errLeft = errors.New("the namespace is not cached any more")

// HasSynced says whether the kind has synced: each informer's store holds a
// complete list.
func (k *KindInformer) HasSynced() bool {
	lay := k.life.Load().layout.Load()
	return lay != nil && !slices.ContainsFunc(lay.scopes, func(s *scope) bool { return !s.informer.HasSynced() })
}

// WaitForSync returns nil when the kind has synced; otherwise, when ctx ends
// or the kind's informer stops, a NotSyncedError.
func (k *KindInformer) WaitForSync(ctx context.Context) error {
	_, err := k.await(ctx, "")
	return err
}

// synced returns the scopes of the kind that a read of a namespace needs, empty
// for all, when they have synced.
func (k *KindInformer) synced(ctx context.Context, timeout time.Duration, namespace string) ([]*scope, error) {
	l := k.life.Load()
	if lay := l.layout.Load(); lay != nil {
		scopes, err := k.scopesFor(lay, namespace)
		if err != nil || !slices.ContainsFunc(scopes, func(s *scope) bool { return !s.informer.HasSynced() }) {
			return scopes, err
		}
	}
	l.waiting.Add(1) // lest it is taken for idle
	defer l.waiting.Add(-1)
	ctx, cancel := context.WithTimeoutCause(ctx, timeout,
		fmt.Errorf("no complete list within %v (Options.SyncTimeout): %w", timeout, context.DeadlineExceeded))
	defer cancel()
	return k.await(ctx, namespace)
}

// await waits for the scopes that synced returns, through a change of namespaces
// or of the stored form.
func (k *KindInformer) await(ctx context.Context, namespace string) ([]*scope, error) {
	for {
		l := k.life.Load()
		scopes, err := k.awaitLife(ctx, l, namespace)
		if errors.Is(err, errLeft) || errors.Is(err, ErrStopped) && k.life.Load() != l && k.lives() {
			continue
		}
		return scopes, err
	}
}

func (k *KindInformer) awaitLife(ctx context.Context, l *life, namespace string) ([]*scope, error) {
	if err := l.wait(ctx, l.opened, nil); err != nil {
		return nil, k.notSynced(l, nil, err)
	}
	scopes, err := k.scopesFor(l.layout.Load(), namespace)
	if err != nil {
		return nil, err
	}
	for _, s := range scopes {
		if s.informer.HasSynced() {
			continue // also when ctx has ended, or the informer
		}
		if k.isGone(l) {
			return nil, k.notSynced(l, scopes, ErrNotInstalled)
		}
		if err := l.wait(ctx, s.informer.Synced(), s.left); err != nil {
			return nil, k.notSynced(l, scopes, err)
		}
	}
	return scopes, nil
}

// isGone says whether the server had the kind, and does not any more.
func (k *KindInformer) isGone(l *life) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return l.again
}

// wait waits for done, and returns an error when ctx or the life ends, or left is
// closed.
func (l *life) wait(ctx context.Context, done, left <-chan struct{}) error {
	select {
	case <-done:
		return nil
	default:
	}
	select {
	case <-done:
		return nil
	case <-left:
		return errLeft
	case <-l.stop:
		return ErrStopped
	case <-ctx.Done():
		if err := context.Cause(ctx); !errors.Is(err, context.DeadlineExceeded) {
			return err
		}
		return fmt.Errorf("timed out: %w", context.Cause(ctx))
	}
}

// notSynced says which of the scopes, nil if the kind is not open, are missing.
func (k *KindInformer) notSynced(l *life, scopes []*scope, err error) error {
	k.mu.Lock()
	e := &NotSyncedError{Kind: k.gvk, LastError: l.lastError, Err: err}
	k.mu.Unlock()
	for _, s := range scopes {
		if s.informer.HasSynced() {
			continue
		}
		if s.namespace != "" {
			e.Namespaces = append(e.Namespaces, s.namespace)
		}
		// Of several, one that says more than that the request was cut short.
		if last := s.informer.Status().LastError; last != nil && (e.LastError == nil || apierrors.ReasonForError(e.LastError) == "") {
			e.LastError = last
		}
	}
	return e
}
