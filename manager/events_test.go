package manager_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"governor/client"
	"governor/envtest"
	"governor/manager"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// eventServer is an API server with a namespace "prod".
type eventServer struct {
	*envtest.Server
	client *client.Direct
}

func newEventServer(t *testing.T) *eventServer {
	t.Helper()
	s := envtest.NewServer(&envtest.Options{Scheme: builtin()})
	c, err := client.New(s.Config(), &client.Options{Scheme: builtin()})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "prod"}}); err != nil {
		t.Fatal(err)
	}
	return &eventServer{s, c}
}

// fail has writes of events go wrong.
func (s *eventServer) fail(f envtest.Fault) {
	s.Inject(envtest.Match{Resource: "events", Func: func(r envtest.Request) bool { return r.Verb != "list" }}, f)
}

// all returns the events, and how often the server was asked to write one.
func (s *eventServer) all(t *testing.T) (events []eventsv1.Event, writes int) {
	t.Helper()
	for _, r := range s.Requests() {
		if r.Resource == "events" && (r.Verb == "create" || r.Verb == "patch") {
			writes++
		}
	}
	var list eventsv1.EventList
	if err := s.client.List(t.Context(), &list); err != nil {
		t.Fatal(err)
	}
	return list.Items, writes
}

func web() *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "web", UID: "u1", ResourceVersion: "7"}}
}

// recording runs a test within a bubble, with a manager that runs.
func recording(t *testing.T, run func(t *testing.T, s *eventServer, r *manager.EventRecorder, m *manager.Manager)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := newEventServer(t)
		m := newManagerOf(t, s.Config(), nil)
		stop := start(t, m)
		<-m.Elected()
		run(t, s, m.GetEventRecorder("replicator"), m)
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// settle gives the recorder the time to write what it can.
func settle() { time.Sleep(time.Minute); synctest.Wait() }

func TestEventSaysWhoWhatAndWhen(t *testing.T) {
	recording(t, func(t *testing.T, s *eventServer, r *manager.EventRecorder, _ *manager.Manager) {
		at := time.Now()
		pod := web()
		r.Eventf(pod, nil, corev1.EventTypeWarning, "Stuck", "Try", "no %s", "disk")
		pod.Name = "changed" // after the call
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "system:n1", UID: "u2"}}
		r.Eventf(node, pod, corev1.EventTypeNormal, "Fine", "Try", "%s", strings.Repeat("x", 5000))
		settle()
		events, _ := s.all(t)
		if len(events) != 2 {
			t.Fatalf("%d events, want 2", len(events))
		}
		e, n := events[0], events[1]
		if e.Regarding.Kind != "Pod" {
			e, n = n, e
		}
		want := corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: "prod", Name: "web", UID: "u1", ResourceVersion: "7"}
		if e.Regarding != want || e.Namespace != "prod" || !strings.HasPrefix(e.Name, "web.") {
			t.Errorf("%s/%s about %+v", e.Namespace, e.Name, e.Regarding)
		}
		if e.Type != "Warning" || e.Reason != "Stuck" || e.Action != "Try" || e.Note != "no disk" || e.Series != nil {
			t.Errorf("%+v", e)
		}
		if e.ReportingController != "replicator" || !strings.HasPrefix(e.ReportingInstance, "replicator-") || !e.EventTime.Time.Equal(at.Truncate(time.Microsecond)) {
			t.Errorf("by %s, %s at %v", e.ReportingController, e.ReportingInstance, e.EventTime)
		}
		// An object without a namespace.
		if n.Namespace != "default" || n.Regarding.Namespace != "" || len(n.Note) > 1024 {
			t.Errorf("%s, regarding %+v, %d bytes", n.Namespace, n.Regarding, len(n.Note))
		}
		want.Name = "changed"
		if e.Related != nil || n.Related == nil || *n.Related != want {
			t.Errorf("related %v and %v, want none and %v", e.Related, n.Related, want)
		}
	})
}

