// Package server plays an API server that has nothing else to do: it serves
// objects that were encoded beforehand, over TLS and HTTP/2, as fast as it can.
//
//	GET  /api, /apis, …                   discovery, aggregated and not
//	GET  /api/v1/pods                     list, paged list, watch, streaming list; protobuf
//	GET  /apis/bench.governor.dev/v1/workloads   the same; JSON
//	POST /bench/{round}                   a burst: one MODIFIED per object, at once,
//	                                      or so many a second
package server

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"governor/study/bench/workload"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/cert"
)

// Server serves one resource at a time.
type Server struct {
	// URL is where it listens, and CA what signed its certificate.
	URL string
	CA  []byte

	http  *http.Server
	ended chan error

	mu         sync.Mutex
	resource   string      // the plural name of what is served; +checklocks:mu
	collection *collection // +checklocks:mu
}

// Start listens on a free port of this host.
func Start() (*Server, error) {
	certificate, key, err := cert.GenerateSelfSignedCertKey("127.0.0.1", nil, nil)
	if err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &Server{URL: "https://" + listener.Addr().String(), CA: certificate, ended: make(chan error, 1)}
	s.http = &http.Server{Handler: s.routes(), TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair}}}
	go func() { s.ended <- s.http.ServeTLS(listener, "", "") }()
	return s, nil
}

// Stop ends all connections, and waits for the listener to end.
func (s *Server) Stop() error {
	s.http.Close()
	if err := <-s.ended; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Load makes the objects of a resource, "pods" or "workloads", and forgets what
// was there before. burst objects change in each round, or as many of those as
// the round has events.
func (s *Server) Load(resource string, objects, burst int) error {
	encodings := map[string]encoding{"pods": protobufEncoding{}, "workloads": jsonEncoding{}}
	s.mu.Lock()
	s.resource, s.collection = "", nil // the old one's memory is free first
	s.mu.Unlock()
	c, err := newCollection(encodings[resource], objects, burst)
	if err != nil {
		return fmt.Errorf("make %d %s: %w", objects, resource, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.resource, s.collection = resource, c
	return nil
}

// Reset takes the objects back to where they began, for the next client.
func (s *Server) Reset() { s.loaded().reset() }

func (s *Server) loaded() *collection {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.collection
}

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	discover(mux)
	mux.HandleFunc("GET /api/v1/{resource}", s.read)
	mux.HandleFunc("GET /apis/bench.governor.dev/v1/{resource}", s.read)
	mux.HandleFunc("POST /bench/{round}", s.round)
	return mux
}

// read is a list or a watch.
func (s *Server) read(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	c, resource := s.collection, s.resource
	s.mu.Unlock()
	if asked := r.PathValue("resource"); asked != resource {
		refuse(w, http.StatusNotFound, metav1.StatusReasonNotFound, asked+" are not served now, only "+resource)
		return
	}
	query := r.URL.Query()
	watch := query.Get("watch") == "true" || query.Get("watch") == "1"
	// A client that asked for something else would measure something else.
	contentType := c.encoding.contentType(false)
	if first := r.Header.Get("Accept"); !strings.HasPrefix(first, contentType) {
		refuse(w, http.StatusNotAcceptable, metav1.StatusReasonNotAcceptable, "only "+contentType+" is served, not "+first)
		return
	}
	w.Header().Set("Content-Type", c.encoding.contentType(watch))
	if watch {
		c.watch(w, r)
		return
	}
	c.list(w, query.Get("resourceVersion"), query.Get("limit"), query.Get("continue"))
}

// refuse answers as an API server does.
func refuse(w http.ResponseWriter, code int, reason metav1.StatusReason, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	json.NewEncoder(w).Encode(metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
		Status:   metav1.StatusFailure, Code: int32(code), Reason: reason, Message: message,
	})
}

// list writes one page. As on a real server, a list at resourceVersion 0 comes
// from memory, whole.
func (c *collection) list(w http.ResponseWriter, resourceVersion, limit, next string) {
	objects, at, _ := c.state()
	from, _ := strconv.Atoi(next)
	to, meta := len(objects), listMeta{resourceVersion: strconv.FormatUint(at, 10)}
	if n, _ := strconv.Atoi(limit); n > 0 && resourceVersion != "0" && from+n < len(objects) {
		to = from + n
		meta.next = strconv.Itoa(to)
	}
	objects = objects[min(from, to):to]
	size := 0
	for _, v := range objects {
		size += c.encoding.itemSize(v)
	}
	out := &frames{w: w}
	out.add(c.encoding.appendListStart(out.buffer, meta, size))
	for i, v := range objects {
		out.add(c.encoding.appendItem(out.buffer, v, i == 0))
	}
	out.add(c.encoding.appendListEnd(out.buffer))
	out.flush()
}

func (s *Server) round(w http.ResponseWriter, r *http.Request) {
	c := s.loaded()
	round, changes, err := c.begin(r.PathValue("round"))
	if err != nil {
		refuse(w, http.StatusConflict, metav1.StatusReasonConflict, err.Error())
		return
	}
	made := workload.Made{Events: len(changes)}
	if round.Rate > 0 {
		if made.Paced, err = c.pace(r.Context(), changes, time.Second/time.Duration(round.Rate)); err != nil {
			refuse(w, http.StatusInternalServerError, metav1.StatusReasonInternalError, err.Error())
			return
		}
	} else {
		c.happen(changes...)
	}
	json.NewEncoder(w).Encode(made)
}

// pace lets changes happen one each period, and those that are late at once. It
// returns when all were sent, or within paceTimeout: whose client does not watch
// waits in vain.
func (c *collection) pace(ctx context.Context, changes []*change, period time.Duration) ([]workload.Sent, error) {
	ctx, cancel := context.WithTimeout(ctx, paceTimeout)
	defer cancel()
	began, tick := time.Now(), time.NewTicker(period)
	defer tick.Stop()
	paced := make([]workload.Sent, len(changes))
	for made := 0; made < len(changes); {
		select {
		case <-tick.C:
			due := min(int(time.Since(began)/period), len(changes))
			c.happen(changes[made:due]...)
			made = due
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	for i, e := range changes {
		for e.sent.Load() == 0 {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return nil, errors.New("an event was not sent: is nobody watching?")
			}
		}
		paced[i] = workload.Sent{Ordinal: e.ordinal, Sent: e.sent.Load()}
	}
	return paced, nil
}
