package informer

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"testing"
)

// valid checks the invariants of a DeltaFIFO.
func (f *DeltaFIFO) valid() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case len(f.queue) > maxQueued:
		return fmt.Errorf("%d deltas wait, at most %d may (invariant 1)", len(f.queue), maxQueued)
	case closed(f.refused) != (f.refusal != nil):
		return fmt.Errorf("the refusal is %v, closed is %v (invariant 2)", f.refusal, closed(f.refused))
	case f.refusal != nil && len(f.queue) > 0:
		return fmt.Errorf("%d deltas wait behind a refusal (invariant 2)", len(f.queue))
	}
	return nil
}

// FuzzDeltaFIFO drives a DeltaFIFO beside a plain slice. Each byte is one
// operation.
func FuzzDeltaFIFO(f *testing.F) {
	f.Add([]byte{0, 1, 2, 6, 7, 0, 3, 6, 4, 5, 6})
	f.Add([]byte{7, 7, 0, 3, 3, 6, 6, 0, 7, 3, 0, 6})
	f.Fuzz(func(t *testing.T, ops []byte) {
		fifo, ctx := NewDeltaFIFO(), t.Context()
		ended, cancel := context.WithCancel(ctx)
		cancel()
		var model, buffer []Delta
		var refusal error
		for n, op := range ops {
			switch op := op % 8; op {
			default: // a delta of each type
				d := Delta{Type: DeltaType(op), ResourceVersion: strconv.Itoa(n)}
				err := fifo.Push(ctx, d)
				if d.Type == Replaced {
					refusal = nil
				}
				if err != refusal {
					t.Fatalf("op %d: Push returned %v, want %v", n, err, refusal)
				}
				if refusal == nil {
					model = append(model, d)
				}
			case 6:
				c := ctx
				if len(model) == 0 {
					c = ended // or it would wait
				}
				batch, err := fifo.Pop(c, buffer)
				if (err != nil) != (len(model) == 0) {
					t.Fatalf("op %d: Pop returned %v with %d deltas waiting", n, err, len(model))
				}
				if len(batch) != len(model) {
					t.Fatalf("op %d: popped %d deltas, want %d", n, len(batch), len(model))
				}
				for i := range batch {
					if batch[i].Type != model[i].Type || batch[i].ResourceVersion != model[i].ResourceVersion {
						t.Fatalf("op %d: delta %d is %v, want %v", n, i, batch[i], model[i])
					}
				}
				model, buffer = nil, batch
			case 7:
				refusal = errors.New(strconv.Itoa(n))
				fifo.Refuse(refusal)
				model = nil
			}
			if err := fifo.valid(); err != nil {
				t.Fatalf("op %d: %v", n, err)
			}
			if got := fifo.Refusal(); got != refusal {
				t.Fatalf("op %d: the refusal is %v, want %v", n, got, refusal)
			}
		}
	})
}
