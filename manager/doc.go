// Package manager starts everything in order, and stops it in the other.
//
// # Where it sits
//
//	      Start ──────────────────────────────────────────────────► time
//	events ─► HTTP servers ─► caches, until synced ─► others ─► leaders
//	      ◄────────────────────────────────────────────────────── stop
//
// A controller is a Runnable among the leaders: it reads through the manager's
// cache, writes through its client, emits events through its recorder, and is
// measured by its registry.
//
// # Contract
//
//  1. Order: a group's runnables start when those of the group before have
//     started, and, if they are caches, synced; if they are servers, listen.
//  2. Reverse order: a group is told to stop when all of the group after it have
//     ended. Events are written until the last moment.
//  3. Once: Start of a Runnable is called once per Add at the most, and never
//     before its group's turn.
//  4. A Runnable that returns nil has ended, and that is fine. One that returns an
//     error, or panics, stops everything, and Manager.Start returns that error
//     with the runnable's name. The answer context.Canceled to a cancelled
//     context is not an error.
//  5. Nothing is left: when Manager.Start returns, every runnable has ended and
//     every listener is closed; or else the grace period was exceeded, and the error
//     says by whom. After that the manager logs nothing and writes nothing.
//  6. Add works before Start and while it runs; once stopping has begun it is
//     an error. The Handle stops that one runnable. A name is taken as long as
//     its runnable has not ended.
//  7. Start works once. A second call is an error and does not disturb the first.
//  8. Health tells the truth: ready means that every cache has synced. Reasons are
//     given to those who ask with ?verbose only.
//  9. Two managers in a process share nothing.
//  10. Emitting an event never blocks, and never fails a reconcile. The same event
//     again raises a count; one object cannot flood the server.
//
// # Upstream
//
//	Manager, Options        pkg/manager/manager.go, pkg/manager/internal.go, pkg/cluster/cluster.go
//	Runnable, group         pkg/manager/manager.go, pkg/manager/runnable_group.go
//	Handle                  none: what was added cannot be stopped
//	Server                  pkg/manager/server.go, pkg/internal/httpserver/server.go
//	Checker, Ping           pkg/healthz/healthz.go
//	Metrics                 pkg/metrics/registry.go, pkg/internal/controller/metrics/metrics.go,
//	                        pkg/internal/metrics/workqueue.go
//	EventRecorder           pkg/recorder/recorder.go, pkg/internal/recorder/recorder.go,
//	                        client-go tools/events
//	SignalContext           pkg/manager/signals/signal.go
//
// Differs on purpose: groups stop strictly in reverse (upstream stops the others
// before the leaders); Add returns a handle; errors name the runnable; a panic is
// an error and the rest still stops in order; an error during the stop is
// returned, not only logged; readiness knows the caches; metrics are off unless
// an address is given, and their registry belongs to the manager, not to the
// process; New binds no port.
package manager
