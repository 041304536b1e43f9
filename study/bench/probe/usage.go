package probe

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"time"
)

// cpu is what this process has spent so far, in user and kernel mode.
func cpu() time.Duration { return spent(syscall.RUSAGE_SELF) }

// threadCPU is what the thread that calls it has spent.
func threadCPU() time.Duration {
	const thread = 1 // RUSAGE_THREAD, which package syscall does not name
	return spent(thread)
}

func spent(who int) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(who, &usage); err != nil {
		panic(err) // who can only be wrong
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func perObject(spent time.Duration, objects int) float64 {
	return float64(spent.Microseconds()) / float64(objects)
}

// heap is how many bytes are in use, garbage not among them. The second
// collection takes what finalizers, and pools, held on to in the first.
func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

// peakRSS is the most memory that this process ever had, in MiB.
func peakRSS() (float64, error) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, fmt.Errorf("peak RSS: %w", err)
	}
	for line := range bytes.Lines(status) {
		if fields := bytes.Fields(line); len(fields) == 3 && string(fields[0]) == "VmHWM:" {
			kib, err := strconv.ParseFloat(string(fields[1]), 64)
			return kib / 1024, err
		}
	}
	return 0, fmt.Errorf("peak RSS: /proc/self/status has no VmHWM")
}
