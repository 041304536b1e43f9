package envtest

import (
	"context"
	"sync"
	"sync/atomic"
)

// Freeze makes the server unreachable, as a network that has been cut: requests
// hang, before anything has happened, and so do the answers of those that are
// under way, watches among them, until thaw is called or their context ends. Connections stay
// open. When it is called several times, all have to be thawed; a thaw counts once.
func (s *Server) Freeze() (thaw func()) {
	s.frost.add(1)
	return sync.OnceFunc(func() { s.frost.add(-1) })
}

// frost holds requests back while it is there.
type frost struct {
	thawed atomic.Pointer[chan struct{}] // closed when all are thawed; nil while there is none

	mu    sync.Mutex
	count int // +checklocks:mu of Freezes that are not thawed
}

func (f *frost) add(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.count += n
	switch thawed := f.thawed.Load(); {
	case f.count > 0 && thawed == nil:
		c := make(chan struct{})
		f.thawed.Store(&c)
	case f.count == 0 && thawed != nil:
		f.thawed.Store(nil)
		close(*thawed)
	}
}

// wait returns when nothing is frozen, or else the context's error at its end.
func (f *frost) wait(ctx context.Context) error {
	for {
		thawed := f.thawed.Load()
		if thawed == nil {
			return nil
		}
		select {
		case <-*thawed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
