package envtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// errPortTaken means that someone was given our port between our asking for a
// free one and the child's use of it: try another.
var errPortTaken = errors.New("port taken")

// readyInterval is how often a process is asked whether it is ready.
const readyInterval = 50 * time.Millisecond

// process is a child, the leader of its own process group.
//
//	         ready                 exit, stop, kill
//	started ──────► in service ───────────────────► exited
//	   └────── exit, failed to get ready ──────────►
type process struct {
	name    string
	cmd     *exec.Cmd
	logPath string        // what it prints, in the data directory
	exited  chan struct{} // closed once it has been waited for
	// accounted is whether its end was asked for, or has been reported. It is
	// the caller's mutex that guards it: ControlPlane.mu.
	accounted bool
}

// startProcess starts binary. Its goroutine ends with the child, for which
// stop and kill wait.
func startProcess(w *watchdog, dataDir, binary string, args []string) (*process, error) {
	name := filepath.Base(binary)
	p := &process{
		name:    name,
		cmd:     w.command(binary, args...),
		logPath: filepath.Join(dataDir, name+".log"),
		exited:  make(chan struct{}),
	}
	// A file rather than a pipe: the child can never block on us, and a
	// grandchild that holds it open does not hold us up.
	log, err := os.Create(p.logPath)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	defer log.Close()
	p.cmd.Dir = dataDir
	p.cmd.Env = environment()
	p.cmd.Stdout, p.cmd.Stderr = log, log
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	go func() {
		defer close(p.exited)
		_ = p.cmd.Wait() // its result is in ProcessState
		// What the child has left behind is in its group, and keeps the group's
		// number from being given to others.
		p.killGroup()
		w.ended(p.group())
	}()
	return p, nil
}

// group is the number of the process group, which is that of its leader.
func (p *process) group() int { return p.cmd.Process.Pid }

// killGroup kills the child and all that it has started.
func (p *process) killGroup() { _ = syscall.Kill(-p.group(), syscall.SIGKILL) }

// environment is ours without what etcd would take for flags.
func environment() []string {
	var env []string
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "ETCD_") {
			env = append(env, v)
		}
	}
	return env
}

// running says whether the child has not been waited for yet.
func (p *process) running() bool {
	select {
	case <-p.exited:
		return false
	default:
		return true
	}
}

// waitReady asks until ready returns nil. It fails when ctx ends or the child
// does, with what the child printed last; with errPortTaken, if that was why.
func (p *process) waitReady(ctx context.Context, ready func(context.Context) error) error {
	ticker := time.NewTicker(readyInterval)
	defer ticker.Stop()
	for {
		err := ready(ctx)
		// What answered need not be the child: the controller manager's
		// readiness is asked of the API server.
		if err == nil && p.running() {
			return nil
		}
		select {
		case <-p.exited:
			p.accounted = true
			last := tail(p.logPath)
			if strings.Contains(last, "address already in use") {
				err = errPortTaken
			} else {
				err = errors.New("ended before it was ready")
			}
			return fmt.Errorf("%s: %w (%s); its last output:\n%s", p.name, err, p.cmd.ProcessState, last)
		case <-ctx.Done():
			return fmt.Errorf("%s: not ready: %w (last answer: %v); its last output:\n%s",
				p.name, context.Cause(ctx), err, tail(p.logPath))
		case <-ticker.C:
		}
	}
}

// stop asks the child to end. It is an error, since something is wrong with the
// child, if that does not end within timeout, upon which its group is killed,
// and if it had ended before, unasked. Nil is a process that was never started.
func (p *process) stop(timeout time.Duration) error {
	if p == nil || p.accounted {
		return nil
	}
	if !p.running() {
		return p.crash()
	}
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // fails only if it has just ended
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case <-p.exited:
		// It may have been dead already, and not yet waited for.
		if ws := p.cmd.ProcessState.Sys().(syscall.WaitStatus); ws.Signaled() && ws.Signal() != syscall.SIGTERM {
			return p.crash()
		}
		return nil
	case <-timer.C:
		p.kill()
		return fmt.Errorf("%s did not end within %v of SIGTERM and was killed; its last output:\n%s",
			p.name, timeout, tail(p.logPath))
	}
}

// crash is the error of a child that has ended unasked.
func (p *process) crash() error {
	return fmt.Errorf("%s had ended by itself (%v); its last output:\n%s",
		p.name, p.cmd.ProcessState, tail(p.logPath))
}

// kill ends the child's process group at once, and waits for the child.
func (p *process) kill() {
	p.accounted = true
	if p.running() {
		p.killGroup()
	}
	<-p.exited
}

// tail returns the last lines of a child's log, for an error message.
func tail(path string) string {
	const limit = 4 << 10
	f, err := os.Open(path)
	if err != nil {
		return err.Error()
	}
	defer f.Close()
	cut := ""
	if info, err := f.Stat(); err == nil && info.Size() > limit {
		cut = "… "
		_, _ = f.Seek(-limit, io.SeekEnd)
	}
	text, err := io.ReadAll(io.LimitReader(f, limit))
	if err != nil {
		return err.Error()
	}
	return cut + string(text)
}
