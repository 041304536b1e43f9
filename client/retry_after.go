package client

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// retryAfter carries the Retry-After header of a request's last reply to the
// error that the request ends with. client-go drops it when the body is a
// Status, though a proxy may well have added the header to one.
type retryAfter struct{ header string }

type retryAfterKey struct{}

// listening returns the context for a request.
func (a *retryAfter) listening(ctx context.Context) context.Context {
	return context.WithValue(ctx, retryAfterKey{}, a)
}

// complete adds the delay to an error that lacks it, where
// apierrors.SuggestsClientDelay finds it. Other errors stay as they are.
func (a *retryAfter) complete(err error) error {
	status, ok := errors.AsType[*apierrors.StatusError](err)
	if !ok {
		return err
	}
	seconds := a.seconds()
	if d := status.ErrStatus.Details; seconds <= 0 || d != nil && d.RetryAfterSeconds > 0 {
		return err
	}
	if status.ErrStatus.Details == nil {
		status.ErrStatus.Details = &metav1.StatusDetails{}
	}
	status.ErrStatus.Details.RetryAfterSeconds = seconds
	return err
}

// seconds reads both forms of the header, a number and a date (RFC 9110,
// 10.2.3). Zero means that there is none that makes sense.
func (a *retryAfter) seconds() int32 {
	if n, err := strconv.ParseInt(a.header, 10, 32); err == nil {
		return int32(n)
	}
	at, err := http.ParseTime(a.header)
	if err != nil {
		return 0
	}
	return int32(min(time.Until(at)+time.Second-1, 24*time.Hour) / time.Second)
}

// retryAfterTransport tells each request's retryAfter what the reply said.
type retryAfterTransport struct{ base http.RoundTripper }

func (t *retryAfterTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := t.base.RoundTrip(req)
	if a, ok := req.Context().Value(retryAfterKey{}).(*retryAfter); ok && err == nil {
		a.header = resp.Header.Get("Retry-After")
	}
	return resp, err
}

// WrappedRoundTripper lets apimachinery find the connections below, to close
// those that are idle.
func (t *retryAfterTransport) WrappedRoundTripper() http.RoundTripper { return t.base }
