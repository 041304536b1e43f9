package manager

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"
)

// Runnable is anything that a Manager runs. Start blocks until ctx ends or the
// work is done. An error stops the manager. Unless it says otherwise by
// LeaderElectionRunnable, a Runnable runs only where the manager leads.
type Runnable interface {
	Start(ctx context.Context) error
}

// RunnableFunc is a function that is a Runnable.
type RunnableFunc func(ctx context.Context) error

// Start calls f.
func (f RunnableFunc) Start(ctx context.Context) error { return f(ctx) }

// Named is a Runnable that has a name, for errors and logs. A manager has one
// runnable of a name at a time.
type Named interface {
	Name() string
}

// LeaderElectionRunnable is a Runnable that says whether it needs leadership. One
// that does not runs in every replica, and starts before those that do.
type LeaderElectionRunnable interface {
	NeedLeaderElection() bool
}

// syncer is a cache: the groups after it start once it has synced.
type syncer interface {
	WaitForCacheSync(ctx context.Context) error
}

// nameOf returns what to call r, and whether r chose that name itself.
func nameOf(r Runnable) (name string, chosen bool, err error) {
	if isNil(r) {
		return "", false, errors.New("add runnable: it is nil")
	}
	if named, ok := r.(Named); ok && named.Name() != "" {
		return named.Name(), true, nil
	}
	if f, ok := r.(RunnableFunc); ok {
		return runtime.FuncForPC(reflect.ValueOf(f).Pointer()).Name(), false, nil
	}
	return fmt.Sprintf("%T", r), false, nil
}

// isNil says whether x is nil, or an interface around a nil pointer or function.
func isNil(x any) bool {
	switch v := reflect.ValueOf(x); v.Kind() {
	case reflect.Invalid:
		return true
	case reflect.Pointer, reflect.Func:
		return v.IsNil()
	}
	return false
}

// groupOf returns the group in which r starts and stops.
func groupOf(r Runnable) groupKind {
	switch r := r.(type) {
	case *Server:
		return serversGroup
	case syncer:
		return cachesGroup
	case LeaderElectionRunnable:
		if !r.NeedLeaderElection() {
			return othersGroup
		}
	}
	return leadersGroup
}

// readiness returns what waits until r is ready, or nil when it is so at once.
func readiness(r Runnable) func(context.Context) error {
	switch r := r.(type) {
	case *Server:
		return r.waitListening
	case syncer:
		return r.WaitForCacheSync
	}
	return nil
}
