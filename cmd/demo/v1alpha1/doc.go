// Package v1alpha1 is the API group replicator.governor.dev/v1alpha1 with its
// one kind, Replica: what a user of the demo writes down.
package v1alpha1
