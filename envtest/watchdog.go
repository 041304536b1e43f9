package envtest

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// watchdogScript reads what to do should we die: one line per process group
// that has begun or ended. Its input ends when the last writer is gone, and
// that is us, however we went: return, panic, signal or SIGKILL. Then it kills
// what is left and removes the directory, its first argument. After a clean
// stop there is nothing left to do.
//
// It is plain POSIX sh, so that it needs nothing but what every machine has.
const watchdogScript = `
trap '' HUP INT TERM
groups=
while read -r word group; do
	left=
	for g in $groups; do
		[ "$g" = "$group" ] || left="$left $g"
	done
	groups=$left
	[ "$word" = begun ] && groups="$groups $group"
done
for g in $groups; do
	kill -s KILL -- "-$g"
done
for try in 1 2 3 4 5; do
	rm -rf "$1" && break
	sleep 1
done
`

// announceScript runs in each child before it becomes the program it is to be:
// it tells the watchdog of its process group, then closes that file. So there
// is no moment at which a child runs that the watchdog does not know of.
const announceScript = `echo "begun $$" >&3; exec "$@" 3>&-`

// watchdog is a shell in a session of its own, which outlives us by a moment
// if we end without [watchdog.release].
type watchdog struct {
	cmd   *exec.Cmd
	lines *os.File // the write end; no child but announceScript has it
}

// newWatchdog starts one that answers for dir.
func newWatchdog(dir string) (*watchdog, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("watchdog: %w", err)
	}
	defer r.Close()
	cmd := exec.Command("sh", "-c", watchdogScript, "envtest-watchdog", dir)
	cmd.Dir = "/" // not in a directory that someone wants to remove
	cmd.Stdin = r
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // Ctrl-C does not reach it
	if err := cmd.Start(); err != nil {
		w.Close()
		return nil, fmt.Errorf("watchdog: %w", err)
	}
	return &watchdog{cmd: cmd, lines: w}, nil
}

// command is a command whose process group the watchdog knows of as soon as it
// runs. Say [watchdog.ended] when it has been waited for.
func (w *watchdog) command(binary string, args ...string) *exec.Cmd {
	cmd := exec.Command("sh", append([]string{"-c", announceScript, binary, binary}, args...)...)
	cmd.ExtraFiles = []*os.File{w.lines} // file 3
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}

// ended tells the watchdog that a process group is gone, since its number may
// be given to others now.
func (w *watchdog) ended(group int) {
	// A watchdog that someone has killed is no reason to fail.
	_, _ = fmt.Fprintf(w.lines, "ended %d\n", group)
}

// release lets the watchdog go, and waits for it. It removes the directory and
// kills what has not ended.
func (w *watchdog) release() error {
	w.lines.Close()
	if err := w.cmd.Wait(); err != nil {
		return fmt.Errorf("watchdog: %w", err)
	}
	return nil
}
