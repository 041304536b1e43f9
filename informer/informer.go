package informer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"governor/client"
)

// Informer keeps a Store true and tells Handlers. Its methods are safe for
// concurrent use. Upstream: client-go's cache.SharedIndexInformer.
type Informer struct {
	options   *Options
	fifo      *DeltaFIFO
	reflector *Reflector
	processor *processor

	mu       sync.Mutex          // taken before the processor's
	running  bool                // +checklocks:mu
	start    func(*Registration) // +checklocks:mu; starts a handler's goroutine; nil when Run is not there to own it
	handlers []*Registration     // +checklocks:mu; in the order in which they came
}

// New returns an Informer that does nothing until Run.
func New(lw ListWatcher, store Store, o *Options) *Informer {
	fifo := NewDeltaFIFO()
	return &Informer{
		options:   o,
		fifo:      fifo,
		reflector: NewReflector(lw, fifo, o),
		processor: newProcessor(store),
	}
}

// Run keeps the store true until ctx ends, and then returns nil, when every
// goroutine that it started has ended. It may be called again: the Informer
// goes on from where it was, and handlers hear of what changed meanwhile. A
// second Run at the same time returns ErrRunning.
func (i *Informer) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var wg sync.WaitGroup
	err := i.begin(func(r *Registration) {
		r.running.Add(1)
		wg.Go(func() {
			defer r.running.Done()
			r.run(ctx)
		})
	})
	if err != nil {
		return err
	}
	wg.Go(func() { i.reflector.Run(ctx) })
	if period := i.options.resyncPeriod(); period > 0 {
		wg.Go(func() { i.resync(ctx, period) })
	}
	i.consume(ctx)
	i.stopStarting()
	wg.Wait()
	i.end()
	return nil
}

// begin marks the Informer as running, and starts the handlers that are there.
func (i *Informer) begin(start func(*Registration)) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.running {
		return ErrRunning
	}
	i.running, i.start = true, start
	for _, r := range i.handlers {
		start(r)
	}
	return nil
}

// stopStarting makes sure that no handler is started any more: Run waits for all.
func (i *Informer) stopStarting() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.start = nil
}

func (i *Informer) end() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.running = false
}

// consume takes deltas from the FIFO into the store and the event log.
func (i *Informer) consume(ctx context.Context) {
	var batch []Delta
	for {
		var err error
		if batch, err = i.fifo.Pop(ctx, batch); err != nil {
			return
		}
		if err := i.processor.process(batch); err != nil {
			i.fifo.Refuse(err)
		}
	}
}

// resync asks, each period, for every object to be told again. It goes through
// the FIFO as all else does: no handler is told what a delta in the queue, or
// in the log, has made old.
func (i *Informer) resync(ctx context.Context, period time.Duration) {
	ticker := time.NewTicker(period)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		if i.HasSynced() && i.wantsResync() {
			// An error means that a list is coming, or the end: no loss.
			_ = i.fifo.Push(ctx, Delta{Type: Resync})
		}
	}
}

func (i *Informer) wantsResync() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return slices.ContainsFunc(i.handlers, func(r *Registration) bool { return r.cursor.resync })
}

// AddHandler may be called before, while and after the Informer runs. A late
// handler hears of every stored object as an add in the initial list, then of
// every later change. Its calls come while the Informer runs.
func (i *Informer) AddHandler(h Handler, o *HandlerOptions) (*Registration, error) {
	if h == nil {
		return nil, errors.New("informer: AddHandler needs a handler, not nil")
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	r := newRegistration(i, h, o.orZero())
	i.handlers = append(i.handlers, r)
	if i.start != nil {
		i.start(r)
	}
	return r, nil
}

func (i *Informer) forget(r *Registration) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.handlers = slices.DeleteFunc(i.handlers, func(x *Registration) bool { return x == r })
}

// Synced is closed when the store holds the first complete list. It stays so.
func (i *Informer) Synced() <-chan struct{} { return i.processor.synced }

// HasSynced says whether Synced is closed.
func (i *Informer) HasSynced() bool { return closed(i.processor.synced) }

// WaitFor returns nil when the store has come to resourceVersion, or past it, by
// an event, a bookmark or a list. Otherwise it returns an error when ctx ends,
// and at once if resourceVersion is not one that can be compared: a decimal
// number greater than zero.
func (i *Informer) WaitFor(ctx context.Context, resourceVersion string) error {
	if err := i.processor.progress.wait(ctx, resourceVersion); err != nil {
		return fmt.Errorf("wait for %s: %w", i.options.name(), err)
	}
	return nil
}

// Unread says whether the server has an object, or a state of it, that could not
// be read. One that neither the Store has nor Unread knows does not exist, if
// Unread is asked first.
func (i *Informer) Unread(key client.ObjectKey) (UnreadObject, bool) {
	return i.reflector.unread.get(key)
}

// Status says how the Informer is.
func (i *Informer) Status() Status {
	s := i.reflector.getStatus()
	s.ResourceVersion = i.processor.progress.at()
	s.Objects = i.processor.count()
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, r := range i.handlers {
		lag, age := r.lag()
		s.Handlers = append(s.Handlers, HandlerStatus{
			Name:   r.name,
			Synced: r.HasSynced(),
			Lag:    lag,
			LagAge: age,
			Panics: int(r.panics.Load()),
		})
	}
	return s
}
