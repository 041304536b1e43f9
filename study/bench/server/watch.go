package server

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// bookmarkPeriod is a real server's.
	bookmarkPeriod = time.Minute
	// paceTimeout is more than a round with a rate ever takes.
	paceTimeout = 20 * time.Second
	// writeSize is how many bytes are written at once when there are more.
	writeSize = 32 << 10
)

// frames collects what is to be written, and writes it when it is enough.
type frames struct {
	w       http.ResponseWriter
	buffer  []byte
	pending []*change // those in the buffer
}

// add takes the buffer back, with something appended to it.
func (f *frames) add(buffer []byte, of ...*change) {
	f.buffer, f.pending = buffer, append(f.pending, of...)
	if len(f.buffer) >= writeSize {
		f.write()
	}
}

// write's errors are not of interest: the request's context ends as well.
func (f *frames) write() {
	now := time.Now().UnixNano()
	for _, e := range f.pending {
		e.sent.Store(now)
	}
	f.w.Write(f.buffer)
	f.buffer, f.pending = f.buffer[:0], f.pending[:0]
}

func (f *frames) flush() {
	f.write()
	f.w.(http.Flusher).Flush()
}

// watch writes events until the client goes: first, if it asks, everything
// that exists, then all that happens.
func (c *collection) watch(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	initial := query.Get("sendInitialEvents") == "true"
	out := &frames{w: w}
	since, err := strconv.ParseUint(query.Get("resourceVersion"), 10, 64)
	cursor := 0
	if initial || err != nil || since == 0 {
		var objects []*version
		objects, since, cursor = c.state()
		for _, v := range objects {
			out.add(c.encoding.appendEvent(out.buffer, "ADDED", v))
		}
		if initial {
			out.add(c.appendBookmark(out.buffer, since, true))
		}
	} else {
		cursor = c.cursor(since)
	}
	bookmark := time.NewTicker(bookmarkPeriod)
	defer bookmark.Stop()
	for r.Context().Err() == nil {
		news, at, more := c.after(cursor)
		for _, e := range news {
			out.add(c.encoding.appendEvent(out.buffer, "MODIFIED", e.version), e)
		}
		cursor += len(news)
		out.flush()
		select {
		case <-more:
		case <-r.Context().Done():
		case <-bookmark.C:
			if query.Get("allowWatchBookmarks") == "true" && len(news) == 0 {
				out.add(c.appendBookmark(out.buffer, at, false))
			}
		}
	}
}

// appendBookmark appends one; that with end says that all initial objects were
// sent.
func (c *collection) appendBookmark(b []byte, resourceVersion uint64, end bool) []byte {
	meta := metav1.ObjectMeta{ResourceVersion: strconv.FormatUint(resourceVersion, 10)}
	if end {
		meta.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
	}
	v := &version{}
	if _, isJSON := c.encoding.(jsonEncoding); isJSON {
		v.metadata, _ = json.Marshal(meta)
	} else {
		c.encoding.encode(v, &corev1.Pod{ObjectMeta: meta})
	}
	return c.encoding.appendEvent(b, "BOOKMARK", v)
}
