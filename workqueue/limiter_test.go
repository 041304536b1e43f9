package workqueue

import (
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"
)

// Case 31. Upstream: client-go util/workqueue/default_rate_limiters_test.go.
func TestExponential(t *testing.T) {
	const ms = time.Millisecond
	for _, tt := range []struct {
		name      string
		base, max time.Duration
		first     []time.Duration
		last      time.Duration
	}{
		{"default", 0, 0, []time.Duration{5 * ms, 10 * ms, 20 * ms, 40 * ms, 80 * ms}, 1000 * time.Second},
		{"negative means default", -1, -1, []time.Duration{5 * ms, 10 * ms}, 1000 * time.Second},
		{"as given", 5 * ms, 1000 * time.Second, []time.Duration{5 * ms, 10 * ms}, 1000 * time.Second},
		{"max is not a power of two", ms, 5 * ms, []time.Duration{ms, 2 * ms, 4 * ms, 5 * ms}, 5 * ms},
		{"base above max", time.Second, ms, []time.Duration{ms, ms}, ms},
		{"the whole range", 1, math.MaxInt64, []time.Duration{1, 2, 4, 8}, math.MaxInt64},
		{"a base that overflows soon", math.MaxInt64/2 + 1, math.MaxInt64, []time.Duration{math.MaxInt64/2 + 1, math.MaxInt64}, math.MaxInt64},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := NewItemExponentialFailureRateLimiter[string](tt.base, tt.max)
			var before time.Duration
			for i := range 2000 {
				d := l.When("a")
				if d <= 0 || d < before {
					t.Fatalf("failure %d waits %v, the one before waited %v", i+1, d, before)
				}
				if i < len(tt.first) && d != tt.first[i] {
					t.Errorf("failure %d waits %v, want %v", i+1, d, tt.first[i])
				}
				before = d
			}
			if before != tt.last {
				t.Errorf("ends at %v, want %v", before, tt.last)
			}
			if n := l.NumRequeues("a"); n != 2000 {
				t.Errorf("NumRequeues is %d, want 2000", n)
			}

			// Forget resets this key, and leaves others alone.
			l.When("b")
			l.Forget("a")
			l.Forget("never seen")
			if a, b := l.NumRequeues("a"), l.NumRequeues("b"); a != 0 || b != 1 {
				t.Errorf("NumRequeues are %d and %d, want 0 and 1", a, b)
			}
			if d := l.When("a"); d != tt.first[0] {
				t.Errorf("after Forget it waits %v, want %v", d, tt.first[0])
			}
			if d := l.When("b"); d != tt.first[1] {
				t.Errorf("the other waits %v, want %v", d, tt.first[1])
			}
		})
	}
}

// Contract 12.
func TestForgetEmptiesTheFailures(t *testing.T) {
	l := &exponentialLimiter[int]{base: 1, max: 1}
	for key := range 10_000 {
		l.When(key)
	}
	for key := range 10_000 {
		l.Forget(key)
	}
	if n, fullest := len(l.counts.m), l.counts.fullest; n != 0 || fullest > keep {
		t.Errorf("%d are left, in a table for %d", n, fullest)
	}
}

func TestFastSlow(t *testing.T) {
	l := NewItemFastSlowRateLimiter[string](time.Millisecond, time.Minute, 2)
	for i, want := range []time.Duration{time.Millisecond, time.Millisecond, time.Minute, time.Minute} {
		if d := l.When("a"); d != want {
			t.Errorf("failure %d waits %v, want %v", i+1, d, want)
		}
	}
	if d := l.When("b"); d != time.Millisecond {
		t.Errorf("another key waits %v", d)
	}
	l.Forget("a")
	if d, n := l.When("a"), l.NumRequeues("a"); d != time.Millisecond || n != 1 {
		t.Errorf("after Forget it waits %v and counts %d", d, n)
	}
}

// Case 31: a thousand keys at once leave at ten a second.
func TestBucketSpreadsKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(&Options[int]{RateLimiter: NewBucketRateLimiter[int](10, 100)})
		defer q.ShutDown()
		start := time.Now()
		for key := range 1000 {
			q.AddRateLimited(key)
		}
		for n := range 1000 {
			item, err := q.Get(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			want := time.Duration(max(0, n-99)) * 100 * time.Millisecond
			if got := time.Since(start); item.Key != n || got < want || got > want+time.Microsecond {
				t.Fatalf("the %dth is %d, after %v; want %v", n, item.Key, got, want)
			}
			q.Done(item.Key)
		}
	})
}

