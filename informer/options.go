package informer

import (
	"cmp"
	"context"
	"time"

	"governor/client"
)

// Options tunes an Informer. The zero value, and nil, are ready to use.
type Options struct {
	// Name is used in logs and errors: the kind, and the namespace if scoped.
	// Empty means "objects".
	Name string
	// Transform changes each object once, before it is stored; nil means none.
	// It may change the object in place; it must keep its namespace and name.
	// An object for which it fails is unread (see UnreadObject); the others go on.
	// The Informer lists anew for its sake, after a back-off of up to 10 minutes.
	Transform func(client.Object) (client.Object, error)
	// ResyncPeriod is how often handlers that ask for it hear of every object
	// again. Zero means never.
	ResyncPeriod time.Duration
	// WatchErrorHandler hears of each failed list or watch, and of each unread
	// object, in the goroutine that lists and watches: it must not block. Nil
	// means log lines, for each text at most one a minute.
	WatchErrorHandler func(ctx context.Context, err error)
	// Metrics is told of each list and watch. Nil means nobody is.
	Metrics Metrics
}

func (o *Options) orZero() Options {
	if o == nil {
		return Options{}
	}
	return *o
}

func (o *Options) name() string { return cmp.Or(o.orZero().Name, "objects") }

func (o *Options) transform() func(client.Object) (client.Object, error) {
	return o.orZero().Transform
}

func (o *Options) resyncPeriod() time.Duration { return o.orZero().ResyncPeriod }

func (o *Options) watchErrorHandler() func(context.Context, error) {
	if h := o.orZero().WatchErrorHandler; h != nil {
		return h
	}
	return (&errorLog{name: o.name()}).log
}

func (o *Options) metrics() Metrics {
	if m := o.orZero().Metrics; m != nil {
		return m
	}
	return noMetrics{}
}
