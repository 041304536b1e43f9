// Package play tells the demo's story: it sets the stage (an API server, the
// Replica CRD, namespaces, a source, a Replica), lets the replicator run, acts,
// and prints one plain line for each thing that happens.
//
//	story      what the play itself does
//	event      a change that a watch brought, and the key that it leads to
//	reconcile  a worker has taken the key
//	write      what the reconciler wrote to the server
package play
