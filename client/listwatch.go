package client

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"sync/atomic"

	"governor/client/decode"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// Event is one change that a watch reports.
type Event struct {
	// Type is watch.Added, Modified, Deleted or Bookmark; it is empty beside an
	// error that is not about one object.
	Type watch.EventType
	// Object is the new state; for Deleted the last one; for Bookmark it has a
	// resourceVersion and annotations only. It is nil beside an error.
	Object Object
}

// ListWatch lists and watches a Resource within one scope. It implements
// informer.ListWatcher. Any number of goroutines may use it, unless it is
// changed, or has a Decoder.
type ListWatch struct {
	// Resource is what is listed. Required.
	Resource *Resource
	// Namespace; empty means all of them.
	Namespace string
	// LabelSelector and FieldSelector in the server's syntax; empty selects
	// everything. Selectors in a call's options are added to them.
	LabelSelector, FieldSelector string
	// Decoder makes the objects. They share memory with each other, so that
	// nobody may change one, and one goroutine at a time may use the ListWatch.
	// Nil means that each object is the receiver's own. See Resource.NewDecoder.
	Decoder *decode.Decoder

	read int64 // bytes of answers; atomic, and no atomic.Int64 so that a ListWatch can be copied
}

// BytesRead is how many bytes the answers have had so far.
func (l *ListWatch) BytesRead() int64 { return atomic.LoadInt64(&l.read) }

// counter counts what is read through it.
type counter struct {
	io.Reader
	read *int64
}

func (c counter) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	atomic.AddInt64(c.read, int64(n))
	return n, err
}

// List requests one page and hands over its objects one by one, as their bytes
// arrive, until yield returns false, or ctx ends. Each object is an allocation
// of its own. A nil object beside a *DecodeError is one that could not be
// decoded; the rest follows. The page is whole only if List returns no error.
//
// The pages of a list, from that without opts.Continue to that whose ListMeta
// has none, are what a Decoder takes for all objects there are.
func (l *ListWatch) List(ctx context.Context, opts metav1.ListOptions, yield func(Object, error) bool) (metav1.ListMeta, error) {
	if l.Resource.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, l.Resource.timeout)
		defer cancel()
	}
	if l.Decoder != nil && opts.Continue == "" {
		l.Decoder.StartList()
	}
	p := page{ctx: ctx, yield: yield}
	err := l.stream(ctx, opts, func(o *objects, body *bufio.Reader) error {
		p.objects = o
		return p.read(body)
	})
	if err == errLeft {
		return p.listed, nil
	}
	if err != nil {
		return p.listed, l.wrap("list", err)
	}
	if l.Decoder != nil && p.listed.Continue == "" {
		l.Decoder.EndList()
	}
	return p.listed, nil
}

// Watch yields the events of one stream, then its error, if it did not end
// well: an error event of the server is an *apierrors.StatusError. A stream
// that the server ends between two events, and one that ctx ends, yields
// nothing more. A *DecodeError is about one object, beside an event that has
// its Type and no Object, and the loop may go on; every other error is the last
// value. The caller's goroutine does all the work; leaving the loop closes the
// stream.
func (l *ListWatch) Watch(ctx context.Context, opts metav1.ListOptions) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		opts.Watch = true
		remember := l.remember(opts)
		left := false
		err := l.stream(ctx, opts, func(o *objects, body *bufio.Reader) error {
			return o.eachEvent(body, func(ev Event, bad *DecodeError) bool {
				remember(ev, bad)
				var err error
				if bad != nil {
					err = l.wrap("watch", bad)
				}
				left = !yield(ev, err)
				return !left
			})
		})
		if err != nil && !left && ctx.Err() == nil {
			yield(Event{}, l.wrap("watch", err))
		}
	}
}

