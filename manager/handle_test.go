package manager_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"governor/manager"
)

func TestHandle(t *testing.T) {
	tests := []struct {
		name string
		run  func(t *testing.T, m *manager.Manager, w *work)
	}{
		{"stop before start", func(t *testing.T, m *manager.Manager, w *work) {
			if err := add(t, m, w).Stop(t.Context()); err != nil {
				t.Error(err)
			}
			stop := start(t, m)
			<-m.Elected()
			if err := stop(); err != nil || len(w.trace.all()) > 0 {
				t.Errorf("err %v, happened: %q", err, w.trace.all())
			}
		}},
		{"stop while running, the rest goes on", func(t *testing.T, m *manager.Manager, w *work) {
			stop := start(t, m)
			<-m.Elected()
			h := add(t, m, w)
			synctest.Wait()
			w.err = errors.New("mine")
			wantError(t, h.Stop(t.Context()), "mine", w.name)
			wantError(t, h.Stop(t.Context()), "mine") // again: the same
			// Contract 6: its name is free again.
			w.err = nil
			again := add(t, m, w)
			synctest.Wait()
			if err := stop(); err != nil {
				t.Errorf("an error that its stopper got came from Start too: %v", err)
			}
			if <-again.Done(); again.Err() != nil {
				t.Error(again.Err())
			}
		}},
		{"a name is taken", func(t *testing.T, m *manager.Manager, w *work) {
			add(t, m, w)
			_, err := m.Add(w)
			wantError(t, err, w.name, "choose another name")
		}},
		{"those without a name do not clash", func(t *testing.T, m *manager.Manager, w *work) {
			add(t, m, &work{trace: w.trace})
			h := add(t, m, &work{trace: w.trace, stop: time.Minute})
			stop := start(t, m)
			<-m.Elected()
			synctest.Wait()
			wantError(t, stop(), "*manager_test.work")
			<-h.Done()
		}},
		{"stop does not wait longer than its context", func(t *testing.T, m *manager.Manager, w *work) {
			w.stop = 10 * time.Second
			h := add(t, m, w)
			stop := start(t, m)
			<-m.Elected()
			synctest.Wait()
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			err := h.Stop(ctx)
			wantError(t, err, w.name)
			if !errors.Is(err, context.DeadlineExceeded) || h.Err() != nil {
				t.Errorf("got %v, and Err %v", err, h.Err())
			}
			if err := stop(); err != nil {
				t.Error(err)
			}
		}},
		{"nil runnables", func(t *testing.T, m *manager.Manager, _ *work) {
			_, err := m.Add(nil)
			wantError(t, err, "nil")
			_, err = m.Add(manager.RunnableFunc(nil))
			wantError(t, err, "nil")
			_, err = m.Add((*work)(nil))
			wantError(t, err, "nil")
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tt.run(t, newManager(t, nil), &work{name: "w", trace: new(trace), leader: true})
			})
		})
	}
}
