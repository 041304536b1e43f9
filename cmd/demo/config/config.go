// Package config holds the demo's manifests: the Replica CRD and the RBAC of
// the replicator. `kubectl apply -f cmd/demo/config/` installs them.
package config

import _ "embed"

// CRD is the manifest of the Replica CRD, in YAML.
//
//go:embed crd.yaml
var CRD []byte
