package manager

import (
	"context"
	"slices"
)

// groupKind says when a runnable starts. Groups start in this order and stop in
// the reverse.
type groupKind int

const (
	// eventsGroup has the recorder, so that all others can emit till their end.
	eventsGroup groupKind = iota
	// serversGroup has what answers probes: a manager that waits for its caches
	// is alive.
	serversGroup
	// cachesGroup is ready when the caches have synced.
	cachesGroup
	// othersGroup has what runs in every replica.
	othersGroup
	// leadersGroup has what runs in one replica only.
	leadersGroup

	groupCount
)

// group is the runnables that start together and stop together. The manager's mu
// guards it.
type group struct {
	members []*Handle // those that have not ended, in the order of Add

	// run starts a member of a group whose turn has come; nil before and after. It
	// holds the context that members get, also those which are added late.
	run    func(*Handle)
	cancel context.CancelFunc // ends every member
}

func (g *group) remove(h *Handle) {
	g.members = slices.DeleteFunc(g.members, func(x *Handle) bool { return x == h })
}
