package manager

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// settler is a Runnable that knows whether it has something to do.
type settler interface {
	Unsettled() string
}

// catcher is a Runnable that knows whether it has what the server has.
type catcher interface {
	CaughtUp(ctx context.Context) error
}

// Settled says whether the Manager has nothing to do: all runnables have started, and those that
// can tell are settled: caches, controllers, the recorder of events, and any other
// with a method Unsettled() string, which is empty if it is. See
// [governor/envtest.Environment.Settle] for what a test wants.
func (m *Manager) Settled() bool { return m.Unsettled() == "" }

// Unsettled is why the Manager is not settled, for people; empty if it is.
func (m *Manager) Unsettled() string {
	members, why := m.members()
	if why != "" {
		return why
	}
	var reasons []string
	for _, h := range members {
		if r, ok := h.runnable.(settler); ok {
			if why := r.Unsettled(); why != "" {
				reasons = append(reasons, why)
			}
		}
	}
	return strings.Join(reasons, "; ")
}

// CaughtUp returns nil when the caches have what the server has now, or else what they lack. It
// asks the server for the metadata of everything that is cached.
func (m *Manager) CaughtUp(ctx context.Context) error {
	members, _ := m.members()
	var errs []error
	for _, h := range members {
		if r, ok := h.runnable.(catcher); ok {
			errs = append(errs, r.CaughtUp(ctx))
		}
	}
	return errors.Join(errs...)
}

// members returns what runs, caches before those that hear of them, and says why if not all of it
// runs yet.
func (m *Manager) members() (members []*Handle, why string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.state == fresh {
		return nil, "the manager has not started"
	}
	for _, g := range m.groups {
		for _, h := range g.members {
			if !h.running {
				why = fmt.Sprintf("runnable %q has not started", h.name)
			}
			members = append(members, h)
		}
	}
	return members, why
}
