package informer

import (
	"slices"

	"governor/client"
)

// collection gathers what exists, until it is complete. The zero value is empty.
type collection struct {
	objects []client.Object // nil where one has gone
	unread  map[client.ObjectKey]UnreadObject
	index   map[client.ObjectKey]int // of objects; made when it is needed
}

// add takes an object that was not there before.
func (c *collection) add(obj client.Object) {
	if len(c.unread) > 0 {
		delete(c.unread, keyOf(obj))
	}
	if c.index != nil {
		c.index[keyOf(obj)] = len(c.objects)
	}
	c.objects = append(c.objects, obj)
}

// put takes an object's new state.
func (c *collection) put(obj client.Object) {
	delete(c.unread, keyOf(obj))
	if n, known := c.find(keyOf(obj)); known {
		c.objects[n] = obj
	} else {
		c.add(obj)
	}
}

// remove takes an object's end.
func (c *collection) remove(key client.ObjectKey) {
	delete(c.unread, key)
	if n, known := c.find(key); known {
		c.objects[n] = nil
		delete(c.index, key)
	}
}

// miss takes an object whose state could not be read. An earlier one stays.
func (c *collection) miss(u UnreadObject) {
	if c.unread == nil {
		c.unread = make(map[client.ObjectKey]UnreadObject)
	}
	c.unread[u.Key] = u
}

// find needs an index, which most collections never do: servers send each
// object once.
func (c *collection) find(key client.ObjectKey) (n int, known bool) {
	if c.index == nil {
		c.index = make(map[client.ObjectKey]int, len(c.objects))
		for n, obj := range c.objects {
			c.index[keyOf(obj)] = n
		}
	}
	n, known = c.index[key]
	return n, known
}

// replaced returns the collection as a delta.
func (c *collection) replaced(resourceVersion string) Delta {
	d := Delta{Type: Replaced, Objects: c.objects, ResourceVersion: resourceVersion}
	if c.index != nil {
		d.Objects = slices.DeleteFunc(c.objects, func(obj client.Object) bool { return obj == nil })
	}
	for key := range c.unread {
		if _, known := c.find(key); !known {
			d.UnreadKeys = append(d.UnreadKeys, key)
		}
	}
	return d
}