// remember returns what tells the Decoder of a watch's events: of objects that
// are gone, and, of a watch that begins with the state of all, when that is whole.
func (l *ListWatch) remember(opts metav1.ListOptions) func(Event, *DecodeError) {
	d := l.Decoder
	if d == nil {
		return func(Event, *DecodeError) {}
	}
	initial := opts.SendInitialEvents != nil && *opts.SendInitialEvents
	if initial {
		d.StartList()
	}
	return func(ev Event, bad *DecodeError) {
		switch {
		case ev.Type == watch.Deleted && bad != nil:
			d.Forget(bad.Key)
		case ev.Type == watch.Deleted:
			d.Forget(ObjectKeyFromObject(ev.Object))
		case ev.Type == watch.Bookmark && initial && bad == nil && ev.Object.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true":
			initial = false
			d.EndList()
		}
	}
}

func (l *ListWatch) wrap(verb string, err error) error {
	o := ListOptions{Namespace: l.Namespace}
	return callError(verb, l.Resource.gvk.GroupKind(), "", ObjectKey{Name: o.where()}, err)
}

// stream opens a list or a watch, and closes it when read returns. It is
// closed as well when ctx ends, so that read never blocks longer than that,
// whatever the transport does.
func (l *ListWatch) stream(ctx context.Context, opts metav1.ListOptions, read func(*objects, *bufio.Reader) error) error {
	if err := l.Resource.checkSelection(l.Namespace); err != nil {
		return err
	}
	objects, err := l.Resource.objects(l.Decoder)
	if err != nil {
		return err
	}
	opts.LabelSelector = both(l.LabelSelector, opts.LabelSelector)
	opts.FieldSelector = both(l.FieldSelector, opts.FieldSelector)
	// Only the stream's context bounds it. The caller decides on retries: it
	// knows what else to try, and for how long.
	req := l.Resource.collection(http.MethodGet, l.Namespace)
	if opts.Watch {
		req = l.Resource.request(http.MethodGet, l.Namespace)
	}
	// Nor is the stream compressed: see the package's comment.
	req = params(req, &opts).Timeout(0).MaxRetries(0).SetHeader("Accept-Encoding", "identity")
	var after retryAfter
	body, err := req.Stream(after.listening(ctx))
	if err != nil {
		return after.complete(err)
	}
	closed := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(closed)
		body.Close()
	})
	defer func() {
		if !stop() {
			<-closed
		}
		body.Close()
	}()
	err = read(objects, bufio.NewReaderSize(counter{body, &l.read}, streamBuffer))
	if l.Decoder != nil {
		l.Decoder.ReadsFrom(nil) // the stream's buffers are not its to keep
	}
	if err == nil || err == errLeft {
		return err
	}
	return cmp.Or(ctx.Err(), err) // a body closed under the read says less
}

// both joins two selectors, either of which may be empty.
func both(a, b string) string {
	if a == "" || b == "" {
		return cmp.Or(a, b)
	}
	return a + "," + b
}

// Watch yields the changes of a kind.
func (d *Direct) Watch(ctx context.Context, list ObjectList, opts ...ListOption) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		r, err := d.resourceOfList(ctx, list)
		if err != nil {
			yield(Event{}, fmt.Errorf("watch %T: %w", list, err))
			return
		}
		var o ListOptions
		if err = o.ApplyOptions(opts); err == nil && o.selectsNothing() {
			err = errors.New("the selector selects nothing: there is nothing to watch")
		}
		if err != nil {
			yield(Event{}, callError("watch", r.gvk.GroupKind(), "", ObjectKey{Name: o.where()}, err))
			return
		}
		lw := &ListWatch{Resource: r, Namespace: o.Namespace}
		opts := o.meta()
		opts.ResourceVersion = list.GetResourceVersion()
		lw.Watch(ctx, *opts)(yield)
	}
}

// isProtobuf looks at the first byte of a body. JSON begins with a brace or
// with space. A protobuf list begins with "k"; a protobuf watch with the high
// byte of a length below 64 MiB. The Content-Type would tell as well, but not
// more surely: proxies rewrite it.
func isProtobuf(body *bufio.Reader) (bool, error) {
	first, err := body.Peek(1)
	if err != nil {
		return false, err
	}
	switch first[0] {
	case 'k', 0, 1, 2, 3, 4:
		return true, nil
	case '{', ' ', '\n', '\r', '\t':
		return false, nil
	}
	return false, fmt.Errorf("the body begins with %q: neither JSON nor protobuf", first)
}
