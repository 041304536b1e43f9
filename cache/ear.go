package cache

import (
	"context"
	"time"

	"governor/informer"

	"k8s.io/klog/v2"
)

// ear hears of the lists and watches of a scope: for whom Options.Metrics names, and
// for the kind, which is to notice that the server does not have it any more.
type ear struct {
	kind *KindInformer
	life *life
	next informer.Metrics // nil: nobody
}

func (k *KindInformer) earLocked(l *life, namespace string) *ear {
	e := &ear{kind: k, life: l}
	if k.options.Metrics != nil {
		e.next = k.options.Metrics(k.gvk, namespace)
	}
	return e
}

// Listed implements informer.Metrics.
func (e *ear) Listed(took time.Duration, objects int, err error) {
	e.kind.heard(e.life, err)
	if e.next != nil {
		e.next.Listed(took, objects, err)
	}
}

// Watched implements informer.Metrics.
func (e *ear) Watched(lasted time.Duration, events int, err error) {
	e.kind.heard(e.life, err)
	if e.next != nil {
		e.next.Watched(lasted, events, err)
	}
}

// Unread implements informer.Metrics.
func (e *ear) Unread(objects int) {
	if e.next != nil {
		e.next.Unread(objects)
	}
}

// warn tells of an informer that a read has started by the way, of a kind that
// nobody has declared: it may hold more of the cluster than was meant.
func (k *KindInformer) warn(ctx context.Context) {
	k.mu.Lock()
	defer k.mu.Unlock()
	d := k.options.defaults()
	if len(k.options.DefaultNamespaces) > 0 || d.LabelSelector != nil || d.FieldSelector != nil {
		return
	}
	klog.FromContext(ctx).Info("The kind is cached from now on, all of it, since it is read; list it in Options.ByObject to say how much of it is wanted,"+
		" or set Options.ReaderFailOnMissingInformer", "kind", kindText(k.gvk))
}
