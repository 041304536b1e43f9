package manager

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// SignalContext returns a context that ends on the first SIGINT or SIGTERM, which
// is how Manager.Start is told to stop; context.Cause names the signal. On the
// second the process exits at once, with status 1. stop ends the context and
// gives the signals back. Upstream's SetupSignalHandler, without its global state.
func SignalContext(parent context.Context) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	quit, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case s := <-signals:
			cancel(fmt.Errorf("got signal %q", s))
		case <-quit:
			return
		}
		select {
		case <-signals:
			os.Exit(1)
		case <-quit:
		}
	}()
	return ctx, sync.OnceFunc(func() {
		signal.Stop(signals)
		close(quit)
		<-ended
		cancel(context.Canceled)
	})
}
