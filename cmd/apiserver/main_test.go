package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"governor/client"

	corev1 "k8s.io/api/core/v1"
)

// It serves until its context ends, with a kubeconfig that works meanwhile.
func TestServesUntilItsContextEnds(t *testing.T) {
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	ctx, cancel := context.WithCancel(t.Context())
	out, in := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := run(ctx, []string{"--kubeconfig-out", kubeconfig}, in, io.Discard)
		in.Close()
		ended <- err
	}()
	buf := make([]byte, 4096)
	n, err := out.Read(buf) // it prints in one piece when it is ready
	if err != nil {
		t.Fatalf("it has printed nothing: %v: %v", err, <-ended)
	}
	if text := string(buf[:n]); !strings.Contains(text, "KUBECONFIG="+kubeconfig) {
		t.Errorf("does not say how to use it: %s", text)
	}
	cfg, err := client.GetConfig(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New(cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	var pods corev1.PodList
	if err := c.List(ctx, &pods); err != nil {
		t.Errorf("list over its port: %v", err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(kubeconfig); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the kubeconfig is still there: %v", err)
	}
}

func TestBadFlags(t *testing.T) {
	for _, args := range [][]string{{"--nope"}, {"extra"}, {"--crd", "/does/not/exist"}, {"--listen", "nowhere"}} {
		if err := run(t.Context(), args, io.Discard, io.Discard); err == nil {
			t.Errorf("%q: no error", args)
		}
	}
	if err := run(t.Context(), []string{"-h"}, io.Discard, io.Discard); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("-h: %v", err)
	}
}
