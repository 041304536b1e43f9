package envtest

import (
	"errors"
	"net/http"
	"strconv"

	"governor/envtest/storage"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// statusOf is what a client hears of an error.
func statusOf(err error) *metav1.Status {
	var api apierrors.APIStatus
	if !errors.As(err, &api) {
		switch {
		case errors.Is(err, storage.ErrTooOld):
			api = apierrors.NewResourceExpired(err.Error())
		default:
			return typed(metav1.Status{
				Status:  metav1.StatusFailure,
				Code:    http.StatusInternalServerError,
				Message: err.Error(),
			})
		}
	}
	status := api.Status()
	if status.Status == "" {
		status.Status = metav1.StatusFailure
	}
	return typed(status)
}

// typed is a status with its kind.
func typed(status metav1.Status) *metav1.Status {
	status.Kind, status.APIVersion = "Status", "v1"
	return &status
}

// writeError answers a request with an error.
func (s *Server) writeError(w http.ResponseWriter, r *http.Request, err error) {
	status := statusOf(err)
	if d := status.Details; d != nil && d.RetryAfterSeconds > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(d.RetryAfterSeconds)))
	}
	s.writeStatus(w, r, int(status.Code), status)
}

// statusError makes an error of a code, a reason and a message.
func statusError(code int, reason metav1.StatusReason, message string, details *metav1.StatusDetails) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status:  metav1.StatusFailure,
		Code:    int32(code),
		Reason:  reason,
		Message: message,
		Details: details,
	}}
}

// errNotServed: there is no such path.
func errNotServed() error {
	return statusError(http.StatusNotFound, metav1.StatusReasonNotFound,
		"the server could not find the requested resource", &metav1.StatusDetails{})
}

// errMethodNotAllowed: the path does not take the method.
func errMethodNotAllowed() error {
	return statusError(http.StatusMethodNotAllowed, metav1.StatusReasonMethodNotAllowed,
		"the server does not allow this method on the requested resource", &metav1.StatusDetails{})
}

func errBadRequest(message string) error { return apierrors.NewBadRequest(message) }

// errTooLarge: a read at a resourceVersion that has not been reached.
func errTooLarge(asked, current uint64) error {
	err := apierrors.NewTimeoutError("Too large resource version: "+
		strconv.FormatUint(asked, 10)+", current: "+strconv.FormatUint(current, 10), 1)
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{
		Type:    metav1.CauseTypeResourceVersionTooLarge,
		Message: "Too large resource version",
	}}
	return err
}
