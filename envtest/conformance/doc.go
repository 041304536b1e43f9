// Package conformance asks two API servers the same questions: the real one, whose
// answers are written down, and the one in memory, which has to give the same.
//
// # Where it sits
//
//	testdata/*.txt ─► script ─► request ─► TARGET: envtest.Server, or envtest.ControlPlane
//	     ▲                                   │
//	     │ -update                           ▼ status, headers, body, events
//	     └──────── compare ◄── render ◄── mask
//
// How a script is written, testdata/README.md says.
//
// # Contract
//
//  1. The same for both: a request is what the script says, byte for byte but for its
//     variables; no client library of ours or others shapes it.
//  2. Masked, not dropped: a volatile value is replaced by a name, the same one wherever
//     it is seen again; the order of resourceVersions is kept. What an
//     answer has besides is compared, unless the request says what it looks at.
//  3. The real server is right: answers are recorded from it, never written by hand, and
//     recording changes nothing else in a script.
//  4. What differs on purpose is said where it differs, with its reason, and
//     the table in docs/envtest.md is made from that.
//  5. Alone: each case has a namespace of its own, so that cases run in any order, at the same time,
//     and against servers that others use.
//
// # Upstream
//
//	Run, Target    none: the fake client has no server to be compared with
//	scripts        nearest: kubernetes test/cmd, shell scripts around kubectl
//	webhooks       nearest: kubernetes test/images/agnhost/webhook
//
// Differs on purpose: answers are whole and recorded, where upstream's tests
// assert single fields.
package conformance
