package informer

import (
	"context"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
)

// Waiters come in any order, some give up, and the store moves in leaps: each
// returns when the store is there, and not before.
func TestEachOfManyWaitersReturnsWhenItsTurnHasCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p progress
		var wg sync.WaitGroup
		rnd := rand.New(rand.NewPCG(1, 1))
		early, cancel := context.WithCancel(t.Context())
		for range 300 {
			rv, ctx := 1+rnd.IntN(2000), t.Context()
			if rnd.IntN(3) == 0 {
				ctx = early
			}
			wg.Go(func() {
				err := p.wait(ctx, strconv.Itoa(rv))
				if at, _ := strconv.Atoi(p.at()); (err == nil) != (at >= rv) {
					t.Errorf("the wait for %d returned %v at %d", rv, err, at)
				}
			})
		}
		synctest.Wait()
		for at := 1; at <= 2000; at += rnd.IntN(100) {
			p.advance(strconv.Itoa(at))
			if synctest.Wait(); at > 700 {
				cancel()
				synctest.Wait()
			}
			for n, w := range p.waiters {
				if reached(p.at(), w.resourceVersion) || n > 0 && older(w.resourceVersion, p.waiters[n-1].resourceVersion) {
					t.Fatalf("at %d: waiter %d waits for %s", at, n, w.resourceVersion)
				}
			}
		}
		p.advance("2000")
		wg.Wait()
		cancel()
	})
}

func BenchmarkProgress(b *testing.B) {
	for _, waiters := range []int{0, 1, 1000} {
		b.Run("waiters="+strconv.Itoa(waiters), func(b *testing.B) {
			var p progress
			for n := range waiters {
				p.waiters = append(p.waiters, waiter{resourceVersion: strconv.Itoa(1<<40 + n)})
			}
			for b.Loop() {
				p.advance("123456789")
			}
		})
	}
}
