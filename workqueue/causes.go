package workqueue

import "slices"

// maxCauses is how many causes a key keeps.
const maxCauses = 8

// Causes is why a key was added: what [AddOptions.Cause] said each time, the
// latest eight. They are for people to read, not for logic: a key is worked on
// because of what is so now, whatever was the cause. A nil Causes has none. It
// does not change once a worker has it.
type Causes struct {
	ring  []any // full: the oldest is at total modulo its length
	total int
}

// Latest returns the causes that were kept, the oldest first.
func (c *Causes) Latest() []any {
	if c == nil {
		return nil
	}
	oldest := c.total % len(c.ring)
	return slices.Concat(c.ring[oldest:], c.ring[:oldest])
}

// Total is how many there were.
func (c *Causes) Total() int {
	if c == nil {
		return 0
	}
	return c.total
}

// with returns c with one more cause; c itself, unless it is nil.
func (c *Causes) with(cause any) *Causes {
	if c == nil {
		c = &Causes{}
	}
	if len(c.ring) < maxCauses {
		c.ring = append(c.ring, cause)
	} else {
		c.ring[c.total%maxCauses] = cause
	}
	c.total++
	return c
}

// clone is for those who do not have the queue's lock.
func (c *Causes) clone() *Causes {
	if c == nil {
		return nil
	}
	return &Causes{slices.Clone(c.ring), c.total}
}
