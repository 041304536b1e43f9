package controller

import (
	"errors"
	"fmt"
	"strings"

	"governor/client"
	"governor/manager"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Builder puts a controller together: what it reconciles and what it watches.
// Mistakes are errors of Complete and Build, which then add nothing to the manager.
//
// Upstream: builder.TypedBuilder.
type Builder[K comparable] struct {
	manager *manager.Manager
	name    string
	options Options[K]
	filters Predicates
	primary client.Object               // For's; nil without
	sources []func() (Source[K], error) // in the order of the calls
	errs    []error
}

// ControllerManagedBy returns the Builder of a controller that mgr runs.
//
// Upstream: builder.ControllerManagedBy.
func ControllerManagedBy(mgr *manager.Manager) *Builder[Request] { return NewBuilder[Request](mgr) }

// NewBuilder is ControllerManagedBy for keys of any type; For and Owns are for
// Request keys only. Upstream: builder.TypedControllerManagedBy.
func NewBuilder[K comparable](mgr *manager.Manager) *Builder[K] { return &Builder[K]{manager: mgr} }

// For reconciles each object of a kind when it changes. It may be called once;
// unless Named is called too, the controller is named after the kind, in lower case.
func (b *Builder[K]) For(object client.Object, opts ...WatchOption) *Builder[K] {
	if b.primary != nil {
		b.errs = append(b.errs, errors.New("For may be called only once; use Watches for other kinds"))
		return b
	}
	b.primary = object
	return b.add("For", object, watchOptionsOf(opts), func() (EventHandler[K], error) {
		return forKeys[K]("For", EnqueueRequestForObject{})
	})
}

// Owns reconciles For's object when an object changes that it controls; with
// MatchEveryOwner, when one changes that it owns.
func (b *Builder[K]) Owns(object client.Object, opts ...OwnsOption) *Builder[K] {
	var o watchOptions
	for _, opt := range opts {
		opt.applyToOwns(&o)
	}
	return b.add("Owns", object, o, func() (EventHandler[K], error) {
		if b.primary == nil {
			return nil, errors.New("Owns needs For, which names the owners' kind")
		}
		var only []OwnerOption
		if !o.everyOwner {
			only = append(only, OnlyControllerOwner())
		}
		return forKeys[K]("Owns", EnqueueRequestForOwner(b.manager.GetScheme(), b.manager.GetRESTMapper(), b.primary, only...))
	})
}

// Watches reconciles the keys that handler enqueues when an object of a kind changes.
func (b *Builder[K]) Watches(object client.Object, handler EventHandler[K], opts ...WatchOption) *Builder[K] {
	return b.add("Watches", object, watchOptionsOf(opts), func() (EventHandler[K], error) { return handler, nil })
}

// WatchesMetadata is Watches with OnlyMetadata.
func (b *Builder[K]) WatchesMetadata(object client.Object, handler EventHandler[K], opts ...WatchOption) *Builder[K] {
	return b.Watches(object, handler, append([]WatchOption{OnlyMetadata}, opts...)...)
}

// WatchesRawSource reconciles the keys that a source enqueues.
func (b *Builder[K]) WatchesRawSource(src Source[K]) *Builder[K] {
	b.sources = append(b.sources, func() (Source[K], error) {
		if src == nil {
			return nil, errors.New("WatchesRawSource needs a source, not nil")
		}
		return src, nil
	})
	return b
}

// WithEventFilter lets only events through for which p is true, whatever their
// source. Called again, it adds to what is asked for. A raw source of one's own
// is filtered if it has the method WithPredicates, see Source.
//
// Upstream: Builder.WithEventFilter, which leaves out all raw sources.
func (b *Builder[K]) WithEventFilter(p Predicate) *Builder[K] {
	b.filters = append(b.filters, p)
	return b
}

// WithOptions sets the controller's options, all of them.
func (b *Builder[K]) WithOptions(o Options[K]) *Builder[K] {
	b.options = o
	return b
}

// Named sets the controller's name, for logs, errors and metrics.
func (b *Builder[K]) Named(name string) *Builder[K] {
	b.name = name
	return b
}

// Complete builds the controller and leaves it to the manager.
func (b *Builder[K]) Complete(r Reconciler[K]) error {
	_, err := b.Build(r)
	return err
}

// Build builds the controller, adds it to the manager and returns it.
func (b *Builder[K]) Build(r Reconciler[K]) (*Controller[K], error) {
	name, sources, err := b.plan()
	if err != nil {
		return nil, fmt.Errorf("build controller %q: %w", name, err)
	}
	c, err := newManaged(name, b.manager, r, &b.options)
	if err != nil {
		return nil, err
	}
	for _, src := range sources {
		if _, err := c.Watch(src); err != nil {
			return nil, err
		}
	}
	// Only now, since a manager that runs already starts it at once.
	if err := c.join(); err != nil {
		return nil, err
	}
	return c, nil
}

// plan returns the controller's name and sources, or all mistakes at once.
func (b *Builder[K]) plan() (name string, sources []Source[K], err error) {
	if b.manager == nil {
		return b.name, nil, errors.New("the manager is nil")
	}
	if len(b.errs) > 0 {
		return b.name, nil, errors.Join(b.errs...)
	}
	if len(b.sources) == 0 {
		return b.name, nil, errors.New("it watches nothing; call For, Watches or WatchesRawSource")
	}
	if name, err = b.controllerName(); err != nil {
		return b.name, nil, err
	}
	var errs []error
	for _, source := range b.sources {
		src, err := source()
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if filterable, ok := src.(interface {
			WithPredicates(...Predicate) Source[K]
		}); ok && len(b.filters) > 0 {
			src = filterable.WithPredicates(b.filters...)
		}
		sources = append(sources, src)
	}
	return name, sources, errors.Join(errs...)
}

func (b *Builder[K]) controllerName() (string, error) {
	if b.name != "" {
		return b.name, nil
	}
	if b.primary == nil {
		return "", errors.New("it has no name; call Named, or For, after whose kind it is named")
	}
	gvk, err := b.manager.GetScheme().GVKForObject(b.primary)
	if err != nil {
		return "", fmt.Errorf("For %T: %w", b.primary, err)
	}
	return strings.ToLower(gvk.Kind), nil
}

// add appends the source of a kind's changes.
func (b *Builder[K]) add(verb string, object client.Object, o watchOptions, handler func() (EventHandler[K], error)) *Builder[K] {
	if object == nil {
		b.errs = append(b.errs, fmt.Errorf("%s needs an object of the kind, not nil", verb))
		return b
	}
	b.sources = append(b.sources, func() (Source[K], error) {
		h, err := handler()
		if err != nil {
			return nil, err
		}
		if o.onlyMetadata {
			if object, err = b.metadataOf(object); err != nil {
				return nil, fmt.Errorf("%s: %w", verb, err)
			}
		}
		return Kind(b.manager.GetCache(), object, h, o.predicates...), nil
	})
	return b
}

// metadataOf returns the metadata-only object of an object's kind.
func (b *Builder[K]) metadataOf(object client.Object) (client.Object, error) {
	gvk, err := b.manager.GetScheme().GVKForObject(object)
	if err != nil {
		return nil, fmt.Errorf("metadata of %T: %w", object, err)
	}
	metadata := &metav1.PartialObjectMetadata{}
	metadata.SetGroupVersionKind(gvk)
	return metadata, nil
}

// forKeys gives a handler of Requests to a Builder whose keys are Requests.
func forKeys[K comparable](verb string, handler any) (EventHandler[K], error) {
	h, ok := handler.(EventHandler[K])
	if !ok {
		return nil, fmt.Errorf("%s enqueues Request keys; use Watches with a handler for your own keys", verb)
	}
	return h, nil
}

// WatchOption is an option of For and Watches, and of Owns as well.
//
// Upstream: builder.ForOption and builder.WatchesOption.
type WatchOption interface {
	OwnsOption
	applyToWatch(*watchOptions)
}

// OwnsOption is an option of Owns. Upstream: builder.OwnsOption.
type OwnsOption interface{ applyToOwns(*watchOptions) }

type watchOptions struct {
	predicates   Predicates
	onlyMetadata bool
	everyOwner   bool
}

func watchOptionsOf(opts []WatchOption) watchOptions {
	var o watchOptions
	for _, opt := range opts {
		opt.applyToWatch(&o)
	}
	return o
}

func (p Predicates) applyToWatch(o *watchOptions) { o.predicates = append(o.predicates, p...) }
func (p Predicates) applyToOwns(o *watchOptions)  { p.applyToWatch(o) }

// OnlyMetadata is the option to watch, and cache, a kind's metadata only. Read
// it with a metav1.PartialObjectMetadata then: a typed read needs a cache of its
// own. Upstream: builder.OnlyMetadata.
const OnlyMetadata onlyMetadata = true

type onlyMetadata bool

func (m onlyMetadata) applyToWatch(o *watchOptions) { o.onlyMetadata = bool(m) }
func (m onlyMetadata) applyToOwns(o *watchOptions)  { m.applyToWatch(o) }

// MatchEveryOwner is the option of Owns to reconcile every owner, not only the
// one that controls the object. Upstream: builder.MatchEveryOwner.
const MatchEveryOwner matchEveryOwner = true

type matchEveryOwner bool

func (m matchEveryOwner) applyToOwns(o *watchOptions) { o.everyOwner = bool(m) }
