package cache

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"governor/client"
	"governor/informer"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Options tunes a Cache. The zero value, and nil, are ready to use: everything
// of each kind that is asked for, without managedFields.
//
// What holds for a kind in a namespace is the first that is not nil of
//
//	ByObject[kind].Namespaces[namespace]
//	ByObject[kind]
//	DefaultNamespaces[namespace]            (not for kinds that live in no namespace)
//	Default…
//
// setting by setting. To take back a default give one that does nothing:
// labels.Everything(), fields.Everything(), a Transform that returns its
// object, a pointer to false or zero. Tier and WatchErrorHandler are of a kind, and
// have two rows: ByObject[kind] and Default…. Namespaces can be changed while the
// Cache runs: see [Cache.SetNamespaces].
type Options struct {
	// ReaderFailOnMissingInformer makes a read of a kind that was not declared, by
	// ByObject, GetInformer or IndexField, and has no informer, fail with
	// ErrResourceNotCached. False means that it starts one, which lists
	// and watches the kind from then on, and, for a kind that is not in ByObject, says so in a log line.
	ReaderFailOnMissingInformer bool

	// IdleTimeout is after how long a kind that nobody reads is cached no more: its
	// watch ends, its memory goes, and the next read lists it anew. It does not
	// concern kinds that have a handler, as those do that a controller watches, nor
	// kinds that were declared: by ByObject, GetInformer or IndexField. Zero means
	// 10 minutes, a negative value never.
	IdleTimeout time.Duration

	// SyncTimeout bounds how long a read waits for the first list of its kind,
	// besides its context. Zero means 30 s: enough to list tens of thousands of
	// objects, and short enough that a worker whose kind may not be listed says
	// so, instead of being lost.
	SyncTimeout time.Duration

	// SyncPeriod is how often handlers hear of every object again. Nil and zero
	// mean never: the watch loses nothing.
	SyncPeriod *time.Duration

	// DefaultNamespaces restricts the cache to namespaces, with settings for
	// each. Empty means all of them. The key metav1.NamespaceAll stands for
	// those that are not listed.
	DefaultNamespaces map[string]Config

	// DefaultLabelSelector restricts the cache to what it selects, on the
	// server. Nil selects everything.
	DefaultLabelSelector labels.Selector
	// DefaultFieldSelector likewise. The server knows few fields of each kind.
	// metadata.namespace=x asks in that namespace only, as far as rights go too.
	DefaultFieldSelector fields.Selector

	// DefaultTransform changes each object once, before it is stored. It may do so
	// in place. Nil drops managedFields as the objects are decoded, and lets what
	// is equal in several of them be in memory once; less yet takes a Tier.
	// Whoever needs managedFields gives a function that returns its object.
	DefaultTransform TransformFunc

	// DefaultTier is how objects are kept. Empty means Shared.
	DefaultTier Tier

	// DefaultUnsafeDisableDeepCopy makes Get and List hand out the cache's own
	// objects, which must then never be changed. Nil means false.
	DefaultUnsafeDisableDeepCopy *bool

	// DefaultWatchErrorHandler hears of each failed list and watch. It must not
	// block. Nil means log lines.
	DefaultWatchErrorHandler func(ctx context.Context, err error)

	// Metrics returns who is told of the lists and watches of a kind in a namespace,
	// which is empty for all, or nil for nobody. It must not block, nor call the
	// Cache. Nil means that nobody is told. What there is at a moment,
	// [Cache.Status] says.
	Metrics func(kind schema.GroupVersionKind, namespace string) informer.Metrics

	// DetectMutations hears of each cached object that somebody has changed who was
	// to read it only: a handler, an index function, or who reads without copies. It
	// is for tests: each object that is handed out is copied, and compared when it
	// is handed out again, when a handler has returned, and when Start returns. It
	// must not read from the cache. Nil means off, which costs nothing.
	DetectMutations func(*Mutation)

	// ByObject has settings for kinds. The keys stand for their kinds: one key
	// for each kind, in the form in which the kind is to be stored. A kind that
	// is not here is stored metadata-only as long as that is all that was asked for.
	// What is here is cached from the first read on, and does not become idle.
	ByObject map[client.Object]ByObject

	// detector is made of DetectMutations.
	detector *detector
}

