package manager

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// series returns every series of the registry but those of the process, as
// name{labels}, with its value or its number of observations.
func (m *Metrics) dump(t *testing.T) map[string]float64 {
	t.Helper()
	families, err := m.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]float64{}
	for _, f := range families {
		if strings.HasPrefix(f.GetName(), "go_") || strings.HasPrefix(f.GetName(), "process_") {
			continue
		}
		for _, s := range f.GetMetric() {
			var labels []string
			for _, l := range s.GetLabel() {
				labels = append(labels, l.GetName()+"="+l.GetValue())
			}
			value := s.GetCounter().GetValue() + s.GetGauge().GetValue() + float64(s.GetHistogram().GetSampleCount())
			all[fmt.Sprintf("%s{%s}", f.GetName(), strings.Join(labels, ","))] = value
		}
	}
	return all
}

// The names and labels are upstream's, as FEATURES 1.13 lists them.
func TestSeriesOfAControllerAndItsQueue(t *testing.T) {
	m := newMetrics()
	c, q := m.Controller("web"), m.Queue("web")
	c.Reconciled("success", time.Second)
	c.Reconciled("error", time.Second)
	c.Reconciled("error", time.Second)
	c.Reconciled("requeue_after", time.Second)
	c.Reconciled("nonsense", time.Second)
	c.TerminalError()
	c.Panicked()
	c.Active(3)
	c.Active(-1)
	c.SetMaxConcurrent(7)
	q.Added(false)
	q.Added(true)
	q.Depth(0, 2)
	q.Depth(0, -1)
	q.Depth(-100, 5)
	q.Got(time.Second)
	q.Done(time.Second)
	q.ObserveUnfinished(func() (total, longest time.Duration) { return 5 * time.Second, 3 * time.Second })
	want := map[string]float64{
		"controller_runtime_reconcile_total{controller=web,result=success}":       1,
		"controller_runtime_reconcile_total{controller=web,result=error}":         2,
		"controller_runtime_reconcile_total{controller=web,result=requeue}":       0,
		"controller_runtime_reconcile_total{controller=web,result=requeue_after}": 1,
		"controller_runtime_reconcile_errors_total{controller=web}":               2,
		"controller_runtime_terminal_reconcile_errors_total{controller=web}":      1,
		"controller_runtime_reconcile_panics_total{controller=web}":               1,
		"controller_runtime_reconcile_time_seconds{controller=web}":               5,
		"controller_runtime_max_concurrent_reconciles{controller=web}":            7,
		"controller_runtime_active_workers{controller=web}":                       2,
		"workqueue_depth{controller=web,name=web,priority=0}":                     1,
		"workqueue_depth{controller=web,name=web,priority=-100}":                  5,
		"workqueue_adds_total{controller=web,name=web}":                           2,
		"workqueue_queue_duration_seconds{controller=web,name=web}":               1,
		"workqueue_work_duration_seconds{controller=web,name=web}":                1,
		"workqueue_unfinished_work_seconds{controller=web,name=web}":              5,
		"workqueue_longest_running_processor_seconds{controller=web,name=web}":    3,
		"workqueue_retries_total{controller=web,name=web}":                        1,
	}
	got := m.dump(t)
	for name, value := range want {
		if v, ok := got[name]; !ok || v != value {
			t.Errorf("%s is %v (there: %t), want %v", name, v, ok, value)
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			t.Errorf("unexpected: %s", name)
		}
	}

	// A second controller of that name has come before the first went: its series stay.
	c2, q2 := m.Controller("web"), m.Queue("web")
	c.Release()
	q.Release()
	if got := m.dump(t); got["controller_runtime_active_workers{controller=web}"] != 2 {
		t.Errorf("an old Release took the new one's series: %v", got)
	}
	c2.Release()
	q2.Release()
	c2.Release()
	q2.Release()
	q2.Depth(9, 1)
	if got := m.dump(t); len(got) > 0 {
		t.Errorf("left after Release: %v", got)
	}
}

func TestPrioritiesDoNotFillTheRegistry(t *testing.T) {
	m := newMetrics()
	q := m.Queue("web")
	for p := range 1000 {
		q.Depth(p, 1)
	}
	got := m.dump(t)
	if v := got["workqueue_depth{controller=web,name=web,priority=exceeded_cardinality_limit}"]; v != 975 {
		t.Errorf("%v share a series, want 975", v)
	}
	n := 0
	for name := range got {
		if strings.HasPrefix(name, "workqueue_depth") {
			n++
		}
	}
	if n != 26 {
		t.Errorf("%d series, want 26", n)
	}
}

func TestRegistryTakesUsersMetrics(t *testing.T) {
	m := newMetrics()
	mine := prometheus.NewCounter(prometheus.CounterOpts{Name: "mine_total"})
	if err := m.Registry().Register(mine); err != nil {
		t.Fatal(err)
	}
	if _, ok := m.dump(t)["mine_total{}"]; !ok {
		t.Error("not gathered")
	}
	if !slices.IsSorted(reconcileBuckets) {
		t.Error("buckets are not sorted")
	}
}
