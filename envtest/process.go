package envtest

import (
	"context"
	"errors"
	"fmt"
	"os"
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
	pid     int    // also its process group
	logPath string // what it prints, in the data directory
	signal  func(os.Signal) error
	exited  chan struct{} // closed once it has been waited for
	state   string        // how it ended; set before exited is closed
}

// startProcess starts binary. Its goroutine ends with the child, for which
// stop and kill wait.
func startProcess(w *watchdog, dataDir, binary string, args []string) (*process, error) {
	name := filepath.Base(binary)
	p := &process{
		name:    name,
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
	cmd := w.command(binary, args...)
	cmd.Dir = dataDir
	cmd.Env = environment()
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	p.pid = cmd.Process.Pid
	p.signal = cmd.Process.Signal
	go func() {
		defer close(p.exited)
		_ = cmd.Wait() // its result is in ProcessState
		p.state = cmd.ProcessState.String()
		// What the child has left behind is in its group, and keeps the number
		// from being given to others.
		_ = syscall.Kill(-p.pid, syscall.SIGKILL)
		w.ended(p.pid)
	}()
	return p, nil
}

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
		// Only a child that is still there may be the one that answered.
		if err == nil && p.running() {
			return nil
		}
		select {
		case <-p.exited:
			last := tail(p.logPath)
			if strings.Contains(last, "address already in use") {
				err = errPortTaken
			} else {
				err = errors.New("ended before it was ready")
			}
			return fmt.Errorf("%s: %w (%s); its last output:\n%s", p.name, err, p.state, last)
		case <-ctx.Done():
			return fmt.Errorf("%s: not ready: %w (last answer: %v); its last output:\n%s",
				p.name, context.Cause(ctx), err, tail(p.logPath))
		case <-ticker.C:
		}
	}
}

// stop asks the child to end, and kills its group if it has not within
// timeout, which is an error: something is wrong with the child. A process
// that has ended, and nil, are stopped already.
func (p *process) stop(timeout time.Duration) error {
	if p == nil || !p.running() {
		return nil
	}
	_ = p.signal(syscall.SIGTERM) // fails only if it has just ended
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case <-p.exited:
		return nil
	case <-timer.C:
		p.kill()
		return fmt.Errorf("%s did not end within %v of SIGTERM and was killed; its last output:\n%s",
			p.name, timeout, tail(p.logPath))
	}
}

// kill ends the child's process group at once, and waits for the child.
func (p *process) kill() {
	if p.running() {
		_ = syscall.Kill(-p.pid, syscall.SIGKILL)
	}
	<-p.exited
}
