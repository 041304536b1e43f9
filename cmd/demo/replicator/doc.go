// Package replicator is the demo's controller: it keeps a copy of a ConfigMap
// or Secret in every namespace that a Replica chooses.
//
//	Replica ─┐                                    ┌─► create, apply, delete copies
//	source  ─┼─► key of the Replica ─► Reconcile ─┼─► status and conditions
//	copy    ─┤   (watches.go)      (reconciler.go)└─► events
//	namespace┘
//
// What it promises:
//
//  1. A copy holds what its source holds: a change of the source, an edit or a
//     removal of the copy, a namespace that comes, goes or changes its labels
//     all end in true copies.
//  2. An object that is not this Replica's copy is never changed or removed.
//     The label [LabelReplicaUID] makes an object a copy; taking it off by hand
//     hands the object over to whoever did.
//  3. When the wish makes no sense, or the source is missing or too large,
//     copies stay as they are, and the condition Ready says why.
//  4. A Replica that is deleted goes only when its last copy has gone.
//  5. Contents of Secrets appear in no log, event, status or error.
package replicator
