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
// # Contract
//
//  1. The same as ever: an object is what the generated Unmarshal, or
//     sigs.k8s.io/json, would have made of the same bytes, and an error is
//     theirs; but for managedFields, if they are to be dropped.
//  2. Shared: objects share strings, and parts whose bytes are equal, with each
//     other. Whoever has one must not change it.
//  3. Its own: nothing of the bytes given is kept; the caller may use the buffer
//     again.
//  4. Bounded: what is remembered is in proportion to the objects that the last
//     list or later events had; nothing outlives them for long.
//  5. Safe: no input makes it panic, hang, or allocate without bound.
//
// # Upstream
//
//	Decoder   apimachinery pkg/runtime/serializer/{protobuf,json}
//	interner  no counterpart
//	known     no counterpart
//
// Differs on purpose: upstream decodes each event as if it were the first.
package decode
