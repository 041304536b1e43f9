package envtest

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"governor/client"
	"governor/envtest/kinds"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Whole tables, of the real server, are in conformance. Here are the cells of states
// that only controllers bring about.

// Every kind whose cells we know has columns, as many as cells, also when there is
// nothing in it.
func TestCellsFitColumns(t *testing.T) {
	s := NewServer(nil)
	for resource, cellsOf := range builtinCells {
		columns := builtinColumns()[resource.String()]
		if len(columns) == 0 {
			t.Errorf("%s has no columns", resource)
			continue
		}
		for _, r := range s.kinds.All() {
			if r.Storage != resource || r.StorageVersion != r.GroupVersionKind.GroupVersion() {
				continue
			}
			empty, err := s.empty(r.GroupVersionKind)
			if err != nil {
				t.Fatal(err)
			}
			if cells := cellsOf(empty); len(cells) != len(columns) {
				t.Errorf("%s: %d cells, %d columns", resource, len(cells), len(columns))
			}
		}
	}
	for resource := range builtinColumns() {
		if builtinCells[schema.ParseGroupResource(resource)] == nil {
			t.Errorf("%s has columns, and no cells", resource)
		}
	}
}

func TestPodCells(t *testing.T) {
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	waiting := func(reason string) corev1.ContainerState {
		return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}
	}
	ended := func(code, signal int32, reason string) corev1.ContainerState {
		return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Signal: signal, Reason: reason}}
	}
	ready := []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	always := corev1.ContainerRestartPolicyAlways
	yes := true
	tests := []struct {
		name string
		pod  func(p *corev1.Pod)
		want string // Ready, Status, Restarts
	}{
		{"pending", func(p *corev1.Pod) {}, "0/2 Pending 0"},
		{"gated", func(p *corev1.Pod) {
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Reason: corev1.PodReasonSchedulingGated}}
		}, "0/2 SchedulingGated 0"},
		{"evicted", func(p *corev1.Pod) { p.Status.Phase, p.Status.Reason = corev1.PodFailed, "Evicted" }, "0/2 Evicted 0"},
		{"running", func(p *corev1.Pod) {
			p.Status.Phase = corev1.PodRunning
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{Ready: true, State: running, RestartCount: 2}, {Ready: true, State: running, RestartCount: 1}}
		}, "2/2 Running 3"},
		{"restarted", func(p *corev1.Pod) {
			p.Status.Phase = corev1.PodRunning
			last := ended(1, 0, "")
			last.Terminated.FinishedAt = metav1.NewTime(time.Now().Add(-5 * time.Minute))
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{Ready: true, State: running, RestartCount: 2, LastTerminationState: last}}
		}, "1/2 Running 2 (5m ago)"},
		{"the first container has the last word", func(p *corev1.Pod) {
			p.Status.Phase = corev1.PodRunning
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{State: waiting("CrashLoopBackOff")}, {State: waiting("ErrImagePull")}}
		}, "0/2 CrashLoopBackOff 0"},
		{"killed", func(p *corev1.Pod) {
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{State: ended(137, 9, "")}}
		}, "0/2 Signal:9 0"},
		{"failed", func(p *corev1.Pod) { p.Status.ContainerStatuses = []corev1.ContainerStatus{{State: ended(3, 0, "")}} }, "0/2 ExitCode:3 0"},
		{"one completed, one runs", func(p *corev1.Pod) {
			p.Status.Phase, p.Status.Conditions = corev1.PodRunning, ready
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{State: ended(0, 0, "Completed")}, {Ready: true, State: running}}
		}, "1/2 Running 0"},
		{"one completed, one runs, but the pod is not ready", func(p *corev1.Pod) {
			p.Status.Phase = corev1.PodRunning
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{State: ended(0, 0, "Completed")}, {Ready: true, State: running}}
		}, "1/2 NotReady 0"},
		{"one completed, one failed", func(p *corev1.Pod) {
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{State: ended(0, 0, "Completed")}, {State: ended(1, 0, "Error")}}
		}, "0/2 Error 0"},
		{"init container at work", func(p *corev1.Pod) {
			p.Spec.InitContainers = []corev1.Container{{Name: "i"}, {Name: "j"}}
			p.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "i", State: ended(0, 0, "Completed"), RestartCount: 1}, {Name: "j", State: running}}
		}, "0/2 Init:1/2 1"},
		{"init container failed", func(p *corev1.Pod) {
			p.Spec.InitContainers = []corev1.Container{{Name: "i"}}
			p.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "i", State: ended(1, 0, "Error")}}
		}, "0/2 Init:Error 0"},
		{"init container waits", func(p *corev1.Pod) {
			p.Spec.InitContainers = []corev1.Container{{Name: "i"}}
			p.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "i", State: waiting("ErrImagePull")}}
		}, "0/2 Init:ErrImagePull 0"},
		{"sidecar", func(p *corev1.Pod) {
			p.Status.Phase, p.Status.Conditions = corev1.PodRunning, ready
			p.Spec.InitContainers = []corev1.Container{{Name: "s", RestartPolicy: &always}}
			p.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "s", Ready: true, Started: &yes, RestartCount: 4, State: running}}
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{Ready: true, State: running, RestartCount: 1}}
		}, "2/3 Running 5"},
		{"restarts of what has initialized it do not count", func(p *corev1.Pod) {
			p.Status.Phase = corev1.PodRunning
			p.Spec.InitContainers = []corev1.Container{{Name: "i"}}
			p.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "i", State: ended(0, 0, "Completed"), RestartCount: 3}}
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{Ready: true, State: running, RestartCount: 1}}
		}, "1/2 Running 1"},
		{"going", func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: time.Now()} }, "0/2 Terminating 0"},
		{"going, and over", func(p *corev1.Pod) {
			p.DeletionTimestamp, p.Status.Phase = &metav1.Time{Time: time.Now()}, corev1.PodSucceeded
		}, "0/2 Succeeded 0"},
		{"on a lost node", func(p *corev1.Pod) {
			p.DeletionTimestamp, p.Status.Reason = &metav1.Time{Time: time.Now()}, "NodeLost"
		}, "0/2 Unknown 0"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // ages are exact
				p := &corev1.Pod{Spec: corev1.PodSpec{Containers: make([]corev1.Container, 2)}, Status: corev1.PodStatus{Phase: corev1.PodPending}}
				tt.pod(p)
				cells := podCells(p)
				if got := strings.Join([]string{cells[1].(string), cells[2].(string), cells[3].(string)}, " "); got != tt.want {
					t.Errorf("%s, want %s", got, tt.want)
				}
			})
		})
	}
}

