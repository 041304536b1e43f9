// Package governor is controller-runtime built again from the ground up, on
// client-go's raw primitives. It has no code: each layer is a package of its
// own, and this page is the map.
//
// # Where it sits
//
// The way of the data; every word with a slash is a file:
//
//	APISERVER ──► client/listwatch ──► informer/reflector   list, watch, resume, list again
//	    ▲                              informer/delta_fifo  deltas, in order; a replace is one step
//	    │                              cache/indexer        the copy, indexed ──► cache/reader ──► client/delegating ─┐
//	    │                              informer/handler     who wants to know                                         │
//	    │                              controller/source    whose events                                              │
//	    │                              controller/predicate which of them                                       reads │
//	    │                              controller/handler   which keys                                                │
//	    │                              workqueue/queue      each key once: delay, rate limit, priority                │
//	    │                              controller/worker    takes a key, decides what comes next                      │
//	client/direct ◄────── writes ───── controller/reconcile ◄─────────────────────────────────────────────────────────┘
//	                                   manager              starts all of this in order, and stops it in the other
//
// # Contract
//
//  1. A package imports only packages to the left of it in
//     scheme, workqueue, client, informer, cache, manager, controller; a test
//     holds the exact arrows.
//  2. There is no hidden state: no package-level registry, flag, logger or
//     metrics. Two managers in one process share nothing.
//  3. Run and Start block, and return when every goroutine that they started
//     has ended.
//
// # Upstream
//
//	governor  sigs.k8s.io/controller-runtime v0.25.2, with the parts of
//	          k8s.io/client-go v0.37.2 that it stands on
//
// docs/upstream.md has a row for every exported type and function. Differs on
// purpose: seven packages, no second layer below them, nothing twice.
package governor
