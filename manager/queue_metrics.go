package manager

import (
	"maps"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// maxPriorities is for how many priorities of one queue there are series. The rest
// share one, so that priorities computed from data cannot fill the registry.
const maxPriorities = 25

// otherPriorities is the label of the priorities beyond that; upstream's word.
const otherPriorities = "exceeded_cardinality_limit"

func (m *Metrics) registerQueues() {
	labels := []string{"name", "controller"}
	counter := func(name, help string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "workqueue_" + name, Help: help}, labels)
	}
	histogram := func(name, help string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(native(prometheus.HistogramOpts{
			Name: "workqueue_" + name, Help: help,
			Buckets: prometheus.ExponentialBuckets(1e-8, 10, 12),
		}), labels)
	}
	m.depth = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "workqueue_depth", Help: "Keys that are ready, by priority.",
	}, []string{"name", "controller", "priority"})
	m.adds = counter("adds_total", "Keys that were added.")
	m.waits = histogram("queue_duration_seconds", "How long a ready key waited for a worker.")
	m.works = histogram("work_duration_seconds", "How long a worker had a key.")
	m.retries = counter("retries_total", "Keys that were added with a delay.")
	m.registry.MustRegister(m.depth, m.adds, m.waits, m.works, m.retries, newUnfinishedCollector(m))
}

// QueueMetrics measures one work queue; it is what workqueue.Metrics asks for. Its
// methods may be called by many goroutines, and while the queue is locked: they
// call nobody.
type QueueMetrics struct {
	metrics *Metrics
	name    string

	adds     prometheus.Counter
	retries  prometheus.Counter
	waits    prometheus.Observer
	works    prometheus.Observer
	ordinary prometheus.Gauge // the depth of priority 0

	mu sync.Mutex
	// mu guards the fields below.
	depths     map[int]prometheus.Gauge // by priority; at most maxPriorities
	unfinished func() (total, longest time.Duration)
	released   bool
}

// Queue returns what measures the queue of a name, which is its controller's name
// too. Its series exist from now on, at zero, until Release.
func (m *Metrics) Queue(name string) *QueueMetrics {
	q := &QueueMetrics{
		metrics: m, name: name,
		adds:     m.adds.WithLabelValues(name, name),
		retries:  m.retries.WithLabelValues(name, name),
		waits:    m.waits.WithLabelValues(name, name),
		works:    m.works.WithLabelValues(name, name),
		ordinary: m.depth.WithLabelValues(name, name, "0"),
	}
	q.depths = map[int]prometheus.Gauge{0: q.ordinary}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.queues[name] = q
	return q
}

// Added counts an Add; retry says that it was delayed or rate limited.
func (q *QueueMetrics) Added(retry bool) {
	q.adds.Inc()
	if retry {
		q.retries.Inc()
	}
}

// Depth says by how much the number of ready keys of a priority changed.
func (q *QueueMetrics) Depth(priority, change int) {
	if priority == 0 {
		q.ordinary.Add(float64(change))
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	gauge, known := q.depths[priority]
	switch {
	case known:
	case q.released:
		return // a new series would be nobody's
	case len(q.depths) < maxPriorities:
		gauge = q.metrics.depth.WithLabelValues(q.name, q.name, strconv.Itoa(priority))
		q.depths[priority] = gauge
	default:
		gauge = q.metrics.depth.WithLabelValues(q.name, q.name, otherPriorities)
	}
	gauge.Add(float64(change))
}

// Got says how long a key waited from the moment it was ready until Get.
func (q *QueueMetrics) Got(waited time.Duration) { q.waits.Observe(waited.Seconds()) }

// Done says how long a worker had a key.
func (q *QueueMetrics) Done(worked time.Duration) { q.works.Observe(worked.Seconds()) }

// ObserveUnfinished hands in what says how long the keys that are with workers now
// have been there, together and the longest one. It is called at each scrape,
// until Release.
func (q *QueueMetrics) ObserveUnfinished(fn func() (total, longest time.Duration)) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.unfinished = fn
}

// Release takes the queue's series away, unless another of that name has come
// meanwhile. What is counted afterwards is counted nowhere.
func (q *QueueMetrics) Release() {
	q.mu.Lock()
	q.released = true
	q.mu.Unlock()
	m := q.metrics
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.queues[q.name] != q {
		return
	}
	delete(m.queues, q.name)
	label := prometheus.Labels{"name": q.name}
	m.depth.DeletePartialMatch(label)
	m.adds.DeletePartialMatch(label)
	m.waits.DeletePartialMatch(label)
	m.works.DeletePartialMatch(label)
	m.retries.DeletePartialMatch(label)
}

// unfinishedCollector reads the two gauges about work that has not ended when it
// is scraped; upstream sets them twice a second.
type unfinishedCollector struct {
	metrics        *Metrics
	total, longest *prometheus.Desc
}

func newUnfinishedCollector(m *Metrics) *unfinishedCollector {
	labels := []string{"name", "controller"}
	return &unfinishedCollector{
		metrics: m,
		total: prometheus.NewDesc("workqueue_unfinished_work_seconds",
			"How long the keys that are with workers now have been there, together. It grows steadily when workers are stuck.", labels, nil),
		longest: prometheus.NewDesc("workqueue_longest_running_processor_seconds",
			"How long the key that is with a worker longest has been there.", labels, nil),
	}
}

// Describe implements prometheus.Collector.
func (u *unfinishedCollector) Describe(out chan<- *prometheus.Desc) {
	out <- u.total
	out <- u.longest
}

// Collect implements prometheus.Collector.
func (u *unfinishedCollector) Collect(out chan<- prometheus.Metric) {
	u.metrics.mu.Lock()
	queues := maps.Clone(u.metrics.queues)
	u.metrics.mu.Unlock()
	for name, q := range queues {
		q.mu.Lock()
		unfinished := q.unfinished
		q.mu.Unlock()
		if unfinished == nil {
			continue
		}
		total, longest := unfinished()
		out <- prometheus.MustNewConstMetric(u.total, prometheus.GaugeValue, total.Seconds(), name, name)
		out <- prometheus.MustNewConstMetric(u.longest, prometheus.GaugeValue, longest.Seconds(), name, name)
	}
}