// Contract 10.
func TestTheSameEventAgainRaisesACount(t *testing.T) {
	recording(t, func(t *testing.T, s *eventServer, r *manager.EventRecorder, _ *manager.Manager) {
		emit := func(reason, note string) {
			pod := web()
			pod.ResourceVersion = fmt.Sprint(time.Now().UnixNano()) // it changes, it is the same object
			r.Eventf(pod, nil, "Warning", reason, "Try", "%s", note)
			settle()
		}
		for range 3 {
			emit("Stuck", "no disk")
		}
		emit("Stuck", "no net")
		emit("Fine", "no disk")
		events, writes := s.all(t)
		if len(events) != 3 || writes != 5 {
			t.Fatalf("%d events in %d writes, want 3 in 5", len(events), writes)
		}
		for _, e := range events {
			same := e.Reason == "Stuck" && e.Note == "no disk"
			switch {
			case same && (e.Series == nil || e.Series.Count != 3 || !e.Series.LastObservedTime.After(e.EventTime.Time)):
				t.Errorf("series %+v, want 3 times", e.Series)
			case !same && e.Series != nil:
				t.Errorf("another event has a series: %+v", e)
			}
		}
		// After a while it is a new one.
		time.Sleep(11 * time.Minute)
		emit("Stuck", "no disk")
		if events, _ := s.all(t); len(events) != 4 {
			t.Errorf("%d events after a long pause, want 4", len(events))
		}
	})
}

func TestASeriesWhoseEventIsGoneIsWrittenAgain(t *testing.T) {
	recording(t, func(t *testing.T, s *eventServer, r *manager.EventRecorder, _ *manager.Manager) {
		r.Eventf(web(), nil, "Normal", "Fine", "Try", "%s", "")
		settle()
		if err := s.client.DeleteAllOf(t.Context(), &eventsv1.Event{}, client.InNamespace("prod")); err != nil { // its hour is over
			t.Fatal(err)
		}
		r.Eventf(web(), nil, "Normal", "Fine", "Try", "%s", "")
		settle()
		if events, _ := s.all(t); len(events) != 1 || events[0].Series == nil || events[0].Series.Count != 2 {
			t.Errorf("%+v", events)
		}
	})
}

// Contract 10: a hot loop does not flood the server, and no count is lost.
func TestOneObjectCannotFloodTheServer(t *testing.T) {
	recording(t, func(t *testing.T, s *eventServer, r *manager.EventRecorder, m *manager.Manager) {
		for range 300 {
			r.Eventf(web(), nil, "Warning", "Stuck", "Try", "%s", "no disk")
		}
		settle()
		if _, writes := s.all(t); writes != 25 {
			t.Errorf("%d writes, want 25", writes)
		}
		time.Sleep(5 * time.Minute)
		r.Eventf(web(), nil, "Warning", "Stuck", "Try", "%s", "no disk")
		settle()
		events, writes := s.all(t)
		if len(events) != 1 || writes != 26 || events[0].Series.Count != 301 {
			t.Errorf("%d events, %d writes, count %v; want 1, 26, 301", len(events), writes, events[0].Series)
		}
		wantEvents(t, m, map[string]float64{"written": 26, "limited": 275})
	})
}

// counted says what became of the events, as the metric has it.
func counted(t *testing.T, m *manager.Manager) map[string]float64 {
	t.Helper()
	families, err := m.Metrics().Registry().Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range families {
		if f.GetName() == "governor_events_total" {
			for _, s := range f.GetMetric() {
				got[s.GetLabel()[0].GetValue()] = s.GetCounter().GetValue()
			}
		}
	}
	return got
}

func wantEvents(t *testing.T, m *manager.Manager, want map[string]float64) {
	t.Helper()
	got := counted(t, m)
	for result, n := range want {
		if got[result] != n {
			t.Errorf("events counted: %v, want %v", got, want)
			return
		}
	}
}

// Contract 10: a server that does not answer costs events, not time.
func TestEmittingNeverBlocks(t *testing.T) {
	recording(t, func(t *testing.T, s *eventServer, r *manager.EventRecorder, m *manager.Manager) {
		s.fail(envtest.Fault{Delay: time.Hour})
		began := time.Now()
		for i := range 5000 {
			pod := web()
			pod.Name = fmt.Sprint("web", i)
			r.Eventf(pod, nil, "Normal", "Fine", "Try", "%s", "")
		}
		wantTook(t, began, 0)
		synctest.Wait()
		// One is with the server, a thousand wait.
		if n := counted(t, m)["dropped"]; n < 3999 || n > 4000 {
			t.Errorf("%v were dropped", n)
		}
	})
}

