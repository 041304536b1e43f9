// Package controller reconciles: it turns what happens in the cluster into keys,
// and calls a Reconciler for one key at a time.
//
// # Where it sits
//
//	cache ─► SOURCE ─► PREDICATE ─► HANDLER ─► workqueue ─► WORKER ─► Reconcile
//	         whose     which of     which         ▲                       │
//	         events    them         keys          └─ error, RequeueAfter ─┘
//
//	BUILDER puts these together; a CONTROLLER runs them for a manager.
//
// # Contract
//
//  1. A key is with one Reconcile at a time; an event that comes meanwhile leads
//     to one more call afterwards. At most MaxConcurrentReconciles run at once.
//  2. No Reconcile begins before every source that was there at Start has
//     synced. A source that fails, or that has not synced within
//     CacheSyncTimeout, ends the controller with an error that names both and
//     says why.
//  3. What follows a Reconcile is the table at [Reconciler]. A key is retried at
//     the priority that it had, unless the Result has another.
//  4. A panic of Reconcile is an error of its key (unless RecoverPanic is
//     false). A panic of a predicate counts as true; one of a handler or a map
//     function costs its event, never a later one. Each is logged with its stack
//     and its object.
//  5. When the context of Start ends, the contexts of running Reconciles end, no
//     new one begins, and Start returns nil when all have returned and every
//     source has ended. Nothing stays at the cache.
//  6. Watch works before Start and while the controller runs. The handle's Stop
//     returns when the source enqueues nothing more.
//  7. An update is mapped on both sides, old and new; a key that both yield is
//     enqueued once.
//  8. Keys from the initial list, and from updates that change no
//     resourceVersion, have LowPriority, all others 0.
//  9. An object made anew under its old name is another object: no predicate of
//     this package takes it for an unchanged one, and an owner reference to the
//     old one does not mean the new one.
//  10. Mistakes are errors of Build, New and Watch, and then nothing has been
//     added to the manager. A name is free again when its controller has ended.
//  11. CreateOrUpdate and CreateOrPatch write only what differs in meaning, and
//     never what their mutate function did not make.
//
// # Upstream
//
//	Request, Result, Reconciler      pkg/reconcile/reconcile.go
//	CreateEvent, …                   pkg/event/event.go
//	EventHandler, EnqueueRequest…    pkg/handler/*.go
//	Predicate, …                     pkg/predicate/predicate.go
//	Source, Kind, Channel            pkg/source/source.go, pkg/internal/source/*.go
//	Controller, WatchHandle, Options pkg/controller/controller.go,
//	                                 pkg/internal/controller/controller.go, pkg/config/controller.go
//	Builder                          pkg/builder/*.go
//	SetControllerReference, AddFinalizer, CreateOrUpdate, …
//	                                 pkg/controller/controllerutil/controllerutil.go
//
// Differs on purpose: one generic type for each concept instead of Typed twins;
// a source is a blocking Run instead of Start and WaitForSync; Watch returns a
// handle; a terminal error ends the key's back-off; names belong to a manager, not
// to the process; WithPredicates adds; WithEventFilter reaches raw sources;
// EnqueueRequestForOwner returns its mistake instead of panicking; owners are
// told apart by UID; Result has no Requeue.
package controller
