package manager

import (
	"fmt"
	"runtime/debug"
)

// panicError is what a recovered panic is from here on. It is to be called in the
// deferred function that recovered: then the stack shows the place.
func panicError(p any) error {
	if err, ok := p.(error); ok {
		return fmt.Errorf("panic: %w\n\n%s", err, debug.Stack())
	}
	return fmt.Errorf("panic: %v\n\n%s", p, debug.Stack())
}
