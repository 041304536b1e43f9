package decode

import (
	"fmt"
	"iter"
	"strings"
	"unsafe"
	"weak"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Compact is an object that is kept as bytes, as a Decoder with Options.Compact
// makes it. It never changes, and any number of goroutines may use it.
//
//	Compact ─► key, UID, version, labels, owners    at hand
//	   │  └──► delta ──┐
//	   └─────► base ───┴─► bytes ──► Object         made by New, again and again
//
// The bytes are those of the wire, without managedFields if these are dropped, as
// the difference from a base that similar objects share. It is an Object itself,
// so that an informer and its store can handle it; what is not at hand, its getters
// decode. It has no setters: they panic.
type Compact struct {
	*press
	base            *base
	namespace, name string
	uid             types.UID
	resourceVersion string
	traits          *traits
	delta           string // its first byte is the encoding
	fresh           weak.Pointer[fresh]
}

// traits are what similar objects mostly have in common.
type traits struct {
	labels map[string]string
	owners []metav1.OwnerReference
}

// fresh is the object as it was decoded to see that it can be. Nobody keeps it,
// but until the next collection of garbage whoever wants to read it can have it.
type fresh struct{ Object }

// Encodings of a Compact.
const (
	asProtobuf = 'p'
	asJSON     = 'j'
)

// New decodes the object. It is the caller's own, and has its kind. There is an
// error only if its decoding is not the same each time.
func (c *Compact) New() (Object, error) {
	buf := c.buffers.Get().(*[]byte)
	defer c.buffers.Put(buf)
	all, start, ok := expand(*buf, c.base.text, c.head(), c.delta[1:])
	if *buf = all; !ok {
		return nil, fmt.Errorf("decode %s/%s: it cannot be expanded", c.namespace, c.name)
	}
	obj, err := c.decode(all[start:], c.delta[0])
	if err != nil {
		return nil, fmt.Errorf("decode %s/%s: %w", c.namespace, c.name, err)
	}
	return obj, nil
}

// Read returns an object that others may have as well: it is to be read only. Soon
// after the event that brought it, it costs nothing. See New.
func (c *Compact) Read() (Object, error) {
	if f := c.fresh.Value(); f != nil {
		return f.Object, nil
	}
	return c.New()
}

// head is what the delta need not have.
func (c *Compact) head() string { return head(c.name, c.uid, c.resourceVersion) }

// read is Read for what is known to have been decoded from the same bytes before.
func (c *Compact) read() Object {
	obj, err := c.Read()
	if err != nil {
		panic(err)
	}
	return obj
}

// GetObjectKind implements runtime.Object. The kind is set on what New returns.
func (c *Compact) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject returns c, which never changes.
func (c *Compact) DeepCopyObject() runtime.Object { return c }

// Memory yields the pieces of memory that the Compact takes, each with something that
// tells it from others, and its bytes. Those that similar objects share come with each.
func (c *Compact) Memory() iter.Seq2[any, int] {
	return func(yield func(any, int) bool) {
		const head = int(unsafe.Sizeof(*c)) + 16 // and what its weak pointer needs
		_ = yield(c, head+len(c.name)+len(c.uid)+len(c.resourceVersion)+len(c.delta)) &&
			yield(c.base, int(unsafe.Sizeof(*c.base))+len(c.base.text)) &&
			yield(c.traits, c.traits.size())
	}
}

// size is about how many bytes of memory they take.
func (t *traits) size() int {
	size := int(unsafe.Sizeof(*t)) + len(t.owners)*int(unsafe.Sizeof(metav1.OwnerReference{}))
	for _, o := range t.owners {
		size += len(o.APIVersion) + len(o.Kind) + len(o.Name) + len(o.UID)
	}
	if len(t.labels) > 0 {
		size += 48 + (len(t.labels)+7)/8*264
	}
	for k, v := range t.labels {
		size += len(k) + len(v)
	}
	return size
}

// compact makes a Compact of obj, and of its bytes in an encoding. It keeps nothing of
// either.
func (p *press) compact(obj Object, data []byte, encoding byte) *Compact {
	c := &Compact{press: p, name: strings.Clone(obj.GetName()), uid: obj.GetUID(), resourceVersion: obj.GetResourceVersion()}
	delta := p.delta(c, obj, data)
	if c.namespace = c.base.namespace; c.namespace != obj.GetNamespace() {
		c.namespace = strings.Clone(obj.GetNamespace())
	}
	// One piece of memory for what comes and goes together. The name is apart, since
	// the key of a store outlives it.
	var all strings.Builder
	all.Grow(len(c.uid) + len(c.resourceVersion) + 1 + len(delta))
	all.WriteString(string(c.uid))
	all.WriteString(c.resourceVersion)
	all.WriteByte(encoding)
	all.Write(delta)
	version := len(c.uid) + len(c.resourceVersion)
	c.uid = types.UID(all.String()[:len(c.uid)])
	c.resourceVersion, c.delta = all.String()[len(c.uid):version], all.String()[version:]
	return c
}

func head(name string, uid types.UID, resourceVersion string) string {
	return name + string(uid) + resourceVersion
}
