package probe

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"governor/study/bench/workload"
)

// Each object counts once a round, and what is none of them never.
func TestTallyWaitsForDistinctObjects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tally := newTally(3)
		reconciled := func(ordinal int) { tally.reconciled("default", "service-"+workload.Suffix(ordinal)) }
		for round := range 2 {
			done := make(chan error, 1)
			go func() { done <- tally.await(t.Context(), 3) }()
			for _, ordinal := range []int{0, 0, 7, 1} {
				reconciled(ordinal)
			}
			synctest.Wait()
			select {
			case err := <-done:
				t.Fatalf("round %d: two of three are enough: %v", round, err)
			default:
			}
			time.Sleep(time.Second)
			reconciled(2)
			if err := <-done; err != nil {
				t.Fatal(err)
			}
			if took := tally.at(2) - tally.at(1); took != int64(time.Second) {
				t.Errorf("round %d: the last one came %v after", round, time.Duration(took))
			}
			tally.reset()
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := tally.await(ctx, 1); err == nil {
			t.Error("none was reconciled after the reset, and that was enough")
		}
	})
}

func TestUsage(t *testing.T) {
	before := cpu()
	held := make([]byte, 64<<20)
	for i := range held {
		held[i] = byte(i)
	}
	if spent := cpu() - before; spent <= 0 || spent > time.Minute {
		t.Errorf("64 MiB were written in %v of CPU", spent)
	}
	if rss, err := peakRSS(); err != nil || rss < 64 {
		t.Errorf("with 64 MiB in use the peak is %v MiB, %v", rss, err)
	}
	if bytes := heap(); bytes < 64<<20 {
		t.Errorf("with 64 MiB in use the heap has %d bytes", bytes)
	}
	clear(held)
}