func TestAFailedWriteIsTriedAgainARefusedOneIsNot(t *testing.T) {
	unavailable := apierrors.NewServiceUnavailable("no")
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "events"}, "", errors.New("no"))
	tests := []struct {
		name   string
		fault  envtest.Fault
		writes int
		result string
	}{
		{"recovers", envtest.Fault{Err: unavailable, Times: 2}, 3, "written"},
		{"stays broken", envtest.Fault{Err: unavailable}, 3, "failed"},
		{"forbidden", envtest.Fault{Err: forbidden}, 1, "failed"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			recording(t, func(t *testing.T, s *eventServer, r *manager.EventRecorder, m *manager.Manager) {
				s.fail(tt.fault)
				r.Eventf(web(), nil, "Normal", "Fine", "Try", "%s", "")
				settle()
				if _, writes := s.all(t); writes != tt.writes {
					t.Errorf("%d writes, want %d", writes, tt.writes)
				}
				wantEvents(t, m, map[string]float64{tt.result: 1})
			})
		})
	}
}

func TestBadEventsAreRefusedAndLogged(t *testing.T) {
	recording(t, func(t *testing.T, s *eventServer, r *manager.EventRecorder, m *manager.Manager) {
		var nilPod *corev1.Pod
		r.Eventf(nil, nil, "Normal", "Fine", "Try", "%s", "")
		r.Eventf(nilPod, nil, "Normal", "Fine", "Try", "%s", "")
		r.Eventf(web(), nil, "Bad", "Fine", "Try", "%s", "")
		r.Eventf(web(), nil, "Normal", "", "Try", "%s", "")
		r.Eventf(web(), nil, "Normal", "Fine", "", "%s", "")
		r.Eventf(web(), &stranger{}, "Normal", "Fine", "Try", "%s", "")
		r.Eventf(web(), nil, "Normal", strings.Repeat("x", 129), "Try", "%s", "")
		r.Eventf(&stranger{}, nil, "Normal", "Fine", "Try", "%s", "")
		m.GetEventRecorder("not a name!").Eventf(web(), nil, "Normal", "Fine", "Try", "%s", "")
		settle()
		if events, _ := s.all(t); len(events) > 0 {
			t.Errorf("written: %v", events)
		}
		wantEvents(t, m, map[string]float64{"failed": 9})
	})
}

// stranger is of a kind that no scheme knows.
type stranger struct{ metav1.ObjectMeta }

func (*stranger) GetObjectKind() schema.ObjectKind { return &metav1.TypeMeta{} }
func (s *stranger) DeepCopyObject() runtime.Object { return s }

// Contract 2, 10: what is emitted by those that stop is written still.
func TestEventsOfTheLastMomentAreWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newEventServer(t)
		s.fail(envtest.Fault{Delay: time.Second})
		m := newManagerOf(t, s.Config(), nil)
		r := m.GetEventRecorder("replicator")
		r.Eventf(web(), nil, "Normal", "Early", "Try", "%s", "before Start")
		add(t, m, manager.RunnableFunc(func(ctx context.Context) error {
			<-ctx.Done()
			for i := range 5 {
				r.Eventf(web(), nil, "Normal", "Last", "Try", "%s", fmt.Sprint("words ", i))
			}
			return nil
		}))
		stop := start(t, m)
		<-m.Elected()
		synctest.Wait()
		if err := stop(); err != nil {
			t.Error(err)
		}
		if events, _ := s.all(t); len(events) != 6 {
			t.Errorf("%d events, want 6", len(events))
		}
		r.Eventf(web(), nil, "Normal", "Late", "Try", "%s", "after the end")
		time.Sleep(time.Hour)
		if events, _ := s.all(t); len(events) != 6 {
			t.Error("something was written after Start had returned (contract 5)")
		}
	})
}

// Contract 5: a server that does not answer does not keep the manager from its end.
func TestFlushIsBounded(t *testing.T) {
	for _, grace := range []time.Duration{-1, 0, time.Second} {
		t.Run(grace.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newEventServer(t)
				s.fail(envtest.Fault{Delay: time.Hour})
				m := newManagerOf(t, s.Config(), &manager.Options{GracefulShutdownTimeout: &grace})
				r := m.GetEventRecorder("replicator")
				stop := start(t, m)
				<-m.Elected()
				for i := range 100 {
					r.Eventf(web(), nil, "Normal", "Fine", "Try", "%s", fmt.Sprint(i))
				}
				synctest.Wait()
				began := time.Now()
				err := stop()
				if took := time.Since(began); grace >= 0 && took > grace || took > 30*time.Second {
					t.Errorf("took %v", took)
				}
				if grace <= 0 && err != nil {
					t.Error(err)
				}
				if grace > 0 {
					wantError(t, err, "event recorder")
				}
			})
		})
	}
}

var _ client.Object = &stranger{}
