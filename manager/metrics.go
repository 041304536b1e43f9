package manager

import (
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Metrics is what one manager measures. The names and labels are upstream's, so
// that dashboards and alerts go on working; the registry is this manager's own.
type Metrics struct {
	registry *prometheus.Registry

	reconciles    *prometheus.CounterVec   // controller, result
	errors        *prometheus.CounterVec   // controller
	terminals     *prometheus.CounterVec   // controller
	panics        *prometheus.CounterVec   // controller
	times         *prometheus.HistogramVec // controller
	maxConcurrent *prometheus.GaugeVec     // controller
	active        *prometheus.GaugeVec     // controller

	depth   *prometheus.GaugeVec     // name, controller, priority
	adds    *prometheus.CounterVec   // name, controller
	waits   *prometheus.HistogramVec // name, controller
	works   *prometheus.HistogramVec // name, controller
	retries *prometheus.CounterVec   // name, controller

	events *prometheus.CounterVec // result

	mu sync.Mutex
	// mu guards the fields below: who writes the series of a name now.
	queues      map[string]*QueueMetrics
	controllers map[string]*ControllerMetrics
}

func newMetrics() *Metrics {
	m := &Metrics{
		registry:    prometheus.NewRegistry(),
		queues:      map[string]*QueueMetrics{},
		controllers: map[string]*ControllerMetrics{},
		events: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "governor_events_total",
			Help: "Events that were emitted, by what became of them: written, dropped (the queue was full), limited (too many about one object) or failed.",
		}, []string{"result"}),
	}
	m.registry.MustRegister(
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		collectors.NewGoCollector(collectors.WithGoCollectorRuntimeMetrics(collectors.MetricsAll)),
		m.events,
	)
	m.registerControllers()
	m.registerQueues()
	return m
}

// Registry is where users register their own metrics; MetricsBindAddress serves
// all of it.
func (m *Metrics) Registry() *prometheus.Registry { return m.registry }

func (m *Metrics) handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{}))
	return mux
}

// native adds a native histogram to the classic buckets, for servers that ask for it.
func native(o prometheus.HistogramOpts) prometheus.HistogramOpts {
	o.NativeHistogramBucketFactor = 1.1
	o.NativeHistogramMaxBucketNumber = 100
	o.NativeHistogramMinResetDuration = time.Hour
	return o
}