func TestBucket(t *testing.T) {
	for _, tt := range []struct {
		name  string
		qps   float64
		burst int
		pause time.Duration // before each call
		want  []time.Duration
	}{
		{"three, then one a second", 1, 3, 0, []time.Duration{0, 0, 0, 1e9, 2e9, 3e9}},
		{"refilled while used", 1, 1, 500 * time.Millisecond, []time.Duration{0, 5e8, 1e9, 15e8}},
		{"slower than it refills", 1, 1, 2 * time.Second, []time.Duration{0, 0, 0}},
		{"never fuller than burst", 1, 2, 0, []time.Duration{0, 0, 1e9}},
		{"no end is one a nanosecond", math.Inf(1), 1, 0, []time.Duration{0, 1, 2}},
		{"next to nothing", math.SmallestNonzeroFloat64, 1, time.Hour, []time.Duration{0, math.MaxInt64, math.MaxInt64}},
		{"zero means 10", 0, 1, 0, []time.Duration{0, 1e8, 2e8}},
		{"negative means 10", -1, 1, 0, []time.Duration{0, 1e8}},
		{"not a number means 10", math.NaN(), 1, 0, []time.Duration{0, 1e8}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := NewBucketRateLimiter[int](tt.qps, tt.burst)
				time.Sleep(time.Hour) // it does not overflow
				for i, want := range tt.want {
					time.Sleep(tt.pause)
					if d := l.When(i); d != want {
						t.Errorf("call %d waits %v, want %v", i+1, d, want)
					}
				}
				l.Forget(0)
				if n := l.NumRequeues(0); n != 0 {
					t.Errorf("it counts %d", n)
				}
			})
		})
	}
}

func TestBucketDefaultBurst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewBucketRateLimiter[int](10, -1)
		for i := range 100 {
			if d := l.When(i); d != 0 {
				t.Fatalf("call %d waits %v, want a burst of 100", i+1, d)
			}
		}
		if d := l.When(0); d != 100*time.Millisecond {
			t.Errorf("call 101 waits %v", d)
		}
	})
}

func TestMaxOf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewMaxOfRateLimiter(
			NewItemExponentialFailureRateLimiter[string](100*time.Millisecond, time.Minute),
			NewBucketRateLimiter[string](1, 3),
		)
		for i, want := range []time.Duration{1e8, 2e8, 4e8, 1e9, 2e9, 32e8} {
			if d := l.When("a"); d != want {
				t.Errorf("failure %d waits %v, want %v", i+1, d, want)
			}
		}
		if n := l.NumRequeues("a"); n != 6 {
			t.Errorf("NumRequeues is %d, want 6", n)
		}
		l.Forget("a")
		if n := l.NumRequeues("a"); n != 0 {
			t.Errorf("NumRequeues is %d after Forget", n)
		}
		if d := NewMaxOfRateLimiter[string]().When("a"); d != 0 {
			t.Errorf("the longest of none is %v", d)
		}
	})
}

func TestMaxWait(t *testing.T) {
	l := NewWithMaxWaitRateLimiter(NewItemFastSlowRateLimiter[string](time.Second, time.Hour, 1), time.Minute)
	for i, want := range []time.Duration{time.Second, time.Minute} {
		if d := l.When("a"); d != want {
			t.Errorf("failure %d waits %v, want %v", i+1, d, want)
		}
	}
	if n := l.NumRequeues("a"); n != 2 {
		t.Errorf("NumRequeues is %d, want 2", n)
	}
	l.Forget("a")
	if d := l.When("a"); d != time.Second {
		t.Errorf("after Forget it waits %v", d)
	}
}

// Queues that share limiters use them at the same time; -race looks on.
func TestLimitersAreSafeForConcurrentUse(t *testing.T) {
	l := NewMaxOfRateLimiter(DefaultControllerRateLimiter[int](), NewItemFastSlowRateLimiter[int](1, 1, 1),
		NewWithMaxWaitRateLimiter(NewBucketRateLimiter[int](1, 1), 1))
	for g := range 4 {
		t.Run(fmt.Sprint(g), func(t *testing.T) {
			t.Parallel()
			for i := range 1000 {
				l.When(i % 3)
				l.NumRequeues(i % 3)
				l.Forget(i % 3)
			}
		})
	}
}

// Contract 7; Case 31: jitter lies between the wait and the wait with all of it.
func TestJitter(t *testing.T) {
	for _, tt := range []struct {
		name     string
		wait     time.Duration
		fraction float64
		min, max time.Duration
	}{
		{"a tenth", 10 * time.Second, 0.1, 10 * time.Second, 11 * time.Second},
		{"none", 10 * time.Second, 0, 10 * time.Second, 10 * time.Second},
		{"negative", 10 * time.Second, -1, 10 * time.Second, 10 * time.Second},
		{"not a number", 10 * time.Second, math.NaN(), 10 * time.Second, 10 * time.Second},
		{"infinite", 10 * time.Second, math.Inf(1), 10 * time.Second, math.MaxInt64},
		{"out of range", math.MaxInt64 - 1, 1, math.MaxInt64 - 1, math.MaxInt64},
		{"nothing to wait for", 0, 5, 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := NewJitterRateLimiter(NewItemFastSlowRateLimiter[string](tt.wait, tt.wait, 1), tt.fraction)
			seen := map[time.Duration]bool{}
			for range 1000 {
				got := l.When("a")
				if got < tt.min || got > tt.max {
					t.Fatalf("waits %v, want %v to %v", got, tt.min, tt.max)
				}
				seen[got] = true
			}
			if spread := len(seen) > 900; spread != (tt.name == "a tenth") && tt.name != "infinite" && tt.name != "out of range" {
				t.Errorf("%d different waits of a thousand", len(seen))
			}
			if n := l.NumRequeues("a"); n != 1000 {
				t.Errorf("NumRequeues is %d", n)
			}
			l.Forget("a")
			if n := l.NumRequeues("a"); n != 0 {
				t.Errorf("after Forget NumRequeues is %d", n)
			}
		})
	}
}
