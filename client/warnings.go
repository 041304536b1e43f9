package client

import (
	"context"
	"sync"

	"k8s.io/klog/v2"
)

// warnings writes what the server warns of to the log of the call's context,
// each text once: a deprecated version would else be a line per request.
type warnings struct {
	mu   sync.Mutex
	seen map[string]struct{} // +checklocks:mu
}

// maxWarnings bounds the memory of texts already logged.
const maxWarnings = 1000

// HandleWarningHeaderWithContext implements rest.WarningHandlerWithContext.
// 299 is the only code that API servers use.
func (w *warnings) HandleWarningHeaderWithContext(ctx context.Context, code int, _ string, text string) {
	if code == 299 && text != "" && w.isNew(text) {
		klog.FromContext(ctx).Info("Warning from the server", "warning", text)
	}
}

func (w *warnings) isNew(text string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, ok := w.seen[text]; ok {
		return false
	}
	if w.seen == nil || len(w.seen) >= maxWarnings {
		w.seen = map[string]struct{}{}
	}
	w.seen[text] = struct{}{}
	return true
}
