package decode

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// Object is what a Decoder makes. client.Object is the same.
type Object interface {
	metav1.Object
	runtime.Object
}

// Options tunes a Decoder. The zero value, and nil, are ready to use.
type Options struct {
	// DropManagedFields skips metadata.managedFields, which then cost nothing.
	DropManagedFields bool
}

func (o *Options) dropManagedFields() bool { return o != nil && o.DropManagedFields }

// Decoder makes the objects of one kind. They share memory: whoever has one
// reads it only. Its methods must not be called at the same time.
type Decoder struct {
	fresh             func() Object
	dropManagedFields bool

	hasher   hasher
	known    known
	interner interner
	messages *messages    // nil until there is protobuf
	objects  *jsonObjects // nil until there is JSON
	reader   *JSONReader  // where JSON comes from; may be nil
	parts    []sum        // scratch: of the object being decoded
}

// New returns a Decoder of the objects that fresh makes, empty, one per call
// and always of one Go type.
func New(fresh func() Object, o *Options) *Decoder {
	return &Decoder{
		fresh:             fresh,
		dropManagedFields: o.dropManagedFields(),
		hasher:            newHasher(),
		known:             newKnown(),
		interner:          newInterner(),
	}
}

// Protobuf decodes one object's message, without an envelope. Errors are those
// of the generated Unmarshal, or say that the Go type has none.
func (d *Decoder) Protobuf(message []byte) (Object, error) { return d.decodeProtobuf(message) }

// JSON decodes one object. kind is what it claims to be, also beside an error.
func (d *Decoder) JSON(data []byte) (kind string, obj Object, err error) { return d.decodeJSON(data) }

// remember makes obj, of size bytes, the last state of its key. What d.parts
// has are the sums of its parts.
func (d *Decoder) remember(obj Object, size int) {
	d.known.put(obj, d.parts, size)
	d.interner.limit(d.known.size)
}

// Forget is for an object that is deleted.
func (d *Decoder) Forget(key types.NamespacedName) {
	d.known.forget(key)
	d.interner.limit(d.known.size)
}

// StartList and EndList enclose the objects of one complete list: what was not
// among them is forgotten. A list that failed has no EndList.
func (d *Decoder) StartList() { d.known.startList() }

// EndList ends what StartList began.
func (d *Decoder) EndList() {
	d.known.endList()
	d.interner.limit(d.known.size)
}
