package cache

import (
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	// ErrCacheNotStarted is what a read returns before Start: nothing is known
	// about the object yet, not even that it is missing. The caller waits for
	// [Cache.WaitForCacheSync], or reads from the server.
	ErrCacheNotStarted = errors.New("cache: not started: call Start and WaitForCacheSync first, or read from the server")

	// ErrResourceNotCached is what a read of a kind without an informer returns
	// under Options.ReaderFailOnMissingInformer. The caller asks for the kind
	// with [Cache.GetInformer], or reads from the server.
	ErrResourceNotCached = errors.New("cache: the kind has no informer, and Options.ReaderFailOnMissingInformer is set:" +
		" call GetInformer for it, or read from the server")

	// ErrStopped is what ends the wait for a kind whose informer was removed, or
	// whose cache has stopped. The caller has no reason to try again.
	ErrStopped = errors.New("cache: the informer has stopped")
)

// NotSyncedError says that a kind had no complete list yet when a wait for it
// ended. The informer goes on trying: the caller may ask again.
//
// It unwraps to the reason why the wait ended (context.DeadlineExceeded,
// context.Canceled, ErrStopped) and never to LastError: a list that was answered
// with 404 does not make an object "not found".
type NotSyncedError struct {
	// Kind is what was waited for.
	Kind schema.GroupVersionKind
	// Namespaces are those that were missing; empty when the kind is not cached
	// by namespace, or when not even its scope is known.
	Namespaces []string
	// LastError is the last failed request for the kind; nil if none has failed.
	LastError error
	// Err is why the wait ended.
	Err error
}

// Error names kind, namespaces and the server's last answer.
func (e *NotSyncedError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "cache: %s has not synced", kindText(e.Kind))
	if len(e.Namespaces) > 0 {
		fmt.Fprintf(&b, " in %s", strings.Join(e.Namespaces, ", "))
	}
	fmt.Fprintf(&b, ": %v", e.Err)
	if e.LastError != nil {
		fmt.Fprintf(&b, "; the last error was: %v", e.LastError)
	} else {
		b.WriteString("; no request has failed so far")
	}
	return b.String()
}

// Unwrap returns why the wait ended.
func (e *NotSyncedError) Unwrap() error { return e.Err }

// errLive is for who reads from the Cache itself with an option of the client's.
var errLive = errors.New("a cache cannot read from the server: give client.Live to the client")

// BehindError says that a store had not come as far as a read needs when the wait
// for that ended: the watch is late, or broken. The caller asks again later, or reads
// with client.Live.
type BehindError struct {
	// Kind is what was read.
	Kind schema.GroupVersionKind
	// Namespace is where; empty when the kind is not cached by namespace.
	Namespace string
	// ResourceVersion is what was waited for.
	ResourceVersion string
	// Err is why the wait ended.
	Err error
}

// Error names kind, namespace and version.
func (e *BehindError) Error() string {
	in := ""
	if e.Namespace != "" {
		in = " in " + e.Namespace
	}
	return fmt.Sprintf("cache: %s%s has not come to resourceVersion %s: %v; read again later, or with client.Live",
		kindText(e.Kind), in, e.ResourceVersion, e.Err)
}

// Unwrap returns why the wait ended.
func (e *BehindError) Unwrap() error { return e.Err }

// kindText is a kind as people write it: v1/Pod, apps/v1/Deployment.
func kindText(gvk schema.GroupVersionKind) string {
	return gvk.GroupVersion().String() + "/" + gvk.Kind
}
