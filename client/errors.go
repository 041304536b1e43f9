package client

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// IgnoreNotFound returns nil for a NotFound error, any other as it is.
func IgnoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// IgnoreAlreadyExists returns nil for an AlreadyExists error, any other as it
// is.
func IgnoreAlreadyExists(err error) error {
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// DecodeError says that one object in a list or a watch does not fit its Go
// type, or is no object at all. The others are not affected: the sequence may
// go on after it. The object is on the server as it is; whoever needs it can
// read it unstructured.
type DecodeError struct {
	// Kind is what was to be decoded.
	Kind schema.GroupVersionKind
	// Key, UID and ResourceVersion are the object's, as far as they could be
	// read.
	Key             ObjectKey
	UID             types.UID
	ResourceVersion string
	// Err is the cause.
	Err error
}

// Error names kind, key and cause.
func (e *DecodeError) Error() string {
	return fmt.Sprintf("decode %s %s: %v", e.Kind.GroupKind(), keyText(e.Key), e.Err)
}

// Unwrap returns the cause.
func (e *DecodeError) Unwrap() error { return e.Err }

// callError adds to an error what was tried, and on what.
func callError(verb string, gk schema.GroupKind, sub string, key ObjectKey, err error) error {
	what := gk.String()
	if sub != "" {
		what += "/" + sub
	}
	if text := keyText(key); text != "" {
		what += " " + text
	}
	return fmt.Errorf("%s %s: %w", verb, what, err)
}

// keyText is a key as people write it: no slash for what lives in no namespace.
func keyText(key ObjectKey) string {
	if key.Namespace == "" {
		return key.Name
	}
	return key.String()
}
