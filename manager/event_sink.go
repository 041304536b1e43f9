package manager

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"governor/client"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
)

const (
	// maxQueued is how many events may wait to be written.
	maxQueued = 1000
	// maxRemembered is of how many series, and how many objects, the sink knows.
	maxRemembered = 4096
	// seriesGap is the time after which an event that comes again is a new one.
	seriesGap = 10 * time.Minute
	// One object may have burst events at once, then one per refill.
	burst  = 25
	refill = 300 * time.Second
	// tries is how often an event is offered to a server that does not answer.
	tries = 3
	// firstRetry is how long the second try waits; the third waits twice that.
	firstRetry = time.Second
	// writeTimeout bounds one request.
	writeTimeout = 10 * time.Second
)

// eventWriter is what the sink needs of a client.
type eventWriter interface {
	Create(ctx context.Context, obj client.Object, opts ...client.CreateOption) error
	Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption) error
	GroupVersionKindFor(obj runtime.Object) (schema.GroupVersionKind, error)
}

// eventSink is the Runnable that writes the events of all recorders.
//
//	Event ─► queue ─► seen already? ── no ──► tokens left? ─► create
//	                       └── yes, count ──► tokens left? ─► patch
type eventSink struct {
	client  eventWriter
	logger  klog.Logger // for callers, who have no context
	metrics *Metrics
	queue   chan *eventsv1.Event
	pending atomic.Int64 // emitted, and neither written nor given up yet
	dropped atomic.Int64 // not logged yet

	// Only Start's goroutine uses these.
	series *lru[seriesKey, *series]
	tokens *lru[corev1.ObjectReference, *bucket]

	mu sync.Mutex
	// mu guards the fields below.
	aborted bool
	cancel  context.CancelFunc // ends the requests; nil unless running
}

// seriesKey is what two events have in common that are the same one again.
type seriesKey struct {
	eventtype, reason, action, note, controller string
	regarding, related                          corev1.ObjectReference // without resourceVersion
}

// series is an event that was written, and how often it came.
type series struct {
	event *eventsv1.Event
	count int32
	last  time.Time
}

// bucket limits the events about one object.
type bucket struct {
	tokens float64
	filled time.Time
}

func newEventSink(c eventWriter, logger klog.Logger, metrics *Metrics) *eventSink {
	return &eventSink{
		client: c, logger: logger, metrics: metrics,
		queue:  make(chan *eventsv1.Event, maxQueued),
		series: newLRU[seriesKey, *series](maxRemembered),
		tokens: newLRU[corev1.ObjectReference, *bucket](maxRemembered),
	}
}

// refuse says that a caller asked for an event that cannot be.
func (s *eventSink) refuse(err error, controller, reason string) {
	s.count("failed")
	s.logger.Error(err, "Event refused", "reportingController", controller, "reason", truncate(reason, maxField))
}

// emit queues an event, or drops it if the queue is full.
func (s *eventSink) emit(event *eventsv1.Event) {
	s.pending.Add(1)
	select {
	case s.queue <- event:
	default:
		s.pending.Add(-1)
		s.dropped.Add(1)
		s.count("dropped")
	}
}

// Unsettled makes the sink a settler.
func (s *eventSink) Unsettled() string {
	if n := s.pending.Load(); n > 0 {
		return fmt.Sprintf("%d events are to be written", n)
	}
	return ""
}

func (s *eventSink) count(result string) { s.metrics.events.WithLabelValues(result).Inc() }

// Start writes events until ctx ends, then those that are still queued, and returns
// at the first of them that the server does not take.
func (s *eventSink) Start(ctx context.Context) error {
	// Requests go on after ctx has ended, until the manager aborts them.
	requests, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	s.mu.Lock()
	s.cancel = cancel
	if s.aborted {
		cancel()
	}
	s.mu.Unlock()
	for ctx.Err() == nil {
		select {
		case event := <-s.queue:
			s.handle(ctx, requests, event)
		case <-ctx.Done():
		}
	}
	for {
		select {
		case event := <-s.queue:
			if !s.handle(ctx, requests, event) {
				return nil
			}
		default:
			return nil
		}
	}
}

// abort ends the requests.
func (s *eventSink) abort() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.aborted = true
	if s.cancel != nil {
		s.cancel()
	}
}

