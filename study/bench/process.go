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

// customShare is how many Pods there are for each object of the custom
// resource, which takes that much longer to read.
const customShare = 2

// pacedEvents are 500 a second, for three seconds.
const pacedEvents = 1500

// sides are the programs that are compared: theirs, then ours.
var sides = []string{"upstream", "governor"}

// bench runs them.
type bench struct {
	runs, objects int
	profile       string
	log           io.Writer
}

// results are those of each run, by variant and side.
type results map[probe.Variant]map[string][]*probe.Result

func (b *bench) measure(ctx context.Context, variants []probe.Variant) (results, error) {
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	for _, side := range sides {
		build := exec.CommandContext(ctx, "go", "build", "-o", dir, "governor/study/bench/"+side)
		if output, err := build.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("build %s: %w\n%s", side, err, output)
		}
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
		objects := b.objectsOf(v)
		if loaded != v.Resource() {
			loaded = v.Resource()
			fmt.Fprintf(b.log, "making %d %s\n", objects, loaded)
			if err := s.Load(loaded, objects, objects, min(objects, pacedEvents)); err != nil {
				return nil, err
			}
		}
		all[v] = map[string][]*probe.Result{}
		for run := range b.runs {
			for _, side := range sides {
				fmt.Fprintf(b.log, "%s, run %d of %d: %s", v, run+1, b.runs, side)
				s.Reset()
				r, err := b.process(ctx, filepath.Join(dir, side), s.URL, v)
				if err != nil {
					return nil, fmt.Errorf("%s, %s: %w", side, v, err)
				}
				fmt.Fprintf(b.log, " %+v\n", *r)
				all[v][side] = append(all[v][side], r)
			}
		}
	}
	return all, nil
}

func (b *bench) objectsOf(v probe.Variant) int {
	if v == probe.Protobuf {
		return b.objects
	}
	return b.objects / customShare
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
