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

// Decoder makes the objects of one kind. They share memory: whoever has one
// reads it only. Its methods must not be called at the same time.
type Decoder struct {
	fresh   func() Object
	options Options
}

// New returns a Decoder of the objects that fresh makes, empty, one per call and always of one Go type.
func New(fresh func() Object, o *Options) *Decoder { panic("skeleton") }

// Protobuf decodes one object's message, without an envelope.
func (d *Decoder) Protobuf(message []byte) (Object, error) { panic("skeleton") }

// JSON decodes one object. kind is what it claims to be, also beside an error.
func (d *Decoder) JSON(data []byte) (kind string, obj Object, err error) { panic("skeleton") }

// Forget is for an object that is deleted.
func (d *Decoder) Forget(key types.NamespacedName) { panic("skeleton") }

// StartList and EndList enclose the objects of one complete list: what was not
// among them is forgotten. A list that failed has no EndList.
func (d *Decoder) StartList() { panic("skeleton") }

// EndList ends what StartList began.
func (d *Decoder) EndList() { panic("skeleton") }