func TestOtherCells(t *testing.T) {
	two, yes := int32(2), true
	tests := []struct {
		name   string
		object client.Object
		cells  func(client.Object) []any
		want   []any
	}{
		{"service of nodes", &corev1.Service{Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort, ClusterIPs: []string{"10.0.0.1"}, Ports: []corev1.ServicePort{{Port: 80, NodePort: 30080, Protocol: "TCP"}, {Port: 53, Protocol: "UDP"}}}},
			cells(serviceCells), []any{"", "NodePort", "10.0.0.1", "<none>", "80:30080/TCP,53/UDP", "<unknown>", "<none>"}},
		{"balanced service that waits", &corev1.Service{Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer}},
			cells(serviceCells), []any{"", "LoadBalancer", "<none>", "<pending>", "<none>", "<unknown>", "<none>"}},
		{"balanced service", &corev1.Service{Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, ExternalIPs: []string{"3.3.3.3"}}, Status: corev1.ServiceStatus{LoadBalancer: corev1.LoadBalancerStatus{Ingress: []corev1.LoadBalancerIngress{{IP: "2.2.2.2"}, {Hostname: "h"}, {IP: "2.2.2.2"}}}}},
			cells(serviceCells), []any{"", "LoadBalancer", "<none>", "2.2.2.2,h,3.3.3.3", "<none>", "<unknown>", "<none>"}},
		{"node", &corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"node-role.kubernetes.io/worker": "", "kubernetes.io/role": "edge"}}, Spec: corev1.NodeSpec{Unschedulable: true}, Status: corev1.NodeStatus{
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionFalse}}, Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "1.1.1.1"}},
			NodeInfo: corev1.NodeSystemInfo{KubeletVersion: "v1", KernelVersion: "6", Architecture: "amd64"}}},
			cells(nodeCells), []any{"", "NotReady,SchedulingDisabled", "edge,worker", "<unknown>", "v1", "1.1.1.1", "<none>", "<unknown>", "6 (amd64)", "<unknown>"}},
		{"event of a series", &corev1.Event{Type: "Warning", Reason: "R", Message: " m\n", InvolvedObject: corev1.ObjectReference{Kind: "Pod", Name: "p"}, ReportingController: "c", ReportingInstance: "i", Series: &corev1.EventSeries{Count: 7}},
			cells(eventCells), []any{"<unknown>", "Warning", "R", "pod/p", "", "c, i", "m", "<unknown>", int32(7), ""}},
		{"suspended job", &batchv1.Job{Spec: batchv1.JobSpec{Completions: &two, Suspend: &yes}, Status: batchv1.JobStatus{Succeeded: 1, Conditions: []batchv1.JobCondition{{Type: batchv1.JobSuspended, Status: corev1.ConditionTrue}}}},
			cells(jobCells), []any{"", "Suspended", "1/2", "", "<unknown>", "", "", "<none>"}},
		{"volume", &corev1.PersistentVolume{Spec: corev1.PersistentVolumeSpec{AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany, corev1.ReadWriteOnce, corev1.ReadWriteOnce}, ClaimRef: &corev1.ObjectReference{Namespace: "n", Name: "c"}}},
			cells(volumeCells), []any{"", "0", "RWO,RWX", "", "", "n/c", "", "<unset>", "", "<unknown>", "<unset>"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, tt.cells(tt.object)); diff != "" {
				t.Errorf("cells (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCustomCells(t *testing.T) {
	u := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": "w"},
		"spec":     map[string]any{"int": int64(3), "float": 2.5, "bool": true, "text": "x", "when": "1999-12-31T00:00:00Z", "list": []any{map[string]any{"n": "a"}, map[string]any{"n": "b"}}},
	}}
	tests := []struct {
		columnType, path string
		want             any
	}{
		{"integer", ".spec.int", int64(3)},
		{"integer", ".spec.float", int64(2)},
		{"integer", ".spec.text", nil},
		{"number", ".spec.int", 3.0},
		{"number", ".spec.float", 2.5},
		{"boolean", ".spec.bool", true},
		{"boolean", ".spec.text", nil},
		{"string", ".spec.int", "3"},
		{"string", ".spec.list[*].n", "a"},
		{"string", ".spec.list[1].n", "b"},
		{"string", ".spec.nothing", nil},
		{"date", ".spec.when", "24h"},
		{"date", ".spec.text", "<invalid>"},
		{"string", ".spec[", nil}, // no path
	}
	for _, tt := range tests {
		t.Run(tt.columnType+tt.path, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // where it is 2000
				l := customLayout([]kinds.Column{{Name: "C", Type: tt.columnType, JSONPath: tt.path}})
				if diff := cmp.Diff([]any{"w", tt.want}, l.cells(u)); diff != "" {
					t.Errorf("cells (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// A watch of a Table has the columns once, and a bookmark shows where it is even to
// those who do not want objects.
func TestTableWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewServer(nil)
		mustSend(t, s, "POST", inDefault+"configmaps", configMapA)
		mustSend(t, s, "POST", inDefault+"configmaps", strings.Replace(configMapA, `"name":"a"`, `"name":"b"`, 1))
		resp := openAnswer(t, s, "GET", inDefault+"configmaps?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&includeObject=None&timeoutSeconds=1",
			"Accept: application/json;as=Table;v=v1;g=meta.k8s.io")
		defer resp.Body.Close()
		decoder := json.NewDecoder(resp.Body)
		var got []string
		for decoder.More() {
			var event struct {
				Type   string
				Object metav1.Table
			}
			if err := decoder.Decode(&event); err != nil {
				t.Fatal(err)
			}
			text := event.Type
			if len(event.Object.ColumnDefinitions) > 0 {
				text += " columns"
			}
			for _, row := range event.Object.Rows {
				text += " " + row.Cells[0].(string)
				if strings.Contains(string(row.Object.Raw), metav1.InitialEventsAnnotationKey) {
					text += " (end)"
				} else if string(row.Object.Raw) != "null" && row.Object.Raw != nil {
					text += " object"
				}
			}
			got = append(got, text)
		}
		if len(got) > 3 {
			got = got[:3] // then perhaps a bookmark, before the end
		}
		if diff := cmp.Diff([]string{"ADDED columns a", "ADDED b", "BOOKMARK  (end)"}, got); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
	})
}
