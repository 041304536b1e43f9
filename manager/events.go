package manager

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"governor/client"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

const (
	// maxField is the server's limit for an event's reason, action and reporting instance, in bytes.
	maxField = 128
	// maxNote is the server's limit for an event's note, in bytes.
	maxNote = 1024
)

// EventRecorder emits events about objects, for people to see in kubectl describe. It
// writes events.k8s.io/v1: the server shows the same object as core/v1, which
// is what kubectl reads, and checks it more strictly.
//
// Its methods never block and never fail: an event that cannot be emitted is
// counted and logged. What they are told is public to all who may read events.
type EventRecorder struct {
	name     string // the reporting controller
	instance string // which replica of it
	sink     *eventSink
}

func newEventRecorder(name string, sink *eventSink) *EventRecorder {
	host, _ := os.Hostname()
	return &EventRecorder{name: name, instance: truncate(name+"-"+cmp.Or(host, "unknown"), maxField), sink: sink}
}

// Eventf emits an event about regarding, now, in that object's namespace; in
// "default" if it has none. related is a second object that it concerns, or nil.
// eventtype is corev1.EventTypeNormal or EventTypeWarning. The reason says why,
// and the action what was being done, each in a word for machines of at most 128
// bytes. The note is a format for people; 1024 bytes of it are kept.
func (r *EventRecorder) Eventf(regarding, related client.Object, eventtype, reason, action, note string, args ...any) {
	event, err := r.event(regarding, related, eventtype, reason, action, fmt.Sprintf(note, args...))
	if err != nil {
		r.sink.refuse(err, r.name, reason)
		return
	}
	r.sink.emit(event)
}

// event makes the event, or says what the caller got wrong. It reads the objects
// now: by the time it is written the caller may have changed them.
func (r *EventRecorder) event(regarding, related client.Object, eventtype, reason, action, note string) (*eventsv1.Event, error) {
	if eventtype != corev1.EventTypeNormal && eventtype != corev1.EventTypeWarning {
		return nil, fmt.Errorf("the type is %q, neither Normal nor Warning", eventtype)
	}
	if err := checkWord("reason", reason); err != nil {
		return nil, err
	}
	if err := checkWord("action", action); err != nil {
		return nil, err
	}
	if bad := validation.IsQualifiedName(r.name); len(bad) > 0 {
		return nil, fmt.Errorf("the recorder's name %q is no qualified name: %s", r.name, strings.Join(bad, "; "))
	}
	about, err := r.reference(regarding)
	if err != nil {
		return nil, err
	}
	event := &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{
			Name:      eventName(about.Name),
			Namespace: cmp.Or(about.Namespace, metav1.NamespaceDefault),
		},
		EventTime:           metav1.NewMicroTime(time.Now()),
		ReportingController: r.name,
		ReportingInstance:   r.instance,
		Action:              action,
		Reason:              reason,
		Regarding:           *about,
		Note:                truncate(note, maxNote),
		Type:                eventtype,
	}
	if related != nil {
		if event.Related, err = r.reference(related); err != nil {
			return nil, fmt.Errorf("related: %w", err)
		}
	}
	return event, nil
}

func (r *EventRecorder) reference(obj client.Object) (*corev1.ObjectReference, error) {
	if isNil(obj) {
		return nil, errors.New("the object is nil")
	}
	gvk, err := r.sink.client.GroupVersionKindFor(obj)
	if err != nil {
		return nil, err
	}
	return &corev1.ObjectReference{
		APIVersion:      gvk.GroupVersion().String(),
		Kind:            gvk.Kind,
		Namespace:       obj.GetNamespace(),
		Name:            obj.GetName(),
		UID:             obj.GetUID(),
		ResourceVersion: obj.GetResourceVersion(),
	}, nil
}

func checkWord(what, word string) error {
	if word == "" || len(word) > maxField {
		return fmt.Errorf("the %s has %d bytes, not 1 to %d", what, len(word), maxField)
	}
	return nil
}

// eventName returns a name that no other event has. It is made here and not by
// the server, so that a second try after a lost answer does not make a second event.
func eventName(object string) string {
	suffix := fmt.Sprintf(".%016x", rand.Uint64())
	if name := object + suffix; len(validation.IsDNS1123Subdomain(name)) == 0 {
		return name
	}
	return "event" + suffix // a name like system:node, or a very long one
}

// truncate cuts s to n bytes, between two characters.
func truncate(s string, n int) string {
	s = strings.ToValidUTF8(s, "\uFFFD") // the server would refuse it
	if len(s) <= n {
		return s
	}
	const more = "…"
	n -= len(more)
	for !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + more
}
