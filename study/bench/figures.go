package main

import "governor/study/bench/probe"

// limit is what a ratio must not exceed; the aim is where we want to be.
// Zero is no limit.
type limit struct{ must, aim float64 }

// figure is one thing that is measured, of each side in each variant that has it.
type figure struct {
	name   string
	digits int // after the point
	of     measure
	theirs measure // what ours is compared with; nil means of
	in     []probe.Variant
	limits map[probe.Variant]limit
}

type measure func(*result) float64

func all(l limit) map[probe.Variant]limit {
	return map[probe.Variant]limit{probe.Protobuf: l, probe.JSON: l, probe.Unstructured: l}
}

func burst(name string) measure {
	return func(r *result) float64 { return r.BurstCPU[name] }
}

// timeOf is µs, allocsOf a number, for each read.
func timeOf(read string) measure { return func(r *result) float64 { return r.Reads[read].Time } }

func allocsOf(read string) measure {
	return func(r *result) float64 { return r.Reads[read].Allocs }
}

func heap(r *result) float64 { return r.Heap / 1000 }

// A figure of all variants has no list of them.
var (
	pods    = []probe.Variant{probe.Protobuf}
	ofReads = []probe.Variant{probe.Protobuf, probe.Unstructured}
)

// none is the limit of a ratio that is to be 0: what happens besides is not.
var none = limit{0.001, 0.001}

// figures are compared as ratios: ours to upstream's.
var figures = []figure{
	{name: "CPU per object, start → all reconciled, µs", digits: 0, of: func(r *result) float64 { return r.StartCPU }, limits: all(limit{0.6, 0.35})},
	{name: "peak RSS until then, MiB", digits: 0, of: func(r *result) float64 { return r.PeakRSS }, limits: all(limit{0.6, 0.35})},
	{name: "heap per object, KB", digits: 1, of: heap, limits: map[probe.Variant]limit{
		probe.Protobuf:     {0.5, 0.25},
		probe.Unstructured: {0.4, 0.2},
	}},
	{name: "CPU per event, status changed, µs", digits: 0, of: burst("status"), limits: map[probe.Variant]limit{
		probe.Protobuf:     {0.35, 0.15},
		probe.JSON:         {0.4, 0.15},
		probe.Unstructured: {0.4, 0.15},
	}},
	{name: "CPU per event, metadata changed, µs", digits: 0, of: burst("metadata")},
	{name: "CPU per event, everything changed, µs", digits: 0, of: burst("all"), limits: all(limit{0.6, 0.4})},
	{name: "event → Reconcile at 500/s, p50, ms", digits: 2, of: func(r *result) float64 { return r.P50 }, limits: all(limit{0.8, 0.5})},
	{name: "event → Reconcile at 500/s, p99, ms", digits: 2, of: func(r *result) float64 { return r.P99 }, limits: all(limit{0.8, 0.5})},
	{
		name: "heap per object in the compact tier, KB, beside upstream's only one", digits: 1, in: pods,
		of: func(r *result) float64 { return r.CompactHeap / 1000 }, theirs: heap, limits: all(limit{0.2, 0.1}),
	},
	{name: "Get, µs", digits: 1, in: ofReads, of: timeOf(probe.Get), limits: all(limit{0.9, 0.7})},
	{name: "Get, allocations", digits: 1, in: ofReads, of: allocsOf(probe.Get)},
	{
		name: "Get without a copy, µs, beside upstream's with one", digits: 2, in: ofReads,
		of: timeOf(probe.Shared), theirs: timeOf(probe.Get), limits: all(limit{must: 0.02}),
	},
	{
		name: "Get without a copy, allocations, beside upstream's with one", digits: 1, in: ofReads,
		of: allocsOf(probe.Shared), theirs: allocsOf(probe.Get), limits: all(none),
	},
	{name: "Get without a copy, µs", digits: 2, in: ofReads, of: timeOf(probe.Shared)},
	{name: "List of 20 by labels, µs", digits: 0, in: ofReads, of: timeOf(probe.Labelled), limits: all(limit{0.05, 0.01})},
	{name: "List of one namespace of 20, µs", digits: 0, in: ofReads, of: timeOf(probe.Namespaced), limits: all(limit{must: 0.9})},
	{name: "all, without a copy, µs", digits: 0, in: ofReads, of: timeOf(probe.All), limits: all(limit{must: 0.05})},
	{name: "all, without a copy, and a look at each, µs", digits: 0, in: ofReads, of: timeOf(probe.Looked)},
	{name: "Get at 5,000 events/s, p99, µs", digits: 1, in: pods, of: func(r *result) float64 { return r.BusyP99 }, limits: all(limit{must: 0.5})},
}
