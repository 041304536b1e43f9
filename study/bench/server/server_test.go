package server

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"governor/study/bench/workload"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Replicas have in common what they have in reality, and no more; an object is
// as large as its encoding is said to be.
func TestPodsAreLikeReal(t *testing.T) {
	source, err := newPods(2 * replicas)
	if err != nil {
		t.Fatal(err)
	}
	one, two, other := source.pod(0, edits{}), source.pod(1, edits{}), source.pod(replicas, edits{})
	for what, differ := range map[string]bool{
		"name":         one.Name != two.Name,
		"UID":          one.UID != two.UID,
		"address":      one.Status.PodIP != two.Status.PodIP,
		"container ID": one.Status.ContainerStatuses[0].ContainerID != two.Status.ContainerStatuses[0].ContainerID,
		"token volume": one.Spec.Volumes[1].Name != two.Spec.Volumes[1].Name,
		"its mount":    one.Spec.Containers[1].VolumeMounts[1].Name != two.Spec.Containers[1].VolumeMounts[1].Name,
		"owner":        one.OwnerReferences[0].UID != other.OwnerReferences[0].UID,
		"namespace":    one.Namespace != other.Namespace,
		"environment":  one.Spec.Containers[0].Env[0].Value != other.Spec.Containers[0].Env[0].Value,
	} {
		if !differ {
			t.Errorf("the %s is the same", what)
		}
	}
	if !equality.Semantic.DeepEqual(one.Spec.Containers[0].Env, two.Spec.Containers[0].Env) || one.OwnerReferences[0].UID != two.OwnerReferences[0].UID {
		t.Error("replicas differ in their environment, or owner")
	}
	if one.Spec.Volumes[1].Name != one.Spec.Containers[0].VolumeMounts[1].Name {
		t.Error("the mount of the token is not that of its volume")
	}
	if !equality.Semantic.DeepEqual(one, source.pod(0, edits{})) {
		t.Error("a Pod is not the same each time it is made")
	}
	asJSON, _ := json.Marshal(one)
	if asProtobuf := one.Size(); len(asJSON) < 9000 || len(asJSON) > 10500 || asProtobuf < 6000 || asProtobuf > 7000 {
		t.Errorf("a Pod has %d bytes of JSON, %d of protobuf", len(asJSON), asProtobuf)
	}
}

// Each round changes what it is named after, and nothing else.
func TestRoundsChangeWhatTheySay(t *testing.T) {
	c, err := newCollection(protobufEncoding{}, 10, 10)
	if err != nil {
		t.Fatal(err)
	}
	latest := c.initial
	for n, round := range workload.Rounds {
		name := round.Name
		for _, e := range c.rounds[n] {
			before, after := latest[e.ordinal], e.version
			same := func(a, b []byte) bool { return &a[0] == &b[0] || bytes.Equal(a, b) }
			spec, status := !same(before.spec, after.spec), !same(before.status, after.status)
			if want := name == "all"; spec != want {
				t.Errorf("round %q: the spec changed: %v", name, spec)
			}
			if want := name != "metadata"; status != want {
				t.Errorf("round %q: the status changed: %v", name, status)
			}
			was, is := metadataOf(t, before), metadataOf(t, after)
			if changed, want := was.Labels["release"] != is.Labels["release"], name == "metadata" || name == "all"; changed != want {
				t.Errorf("round %q: the metadata changed: %v", name, changed)
			}
			latest[e.ordinal] = after
		}
	}
}

func metadataOf(t *testing.T, v *version) *metav1.ObjectMeta {
	t.Helper()
	pod := &corev1.Pod{}
	if err := pod.Unmarshal(v.appendParts(nil)); err != nil {
		t.Fatal(err)
	}
	return &pod.ObjectMeta
}

// get asks a Server that does not listen.
func get(t *testing.T, s *Server, url, accept string) *httptest.ResponseRecorder {
	t.Helper()
	w, r := httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	r.Header.Set("Accept", accept)
	s.routes().ServeHTTP(w, r)
	return w
}

const objects = 60 // more than one Deployment

