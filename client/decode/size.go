package decode

import "unsafe"

// Size is about how many bytes of memory the object takes that it shares with no
// other.
func (c *Compact) Size() int64 {
	return int64(unsafe.Sizeof(*c)) + int64(len(c.name)+len(c.uid)+len(c.resourceVersion)+len(c.delta))
}
