package main

import "governor/study/bench/probe"

// limit is what a ratio must not exceed; the aim is where we want to be.
// Zero is no limit.
type limit struct{ must, aim float64 }

// figure is one thing that is measured, of each side in each variant.
type figure struct {
	name   string
	digits int // after the point
	of     func(*probe.Result) float64
	limits map[probe.Variant]limit
}

func all(l limit) map[probe.Variant]limit {
	return map[probe.Variant]limit{probe.Protobuf: l, probe.JSON: l, probe.Unstructured: l}
}

func burst(name string) func(*probe.Result) float64 {
	return func(r *probe.Result) float64 { return r.BurstCPU[name] }
}

// figures are compared as ratios: ours to upstream's.
var figures = []figure{
	{"CPU per object, start → all reconciled, µs", 0, func(r *probe.Result) float64 { return r.StartCPU }, all(limit{0.6, 0.35})},
	{"peak RSS until then, MiB", 0, func(r *probe.Result) float64 { return r.PeakRSS }, all(limit{0.6, 0.35})},
	{"heap per object, KB", 1, func(r *probe.Result) float64 { return r.Heap / 1000 }, map[probe.Variant]limit{
		probe.Protobuf:     {0.5, 0.25},
		probe.Unstructured: {0.4, 0.2},
	}},
	{"CPU per event, status changed, µs", 0, burst("status"), map[probe.Variant]limit{
		probe.Protobuf:     {0.35, 0.15},
		probe.JSON:         {0.4, 0.15},
		probe.Unstructured: {0.4, 0.15},
	}},
	{"CPU per event, metadata changed, µs", 0, burst("metadata"), nil},
	{"CPU per event, everything changed, µs", 0, burst("all"), all(limit{0.6, 0.4})},
	{"event → Reconcile at 500/s, p50, ms", 2, func(r *probe.Result) float64 { return r.P50 }, all(limit{0.8, 0.5})},
	{"event → Reconcile at 500/s, p99, ms", 2, func(r *probe.Result) float64 { return r.P99 }, all(limit{0.8, 0.5})},
}
