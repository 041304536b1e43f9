package workqueue

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// A wheel beside a sorted slice: delays of all sizes, moments that are equal,
// removals, and steps of time of all sizes.
func TestWheel(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var w wheel[int]
		var want []*entry[int] // by due, and equals as they were put in
		now, lastAlarm := time.Duration(0), time.Duration(-1)
		for key := range 300 {
			switch op := r.IntN(10); {
			case op < 6:
				due := later(now, 1+time.Duration(r.Int64N(1<<(1+r.IntN(62)))))
				if len(want) > 0 && op == 0 {
					due = max(now+1, want[r.IntN(len(want))].due)
				}
				e := &entry[int]{key: key}
				w.put(e, now, due)
				i, _ := slices.BinarySearchFunc(want, due, func(e *entry[int], due time.Duration) int {
					if e.due <= due {
						return -1
					}
					return 1
				})
				want = slices.Insert(want, i, e)
			case op < 7 && len(want) > 0:
				i := r.IntN(len(want))
				w.remove(want[i])
				want = slices.Delete(want, i, i+1)
			default:
				now = later(now, time.Duration(r.Int64N(1<<(1+r.IntN(60)))))
				for e := w.pop(now); e != nil; e = w.pop(now) {
					if len(want) == 0 || e != want[0] {
						t.Fatalf("popped %d, due at %v, want %+v", e.key, e.due, want)
					}
					want = want[1:]
				}
				if len(want) > 0 && want[0].due <= now {
					t.Fatalf("at %v %d is not popped, due at %v", now, want[0].key, want[0].due)
				}
				lastAlarm = -1
			}
			if today := int64(now) >> tickBits; w.tick > today {
				t.Fatalf("at %v the tick is %d, want %d at most", now, w.tick, today)
			}
			if got := w.sorted(); !slices.Equal(got, want) || w.len != len(want) {
				t.Fatalf("holds %d, want %d, in order", w.len, len(want))
			}
			if len(want) > 0 {
				if alarm := w.alarm(); alarm > want[0].due || alarm <= now && lastAlarm >= 0 {
					t.Fatalf("at %v the alarm is set to %v, %v is due", now, alarm, want[0].due)
				}
			}
			lastAlarm = 0
		}
	}
}

// One delay, however long, is not many alarms: one per level, at most, and none
// in the past. The first is put into a wheel that has been empty for long.
func TestWheelAlarms(t *testing.T) {
	for _, delay := range []time.Duration{1, time.Millisecond, time.Second, time.Hour, 10_000 * time.Hour, never} {
		var w wheel[int]
		now, alarms := 1000*time.Hour, 0
		w.put(&entry[int]{}, now, later(now, delay))
		for done := false; !done; done = w.pop(now) != nil {
			if alarm := w.alarm(); alarm <= now {
				t.Fatalf("%v: at %v the alarm is set to %v", delay, now, alarm)
			}
			now = w.alarm()
			if alarms++; alarms > 9 {
				t.Fatalf("%v takes more than nine alarms", delay)
			}
		}
		if w.len != 0 {
			t.Errorf("%d are left", w.len)
		}
	}
}
