package main

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A missing or broken kubeconfig, or a flag that is none: one clear line.
func TestRunSaysInOneLineWhatIsWrong(t *testing.T) {
	broken := filepath.Join(t.TempDir(), "broken")
	if err := os.WriteFile(broken, []byte("clusters: ["), 0o600); err != nil {
		t.Fatal(err)
	}
	missing := filepath.Join(t.TempDir(), "missing")
	tests := []struct {
		name string
		args []string
		env  string
		want string
	}{
		{"missing file", []string{"--kubeconfig", missing}, "", missing},
		{"broken file", []string{"--kubeconfig", broken}, "", broken},
		{"missing file in the environment", nil, missing, missing},
		{"missing file for the play", []string{"--play", "--kubeconfig", missing}, "", missing},
		{"nothing to be found", nil, "", "kubeconfig"},
		{"unknown flag", []string{"--colour"}, "", "-colour"},
		{"stray argument", []string{"start"}, "", "start"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("KUBECONFIG", tt.env)
			t.Setenv("HOME", t.TempDir())
			t.Setenv("KUBERNETES_SERVICE_HOST", "")
			var out, errOut bytes.Buffer
			err := run(t.Context(), tt.args, &out, &errOut)
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %v, want one line with %q", err, tt.want)
			}
			if errOut.Len() > 0 {
				t.Errorf("besides the error this was printed: %s", &errOut)
			}
		})
	}
}

func TestHelpNamesEveryFlag(t *testing.T) {
	var out, errOut bytes.Buffer
	if err := run(t.Context(), []string{"-h"}, &out, &errOut); !errors.Is(err, flag.ErrHelp) {
		t.Fatalf("error %v, want help", err)
	}
	for _, name := range []string{"-kubeconfig", "-namespace", "-metrics", "-health", "-play", "-v"} {
		if !strings.Contains(errOut.String(), name) {
			t.Errorf("help does not name %s:\n%s", name, &errOut)
		}
	}
}
