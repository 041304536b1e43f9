package informer

import "k8s.io/apimachinery/pkg/util/resourceversion"

// position is a place in the history of a kind at one server.
type position struct {
	// resourceVersion is empty before the first list.
	resourceVersion string
	// ordered says that events come in the order of their resourceVersions. They
	// do not at the start of a watch from no resourceVersion, which begins with
	// what exists, in any order.
	ordered bool
}

// isVersion says whether rv names a place, and not "any" or "the newest".
func isVersion(rv string) bool { return rv != "" && rv != "0" }

// older says whether a comes before b. Versions that are no decimal numbers,
// from servers that break the rules, are older than none.
func older(a, b string) bool {
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && order < 0
}
