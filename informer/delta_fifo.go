package informer

import (
	"context"
	"sync"

	"governor/client"
)

// maxQueued is how many deltas wait in a DeltaFIFO before Push does.
const maxQueued = 4096

// keptDeltas is how many deltas an idle DeltaFIFO has room for, at most, in each of
// its two slices.
const keptDeltas = 256

// DeltaType says what a Delta is.
type DeltaType int

// The types of deltas.
const (
	// Added and Updated carry an object's new state. Which of them it is says
	// what the server thought: the Store alone knows whether the object is new.
	Added DeltaType = iota
	Updated
	// Deleted carries an object's last state.
	Deleted
	// Replaced carries everything that exists: what is not in it is gone.
	Replaced
	// Bookmark carries a resourceVersion and no news.
	Bookmark
	// Resync tells the handlers that ask for it of every object again.
	Resync
)

// Delta is one step of the server's state.
type Delta struct {
	Type DeltaType
	// Object is that of Added, Updated and Deleted.
	Object client.Object
	// Objects are those of Replaced.
	Objects []client.Object
	// Unread says, of a Deleted, that its object could not be read and is a stub:
	// namespace, name, UID and version. The last state is the stored one, if any.
	Unread bool
	// UnreadKeys are, of a Replaced, those of objects that exist but could not be
	// read: what the Store has of them stays.
	UnreadKeys []client.ObjectKey
	// ResourceVersion is the server's after the step; empty means that it is not known.
	ResourceVersion string

	// taken is called when the Store has taken the delta; nil: nobody waits for that.
	taken func()
}

// DeltaFIFO hands deltas from a Reflector to one consumer, in the order in
// which they came. Upstream: client-go's cache.RealFIFO and
// cache.DeltaFIFO; the package comment tells the three apart.
type DeltaFIFO struct {
	// Invariants, which valid checks (fuzz_test.go):
	//
	//  1. queue has at most maxQueued deltas.
	//  2. refused is closed exactly while there is a refusal, and then queue is
	//     empty.

	mu      sync.Mutex
	queue   []Delta       // +checklocks:mu; oldest first
	refusal error         // +checklocks:mu; why the consumer could not take a delta; nil when it could
	refused chan struct{} // +checklocks:mu

	filled chan struct{} // holds one token when queue may not be empty
	space  chan struct{} // holds one token when queue may have space
}

// NewDeltaFIFO returns an empty DeltaFIFO.
func NewDeltaFIFO() *DeltaFIFO {
	return &DeltaFIFO{
		refused: make(chan struct{}),
		filled:  make(chan struct{}, 1),
		space:   make(chan struct{}, 1),
	}
}

// Push appends a delta. It waits while the queue is full. It returns ctx's
// error, or that of a refusal: then the delta was not taken, and the producer
// must come back with a Replaced.
func (f *DeltaFIFO) Push(ctx context.Context, d Delta) error {
	for {
		taken, err := f.tryPush(d)
		if taken || err != nil {
			return err
		}
		select {
		case <-f.space:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (f *DeltaFIFO) tryPush(d Delta) (taken bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.refusal != nil {
		if d.Type != Replaced {
			return false, f.refusal
		}
		f.refusal, f.refused = nil, make(chan struct{})
	}
	if len(f.queue) >= maxQueued {
		return false, nil
	}
	if len(f.queue) == 0 {
		signal(f.filled) // Pop waits only when it has found nothing
	}
	f.queue = append(f.queue, d)
	return true, nil
}

// Pop waits until there are deltas, and returns all of them, oldest first. The
// queue takes the batch given, emptied, as its next buffer: two slices swap.
// The error is ctx's.
func (f *DeltaFIFO) Pop(ctx context.Context, buffer []Delta) ([]Delta, error) {
	clear(buffer)
	for {
		f.mu.Lock()
		batch := f.queue
		if len(batch) > 0 {
			if cap(buffer) > keptDeltas && cap(buffer) > 8*len(batch) {
				buffer = nil // of a burst that is over
			}
			f.queue = buffer[:0]
			signal(f.space)
		}
		f.mu.Unlock()
		if len(batch) > 0 {
			return batch, nil
		}
		select {
		case <-f.filled:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Refuse is for the consumer that could not take a delta. What follows in the
// queue is of no use then, for it would hide the hole: all of it is dropped,
// and nothing is taken until the next Replaced, which has everything.
func (f *DeltaFIFO) Refuse(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	clear(f.queue)
	f.queue = f.queue[:0]
	if f.refusal == nil {
		close(f.refused)
	}
	f.refusal = err
	signal(f.space)
}

// Refused is closed when the consumer has refused a delta, and the producer has
// not yet come back with a Replaced.
func (f *DeltaFIFO) Refused() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.refused
}

// Refusal is the error of Refuse, nil after the next Replaced.
func (f *DeltaFIFO) Refusal() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.refusal
}

// signal leaves a token in a channel with space for one.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