func load(t *testing.T, resource string) *Server {
	t.Helper()
	s := &Server{}
	if err := s.Load(resource, objects, objects); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestProtobufList(t *testing.T) {
	s := load(t, "pods")
	names := map[string]bool{}
	for pages, next := 1, ""; ; pages++ {
		body := get(t, s, "/api/v1/pods?limit=25&continue="+next, "application/vnd.kubernetes.protobuf").Body.Bytes()
		var unknown runtime.Unknown
		if err := unknown.Unmarshal(bytes.TrimPrefix(body, []byte("k8s\x00"))); err != nil {
			t.Fatal(err)
		}
		if unknown.APIVersion != "v1" || unknown.Kind != "PodList" {
			t.Errorf("kind %s %s", unknown.APIVersion, unknown.Kind)
		}
		list := &corev1.PodList{}
		if err := list.Unmarshal(unknown.Raw); err != nil {
			t.Fatal(err)
		}
		for _, pod := range list.Items {
			names[pod.Namespace+"/"+pod.Name] = true
		}
		if next = list.Continue; next == "" {
			if pages != 3 || len(names) != objects {
				t.Errorf("%d pages with %d Pods", pages, len(names))
			}
			return
		}
	}
}

func TestJSONList(t *testing.T) {
	body := get(t, load(t, "workloads"), "/apis/bench.governor.dev/v1/workloads?limit=25&resourceVersion=0", "application/json").Body.Bytes()
	list := &workload.WorkloadList{}
	if err := json.Unmarshal(body, list); err != nil {
		t.Fatal(err)
	}
	if list.Kind != "WorkloadList" || len(list.Items) != objects || list.ResourceVersion != strconv.Itoa(workload.RoundVersions+objects) {
		t.Errorf("%s at %s with %d items: a list at 0 is whole", list.Kind, list.ResourceVersion, len(list.Items))
	}
	source, err := newPods(objects)
	if err != nil {
		t.Fatal(err)
	}
	for _, got := range list.Items {
		want := source.pod(workload.Ordinal(got.Name), edits{})
		if got.UID != want.UID || !equality.Semantic.DeepEqual(got.Spec, want.Spec) || !equality.Semantic.DeepEqual(got.Status.PodIPs, want.Status.PodIPs) {
			t.Errorf("%s is not as it was made", got.Name)
		}
	}
}

// A streaming list, then a burst, over TLS and HTTP/2, in both encodings.
func TestWatch(t *testing.T) {
	s, err := Start()
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	}()
	for resource, path := range map[string]string{"pods": "/api/v1/pods", "workloads": "/apis/bench.governor.dev/v1/workloads"} {
		if err := s.Load(resource, objects, objects); err != nil {
			t.Fatal(err)
		}
		accept := s.loaded().encoding.contentType(false)
		resp := s.request(t, http.MethodGet, path+"?watch=true&sendInitialEvents=true&allowWatchBookmarks=true", accept)
		if resp.ProtoMajor != 2 {
			t.Errorf("HTTP/%d", resp.ProtoMajor)
		}
		read := jsonEvents(resp.Body)
		if resource == "pods" {
			read = protobufEvents(resp.Body)
		}
		expect(t, read, "ADDED", objects, strconv.Itoa(workload.RoundVersions))
		end, meta, err := read()
		if err != nil || end != "BOOKMARK" || meta.Annotations[metav1.InitialEventsAnnotationKey] != "true" {
			t.Fatalf("after the initial events came %s %v, %v", end, meta, err)
		}
		s.request(t, http.MethodPost, "/bench/status", "").Body.Close()
		expect(t, read, "MODIFIED", objects, strconv.Itoa(2*workload.RoundVersions))
		resp.Body.Close()
		if again := s.request(t, http.MethodPost, "/bench/status", ""); again.StatusCode != http.StatusConflict {
			t.Errorf("a second time: %s", again.Status)
		}
	}
}

func (s *Server) request(t *testing.T, method, path, accept string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", accept)
	resp, err := trusting(s.CA).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

type events func() (eventType string, meta *metav1.ObjectMeta, err error)

// expect reads n events of a type, of versions that begin with the digit of the
// round.
func expect(t *testing.T, read events, eventType string, n int, version string) {
	t.Helper()
	names := map[string]bool{}
	for range n {
		got, meta, err := read()
		if err != nil || got != eventType || meta.ResourceVersion[:1] != version[:1] {
			t.Fatalf("%s %v, %v", got, meta, err)
		}
		names[meta.Namespace+"/"+meta.Name] = true
	}
	if len(names) != n {
		t.Errorf("%d events were of %d objects", n, len(names))
	}
}

func jsonEvents(body io.Reader) events {
	decoder := json.NewDecoder(body)
	return func() (string, *metav1.ObjectMeta, error) {
		var e struct {
			Type   string
			Object workload.Workload
		}
		err := decoder.Decode(&e)
		return e.Type, &e.Object.ObjectMeta, err
	}
}

func protobufEvents(body io.Reader) events {
	return func() (string, *metav1.ObjectMeta, error) {
		var size uint32
		if err := binary.Read(body, binary.BigEndian, &size); err != nil {
			return "", nil, err
		}
		frame := make([]byte, size)
		if _, err := io.ReadFull(body, frame); err != nil {
			return "", nil, err
		}
		var e metav1.WatchEvent
		var unknown runtime.Unknown
		pod := &corev1.Pod{}
		if err := e.Unmarshal(frame); err != nil {
			return "", nil, err
		}
		raw, found := strings.CutPrefix(string(e.Object.Raw), "k8s\x00")
		if !found {
			return "", nil, fmt.Errorf("the object begins with %q", raw[:4])
		}
		if err := unknown.Unmarshal([]byte(raw)); err != nil {
			return "", nil, err
		}
		return e.Type, &pod.ObjectMeta, pod.Unmarshal(unknown.Raw)
	}
}
