package controller_test

import (
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"governor/controller"
)

func TestTerminalErrorIsFoundAtAnyDepthAndSeenThrough(t *testing.T) {
	err := fmt.Errorf("reconcile: %w", controller.TerminalError(fmt.Errorf("read: %w", io.EOF)))
	if !errors.Is(err, controller.TerminalError(nil)) {
		t.Error("errors.Is does not find the terminal error")
	}
	if !errors.Is(err, io.EOF) {
		t.Error("errors.Is does not see through the terminal error")
	}
	if want := "reconcile: terminal error: read: EOF"; err.Error() != want {
		t.Errorf("text is %q, want %q", err, want)
	}
	if ordinary := fmt.Errorf("read: %w", io.EOF); errors.Is(ordinary, controller.TerminalError(nil)) {
		t.Error("an ordinary error counts as terminal")
	}
	if got := controller.TerminalError(nil).Error(); got != "terminal error" {
		t.Errorf("text of a terminal nil is %q", got)
	}
}

func TestResultIsZero(t *testing.T) {
	five := 5
	if !(controller.Result{}).IsZero() {
		t.Error("the zero Result is not zero")
	}
	if (controller.Result{RequeueAfter: time.Second}).IsZero() || (controller.Result{Priority: &five}).IsZero() {
		t.Error("a Result that asks for something is zero")
	}
}
