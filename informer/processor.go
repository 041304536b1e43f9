package informer

import (
	"sync"

	"governor/client"
)

// processor puts deltas into the store, and then what they changed into the
// event log.
type processor struct {
	store    Store
	progress progress
	synced   chan struct{} // closed after the first Replaced

	log *eventLog

	// mu is held while a batch goes into the store and the log, and while a new
	// handler takes its snapshot of the one and its place in the other: so
	// these fit together exactly. No handler, and no reader, waits for it.
	mu      sync.Mutex
	step    change // +checklocks:mu; the one that is being made
	objects int    // +checklocks:mu; how many the store has
}

func newProcessor(store Store) *processor {
	return &processor{store: store, synced: make(chan struct{}), log: newEventLog()}
}

// process takes a batch: stretches of single changes, each of them one step for
// the store, and between them the deltas that are about all objects. An error
// is that of the store: what came before it in the batch has been taken, it and
// what follows has not.
func (p *processor) process(batch []Delta) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(batch) > 0 {
		n := 1
		var err error
		switch batch[0].Type {
		case Replaced:
			err = p.replaceLocked(&batch[0])
		case Resync:
			p.resyncLocked()
		default:
			for n < len(batch) && batch[n].Type != Replaced && batch[n].Type != Resync {
				n++
			}
			err = p.updateLocked(batch[:n])
		}
		if err != nil {
			return &ObjectError{Op: "store", Err: err}
		}
		for i := range batch[:n] {
			if taken := batch[i].taken; taken != nil {
				taken()
			}
		}
		batch = batch[n:]
	}
	return nil
}

// updateLocked puts single changes into the store, in one step, and then each of
// them into the log.
//
// +checklocks:p.mu
func (p *processor) updateLocked(deltas []Delta) error {
	defer p.step.reset()
	resourceVersion := ""
	for n := range deltas {
		p.step.add(p.store, &deltas[n])
		if rv := deltas[n].ResourceVersion; rv != "" {
			resourceVersion = rv
		}
	}
	if resourceVersion == "" {
		resourceVersion = p.progress.at()
	}
	put, remove, grown := p.step.result()
	if err := p.store.Update(put, remove, resourceVersion); err != nil {
		return err
	}
	p.objects += grown
	p.log.append(p.step.events, p.objects)
	p.progress.advance(resourceVersion)
	return nil
}

// replaceLocked makes the store what the server has, in one step, and puts the
// difference into the log: first what is gone, then what is new or changed.
//
// +checklocks:p.mu
func (p *processor) replaceLocked(d *Delta) error {
	initial := !closed(p.synced)
	objects, events := difference(p.store.List(), d, initial, older(d.ResourceVersion, p.progress.at()))
	if err := p.store.Replace(objects, d.ResourceVersion); err != nil {
		return err
	}
	if initial {
		events = append(events, event{kind: eventSynced})
	}
	p.objects = len(objects)
	p.log.append(events, p.objects)
	p.progress.advance(d.ResourceVersion)
	if initial {
		close(p.synced)
	}
	return nil
}

// resyncLocked puts every object into the log, as an update that changes nothing.
//
// +checklocks:p.mu
func (p *processor) resyncLocked() {
	objects := p.store.List()
	events := make([]event, 0, len(objects))
	for _, obj := range objects {
		events = append(events, event{kind: eventResync, old: obj, new: obj})
	}
	p.log.append(events, p.objects)
}

// join returns a new handler's cursor: it reads what the store has, then all
// that comes after.
func (p *processor) join(coalesce, resync bool) *cursor {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.join(p.store.List(), closed(p.synced), coalesce, resync)
}

// count returns how many objects the store has.
func (p *processor) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.objects
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// keyOf is short for what every map here is keyed by.
func keyOf(obj client.Object) client.ObjectKey { return client.ObjectKeyFromObject(obj) }
