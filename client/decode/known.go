package decode

import (
	"maps"
	"slices"
	"unsafe"

	"k8s.io/apimachinery/pkg/types"
)

// last is the last state of one object that was decoded.
type last struct {
	object Object
	// parts are the sums of the bytes of its parts, each salted with what part
	// it is: the number or name of the field.
	parts []sum
	size  int    // of all its bytes
	list  uint32 // known.list when it was decoded
}

// has reports whether the object has a part with that sum. It may be asked of
// nil.
func (l *last) has(part sum) bool { return l != nil && slices.Contains(l.parts, part) }

// known has the last state of each object.
type known struct {
	objects map[types.NamespacedName]*last
	size    int    // of all objects' bytes
	list    uint32 // counts the lists
}

func newKnown() known { return known{objects: map[types.NamespacedName]*last{}} }

// get returns the last state of an object, or nil. It keeps nothing of the
// bytes.
func (k *known) get(namespace, name []byte) *last {
	return k.objects[types.NamespacedName{
		Namespace: unsafe.String(unsafe.SliceData(namespace), len(namespace)),
		Name:      unsafe.String(unsafe.SliceData(name), len(name)),
	}]
}

// put remembers obj, which was decoded from size bytes, and a copy of parts. An
// object without a name is not remembered: bookmarks are such.
func (k *known) put(obj Object, parts []sum, size int) {
	key := types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()}
	if key.Name == "" {
		return
	}
	l := k.objects[key]
	if l == nil {
		l = &last{}
		k.objects[key] = l
	}
	if cap(l.parts) < len(parts) {
		l.parts = make([]sum, 0, len(parts))
	}
	k.size += size - l.size
	l.object, l.parts, l.size, l.list = obj, append(l.parts[:0], parts...), size, k.list
}

func (k *known) forget(key types.NamespacedName) {
	if l := k.objects[key]; l != nil {
		k.size -= l.size
		delete(k.objects, key)
	}
}

func (k *known) startList() { k.list++ }

// endList forgets what was not put since startList.
func (k *known) endList() {
	before := len(k.objects)
	for key, l := range k.objects {
		if l.list != k.list {
			k.forget(key)
		}
	}
	if len(k.objects) < before/2 { // a map does not shrink by itself
		fewer := make(map[types.NamespacedName]*last, len(k.objects))
		maps.Copy(fewer, k.objects)
		k.objects = fewer
	}
}
