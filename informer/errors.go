package informer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
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
	// errPremature is a streaming list that ended well, but too soon.
	errPremature = errors.New("streaming list: the server ended the stream before it had told everything")
	// errNoEnd is a streaming list whose end does not come: the server takes the
	// request for a plain watch.
	errNoEnd = errors.New("streaming list: the server does not say that it has told everything")
	// errSilent is a request for which nothing comes, though something should.
	errSilent = errors.New("nothing was heard from the server for too long")
	// errRetry ends a stream for objects that are to be transformed once more.
	errRetry = errors.New("some objects are to be transformed once more")
	// errOverdue and errRefused are why a stream is cancelled, and go no further.
	errOverdue = errors.New("the stream should have ended by now")
	errRefused = errors.New("the store has refused a change")
	// errWentBack is a list that is older than the one asked for.
	errWentBack = errors.New("list: the server answered with an older state than was asked for")
)

// ObjectError is an object that the Transform function, or the Store, refused. It
// reaches the WatchErrorHandler, and Status: as that of an UnreadObject, or as
// LastError. The Informer lists again by itself, after a back-off; until the
// object is mended, or the function is, the Store keeps its last good state.
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
	fine          trouble = iota // no error
	cut                          // the connection broke, or died: no news about the state
	unavailable                  // the server does not have this resourceVersion any more
	tooLarge                     // the server does not have this resourceVersion yet
	unsupported                  // the server does not do such a thing, or not for us
	away                         // nobody is there, or has time, or knows us just now
	poison                       // an event that makes no sense, or a store that refuses
	untransformed                // the time to transform objects once more has come
	other                        // anything else
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
		return poison // one that says not even which object it is about
	}
	var api apierrors.APIStatus
	if errors.As(err, &api) {
		return diagnoseStatus(err, api.Status())
	}
	switch {
	case errors.Is(err, errWentBack):
		return tooLarge
	case errors.Is(err, errNoEnd):
		return unsupported
	case errors.Is(err, errRetry):
		return untransformed
	case errors.Is(err, errSilent), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), utilnet.IsProbableEOF(err):
		return cut
	case utilnet.IsConnectionRefused(err):
		return away
	}
	return other
}

// diagnoseStatus says what an error means that the server has put into words.
func diagnoseStatus(err error, status metav1.Status) trouble {
	switch {
	case status.Code == http.StatusGone, apierrors.IsGone(err), apierrors.IsResourceExpired(err):
		return unavailable
	case isTooLarge(status):
		return tooLarge
	}
	switch status.Code {
	case http.StatusBadRequest, http.StatusForbidden, http.StatusMethodNotAllowed,
		http.StatusNotAcceptable, http.StatusUnprocessableEntity, http.StatusNotImplemented:
		return unsupported
	case http.StatusUnauthorized, http.StatusNotFound, http.StatusTooManyRequests, http.StatusServiceUnavailable:
		return away
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

// maxTexts bounds what an errorLog remembers, and so its lines in a minute.
const maxTexts = 100

// errorLog logs an error when its text is new, or was logged a minute ago.
type errorLog struct {
	name string

	mu     sync.Mutex
	logged map[string]time.Time // +checklocks:mu; the texts of the last minute
}

func (l *errorLog) log(ctx context.Context, err error) {
	if l.mayLog(err.Error(), time.Now()) {
		klog.FromContext(ctx).Error(err, "List or watch failed, trying again", "informer", l.name)
	}
}

func (l *errorLog) mayLog(text string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	maps.DeleteFunc(l.logged, func(_ string, at time.Time) bool { return now.Sub(at) >= time.Minute })
	if _, recently := l.logged[text]; recently || len(l.logged) >= maxTexts {
		return false
	}
	if l.logged == nil {
		l.logged = make(map[string]time.Time)
	}
	l.logged[text] = now
	return true
}
