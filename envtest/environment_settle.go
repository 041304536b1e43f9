package envtest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"governor/client"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Settler is what [Environment.Settle] waits for: a manager, a controller, a cache, or what a
// test makes of its own. It may have two more methods:
//
//   - Unsettled() string: why it is not settled, for the error; empty if it is.
//   - CaughtUp(ctx context.Context) error: what it lacks of what the server has; nil if nothing.
type Settler interface {
	// Settled says whether it has nothing to do, as far as it knows. It makes no request.
	Settled() bool
}

// Settle asks again after pauses between these two.
const (
	firstSettlePause = time.Millisecond
	lastSettlePause  = 50 * time.Millisecond
)

// Settle waits until nothing is left to happen: all things have seen all that is on the server,
// all are settled, and nobody has written to the server meanwhile. When ctx ends before, the
// error says who was not settled, and why. What is to happen later (RequeueAfter, a
// resync) does not count, what is to be tried again after an error does.
//
// It makes requests, and asks several times; in a testing/synctest bubble the time flies
// meanwhile. Whoever writes all the time, as leader election does, is waited for in vain if he is
// quicker than a round of questions, which takes milliseconds.
//
// It answers to the Eventually and Consistently loops of upstream's tests.
func (e *Environment) Settle(ctx context.Context, things ...Settler) error {
	version, err := e.versionFunc()
	if err != nil {
		return fmt.Errorf("settle: %w", err)
	}
	for pause := firstSettlePause; ; pause = min(2*pause, lastSettlePause) {
		unsettled := settleRound(ctx, version, things)
		if unsettled == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("settle: %w: %w", context.Cause(ctx), unsettled)
		case <-time.After(pause):
		}
	}
}

// settleRound is nil if all are settled. Whoever is not, at the last look, may be about to write or to hand
// something on to who was looked at before; so all are looked at again once they have caught up.
func settleRound(ctx context.Context, version func(context.Context) (string, error), things []Settler) error {
	before, err := version(ctx)
	if err != nil {
		return err
	}
	if err := allSettled(things); err != nil {
		return err
	}
	var behind []error
	for _, thing := range things {
		if c, ok := thing.(interface{ CaughtUp(context.Context) error }); ok {
			behind = append(behind, c.CaughtUp(ctx))
		}
	}
	if err := errors.Join(behind...); err != nil {
		return err
	}
	for range 2 { // who is fed by a thing is looked at after it, in whatever order they come
		if err := allSettled(things); err != nil {
			return err
		}
	}
	after, err := version(ctx)
	if err != nil {
		return err
	}
	if before != after {
		return fmt.Errorf("the server has been written to: resourceVersion %s, then %s", before, after)
	}
	return nil
}

// allSettled says who is not settled, and why.
func allSettled(things []Settler) error {
	var reasons []string
	for _, thing := range things {
		if thing.Settled() {
			continue
		}
		why := fmt.Sprintf("%T is not settled", thing)
		if u, ok := thing.(interface{ Unsettled() string }); ok {
			if text := u.Unsettled(); text != "" { // it may be by now
				why = text
			}
		}
		reasons = append(reasons, why)
	}
	if len(reasons) > 0 {
		return errors.New(strings.Join(reasons, "; "))
	}
	return nil
}

// versionFunc returns what finds the server's resourceVersion. The server in memory is not asked by a request:
// a test counts those, and has faults for them.
func (e *Environment) versionFunc() (func(context.Context) (string, error), error) {
	if s := e.Server(); s != nil {
		return func(context.Context) (string, error) { return formatVersion(s.store.ResourceVersion()), nil }, nil
	}
	cfg := e.Config()
	if cfg == nil {
		return nil, errors.New("the environment is not running")
	}
	c, err := client.New(cfg, nil)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (string, error) {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("NamespaceList"))
		err := c.List(ctx, list, &client.ListOptions{Limit: 1})
		return list.ResourceVersion, err
	}, nil
}
