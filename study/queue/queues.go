package main

import (
	"context"
	"time"

	"governor/workqueue"

	upstream "k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
)

// queue is what all three can do.
type queue struct {
	add   func(int)
	after func(int, time.Duration)
	get   func() (key int, more bool)
	done  func(int)
	stop  func()
}

// The order of queues, and of work.of.
const (
	governor = iota
	clientGo
	controllerRuntime
)

var names = [...]string{governor: "governor", clientGo: "client-go", controllerRuntime: "controller-runtime"}

// queues makes a queue: a plain one, one that is measured, one with delays.
var queues = [...]func(kind) queue{
	governor: func(k kind) queue {
		o := &workqueue.Options[int]{}
		if k == measured {
			o.Metrics = deaf{}
		}
		q, ctx := workqueue.New(o), context.Background()
		get := func() (int, bool) { item, err := q.Get(ctx); return item.Key, err == nil }
		return queue{q.Add, q.AddAfter, get, q.Done, q.ShutDown}
	},
	clientGo: func(k kind) queue {
		if k == delaying {
			q := upstream.NewTypedDelayingQueue[int]()
			get := func() (int, bool) { key, shut := q.Get(); return key, !shut }
			return queue{q.Add, q.AddAfter, get, q.Done, q.ShutDown}
		}
		config := upstream.TypedQueueConfig[int]{}
		if k == measured {
			config.Name, config.MetricsProvider = "study", deafProvider{}
		}
		q := upstream.NewTypedWithConfig(config)
		get := func() (int, bool) { key, shut := q.Get(); return key, !shut }
		return queue{add: q.Add, get: get, done: q.Done, stop: q.ShutDown}
	},
	controllerRuntime: func(kind) queue {
		q := priorityqueue.New[int]("study")
		get := func() (int, bool) { key, shut := q.Get(); return key, !shut }
		return queue{q.Add, q.AddAfter, get, q.Done, q.ShutDown}
	},
}

// kind is which of a library's queues it is.
type kind int

const (
	plain kind = iota
	measured
	delaying
)

// deaf hears of all and does nothing: what is left is what it costs to tell.
type deaf struct{}

func (deaf) Added(bool)         {}
func (deaf) Depth(int, int)     {}
func (deaf) Got(time.Duration)  {}
func (deaf) Done(time.Duration) {}

func (deaf) Inc()            {}
func (deaf) Dec()            {}
func (deaf) Set(float64)     {}
func (deaf) Observe(float64) {}

// deafProvider is client-go's way to be told.
type deafProvider struct{}

func (deafProvider) NewDepthMetric(string) upstream.GaugeMetric            { return deaf{} }
func (deafProvider) NewAddsMetric(string) upstream.CounterMetric           { return deaf{} }
func (deafProvider) NewLatencyMetric(string) upstream.HistogramMetric      { return deaf{} }
func (deafProvider) NewWorkDurationMetric(string) upstream.HistogramMetric { return deaf{} }
func (deafProvider) NewUnfinishedWorkSecondsMetric(string) upstream.SettableGaugeMetric {
	return deaf{}
}
func (deafProvider) NewLongestRunningProcessorSecondsMetric(string) upstream.SettableGaugeMetric {
	return deaf{}
}
func (deafProvider) NewRetriesMetric(string) upstream.CounterMetric { return deaf{} }
