package informer

import (
	"context"
	"iter"
	"time"

	"governor/client"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ListWatcher lists and watches one kind in one scope. client.ListWatch is one.
type ListWatcher interface {
	// List requests one page and hands over its objects one by one; an error
	// beside a nil object is one object that could not be decoded.
	List(ctx context.Context, opts metav1.ListOptions, yield func(client.Object, error) bool) (metav1.ListMeta, error)
	// Watch yields the events of one stream, then its error if it did not end well.
	Watch(ctx context.Context, opts metav1.ListOptions) iter.Seq2[client.Event, error]
}

// Store is the copy that an Informer keeps true. cache.Indexer is one. The
// Informer is its only writer; reads may come from anywhere, at any time.
type Store interface {
	// Get returns the stored object, nil when there is none.
	Get(key client.ObjectKey) client.Object
	// List returns all objects: one consistent state.
	List() []client.Object
	// Update puts and deletes objects in one step: a reader sees all of it or
	// none. resourceVersion is the server's after the step.
	Update(put []client.Object, remove []client.ObjectKey, resourceVersion string) error
	// Replace makes objects the whole content, in one step.
	Replace(objects []client.Object, resourceVersion string) error
}

// Handler hears of every change, after the store has it. Calls for one Handler
// come one at a time, in order. Objects are shared: read them only.
type Handler interface {
	OnAdd(obj client.Object, isInInitialList bool)
	OnUpdate(oldObj, newObj client.Object)
	// OnDelete gets the last known state. finalStateUnknown says that the
	// delete itself was missed, so that the state may be older than the last.
	OnDelete(obj client.Object, finalStateUnknown bool)
}

// Options tunes an Informer. The zero value, and nil, are ready to use.
type Options struct {
	// Name is used in logs and errors: the kind, and the namespace if scoped.
	Name string
	// Transform changes each object once, before it is stored; nil means none.
	Transform func(client.Object) (client.Object, error)
	// ResyncPeriod is how often handlers that ask for it hear of every object again; zero means never.
	ResyncPeriod time.Duration
	// WatchErrorHandler hears of each failed list or watch; nil means a log line.
	WatchErrorHandler func(ctx context.Context, err error)
}

// Informer keeps a Store true and tells Handlers.
type Informer struct{}

// New returns an Informer that does nothing until Run.
func New(lw ListWatcher, store Store, o *Options) *Informer { panic("skeleton") }

// Run keeps the store true until ctx ends. It returns when every goroutine that it started has ended.
func (i *Informer) Run(ctx context.Context) error { panic("skeleton") }

// AddHandler may be called before, while and after the Informer runs. A late handler hears of every
// stored object as an add in the initial list, then of every later change.
func (i *Informer) AddHandler(h Handler) (*Registration, error) { panic("skeleton") }

// Synced is closed when the store holds the first complete list.
func (i *Informer) Synced() <-chan struct{} { panic("skeleton") }

// HasSynced says whether Synced is closed.
func (i *Informer) HasSynced() bool { panic("skeleton") }

// Status says how the Informer is.
func (i *Informer) Status() Status { panic("skeleton") }

// Status is a moment of an Informer.
type Status struct {
	State           State
	LastError       error // of the last failed list or watch; nil after a success
	LastEvent       time.Time
	ResourceVersion string
	Lists, Watches  int
	Objects         int
}

// State is what a reflector is doing.
type State int

// Registration is a Handler's place at an Informer.
type Registration struct{}

// Synced is closed when the handler has handled the initial list.
func (r *Registration) Synced() <-chan struct{} { panic("skeleton") }

// HasSynced says whether Synced is closed.
func (r *Registration) HasSynced() bool { panic("skeleton") }

// Remove ends the calls, and returns when the last one has returned. It must not be called by the handler itself.
func (r *Registration) Remove() { panic("skeleton") }
