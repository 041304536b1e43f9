package informer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"governor/client"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/klog/v2"
)

var (
	// ErrRunning is what Run returns while another Run of the same Informer has
	// not returned. The caller has started it twice.
	ErrRunning = errors.New("informer: already running")

	// errShortWatch is a watch that ended well but at once, which is not well.
	errShortWatch = errors.New("watch: the server ended the stream at once")
	// errWentBack is a list that is older than the one asked for.
	errWentBack = errors.New("list: the server answered with an older state than was asked for")
)

// ObjectError is an object that the Transform function, or the Store, refused. It
// reaches the WatchErrorHandler and Status.LastError, as a *client.DecodeError
// does. The Informer lists again by itself, after a back-off; until the object
// is mended, or the function is, the Store keeps its last good state.
type ObjectError struct {
	// Op is what failed: "take" an event, "transform", or "store".
	Op string
	// Key is the object's; empty when it was one of a batch.
	Key client.ObjectKey
	// Err is the cause.
	Err error
}

// Error implements error.
func (e *ObjectError) Error() string {
	if e.Key == (client.ObjectKey{}) {
		return fmt.Sprintf("%s: %v", e.Op, e.Err)
	}
	return fmt.Sprintf("%s %s: %v", e.Op, e.Key, e.Err)
}

// Unwrap returns the cause.
func (e *ObjectError) Unwrap() error { return e.Err }

// trouble is what an error means to a reflector.
type trouble int

const (
	fine        trouble = iota // no error
	cut                        // the connection broke: no news about the state
	unavailable                // the server does not have this resourceVersion any more
	tooLarge                   // the server does not have this resourceVersion yet
	poison                     // an object that could not be taken
	other                      // anything else: refused, forbidden, too many requests
)

// diagnose says what an error means.
func diagnose(err error) trouble {
	if err == nil {
		return fine
	}
	if _, ok := errors.AsType[*ObjectError](err); ok {
		return poison
	}
	if _, ok := errors.AsType[*client.DecodeError](err); ok {
		return poison
	}
	var api apierrors.APIStatus
	if errors.As(err, &api) {
		switch status := api.Status(); {
		case status.Code == http.StatusGone, apierrors.IsGone(err), apierrors.IsResourceExpired(err):
			return unavailable
		case isTooLarge(status):
			return tooLarge
		}
		return other
	}
	switch {
	case errors.Is(err, errWentBack):
		return tooLarge
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), utilnet.IsProbableEOF(err):
		return cut
	}
	return other
}

// isTooLarge knows the three shapes in which servers say, with a 504, that a
// resourceVersion is not there yet: by the type of a cause, by the text of a
// cause, and (old ones) by the text of the whole.
func isTooLarge(status metav1.Status) bool {
	const text = "too large resource version"
	if status.Details != nil {
		for _, cause := range status.Details.Causes {
			if cause.Type == metav1.CauseTypeResourceVersionTooLarge {
				return true
			}
		}
	}
	if status.Reason != metav1.StatusReasonTimeout {
		return false
	}
	if status.Details != nil {
		for _, cause := range status.Details.Causes {
			if strings.Contains(strings.ToLower(cause.Message), text) {
				return true
			}
		}
	}
	return strings.Contains(strings.ToLower(status.Message), text)
}

// retryAfter returns how long the server asked to be left alone.
func retryAfter(err error) time.Duration {
	seconds, _ := apierrors.SuggestsClientDelay(err)
	return time.Duration(max(seconds, 0)) * time.Second
}

// errorLog logs an error when its text is new, or a minute old.
type errorLog struct {
	name string

	mu   sync.Mutex
	text string    // +checklocks:mu; the last that was logged
	when time.Time // +checklocks:mu; and when
}

func (l *errorLog) log(ctx context.Context, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if text := err.Error(); text != l.text || time.Since(l.when) >= time.Minute {
		l.text, l.when = text, time.Now()
		klog.FromContext(ctx).Error(err, "List or watch failed, trying again", "informer", l.name)
	}
}
