// Package probe measures, from the inside, a process that runs one controller:
// the same way whoever made the controller.
//
//	exec ─► build ─► run ─► all reconciled        CPU, peak RSS
//	                        two collections       heap
//	                        burst ─► all again    CPU, for each kind of burst
//	                        500 events/s          p50, p99
//	                        reads                 CPU, allocations
//	                        5,000 events/s        p99 of a Get
package probe

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime/pprof"
	"time"

	"k8s.io/client-go/rest"
)

// Variant is what the controller reads, and in which form.
type Variant string

// The variants. Protobuf are typed Pods; the others are the custom resource.
const (
	Protobuf     Variant = "protobuf"
	JSON         Variant = "JSON, typed"
	Unstructured Variant = "JSON, unstructured"
)

// Compact is Protobuf, by a Governor that keeps objects as bytes. Nothing but its
// heap is measured.
const Compact Variant = "protobuf, compact"

// Variants are those of both sides, those of one resource side by side.
var Variants = []Variant{Protobuf, JSON, Unstructured}

// Resource is the plural name of what the variant reads.
func (v Variant) Resource() string {
	if v == Protobuf || v == Compact {
		return "pods"
	}
	return "workloads"
}

// Side is a manager with one controller, For what the variant says, configured
// as its documentation does it first.
type Side struct {
	// Run starts the manager, and returns when ctx has ended.
	Run func(ctx context.Context) error
	// Version is the resourceVersion of an object in the manager's cache.
	Version func(ctx context.Context, namespace, name string) (string, error)
	// Reads are of the manager's client.
	Reads Reads
}

// Build makes a Side, whose reconciler does nothing but call reconciled.
type Build func(cfg *rest.Config, v Variant, reconciled func(namespace, name string)) (Side, error)

// timeout is more than a run takes; longer ones hang.
const timeout = 5 * time.Minute

// Main is the main function of a Side's process. It prints a Result.
func Main(build Build) {
	var (
		url     = flag.String("server", "", "the bench's server")
		ca      = flag.String("ca", "", "file with its certificate")
		variant = flag.String("variant", "", "what to read")
		objects = flag.Int("objects", 0, "how many there are")
		profile = flag.String("profile", "", "directory for CPU profiles, one of each phase; none if empty")
	)
	flag.Parse()
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	cfg := &rest.Config{Host: *url, TLSClientConfig: rest.TLSClientConfig{CAFile: *ca}}
	p := &probe{tally: newTally(*objects), control: &control{cfg: cfg}, profile: *profile}
	result, err := p.measure(ctx, build, Variant(*variant), cfg)
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(result)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// profiled writes a CPU profile of what f does, if profiles are wanted.
func (p *probe) profiled(phase string, f func() error) error {
	if p.profile == "" {
		return f()
	}
	file, err := os.Create(filepath.Join(p.profile, phase+".pprof"))
	if err != nil {
		return err
	}
	defer file.Close()
	if err := pprof.StartCPUProfile(file); err != nil {
		return err
	}
	defer pprof.StopCPUProfile()
	return f()
}
