package cache

import (
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"

	"governor/client"
	"governor/informer"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Mutation says that a cached object was changed by somebody who was to read it
// only, see Options.DetectMutations. Upstream: the panic of client-go's
// tools/cache/mutation_detector.go.
type Mutation struct {
	Kind            schema.GroupVersionKind
	Key             client.ObjectKey
	ResourceVersion string
	// Fields are the paths of what has changed. The values are not told: they may
	// be secret.
	Fields []string
	// Readers are those who were given the object last, the latest one first: a
	// handler by its name, or the calls that led to the read.
	Readers []string
}

// Error says all of it, over several lines.
func (m *Mutation) Error() string {
	return fmt.Sprintf("cache: %s %s (resourceVersion %s) was changed in the cache, by somebody who was to read it only, at\n\t%s\nThose who were given it last:\n\t%s\n"+
		"Whoever wants to change an object makes a DeepCopy first. Cached objects have parts in common: it may also have been given to them as part of another one.",
		kindText(m.Kind), m.Key, m.ResourceVersion, strings.Join(m.Fields, "\n\t"), strings.Join(m.Readers, "\n\t"))
}

const (
	// maxReaders is how many readers of an object are remembered.
	maxReaders = 4
	// maxSeen is how many objects of one key are: a handler may still have those
	// that were replaced.
	maxSeen = 4
)

// detector keeps a copy of each object that is handed out, and compares. It is nil
// when it is off.
type detector struct {
	report func(*Mutation)

	mu   sync.Mutex // guards seen
	seen map[seenKey][]*seen
}

type seenKey struct {
	gvk schema.GroupVersionKind
	key client.ObjectKey
}

// seen is an object that was handed out.
type seen struct {
	object, copy client.Object
	readers      []reading // the latest first
}

// reading is when an object was handed out: to a handler, or to who called.
type reading struct {
	handler string
	callers []uintptr
}

func newDetector(report func(*Mutation)) *detector {
	if report == nil {
		return nil
	}
	return &detector{report: report, seen: map[seenKey][]*seen{}}
}

// handOut looks at an object that is about to be copied, or, if shared is true,
// handed out. handler is empty for a read.
func (d *detector) handOut(gvk schema.GroupVersionKind, obj client.Object, shared bool, handler string) {
	if d == nil || obj == nil {
		return
	}
	at := seenKey{gvk, client.ObjectKeyFromObject(obj)}
	d.mu.Lock()
	defer d.mu.Unlock()
	of := d.seen[at]
	n := slices.IndexFunc(of, func(s *seen) bool { return s.object == obj })
	switch {
	case n >= 0:
		d.lookLocked(at, of[n])
	case !shared:
		return
	default:
		if len(of) == maxSeen {
			d.lookLocked(at, of[0])
			of = slices.Delete(of, 0, 1)
		}
		n = len(of)
		of = append(of, &seen{object: obj, copy: obj.DeepCopyObject().(client.Object)})
		d.seen[at] = of
	}
	if !shared {
		return
	}
	r := reading{handler: handler}
	if handler == "" {
		r.callers = make([]uintptr, 32)
		r.callers = r.callers[:runtime.Callers(2, r.callers)]
	}
	of[n].readers = slices.Insert(of[n].readers, 0, r)
	of[n].readers = of[n].readers[:min(len(of[n].readers), maxReaders)]
}

// lookAtAll compares all that was handed out.
func (d *detector) lookAtAll() {
	if d == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for at, of := range d.seen {
		for _, s := range of {
			d.lookLocked(at, s)
		}
	}
}

// lookLocked reports an object that is not as it was, once for each change.
//
// +checklocks:d.mu
func (d *detector) lookLocked(at seenKey, s *seen) {
	if reflect.DeepEqual(s.object, s.copy) {
		return
	}
	// What a Quantity remembers of itself is no change: cmp knows that.
	fields := changedFields(s.copy, s.object)
	if len(fields) == 0 {
		return
	}
	m := &Mutation{Kind: at.gvk, Key: at.key, ResourceVersion: s.copy.GetResourceVersion(), Fields: fields}
	for _, r := range s.readers {
		m.Readers = append(m.Readers, r.String())
	}
	s.copy = s.object.DeepCopyObject().(client.Object)
	d.report(m)
}

// String names the handler, or the calls that led to the read and are not ours.
func (r reading) String() string {
	if r.handler != "" {
		return "handler " + r.handler
	}
	var calls []string
	for frames := runtime.CallersFrames(r.callers); len(calls) < 5; {
		f, more := frames.Next()
		ours := strings.HasPrefix(f.Function, "governor/cache.") && !strings.HasSuffix(f.File, "_test.go") ||
			strings.HasPrefix(f.Function, "governor/client.") || strings.HasPrefix(f.Function, "runtime.")
		if f.Function != "" && !ours {
			calls = append(calls, fmt.Sprintf("%s (%s:%d)", f.Function, f.File, f.Line))
		}
		if !more {
			break
		}
	}
	return "read by " + strings.Join(calls, ", called by ")
}

// changedFields returns the paths of what is not the same.
func changedFields(before, after client.Object) []string {
	paths := &pathReporter{}
	cmp.Equal(before, after, cmp.Reporter(paths), cmp.Exporter(func(reflect.Type) bool { return true }))
	return paths.changed
}

// pathReporter collects the paths of differences, as Go code would write them.
type pathReporter struct {
	path    cmp.Path
	changed []string
}

// PushStep is called by cmp.
func (p *pathReporter) PushStep(s cmp.PathStep) { p.path = append(p.path, s) }

// PopStep is called by cmp.
func (p *pathReporter) PopStep() { p.path = p.path[:len(p.path)-1] }

// Report is called by cmp.
func (p *pathReporter) Report(r cmp.Result) {
	if r.Equal() {
		return
	}
	var b strings.Builder
	for _, s := range p.path {
		switch s.(type) {
		case cmp.StructField, cmp.MapIndex, cmp.SliceIndex:
			b.WriteString(s.String())
		}
	}
	p.changed = append(p.changed, strings.TrimPrefix(b.String(), "."))
}

// watchedHandler is a handler whose objects are compared before and after each call.
type watchedHandler struct {
	informer.Handler
	gvk      schema.GroupVersionKind
	name     string
	detector *detector
}

// watch returns h, or, if d is on, h under its eyes.
func (d *detector) watch(h informer.Handler, gvk schema.GroupVersionKind, name string) informer.Handler {
	if d == nil {
		return h
	}
	return &watchedHandler{h, gvk, name, d}
}

// around compares objects before and after a call.
func (w *watchedHandler) around(call func(), objects ...client.Object) {
	for _, obj := range objects {
		w.detector.handOut(w.gvk, obj, true, w.name)
	}
	defer func() {
		for _, obj := range objects {
			w.detector.handOut(w.gvk, obj, false, w.name)
		}
	}()
	call()
}

// OnAdd implements informer.Handler.
func (w *watchedHandler) OnAdd(obj client.Object, isInInitialList bool) {
	w.around(func() { w.Handler.OnAdd(obj, isInInitialList) }, obj)
}

// OnUpdate implements informer.Handler.
func (w *watchedHandler) OnUpdate(oldObj, newObj client.Object) {
	w.around(func() { w.Handler.OnUpdate(oldObj, newObj) }, oldObj, newObj)
}

// OnDelete implements informer.Handler.
func (w *watchedHandler) OnDelete(obj client.Object, finalStateUnknown bool) {
	w.around(func() { w.Handler.OnDelete(obj, finalStateUnknown) }, obj)
}
