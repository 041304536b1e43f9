package probe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"time"

	"governor/study/bench/workload"

	"k8s.io/client-go/rest"
)

// Result is what one process measured.
type Result struct {
	StartCPU float64            // µs per object, from exec until each was reconciled
	PeakRSS  float64            // MiB, until then
	Heap     float64            // bytes per object, after garbage collection
	BurstCPU map[string]float64 // µs per event, by burst, until each was reconciled
	P50, P99 float64            // ms from a frame's sending to Reconcile, 500 events a second
	Reads    map[string]Cost    // by name, while nothing happens; not of JSON
	BusyP99  float64            // µs for a Get, while 5,000 events a second arrive; of Protobuf only
}

type probe struct {
	tally   *tally
	control *control
	profile string
}

func (p *probe) measure(ctx context.Context, build Build, v Variant, cfg *rest.Config) (*Result, error) {
	empty := heap()
	ctx, stop := context.WithCancelCause(ctx)
	ended := make(chan struct{})
	defer func() { stop(nil); <-ended }()
	var side Side
	result := &Result{BurstCPU: map[string]float64{}}
	err := p.profiled("start", func() (err error) {
		if side, err = build(rest.CopyConfig(cfg), v, p.tally.reconciled); err != nil {
			close(ended)
			return err
		}
		go func() {
			defer close(ended)
			stop(errors.Join(errors.New("the manager has ended"), side.Run(ctx)))
		}()
		return p.tally.await(ctx, p.tally.objects())
	})
	if err != nil {
		return nil, fmt.Errorf("start: %w", err)
	}
	result.StartCPU = perObject(cpu(), p.tally.objects())
	if result.PeakRSS, err = peakRSS(); err != nil {
		return nil, err
	}
	result.Heap = float64(heap()-empty) / float64(p.tally.objects())
	if v == Compact {
		return result, nil
	}

	for n, round := range workload.Rounds {
		if round.Name == workload.Busy && v != Protobuf {
			break // upstream would not keep up
		}
		err := p.profiled(round.Name, func() (err error) {
			switch round.Name {
			case workload.Paced:
				return p.paced(ctx, result)
			case workload.Busy:
				result.BusyP99, err = p.busy(ctx, side.Reads)
			default:
				result.BurstCPU[round.Name], err = p.burst(ctx, round.Name)
			}
			return err
		})
		if err == nil {
			err = p.check(ctx, side, uint64(n+2))
		}
		if err != nil {
			return nil, fmt.Errorf("round %q: %w", round.Name, err)
		}
		if round.Name == workload.Paced && v != JSON {
			if result.Reads, err = p.quiet(ctx, side.Reads); err != nil {
				return nil, fmt.Errorf("reads: %w", err)
			}
		}
	}
	return result, nil
}

// burst returns the µs of CPU per event.
func (p *probe) burst(ctx context.Context, name string) (float64, error) {
	p.tally.reset()
	before := cpu()
	made, err := p.control.round(ctx, name)
	if err != nil {
		return 0, err
	}
	if err := p.tally.await(ctx, made.Events); err != nil {
		return 0, err
	}
	return perObject(cpu()-before, made.Events), nil
}

// check looks whether the cache has what was reconciled: nothing is cheaper
// than not to do it.
func (p *probe) check(ctx context.Context, side Side, round uint64) error {
	for _, key := range p.tally.sample() {
		text, err := side.Version(ctx, key.namespace, key.name)
		if err != nil {
			return err
		}
		if v, err := strconv.ParseUint(text, 10, 64); err != nil || v/workload.RoundVersions != round {
			return fmt.Errorf("the cache has version %q of %s/%s, not that which was reconciled (%v)", text, key.namespace, key.name, err)
		}
	}
	return nil
}

func (p *probe) paced(ctx context.Context, result *Result) error {
	p.tally.reset()
	made, err := p.control.round(ctx, workload.Paced)
	if err != nil {
		return err
	}
	if err := p.tally.await(ctx, made.Events); err != nil {
		return err
	}
	latencies := make([]time.Duration, 0, made.Events)
	for _, e := range made.Paced {
		latencies = append(latencies, time.Duration(p.tally.at(e.Ordinal)-e.Sent))
	}
	slices.Sort(latencies)
	if len(latencies) == 0 {
		return errors.New("there were none")
	}
	at := func(percent int) float64 {
		return float64(percentile(latencies, percent)) / float64(time.Millisecond)
	}
	result.P50, result.P99 = at(50), at(99)
	return nil
}

// control asks the bench's server for rounds.
type control struct{ cfg *rest.Config }

func (c *control) round(ctx context.Context, name string) (made workload.Made, err error) {
	client, err := rest.HTTPClientFor(c.cfg)
	if err != nil {
		return made, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.cfg.Host+"/bench/"+name, nil)
	if err != nil {
		return made, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return made, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return made, err
	}
	if resp.StatusCode != http.StatusOK {
		return made, fmt.Errorf("round %q: %s: %s", name, resp.Status, body)
	}
	return made, json.Unmarshal(body, &made)
}
