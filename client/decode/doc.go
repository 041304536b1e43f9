// Package decode makes Go objects from the bytes of an API server, and lets
// those of one kind share what is equal.
//
// # Where it sits
//
//	API SERVER ─► client.ListWatch ─► DECODE ─► informer ─► cache
//	              envelopes, frames    │  ▲
//	                                   ▼  │ the last state of the object,
//	                              known, interner: strings and parts seen before
//
// An object's bytes are looked at in three ways, the cheapest first:
//
//	equal to the known object's   a part (spec, status, labels …) is not decoded:
//	                              the known object's is taken. A string is taken
//	                              from the same place of the known object.
//	equal to another object's     a list, a map, what is behind a pointer, a
//	                              string: the interner has it.
//	new                           decoded by a plan, which is made of the Go
//	                              type's tags by reflection, once.
//
// Equal means: of the same keyed sum of 128 bits (strings are compared). The
// interner is asked only for those fields of a type whose values are often
// equal, which it finds out itself. So replicas of one Deployment, which differ
// in a volume's name deep in the spec, share nearly everything around it.
//
// # Contract
//
//  1. The same as ever: an object is what the generated Unmarshal, or
//     sigs.k8s.io/json, would have made of the same bytes, and an error is
//     theirs; but for managedFields, if they are to be dropped, and for messages
//     nested so deeply that the generated Unmarshal would end the process.
//  2. Shared: objects share strings, and parts whose bytes are equal, with each
//     other. Whoever has one must not change it.
//  3. Its own: nothing of the bytes given is kept; the caller may use the buffer
//     again.
//  4. Bounded: what is remembered is in proportion to the objects that the last
//     list or later events had; nothing outlives them for long.
//  5. Safe: no input makes it panic, hang, or allocate without bound.
//
// How contract 1 is kept: the plans know only what generated code writes (fields
// in the order of their numbers, none twice). A type with an Unmarshal written
// by hand goes through that; whatever else is unusual, and each error, sends the
// whole object through the generated Unmarshal. Likewise for JSON.
//
// # Upstream
//
//	Decoder   apimachinery pkg/runtime/serializer/{protobuf,json}
//	plan      k8s.io/api */generated.pb.go, which is the same unrolled
//	interner  no counterpart
//	known     no counterpart
//
// Differs on purpose: upstream decodes each event as if it were the first.
package decode