// handle creates an event or raises the count of its series, unless the object has
// had too many. It says whether the server answers.
func (s *eventSink) handle(ctx, requests context.Context, event *eventsv1.Event) bool {
	defer s.pending.Add(-1)
	logger := klog.FromContext(ctx)
	if n := s.dropped.Swap(0); n > 0 {
		logger.Info("Events dropped: they came faster than the server took them", "count", n)
	}
	known := s.observe(event)
	if !s.allow(event.Regarding, event.EventTime.Time) {
		s.count("limited")
		return true
	}
	var err error
	for try := range tries {
		if try > 0 && !pause(ctx, firstRetry<<(try-1)) {
			break
		}
		if err = s.write(requests, known); err == nil {
			s.count("written")
			return true
		}
		if refused(err) {
			break
		}
	}
	s.count("failed")
	logger.Error(err, "Event not written", "regarding", klog.KRef(event.Regarding.Namespace, event.Regarding.Name),
		"kind", event.Regarding.Kind, "reason", event.Reason)
	return refused(err)
}

// observe finds the series that an event belongs to, and counts it there.
func (s *eventSink) observe(event *eventsv1.Event) *series {
	key := seriesKey{
		eventtype: event.Type, reason: event.Reason, action: event.Action, note: event.Note,
		controller: event.ReportingController, regarding: event.Regarding,
	}
	if event.Related != nil {
		key.related = *event.Related
	}
	key.regarding.ResourceVersion, key.related.ResourceVersion = "", ""
	at := event.EventTime.Time
	known := s.series.get(key)
	if known == nil || at.Sub(known.last) > seriesGap {
		known = &series{event: event}
		s.series.put(key, known)
	}
	known.count++
	known.last = at
	return known
}

// allow takes a token of the object's, if there is one.
func (s *eventSink) allow(regarding corev1.ObjectReference, at time.Time) bool {
	regarding.ResourceVersion = ""
	b := s.tokens.get(regarding)
	if b == nil {
		b = &bucket{tokens: burst, filled: at}
		s.tokens.put(regarding, b)
	}
	if passed := at.Sub(b.filled); passed > 0 {
		b.tokens = min(burst, b.tokens+passed.Seconds()/refill.Seconds())
		b.filled = at
	}
	if b.tokens < 1 {
		return false
	}
	b.tokens--
	return true
}

// write brings the server to what the series is now: by creating the event, or by
// a patch of its count if the server has it.
func (s *eventSink) write(ctx context.Context, known *series) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	event := known.event
	if known.count > 1 {
		event.Series = &eventsv1.EventSeries{Count: known.count, LastObservedTime: metav1.NewMicroTime(known.last)}
	}
	object, err := asUnstructured(event)
	if err != nil {
		return err
	}
	if event.Series != nil {
		data, err := json.Marshal(map[string]any{"series": event.Series})
		if err != nil {
			return err
		}
		err = s.client.Patch(ctx, object, client.RawPatch(types.MergePatchType, data))
		if !apierrors.IsNotFound(err) {
			return err
		}
		// It was never written, or lived its hour.
		if object, err = asUnstructured(event); err != nil {
			return err
		}
	}
	err = s.client.Create(ctx, object)
	if apierrors.IsAlreadyExists(err) {
		return nil // an earlier try got through, its answer did not
	}
	return err
}

// asUnstructured makes an event writable with any scheme: the user's may not know
// the kind.
func asUnstructured(event *eventsv1.Event) (*unstructured.Unstructured, error) {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(event)
	if err != nil {
		return nil, fmt.Errorf("convert event: %w", err)
	}
	u := &unstructured.Unstructured{Object: fields}
	u.SetGroupVersionKind(eventsv1.SchemeGroupVersion.WithKind("Event"))
	return u, nil
}

// refused says that the server has answered, and that no second try helps.
func refused(err error) bool {
	switch apierrors.ReasonForError(err) {
	case metav1.StatusReasonUnknown, metav1.StatusReasonInternalError, metav1.StatusReasonTimeout,
		metav1.StatusReasonServerTimeout, metav1.StatusReasonTooManyRequests, metav1.StatusReasonServiceUnavailable:
		return false // Unknown: no answer at all, or not the API server's
	}
	return true
}

// pause waits about d, and says whether ctx lasted.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d + rand.N(d/4))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