// ByObject are the settings of one kind. What is nil is inherited, see Options.
type ByObject struct {
	// Namespaces in place of Options.DefaultNamespaces. Nil inherits them; empty
	// means all. A kind that lives in no namespace must not have any.
	Namespaces map[string]Config
	// Label in place of Options.DefaultLabelSelector.
	Label labels.Selector
	// Field in place of Options.DefaultFieldSelector.
	Field fields.Selector
	// Transform in place of Options.DefaultTransform.
	Transform TransformFunc
	// Tier in place of Options.DefaultTier. It is one for all namespaces.
	Tier Tier
	// UnsafeDisableDeepCopy in place of Options.DefaultUnsafeDisableDeepCopy.
	UnsafeDisableDeepCopy *bool
	// SyncPeriod in place of Options.SyncPeriod.
	SyncPeriod *time.Duration
	// WatchErrorHandler in place of Options.DefaultWatchErrorHandler.
	WatchErrorHandler func(ctx context.Context, err error)
}

// Config are the settings of one namespace. What is nil is inherited, see Options.
type Config struct {
	// LabelSelector in place of ByObject.Label.
	LabelSelector labels.Selector
	// FieldSelector in place of ByObject.Field.
	FieldSelector fields.Selector
	// Transform in place of ByObject.Transform.
	Transform TransformFunc
	// UnsafeDisableDeepCopy in place of ByObject.UnsafeDisableDeepCopy.
	UnsafeDisableDeepCopy *bool
	// SyncPeriod in place of ByObject.SyncPeriod.
	SyncPeriod *time.Duration
}

// TransformFunc changes an object before it is stored, and returns it. It must
// keep its Go type, namespace and name.
type TransformFunc = func(client.Object) (client.Object, error)

// TransformStripManagedFields drops managedFields: about 15 % of a typed Pod's
// memory, and of use to hardly any controller. Without a Transform they are
// dropped anyway; one of your own may call it.
func TransformStripManagedFields() TransformFunc {
	return func(obj client.Object) (client.Object, error) {
		if obj.GetManagedFields() != nil {
			obj.SetManagedFields(nil)
		}
		return obj, nil
	}
}

func (o *Options) orZero() Options {
	if o == nil {
		return Options{}
	}
	return *o
}

func (o *Options) idleTimeout() time.Duration { return cmp.Or(o.IdleTimeout, 10*time.Minute) }

func (o *Options) syncTimeout() time.Duration {
	if o.SyncTimeout == 0 {
		return 30 * time.Second
	}
	return o.SyncTimeout
}

// defaults returns the last row of the table at Options.
func (o *Options) defaults() Config {
	return Config{
		LabelSelector:         o.DefaultLabelSelector,
		FieldSelector:         o.DefaultFieldSelector,
		Transform:             o.DefaultTransform,
		UnsafeDisableDeepCopy: o.DefaultUnsafeDisableDeepCopy,
		SyncPeriod:            o.SyncPeriod,
	}
}

func (b *ByObject) config() Config {
	return Config{
		LabelSelector:         b.Label,
		FieldSelector:         b.Field,
		Transform:             b.Transform,
		UnsafeDisableDeepCopy: b.UnsafeDisableDeepCopy,
		SyncPeriod:            b.SyncPeriod,
	}
}

// or returns c with what is nil taken from d.
func (c Config) or(d Config) Config {
	if c.LabelSelector == nil {
		c.LabelSelector = d.LabelSelector
	}
	if c.FieldSelector == nil {
		c.FieldSelector = d.FieldSelector
	}
	if c.Transform == nil {
		c.Transform = d.Transform
	}
	if c.UnsafeDisableDeepCopy == nil {
		c.UnsafeDisableDeepCopy = d.UnsafeDisableDeepCopy
	}
	if c.SyncPeriod == nil {
		c.SyncPeriod = d.SyncPeriod
	}
	return c
}

