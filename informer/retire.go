package informer

// Retire ends the Informer for good, while its handlers live on elsewhere: what it
// keeps is no longer wanted, though it may exist. It stops to list and watch;
// handlers hear of each stored object as a delete whose final state is unknown,
// and Run returns when all have. The Store stays as it is, for those who read it
// just then. It does not wait, and may be called before Run.
func (i *Informer) Retire() { i.retire.Do(func() { close(i.retired) }) }

// retire tells handlers that everything is gone, and that nothing will follow.
func (p *processor) retire() {
	p.mu.Lock()
	defer p.mu.Unlock()
	objects := p.store.List()
	events := make([]event, 0, len(objects)+1)
	for _, obj := range objects {
		events = append(events, event{kind: eventDelete, flag: true, old: obj})
	}
	p.log.append(append(events, event{kind: eventRetired}), len(objects))
}
