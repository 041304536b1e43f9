package envtest_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"governor/envtest"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"
)

// The life of CustomResourceDefinitions, as a watch shows it, is the real server's:
// names in conflict and set free, objects that hold up the end.
func TestE2EDefinitionsLiveAsOnTheRealServer(t *testing.T) {
	real := definitionStory(t, envtest.RequireControlPlane(t, nil).Config())
	ours := definitionStory(t, envtest.NewServer(nil).Config())
	if diff := cmp.Diff(real, ours); diff != "" {
		t.Errorf("-server +ours:\n%s", diff)
	}
}

// In memory alone: what the story of the real server has in it.
func TestDefinitionsSettleWithinTheRequest(t *testing.T) {
	story := strings.Join(definitionStory(t, envtest.NewServer(nil).Config()), "\n")
	for _, want := range []string{
		"gadgets: NamesAccepted=False/ListKindConflict Established=False/NotAccepted",
		"gadgets: NamesAccepted=True/NoConflicts Established=True/InitialNamesAccepted",
		"create while terminating: 403 ",
		"DELETED widgets",
	} {
		if !strings.Contains(story, want) {
			t.Errorf("%q is missing in\n%s", want, story)
		}
	}
}

// definitionStory does the same on any server, and returns what happened.
func definitionStory(t *testing.T, cfg *rest.Config) []string {
	t.Helper()
	client, err := rest.HTTPClientFor(cfg)
	if err != nil {
		t.Fatal(err)
	}
	d := &definitionTeller{t: t, host: cfg.Host, client: client}
	d.watch()
	d.create("widgets", "Widget")
	d.until("widgets: NamesAccepted=True/NoConflicts Established=True")
	const objects = "/apis/story.example.com/v1/widgets"
	d.untilServed(objects)
	d.do("create an object", "POST", objects, `{"apiVersion":"story.example.com/v1","kind":"Widget","metadata":{"name":"held","finalizers":["example.com/hold"]}}`)
	d.create("gadgets", "Widget")
	d.until("gadgets: NamesAccepted=False/ListKindConflict")
	d.do("delete", "DELETE", definitionsPath+"/widgets.story.example.com", "")
	d.until("Terminating=True/InstanceDeletionInProgress")
	d.do("create while terminating", "POST", objects, `{"apiVersion":"story.example.com/v1","kind":"Widget","metadata":{"name":"late"}}`)
	d.do("let go", "PATCH", objects+"/held", `{"metadata":{"finalizers":null}}`)
	d.until("DELETED widgets")
	d.until("gadgets: NamesAccepted=True/NoConflicts Established=True")
	d.do("list what is gone", "GET", objects, "")
	story := d.lines
	// A real server may stumble here over caches that it has just thrown away.
	d.do("delete", "DELETE", definitionsPath+"/gadgets.story.example.com", "")
	d.until("DELETED gadgets")
	return story
}

const definitionsPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

type definitionTeller struct {
	t      *testing.T
	host   string
	client *http.Client
	events chan string
	lines  []string
}

func (d *definitionTeller) request(ctx context.Context, method, path, body string) *http.Response {
	d.t.Helper()
	req, err := http.NewRequestWithContext(ctx, method, d.host+path, strings.NewReader(body))
	if err != nil {
		d.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if method == "PATCH" {
		req.Header.Set("Content-Type", "application/merge-patch+json")
	}
	resp, err := d.client.Do(req)
	if err != nil {
		d.t.Fatal(err)
	}
	return resp
}

// do makes a request, and tells its code and, of an error, the message.
func (d *definitionTeller) do(what, method, path, body string) {
	d.t.Helper()
	resp := d.request(d.t.Context(), method, path, body)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		d.t.Fatal(err)
	}
	var answer struct{ Kind, Message string }
	if json.Unmarshal(text, &answer) != nil {
		answer.Message = strings.TrimSpace(string(text))
	}
	d.lines = append(d.lines, fmt.Sprintf("%s: %d %s %s", what, resp.StatusCode, answer.Kind, answer.Message))
}

func (d *definitionTeller) create(plural, kind string) {
	d.t.Helper()
	d.do("create", "POST", definitionsPath, `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"`+plural+`.story.example.com"},
		"spec":{"group":"story.example.com","scope":"Cluster","names":{"plural":"`+plural+`","kind":"`+kind+`"},
		"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]}}`)
}

// untilServed waits for a real server, which serves a moment after it says so.
func (d *definitionTeller) untilServed(path string) {
	d.t.Helper()
	for range 500 {
		resp := d.request(d.t.Context(), "GET", path, "")
		resp.Body.Close()
		if resp.StatusCode == http.StatusOK {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	d.t.Fatalf("%s is not served", path)
}

// watch has the changes of definitions told.
func (d *definitionTeller) watch() {
	d.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	resp := d.request(ctx, "GET", definitionsPath+"?watch=true", "")
	d.events = make(chan string)
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer resp.Body.Close()
		lines := bufio.NewScanner(resp.Body)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			select {
			case d.events <- tellDefinition(lines.Bytes()):
			case <-ctx.Done():
				return
			}
		}
	}()
	d.t.Cleanup(func() { cancel(); <-done })
}

// until tells the changes up to one.
func (d *definitionTeller) until(change string) {
	d.t.Helper()
	timeout := time.After(30 * time.Second)
	for {
		select {
		case line := <-d.events:
			d.lines = append(d.lines, line)
			if strings.Contains(line, change) {
				return
			}
		case <-timeout:
			d.t.Fatalf("no change %q after\n%s", change, strings.Join(d.lines, "\n"))
		}
	}
}

func tellDefinition(event []byte) string {
	var e struct {
		Type   string
		Object struct {
			Metadata struct {
				Name          string
				Generation    int
				Finalizers    []string
				ManagedFields []struct{ Manager, Operation, Subresource string }
			}
			Status struct {
				Conditions     []struct{ Type, Status, Reason string }
				AcceptedNames  struct{ Plural, Singular, Kind, ListKind string }
				StoredVersions []string
			}
		}
	}
	if err := json.Unmarshal(event, &e); err != nil {
		return err.Error()
	}
	o := e.Object
	var conditions, managers []string
	for _, c := range o.Status.Conditions {
		conditions = append(conditions, c.Type+"="+c.Status+"/"+c.Reason)
	}
	for _, m := range o.Metadata.ManagedFields {
		managers = append(managers, strings.TrimSpace(m.Operation+" "+m.Subresource))
	}
	slices.Sort(managers)
	name, _, _ := strings.Cut(o.Metadata.Name, ".")
	return fmt.Sprintf("%s %s: %s %v %v generation %d %v %v", e.Type, name, strings.Join(conditions, " "),
		o.Status.AcceptedNames, o.Status.StoredVersions, o.Metadata.Generation, o.Metadata.Finalizers, managers)
}