// scopes returns the namespaces in which a kind is cached, each with what holds
// there; "" stands for all, or for those that are not listed.
func (o *Options) scopes(kind ByObject, namespaced bool) (map[string]Config, error) {
	if !namespaced {
		if len(kind.Namespaces) > 0 {
			return nil, fmt.Errorf("ByObject has Namespaces for a kind that lives in no namespace: remove them")
		}
		return map[string]Config{"": kind.config().or(o.defaults())}, nil
	}
	namespaces := o.DefaultNamespaces
	if kind.Namespaces != nil {
		namespaces = kind.Namespaces
	}
	if len(namespaces) == 0 {
		namespaces = map[string]Config{"": {}}
	}
	scopes := make(map[string]Config, len(namespaces))
	for ns := range namespaces {
		scopes[ns] = kind.Namespaces[ns].or(kind.config()).or(o.DefaultNamespaces[ns]).or(o.defaults())
	}
	return scopes, nil
}

// tier returns that of a kind.
func (o *Options) tier(kind ByObject) Tier { return cmp.Or(kind.Tier, o.DefaultTier, Shared) }

// valid refuses settings that the server would take for something else.
func (o *Options) valid() error {
	check := func(where string, c Config) error {
		// The text of a selector of nothing is that of a selector of everything.
		if c.LabelSelector != nil && !c.LabelSelector.Empty() && c.LabelSelector.String() == "" ||
			c.FieldSelector != nil && !c.FieldSelector.Empty() && c.FieldSelector.String() == "" {
			return fmt.Errorf("cache: a selector of %s selects nothing: do not ask for the kind instead", where)
		}
		if c.SyncPeriod != nil && *c.SyncPeriod < 0 {
			return fmt.Errorf("cache: the SyncPeriod of %s is negative", where)
		}
		return nil
	}
	checkTier := func(where string, t Tier) error {
		if t != "" && t != Shared && t != Compact {
			return fmt.Errorf("cache: the tier of %s is %q: it can be %s or %s", where, t, Shared, Compact)
		}
		return nil
	}
	if err := checkTier("Options", o.DefaultTier); err != nil {
		return err
	}
	if o.SyncTimeout < 0 {
		return fmt.Errorf("cache: SyncTimeout is negative")
	}
	if err := check("Options", o.defaults()); err != nil {
		return err
	}
	for ns, c := range o.DefaultNamespaces {
		if err := check(fmt.Sprintf("DefaultNamespaces[%q]", ns), c); err != nil {
			return err
		}
	}
	for obj, b := range o.ByObject {
		if err := check(fmt.Sprintf("ByObject[%T]", obj), b.config()); err != nil {
			return err
		}
		if err := checkTier(fmt.Sprintf("ByObject[%T]", obj), b.Tier); err != nil {
			return err
		}
		for ns, c := range b.Namespaces {
			if err := check(fmt.Sprintf("ByObject[%T].Namespaces[%q]", obj, ns), c); err != nil {
				return err
			}
		}
	}
	return nil
}

// declared is one kind of Options.ByObject.
type declared struct {
	ByObject
	form client.Form
}

// declare finds the kinds of ByObject.
func (o *Options) declare(c *client.Direct) (map[schema.GroupVersionKind]declared, error) {
	kinds := make(map[schema.GroupVersionKind]declared, len(o.ByObject))
	for obj, b := range o.ByObject {
		gvk, err := c.GroupVersionKindFor(obj)
		if err != nil {
			return nil, fmt.Errorf("cache: ByObject[%T]: %w", obj, err)
		}
		if _, twice := kinds[gvk]; twice {
			return nil, fmt.Errorf("cache: ByObject has %s twice: a kind has one store, so keep one of them", kindText(gvk))
		}
		kinds[gvk] = declared{ByObject: b, form: client.FormOf(obj)}
	}
	return kinds, nil
}
