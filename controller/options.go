package controller

import (
	"cmp"
	"time"

	"governor/workqueue"
)

// Options tunes a Controller. The zero value, and nil, are ready to use.
//
// Upstream: controller.TypedOptions and config.Controller.
type Options[K comparable] struct {
	// MaxConcurrentReconciles is how many keys are reconciled at once. Zero and
	// negative mean 1.
	MaxConcurrentReconciles int
	// CacheSyncTimeout is how long each source may take to enqueue what there
	// is at the start; after that the controller fails, and its error says which
	// source and why. Zero and negative mean 2 minutes.
	CacheSyncTimeout time.Duration
	// RateLimiter decides how long a key waits after an error. Nil means
	// workqueue's default: 5 ms, doubled by each error in a row, up to 1000 s.
	RateLimiter workqueue.RateLimiter[K]
	// RecoverPanic says whether a panic of Reconcile counts as its error. Nil
	// means true; false means that the process dies.
	RecoverPanic *bool
	// ReconciliationTimeout ends the context of a Reconcile that takes longer.
	// Zero and negative mean never.
	ReconciliationTimeout time.Duration
	// NeedLeaderElection says whether the controller runs only where the manager
	// leads. Nil means true.
	NeedLeaderElection *bool
	// SkipNameValidation allows several controllers of one name in a manager.
	// They share their metrics. Nil means false.
	SkipNameValidation *bool
	// Metrics hears of each reconcile. Nil means the manager's metrics, or
	// nobody for a controller made by NewUnmanaged.
	Metrics Metrics
	// QueueMetrics hears of the queue. Nil means the same as for Metrics.
	QueueMetrics workqueue.Metrics
}

// Metrics hears of one controller's work. Its methods must not block.
type Metrics interface {
	// Reconciled says how a Reconcile ended ("success", "error", "requeue_after")
	// and how long it took.
	Reconciled(result string, took time.Duration)
	// Panicked says that a Reconcile panicked; Reconciled follows, unless
	// RecoverPanic is false.
	Panicked()
	// TerminalError says that a Reconcile returned a terminal error; Reconciled
	// follows.
	TerminalError()
	// Active says that the number of running Reconciles changed.
	Active(change int)
	// SetMaxConcurrent says how many Reconciles may run at once.
	SetMaxConcurrent(n int)
}

const defaultCacheSyncTimeout = 2 * time.Minute

func (o *Options[K]) orZero() *Options[K] { return cmp.Or(o, &Options[K]{}) }

func (o *Options[K]) workers() int { return max(1, o.MaxConcurrentReconciles) }

func (o *Options[K]) cacheSyncTimeout() time.Duration {
	if o.CacheSyncTimeout > 0 {
		return o.CacheSyncTimeout
	}
	return defaultCacheSyncTimeout
}

func (o *Options[K]) recoverPanic() bool { return o.RecoverPanic == nil || *o.RecoverPanic }

func (o *Options[K]) needLeaderElection() bool {
	return o.NeedLeaderElection == nil || *o.NeedLeaderElection
}

func (o *Options[K]) skipNameValidation() bool {
	return o.SkipNameValidation != nil && *o.SkipNameValidation
}

func (o *Options[K]) metrics() Metrics {
	if o.Metrics == nil {
		return noMetrics{}
	}
	return o.Metrics
}

type noMetrics struct{}

func (noMetrics) Reconciled(string, time.Duration) {}
func (noMetrics) Panicked()                        {}
func (noMetrics) TerminalError()                   {}
func (noMetrics) Active(int)                       {}
func (noMetrics) SetMaxConcurrent(int)             {}
