package cache

import (
	"governor/client"
	"governor/client/decode"
	"governor/informer"
)

// Tier is how the objects of a kind are kept in memory. What reads and handlers get
// is the same in each. Whoever needs metadata only saves more, by a form: see
// Options.ByObject.
type Tier string

const (
	// Shared keeps Go objects, which share what is equal in several of them. It is
	// what an empty Tier means.
	Shared Tier = "Shared"
	// Compact keeps the bytes that the server sent, as the difference from similar
	// objects' bytes: a tenth to a third of the memory. Every read and every call of
	// a handler or of an index function decodes, which costs about as much as two
	// deep copies. It is for kinds with many objects of which few are looked at:
	// lists select by labels, owners, names and indexes without decoding.
	Compact Tier = "Compact"
)

// tier returns that of the kind.
func (k *KindInformer) tier() Tier { return k.options.tier(k.kind.ByObject) }

// expand returns an object that is to be read only: stored itself, or, in the
// compact tier, what it is made of.
func expand(stored client.Object) client.Object {
	c, is := stored.(*decode.Compact)
	if !is {
		return stored
	}
	obj, err := c.Read()
	if err != nil {
		panic(err) // it was decoded before it was stored
	}
	return obj
}

// compacted returns a transform function whose result is kept as bytes. d is nil for a
// kind that cannot be decoded.
func compacted(fn TransformFunc, d *decode.Decoder) TransformFunc {
	return func(in client.Object) (client.Object, error) {
		obj, err := fn(in)
		if err != nil || d == nil {
			return obj, err
		}
		return d.Compact(obj)
	}
}

// wholes is a handler at an informer that stores compact objects: it gets whole ones.
type wholes struct{ informer.Handler }

// OnAdd implements informer.Handler.
func (w wholes) OnAdd(obj client.Object, isInInitialList bool) {
	w.Handler.OnAdd(expand(obj), isInInitialList)
}

// OnUpdate implements informer.Handler.
func (w wholes) OnUpdate(oldObj, newObj client.Object) {
	is := expand(newObj)
	was := is
	if oldObj != newObj { // of a resync they are the same, for handlers too
		was = expand(oldObj)
	}
	w.Handler.OnUpdate(was, is)
}

// OnDelete implements informer.Handler.
func (w wholes) OnDelete(obj client.Object, finalStateUnknown bool) {
	w.Handler.OnDelete(expand(obj), finalStateUnknown)
}
