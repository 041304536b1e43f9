package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"governor/study/bench/probe"
	"governor/study/bench/server"
)

// Of the custom resource there are fewer objects, and fewer change in a burst,
// since upstream takes six times as long for each.
const (
	customShare      = 2 // Pods for each object of the custom resource
	customBurstShare = 2 // objects of the custom resource for each that changes
)

// sides are the programs that are compared: theirs, then ours.
var sides = []string{"upstream", "governor"}

// bench runs them.
type bench struct {
	runs, objects int
	profile       string
	log           io.Writer
}

// result is what one run measured.
type result struct {
	*probe.Result
	CompactHeap float64 // as Heap, in the compact tier: of ours, of the Pods
}

// results are those of each run, by variant and side.
type results map[probe.Variant]map[string][]*result

func (b *bench) measure(ctx context.Context, variants []probe.Variant) (results, error) {
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := build(ctx, dir); err != nil {
		return nil, err
	}
	s, err := server.Start()
	if err != nil {
		return nil, err
	}
	defer s.Stop()
	if err := os.WriteFile(filepath.Join(dir, "ca.pem"), s.CA, 0o600); err != nil {
		return nil, err
	}

	all, loaded := results{}, ""
	for _, v := range variants {
		if loaded != v.Resource() {
			loaded = v.Resource()
			objects := b.objectsOf(v)
			fmt.Fprintf(b.log, "making %d %s\n", objects, loaded)
			if err := s.Load(loaded, objects, b.burstOf(v)); err != nil {
				return nil, err
			}
		}
		all[v] = map[string][]*result{}
		for run := range b.runs {
			for _, side := range sides {
				fmt.Fprintf(b.log, "%s, run %d of %d: %s", v, run+1, b.runs, side)
				r, err := b.turn(ctx, s, filepath.Join(dir, side), v)
				if err != nil {
					return nil, fmt.Errorf("%s, %s: %w", side, v, err)
				}
				fmt.Fprintf(b.log, " %+v %v\n", *r.Result, r.CompactHeap)
				all[v][side] = append(all[v][side], r)
			}
		}
	}
	return all, nil
}

// build makes the sides' programs: each has only its own side in it.
func build(ctx context.Context, dir string) error {
	args := []string{"build", "-ldflags=-w", "-o", dir}
	for _, side := range sides {
		args = append(args, "governor/study/bench/"+side)
	}
	if output, err := exec.CommandContext(ctx, "go", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("build the programs of %v: %w\n%s", sides, err, output)
	}
	return nil
}

// turn runs one side once, from the beginning; ours of the Pods also in the compact
// tier, of which nothing but the heap is of interest.
func (b *bench) turn(ctx context.Context, s *server.Server, program string, v probe.Variant) (*result, error) {
	s.Reset()
	r, err := b.process(ctx, program, s.URL, v)
	if err != nil || v != probe.Protobuf || filepath.Base(program) != sides[1] {
		return &result{Result: r}, err
	}
	s.Reset()
	compact, err := b.process(ctx, program, s.URL, probe.Compact)
	if err != nil {
		return nil, fmt.Errorf("in the compact tier: %w", err)
	}
	return &result{r, compact.Heap}, nil
}

func (b *bench) objectsOf(v probe.Variant) int {
	if v.Resource() == probe.Protobuf.Resource() {
		return b.objects
	}
	return b.objects / customShare
}

func (b *bench) burstOf(v probe.Variant) int {
	if v == probe.Protobuf {
		return b.objects
	}
	return b.objectsOf(v) / customBurstShare
}

// process runs one side once.
func (b *bench) process(ctx context.Context, program, url string, v probe.Variant) (*probe.Result, error) {
	args := []string{"-server", url, "-ca", filepath.Join(filepath.Dir(program), "ca.pem"),
		"-variant", string(v), "-objects", strconv.Itoa(b.objectsOf(v))}
	if b.profile != "" {
		dir := filepath.Join(b.profile, filepath.Base(program)+"-"+strings.ReplaceAll(string(v), ", ", "-"))
		if err := os.MkdirAll(dir, 0o777); err != nil {
			return nil, err
		}
		args = append(args, "-profile", dir)
	}
	var said bytes.Buffer
	command := exec.CommandContext(ctx, program, args...)
	command.Stderr = &said
	output, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", cmp.Or(ctx.Err(), err), said.Bytes())
	}
	r := &probe.Result{}
	return r, json.Unmarshal(output, r)
}
