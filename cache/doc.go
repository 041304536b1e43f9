// Package cache keeps copies of the kinds that are read, and answers reads from
// them.
//
// # Where it sits
//
//	                 ┌──────────────── KIND INFORMER, one for each kind ────────────────┐
//	API SERVER ─►    │ informer ─► INDEXER   in each namespace, or one for all          │
//	list, watch      │    │           └─► state{slots, indexes} ──► QUERY ─► VIEW ──────┼─► READER ─► client.Delegating
//	                 │    └─► handlers ─► controller's source       which?   which form?│   Get, List
//	                 └──────────────────────────────────────────────────────────────────┘
//	                                        CACHE: finds the kind, starts it, stops it, changes its namespaces
//
// Open indexer.go and slot.go first (what is held), with state.go, index.go,
// sorted.go and table.go (its parts), batch.go and readers.go (how it is written
// while others read it), then query.go,
// planner.go, demand.go, view.go and reader.go (how it is read),
// then kind.go, life.go, scope.go and cache.go (what keeps it true), and
// namespaces.go, registration.go and status.go (how that changes, who hears of it, how it is);
// tier.go is about what it costs to keep.
//
// # Contract
//
//  1. Once: a kind has one store, and one list and watch in each namespace that
//     the Cache was given, whatever forms it is read in and however many ask at
//     once. A kind that was stored metadata-only, since nobody wanted more, is listed
//     anew, whole, when somebody does; unless Options say that it is to be stored
//     so: then that is an error that says what to do.
//  2. Never a false "not found": NotFound means that a complete list, kept true
//     since, does not have the object. Before Start, without an informer, before
//     the first list, and outside the namespaces that are cached, the error is
//     another one. After an error the caller's object is as it was.
//  3. Bounded: a read waits for the first list of its kind until its context or
//     Options.SyncTimeout ends, and then says which kind is missing, in which
//     namespaces, and what the server answered last. The informer goes on trying. What has synced is
//     read though another kind, or another namespace, cannot be. Of a kind that was
//     removed from the server objects are NotFound, and then, when it is clear that
//     the kind is, reads say so at once, with ErrNotInstalled, until it is back.
//  4. One state: a Get or a List reads one state that the server had (a List over
//     several namespaces, one of each), without a lock: no write makes it wait,
//     or tears it. It is sorted by namespace and name, has the kind set on the
//     list and on each object, and the resourceVersion of its state.
//  5. Whole: for every selector the answer is the server's. Selectors come before
//     Limit, Continue leads through all pages, and what the cache cannot select by is
//     an error, never everything. Which index answers changes nothing but the time;
//     those that the cache makes for itself are bounded, and no read waits for one.
//  6. No index, no harm: an index function that panics makes lists by that index
//     fail, and nothing else.
//  7. As told: each setting holds by the table at Options. Nothing is fetched that
//     the selectors do not select. Options are never written to.
//  8. Yours: what a read returns shares nothing with the cache, unless the copy was
//     switched off. What handlers and index functions get is shared, and without a
//     Transform its parts are shared with other objects: read it only. Tests find
//     out who does not, with Options.DetectMutations.
//  9. Everything ends with Start's context: Start returns when all informers have
//     ended, whoever waits gets ErrStopped, reads of what had synced give the last
//     state.
//  10. At run time: namespaces, and kinds, come and go while handlers and indexes
//     stay. Of what is not cached any more a handler hears as a delete whose final
//     state is unknown, and if it comes back, later, as an add: the same object is
//     never told by two informers at once. Reads know of the change when the call
//     that made it returns.
//  11. Not for ever: a kind that has no handler, was not declared, and was not read for
//     Options.IdleTimeout costs nothing any more. The next read lists it anew.
//  12. Never before our own writes: once a write of a client.Delegating has returned, a
//     read shows it, or something later, though the watch has not brought it; what was
//     deleted does not come back. A List then is a state that the server had, with our own
//     later writes over it. Nobody waits for that, but a write whose answer does not tell
//     what came of it costs the next read of its key one request; and past 1,000 own writes
//     that the watch has not brought, reads wait for it, at most 5 s. Handlers hear each
//     event as the watch brings it.
//
// # Upstream
//
//	Cache         controller-runtime pkg/cache/cache.go, informer_cache.go, delegating_by_gvk_cache.go
//	KindInformer  pkg/cache/internal/informers.go, pkg/cache/multi_namespace_cache.go
//	Options       pkg/cache/cache.go
//	SetNamespaces, Status, life  no counterpart
//	overlay       pkg/client/consistency.go, pkg/client/internal/{writebarrier,consistencyhandler}
//	Get, List     pkg/cache/internal/cache_reader.go
//	Each, Explain  no counterpart
//	Mutation      client-go tools/cache/mutation_detector.go
//	Indexer       client-go tools/cache/thread_safe_store.go, store.go, index.go
//
// Differs on purpose: one store per kind instead of one for each form, so that a
// kind is never cached three times; an unstructured read of a typed store
// therefore has the fields that the Go type has, and no others. A read of a kind
// that cannot be listed ends, with the reason, where upstream waits as long as the
// caller's context does. New makes no request, so a kind in ByObject need not be
// installed yet. Continue works, lists are sorted and have a resourceVersion.
// Fields by which the server selects a kind need no index, and != works. managedFields are not
// stored unless a Transform keeps them. Nothing is resynced unless SyncPeriod says
// so. Handlers outlive RemoveInformer, where upstream's wait at a dead informer for
// good. A kind that nobody reads is let go. Under ReaderFailOnMissingInformer kinds
// in ByObject can be read, as they were declared. Bookmarks cannot be refused: without
// them a quiet kind is listed anew whenever its watch is cut. An index function that panics does not end the process.
package cache
