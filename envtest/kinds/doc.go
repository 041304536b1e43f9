// Package kinds knows which resources an API server in memory serves, and what
// the server has to know of each: verbs, versions, field managers, schemas.
//
// # Where it sits
//
//	request ─► path ─► REGISTRY.Lookup ─► Resource ─┬─ verbs, subresources, scope
//	                      ▲      ▲                  ├─ FieldManager: who owns which field
//	     builtin.json ────┘      │                  ├─ Convert: version of the request ↔ of the store
//	     of the real server      │                  └─ Rules: prune, default, validate
//	                             │
//	CRD written ─► AcceptNames ─► SetCRD ─► Establish
//
// # Contract
//
//  1. Recorded: what is served of the built-in kinds, by which names and verbs, and
//     the schemas of metadata and of CRDs are a real server's of Kubernetes 1.37, for
//     the kinds of the scheme that New is given. An end-to-end test compares.
//  2. Untouched: what is given to Convert, Validate, a field manager or SetCRD is
//     not written to. Prune, Default and Prepare write to their object, and to
//     nothing that it shares with a schema.
//  3. Owned: field managers are apimachinery's, with the types of client-go's apply
//     configurations or of the CRD's schemas. What a write to a (sub)resource resets it
//     does not come to own, as in the real server. Each is made when it is first used.
//  4. Whole: a reader sees the registry before or after a change of a CRD, never in
//     between, and takes no lock. A CRD that is refused changes nothing.
//  5. Named: no two CRDs of a group share a name; who was first has it until it goes.
//     Conditions are worded as the real server's.
//  6. Structural: custom objects are pruned, defaulted and validated by the schema of
//     their version, with the real server's errors. An update may keep what was wrong
//     before.
//  7. Robust: no schema and no object panics.
//
// Not done: CEL rules (x-kubernetes-validations) are neither compiled nor
// evaluated; an object that is stored is not defaulted again when its CRD gets
// new defaults; schemas of built-in kinds are not in the OpenAPI documents.
//
// # Upstream
//
//	builtin.json           kubernetes pkg/registry/*/rest, as discovery shows it
//	Registry               apiextensions-apiserver pkg/apiserver/customresource_handler.go (crdInfo)
//	Registry.AcceptNames   apiextensions-apiserver pkg/controller/status/naming_controller.go
//	Establish              apiextensions-apiserver pkg/controller/establish/establishing_controller.go
//	Resource.FieldManager  apiserver pkg/endpoints/installer.go; strategies in kubernetes pkg/registry
//	Resource.Convert       kubernetes pkg/apis/{autoscaling,events}/v1/conversion.go
//	Rules.Prune            apiextensions-apiserver pkg/apiserver/schema/pruning/algorithm.go
//	Rules.Default          apiextensions-apiserver pkg/apiserver/schema/defaulting/algorithm.go
//	Rules.Validate         apiextensions-apiserver pkg/apiserver/validation/{validation,ratcheting}.go,
//	                       pkg/apiserver/schema/{listtype,objectmeta}/validation.go
//	  of CRDs              apiextensions-apiserver pkg/apis/apiextensions/validation/validation.go
//	Custom.Convert         apiextensions-apiserver pkg/apiserver/conversion/{nop,webhook}_converter.go
//	Registry.OpenAPI       apiextensions-apiserver pkg/controller/openapi/builder/builder.go
//
// Differs on purpose: the built-in kinds are data, not code. There are no internal
// versions: an object is stored in a version that is served, and two kinds
// alone are converted, by hand. CRDs are unstructured, so that apiextensions is
// not a dependency. What controllers do to a CRD in their own time is here a
// function for each step, which the server calls in the same request.
package kinds
