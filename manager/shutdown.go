package manager

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// ErrGracePeriodExceeded is what Start returns when runnables did not stop in
// time. They may still run, so the process had better exit.
var ErrGracePeriodExceeded = errors.New("the grace period was exceeded")

// lastCall is how long those may take to stop whose turn had not come when the
// grace period ended.
const lastCall = 500 * time.Millisecond

// stop stops the groups in reverse order and returns when all have ended. When the
// grace period is over it says who has not.
func (m *Manager) stop(base context.Context) error {
	m.mu.Lock()
	m.state = stopping
	for kind := range m.groups {
		for _, h := range slices.Clone(m.groups[kind].members) {
			if !h.running {
				m.endLocked(h, nil)
			}
		}
	}
	m.mu.Unlock()

	ctx := base // which never ends
	if m.grace >= 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(base, m.grace)
		defer cancel()
	}
	for kind := groupCount - 1; kind >= 0; kind-- {
		if late := waitAll(ctx, m.cancelGroup(kind)); len(late) > 0 {
			return m.abandon(base, kind, late)
		}
	}
	return nil
}

// abandon ends the grace period. The group of that kind has not stopped in time;
// the ones before it are told to now.
func (m *Manager) abandon(base context.Context, kind groupKind, late []*Handle) error {
	ctx, cancel := context.WithTimeout(base, lastCall)
	defer cancel()
	var rest []*Handle
	for kind := kind - 1; kind >= 0; kind-- {
		rest = append(rest, m.cancelGroup(kind)...)
	}
	if m.grace == 0 {
		// Nobody is waited for but the manager's own parts, which end at once.
		rest = append(rest, late...)
		rest = slices.DeleteFunc(rest, func(h *Handle) bool { return !h.own })
	}
	for _, h := range slices.Concat(rest, late) {
		if a, ok := h.runnable.(interface{ abort() }); ok {
			a.abort()
		}
	}
	late = append(late, waitAll(ctx, rest)...)
	if m.grace == 0 {
		return nil
	}
	names := make([]string, len(late))
	for i, h := range late {
		names[i] = fmt.Sprintf("%q", h.name)
	}
	return fmt.Errorf("stop: %w: %v was not enough for %s", ErrGracePeriodExceeded, m.grace, strings.Join(names, ", "))
}

// cancelGroup tells the members of a group to stop, and returns them.
func (m *Manager) cancelGroup(kind groupKind) []*Handle {
	m.mu.Lock()
	defer m.mu.Unlock()
	g := &m.groups[kind]
	if g.cancel != nil {
		g.cancel()
	}
	return slices.Clone(g.members)
}

// waitAll waits until every handle has ended, and returns those that have not when
// ctx ends.
func waitAll(ctx context.Context, handles []*Handle) []*Handle {
	for _, h := range handles {
		select {
		case <-h.done:
		case <-ctx.Done():
			return slices.DeleteFunc(slices.Clone(handles), func(h *Handle) bool {
				select {
				case <-h.done:
					return true
				default:
					return false
				}
			})
		}
	}
	return nil
}
