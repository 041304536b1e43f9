// Package envtest runs an API server to test against: one in memory, or the real one.
//
// # Where it sits
//
//	client ─► rest.Config ─┬─ Transport ─► SERVER            in this process, also in a synctest bubble
//	   ▲                   └─ a TLS port ─► kube-apiserver ─► etcd
//	   │                                        ▲   kube-controller-manager, if asked for
//	   └── your test                            └── ENVTEST starts them, and stops them
//
// What a request passes in a [Server]:
//
//	ServeHTTP   faults, who, whether            gate.go
//	newCall     path ─► resource, verb, format  request.go, negotiate.go   ◄── kinds: what is served
//	dispatch    the method of the verb          get.go, list.go, watch.go, create.go, …
//	   │           └── reads, writes ────────────────────────────────────► storage: objects, history
//	writeAnswer bytes, made once per version    encode.go, page.go
//
// # Contract
//
// [Transport]:
//
//  1. Whole: the handler sees the request as a server would have parsed it,
//     nothing of the client's context but its end; the client sees the status,
//     the header and the body that the handler wrote. The request's body is
//     closed once.
//  2. Streaming: the header arrives at the first WriteHeader, Write or Flush,
//     each byte of the body when it is written.
//  3. Held back: a Write waits until the client has read it, or is gone: its
//     context has ended or it has closed the response's body. Then the
//     handler's context ends, and its reads and writes return errors.
//  4. Cut off: a handler that panics (http.ErrAbortHandler: silently; anything
//     else is logged) leaves its client with io.ErrUnexpectedEOF, never hanging.
//  5. Finite: all of a request's goroutines end when its handler returns.
//
// [ControlPlane]:
//
//  6. Its own: each has its own processes, ports, certificates, users and data, so
//     any number run side by side. A port that someone else is quicker to take
//     is a port less to choose from, not a failure.
//  7. Real: what Start has started is ready, has its default namespace, and does
//     what the flags say. With ControllerManager it is a cluster but for the nodes.
//  8. All or nothing: a Start that fails, or is cancelled, leaves no process and no
//     file, and its error has the last words of the process that failed.
//  9. Ends: Stop returns within StopTimeout per process, also with open watches,
//     also when called twice; after it no process and no file is left. What it had to kill,
//     and what had died before, is in its error.
//  10. No orphans: the same is true a moment after our process has ended without
//     Stop, by return, panic, signal or SIGKILL.
//
// [ReadCRDs], [InstallCRDs], [UninstallCRDs]:
//
//  11. Served: what has been installed works with the next request; what has been
//     uninstalled is gone. Bad manifests are errors that name the file.
//
// [WaitFor]:
//
//  12. Sees: it returns as soon as the watch shows a state that satisfies, or
//     else at the end of its context, with the last state.
//
// [Server]:
//
//  13. As the real one: a request is answered as kube-apiserver 1.37 answers it, down to
//     code, reason and words. Package conformance asks both; docs/envtest.md
//     lists what differs, and why.
//  14. Its own: servers share nothing; one that nobody asks does nothing, and
//     needs no stopping.
//  15. Never stale: a read sees every write that has been answered before.
//  16. One history: a list, all of its pages together, is one state. A watch from its
//     resourceVersion sees every later change once, in order; a watch that
//     begins with all there is loses nothing between that and what follows.
//  17. Bounded: the history of a resource is as long as Options say; who asks for
//     what is forgotten hears 410, and of a list gets a token for the rest as it is.
//  18. In time: nothing but package time is asked for the time, and nobody is
//     waited for with a lock held, so that it works in testing/synctest.
//  19. Known: whoever has a config is its user, by a token; whoever has none is
//     anonymous; a token that nobody owns is a 401. What RBAC or the Authorizer does not
//     allow is a 403 in the server's words. Both answer reviews, and impersonation asks them.
//  20. Recorded: Requests has every request, in order, whatever became of it, with
//     its beginning and its end, and is bounded.
//  21. Faulty on demand: a request gets the first fault that fits it; which part of the answer
//     comes through is exact. After the fault is used up or removed nothing of it is left.
//     DropWatches breaks the watches that are meant, in whatever state they are, and no others.
//  22. Frozen: between Freeze and thaw no request begins, and no byte of an answer
//     gets through; who gives up leaves nothing behind.
//  23. Forgetful: CompactTo makes a 410 of what begins before it, of nothing else.
//  24. On a port: Listen serves the same server over TLS with HTTP/2; Close returns
//     when every request has ended and the port is closed.
//  25. Admitting: webhooks are asked when, and what, the real server asks; they are
//     heard as there. They run in process, or are called over HTTPS.
//
// [Environment]:
//
//  26. Ready: after Start its CRDs are served and its webhooks are there, whatever it
//     runs on. A Start that fails leaves nothing, Stop ends all that Start began.
//  27. Settled: Settle returns nil if there was a moment at which all things had seen all that
//     was on the server, and had nothing left to do. Otherwise its error says who had, and what.
//
// RBAC does not aggregate ClusterRoles, and lets whoever may write roles write any.
// Webhooks are asked once (no reinvocation), and matchConditions are not looked at: a webhook
// is asked about all that its rules match.
//
// # Upstream
//
//	Server                 none: upstream's tests use a fake client (pkg/client/fake)
//	  its requests         apiserver pkg/endpoints/request/requestinfo.go
//	  its verbs            apiserver pkg/endpoints/handlers, pkg/registry/generic/registry
//	  its watches          apiserver pkg/storage/cacher, pkg/endpoints/handlers/watch.go
//	  its discovery        apiserver pkg/endpoints/discovery
//	  its users            apiserver pkg/endpoints/filters
//	  its RBAC             kubernetes plugin/pkg/auth/authorizer/rbac
//	  its reviews          kubernetes pkg/registry/{authentication,authorization}
//	  its webhooks         apiserver pkg/admission/plugin/webhook
//	  its faults           none: pkg/client/interceptor wraps one client
//	Environment            pkg/envtest/server.go
//	ReadWebhooks           pkg/envtest/webhook.go
//	ControlPlane           pkg/internal/testing/controlplane/plane.go
//	  its etcd             pkg/internal/testing/controlplane/etcd.go
//	  its API server       pkg/internal/testing/controlplane/apiserver.go
//	  its processes        pkg/internal/testing/process/process.go
//	  its certificates     pkg/internal/testing/certs/tinyca.go
//	  its users            pkg/internal/testing/controlplane/auth.go
//	  its options          pkg/envtest/server.go
//	ReadCRDs, InstallCRDs  pkg/envtest/crd.go
//	RequireControlPlane    none: each suite writes its own BeforeSuite
//	WaitFor                none: each suite polls with Eventually
//	Environment.Settle     none: each suite polls with Eventually and Consistently
//	Transport              none: upstream's tests use httptest.Server, or its fake client
//
// Differs on purpose: with no sockets, time-dependent tests run in
// testing/synctest. The binaries are built from their Go modules, not
// downloaded. One type with one struct of options is the whole control plane; upstream
// has Environment, ControlPlane, APIServer and Etcd, and declares options several
// times. A watchdog process cleans up after a test process that died. etcd is
// behind TLS, so that nobody but our API server gets at it. The API server ends its
// watches when it is stopped: so a stop with open watches takes a second. It
// can be killed and started again, and kube-controller-manager can run too. That
// a CRD is served is seen by a list that works, not in discovery alone.
//
// It runs where there are process groups and a POSIX shell: not on Windows.
package envtest
