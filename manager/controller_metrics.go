package manager

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// reconcileBuckets are upstream's, in seconds.
var reconcileBuckets = []float64{
	.005, .01, .025, .05, .1, .15, .2, .25, .3, .35, .4, .45, .5, .6, .7, .8, .9,
	1, 1.25, 1.5, 1.75, 2, 2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9,
	10, 15, 20, 25, 30, 40, 50, 60,
}

func (m *Metrics) registerControllers() {
	label := []string{"controller"}
	counter := func(name, help string, labels []string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "controller_runtime_" + name, Help: help}, labels)
	}
	gauge := func(name, help string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "controller_runtime_" + name, Help: help}, label)
	}
	m.reconciles = counter("reconcile_total", "Reconciles that ended, by result.", []string{"controller", "result"})
	m.errors = counter("reconcile_errors_total", "Reconciles that returned an error, terminal ones included.", label)
	m.terminals = counter("terminal_reconcile_errors_total", "Reconciles that returned an error which no retry can mend.", label)
	m.panics = counter("reconcile_panics_total", "Reconciles that panicked.", label)
	m.times = prometheus.NewHistogramVec(native(prometheus.HistogramOpts{
		Name:    "controller_runtime_reconcile_time_seconds",
		Help:    "How long a reconcile took.",
		Buckets: reconcileBuckets,
	}), label)
	m.maxConcurrent = gauge("max_concurrent_reconciles", "How many keys are reconciled at once, at the most.")
	m.active = gauge("active_workers", "How many keys are being reconciled.")
	m.registry.MustRegister(m.reconciles, m.errors, m.terminals, m.panics, m.times, m.maxConcurrent, m.active)
}

// ControllerMetrics measures one controller. Its methods may be called by many
// goroutines; none of them blocks.
type ControllerMetrics struct {
	metrics *Metrics
	name    string

	results       map[string]prometheus.Counter // by result; read only
	errors        prometheus.Counter
	terminals     prometheus.Counter
	panics        prometheus.Counter
	times         prometheus.Observer
	maxConcurrent prometheus.Gauge
	active        prometheus.Gauge
}

// Controller returns what measures the controller of a name. Its series exist from
// now on, at zero, until Release.
func (m *Metrics) Controller(name string) *ControllerMetrics {
	c := &ControllerMetrics{
		metrics: m, name: name,
		results:       map[string]prometheus.Counter{},
		errors:        m.errors.WithLabelValues(name),
		terminals:     m.terminals.WithLabelValues(name),
		panics:        m.panics.WithLabelValues(name),
		times:         m.times.WithLabelValues(name),
		maxConcurrent: m.maxConcurrent.WithLabelValues(name),
		active:        m.active.WithLabelValues(name),
	}
	for _, result := range []string{"success", "error", "requeue", "requeue_after"} {
		c.results[result] = m.reconciles.WithLabelValues(name, result)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.controllers[name] = c
	return c
}

// Reconciled counts a reconcile that took so long and ended with a result:
// "success", "error" (terminal or not), "requeue" or "requeue_after". Any other is
// not counted.
func (c *ControllerMetrics) Reconciled(result string, took time.Duration) {
	c.times.Observe(took.Seconds())
	if counter := c.results[result]; counter != nil {
		counter.Inc()
	}
	if result == "error" {
		c.errors.Inc()
	}
}

// TerminalError counts an error that no retry can mend, besides Reconciled.
func (c *ControllerMetrics) TerminalError() { c.terminals.Inc() }

// Panicked counts a panic, besides Reconciled.
func (c *ControllerMetrics) Panicked() { c.panics.Inc() }

// Active says by how much the number of busy workers changed.
func (c *ControllerMetrics) Active(change int) { c.active.Add(float64(change)) }

// SetMaxConcurrent says how many workers there are.
func (c *ControllerMetrics) SetMaxConcurrent(n int) { c.maxConcurrent.Set(float64(n)) }

// Release takes the controller's series away, unless another of that name has come
// meanwhile. What is counted afterwards is counted nowhere.
func (c *ControllerMetrics) Release() {
	m := c.metrics
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.controllers[c.name] != c {
		return
	}
	delete(m.controllers, c.name)
	label := prometheus.Labels{"controller": c.name}
	m.reconciles.DeletePartialMatch(label)
	m.errors.Delete(label)
	m.terminals.Delete(label)
	m.panics.Delete(label)
	m.times.Delete(label)
	m.maxConcurrent.Delete(label)
	m.active.Delete(label)
}
