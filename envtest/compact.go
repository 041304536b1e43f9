package envtest

import (
	"fmt"
	"strconv"
)

// CompactTo forgets the history up to a resourceVersion, as etcd does every few
// minutes: to watch from there on, to list at it, or to continue a list of its time
// is then an error 410. Watches that have seen it go on. An empty resourceVersion means now.
func (s *Server) CompactTo(resourceVersion string) error {
	version := s.store.ResourceVersion()
	if resourceVersion != "" {
		var err error
		if version, err = strconv.ParseUint(resourceVersion, 10, 64); err != nil {
			return fmt.Errorf("compact to %q: a resourceVersion is a number", resourceVersion)
		}
	}
	return s.store.CompactTo(version)
}
