package storage

import (
	"strconv"

	"governor/client"
)

// Departure is what a watch sees go whose selector the object has ceased to match: its
// state before the change, with the resourceVersion of the change. It is made once. Only
// for Modified.
func (c Change) Departure() *Object {
	if o := c.Object.departure.Load(); o != nil {
		return o
	}
	value := c.Previous.Value.DeepCopyObject().(client.Object)
	value.SetResourceVersion(strconv.FormatUint(c.ResourceVersion, 10))
	c.Object.departure.CompareAndSwap(nil, NewObject(c.Object.Resource, value, c.ResourceVersion))
	return c.Object.departure.Load()
}
