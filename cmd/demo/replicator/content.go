package replicator

import (
	"bytes"
	"fmt"
	"maps"

	"governor/client"
	"governor/cmd/demo/v1alpha1"

	corev1 "k8s.io/api/core/v1"
)

// MaxSourceBytes is how large a source may be: values, and keys three times,
// since the server keeps each key twice more in the copy's managedFields. A
// larger one could be refused by the server's storage half-way through the
// namespaces.
const MaxSourceBytes = 1000 << 10

// content is what a copy takes over from its source.
type content struct {
	text       map[string]string // of a ConfigMap
	bytes      map[string][]byte // of a ConfigMap or a Secret
	secretType corev1.SecretType // of a Secret
}

// newObject returns an empty object of a source's kind.
func newObject(kind string) (client.Object, error) {
	switch kind {
	case v1alpha1.KindConfigMap:
		return &corev1.ConfigMap{}, nil
	case v1alpha1.KindSecret:
		return &corev1.Secret{}, nil
	}
	return nil, fmt.Errorf("spec.source.kind is %q: use %s or %s", kind, v1alpha1.KindConfigMap, v1alpha1.KindSecret)
}

// kindOf is the opposite of newObject; it is empty for any other object.
func kindOf(obj client.Object) string {
	switch obj.(type) {
	case *corev1.ConfigMap:
		return v1alpha1.KindConfigMap
	case *corev1.Secret:
		return v1alpha1.KindSecret
	}
	return ""
}

// contentOf reads the content of a ConfigMap or a Secret.
func contentOf(obj client.Object) content {
	switch o := obj.(type) {
	case *corev1.ConfigMap:
		return content{text: o.Data, bytes: o.BinaryData}
	case *corev1.Secret:
		return content{bytes: o.Data, secretType: o.Type}
	}
	return content{}
}

// putInto makes an object hold the content.
func (c content) putInto(obj client.Object) {
	switch o := obj.(type) {
	case *corev1.ConfigMap:
		o.Data, o.BinaryData = c.text, c.bytes
	case *corev1.Secret:
		o.Data, o.Type = c.bytes, c.secretType
	}
}

// equal says whether two objects hold the same.
func (c content) equal(other content) bool {
	return c.secretType == other.secretType &&
		maps.Equal(c.text, other.text) &&
		maps.EqualFunc(c.bytes, other.bytes, bytes.Equal)
}

// size is what MaxSourceBytes bounds.
func (c content) size() int {
	n := 0
	for key, value := range c.text {
		n += 3*len(key) + len(value)
	}
	for key, value := range c.bytes {
		n += 3*len(key) + len(value)
	}
	return n
}

// surplus returns the keys of other that c does not have.
func (c content) surplus(other content) (text, bytes []string) {
	for key := range other.text {
		if _, wanted := c.text[key]; !wanted {
			text = append(text, key)
		}
	}
	for key := range other.bytes {
		if _, wanted := c.bytes[key]; !wanted {
			bytes = append(bytes, key)
		}
	}
	return text, bytes
}
