package envtest_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"governor/envtest"

	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/ktesting"
)

// handlerFunc makes a client whose every request goes to f.
func clientOf(f http.HandlerFunc) *http.Client {
	return &http.Client{Transport: envtest.Transport(f)}
}

func newRequest(ctx context.Context, t *testing.T, method, url string, body io.Reader) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, method, url, body)
	if err != nil {
		t.Fatal(err)
	}
	return req
}

// Contract 1.
func TestTransportPassesTheRequestOn(t *testing.T) {
	type contextKey struct{}
	var got *http.Request
	var body []byte
	c := clientOf(func(w http.ResponseWriter, r *http.Request) {
		got = r
		body, _ = io.ReadAll(r.Body)
		w.Header().Set("X-Answer", "yes")
		w.WriteHeader(http.StatusCreated)
		fmt.Fprint(w, "made")
	})
	ctx := context.WithValue(t.Context(), contextKey{}, "client's own")
	req := newRequest(ctx, t, "PUT", "https://api.example:6443/a%2Fb/c?watch=1&x=y", strings.NewReader("hello"))
	req.Header.Set("X-Question", "why")

	resp, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}

	if string(body) != "hello" {
		t.Errorf("handler read body %q, want hello", body)
	}
	for _, f := range []struct{ name, got, want string }{
		{"Method", got.Method, "PUT"},
		{"RequestURI", got.RequestURI, "/a%2Fb/c?watch=1&x=y"},
		{"URL", got.URL.String(), "/a%2Fb/c?watch=1&x=y"},
		{"URL.Path", got.URL.Path, "/a/b/c"},
		{"Host", got.Host, "api.example:6443"},
		{"RemoteAddr", got.RemoteAddr, "192.0.2.1:1234"},
		{"Proto", got.Proto, "HTTP/2.0"},
		{"header", got.Header.Get("X-Question"), "why"},
		{"ContentLength", fmt.Sprint(got.ContentLength), "5"},
		{"TLS.ServerName", got.TLS.ServerName, "api.example"},
		{"value in the context", fmt.Sprint(got.Context().Value(contextKey{})), "<nil>"},
		{"response's status", resp.Status, "201 Created"},
		{"response's header", resp.Header.Get("X-Answer"), "yes"},
		{"response's sniffed type", resp.Header.Get("Content-Type"), ""},
		{"response's body", string(answer), "made"},
	} {
		if f.got != f.want {
			t.Errorf("%s = %q, want %q", f.name, f.got, f.want)
		}
	}
	got.Header.Set("X-Question", "changed")
	if req.Header.Get("X-Question") != "why" {
		t.Error("the handler's header is the client's header")
	}
}

// Contract 1: the corners of net/http's ResponseWriter.
func TestTransportAnswers(t *testing.T) {
	for _, tt := range []struct {
		name    string
		method  string
		handler http.HandlerFunc

		status int
		length int64
		body   string
		err    error // of reading the body
	}{
		{"nothing written is 200", "GET", func(http.ResponseWriter, *http.Request) {}, 200, -1, "", nil},
		{"first status wins", "GET", func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(404)
			w.WriteHeader(200)
		}, 404, -1, "", nil},
		{"informational status is not the answer", "GET", func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(103)
			w.WriteHeader(202)
		}, 202, -1, "", nil},
		{"declared length", "GET", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "2")
			io.WriteString(w, "ok")
		}, 200, 2, "ok", nil},
		{"less than declared", "GET", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "3")
			io.WriteString(w, "ok")
		}, 200, 3, "ok", io.ErrUnexpectedEOF},
		{"declared and nothing written", "GET", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "3")
		}, 200, 3, "", io.ErrUnexpectedEOF},
		{"more than declared", "GET", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "2")
			io.WriteString(w, "ok")
			if _, err := io.WriteString(w, "!"); !errors.Is(err, http.ErrContentLength) {
				panic(err)
			}
		}, 200, 2, "ok", nil},
		{"HEAD has a length and no body", "HEAD", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "2")
			io.WriteString(w, "ok")
		}, 200, 2, "", nil},
		{"no content", "GET", func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(204)
			if _, err := io.WriteString(w, "x"); !errors.Is(err, http.ErrBodyNotAllowed) {
				panic(err)
			}
		}, 204, 0, "", nil},
		{"empty write", "GET", func(w http.ResponseWriter, r *http.Request) {
			if _, err := w.Write(nil); err != nil {
				panic(err)
			}
		}, 200, -1, "", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				resp, err := clientOf(tt.handler).Do(newRequest(t.Context(), t, tt.method, "http://x/", nil))
				if err != nil {
					t.Fatal(err)
				}
				defer resp.Body.Close()
				body, err := io.ReadAll(resp.Body)
				if resp.StatusCode != tt.status || resp.ContentLength != tt.length || string(body) != tt.body || !errors.Is(err, tt.err) {
					t.Errorf("status %d, length %d, body %q, error %v; want %d, %d, %q, %v",
						resp.StatusCode, resp.ContentLength, body, err, tt.status, tt.length, tt.body, tt.err)
				}
			})
		})
	}
}

// Contract 2: a 90-minute watch, in no time.
func TestTransportStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		c := clientOf(func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(time.Second)
			if err := http.NewResponseController(w).Flush(); err != nil {
				t.Errorf("flush: %v", err)
			}
			for i := range 90 {
				time.Sleep(time.Minute)
				fmt.Fprintf(w, "event %d\n", i)
			}
		})
		resp, err := c.Do(newRequest(t.Context(), t, "GET", "http://x/", nil))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if got := time.Since(start); got != time.Second {
			t.Errorf("header came after %v, want at the first flush, after 1s", got)
		}
		lines := bufio.NewScanner(resp.Body)
		n := 0
		for ; lines.Scan(); n++ {
			if want := time.Second + time.Duration(n+1)*time.Minute; time.Since(start) != want {
				t.Errorf("%q came after %v, want %v", lines.Text(), time.Since(start), want)
			}
		}
		if n != 90 || lines.Err() != nil {
			t.Errorf("%d events, error %v; want 90, nil", n, lines.Err())
		}
	})
}

// Contract 2: request and response flow at the same time.
func TestTransportIsFullDuplex(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clientOf(func(w http.ResponseWriter, r *http.Request) {
			if err := http.NewResponseController(w).EnableFullDuplex(); err != nil {
				t.Error(err)
			}
			if r.ContentLength != -1 {
				t.Errorf("ContentLength = %d, want -1: the client does not know it", r.ContentLength)
			}
			w.WriteHeader(200)
			io.Copy(w, r.Body)
		})
		pr, pw := io.Pipe()
		resp, err := c.Do(newRequest(t.Context(), t, "POST", "http://x/", pr))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		for _, word := range []string{"one", "two"} {
			if _, err := io.WriteString(pw, word); err != nil {
				t.Fatal(err)
			}
			got := make([]byte, len(word))
			if _, err := io.ReadFull(resp.Body, got); err != nil || string(got) != word {
				t.Fatalf("echo %q, %v; want %q", got, err, word)
			}
		}
		pw.Close()
		if _, err := resp.Body.Read(make([]byte, 1)); err != io.EOF {
			t.Errorf("at the end: %v, want EOF", err)
		}
	})
}

// Contract 3: back-pressure, until the client goes, whichever way it goes.
func TestTransportClientGone(t *testing.T) {
	for _, tt := range []struct {
		name string
		// leave ends the client's interest and returns what its next Read must return.
		leave func(cancel context.CancelCauseFunc, resp *http.Response) error
	}{
		{"context cancelled", func(cancel context.CancelCauseFunc, resp *http.Response) error {
			cancel(nil)
			return context.Canceled
		}},
		{"context cancelled with a cause", func(cancel context.CancelCauseFunc, resp *http.Response) error {
			cancel(errBored)
			return errBored
		}},
		{"body closed", func(cancel context.CancelCauseFunc, resp *http.Response) error {
			resp.Body.Close()
			return http.ErrBodyReadAfterClose
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				blocked, ended := false, false
				c := clientOf(func(w http.ResponseWriter, r *http.Request) {
					io.WriteString(w, "read")
					blocked = true
					_, err := io.WriteString(w, "never read")
					blocked = false
					if err == nil {
						t.Error("a write that nobody read succeeded")
					}
					<-r.Context().Done()
					if _, err := io.WriteString(w, "later"); err == nil {
						t.Error("a write after the client had gone succeeded")
					}
					if err := http.NewResponseController(w).Flush(); err == nil {
						t.Error("a flush after the client had gone succeeded")
					}
					if _, err := r.Body.Read(make([]byte, 1)); err == nil || err == io.EOF {
						t.Errorf("reading the request after the client had gone: %v, want an error", err)
					}
					ended = true
				})
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				pr, pw := io.Pipe()
				resp, err := c.Do(newRequest(ctx, t, "POST", "http://x/", pr))
				if err != nil {
					t.Fatal(err)
				}
				if _, err := io.ReadFull(resp.Body, make([]byte, 4)); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Hour)
				synctest.Wait()
				if !blocked {
					t.Fatal("the writer is not held back by a client that does not read")
				}

				want := tt.leave(cancel, resp)
				synctest.Wait()
				if !ended {
					t.Fatal("the handler did not end with its client")
				}
				if _, err := resp.Body.Read(make([]byte, 1)); !errors.Is(err, want) {
					t.Errorf("client reads %v, want %v", err, want)
				}
				if _, err := io.WriteString(pw, "x"); err == nil {
					t.Error("the request's body was not closed")
				}
			})
		})
	}
}

var errBored = errors.New("bored")

// Contract 3: before the answer too.
func TestTransportTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := false
		c := clientOf(func(w http.ResponseWriter, r *http.Request) {
			if _, ok := r.Context().Deadline(); ok {
				t.Error("the handler sees the client's deadline")
			}
			// A handler that waits for a body that does not come.
			if _, err := io.ReadAll(r.Body); err == nil {
				t.Error("the request's body ended well")
			}
			<-r.Context().Done()
			ended = true
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		start := time.Now()
		pr, _ := io.Pipe()
		_, err := c.Do(newRequest(ctx, t, "POST", "http://x/", pr))
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Minute {
			t.Errorf("error %v after %v, want deadline exceeded after 1m", err, time.Since(start))
		}
		synctest.Wait()
		if !ended {
			t.Error("the handler did not end with its client")
		}
	})
}

func TestTransportRefusesAnEndedContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c := clientOf(func(http.ResponseWriter, *http.Request) { t.Error("the handler was called") })
	body := &closeCounter{}
	_, err := c.Do(newRequest(ctx, t, "POST", "http://x/", body))
	if !errors.Is(err, context.Canceled) || body.closed != 1 {
		t.Errorf("error %v, body closed %d times; want canceled, once", err, body.closed)
	}
	if _, err := envtest.Transport(nil).RoundTrip(&http.Request{}); err == nil {
		t.Error("a request without URL was accepted")
	}
}

// Contract 1: as http.RoundTripper demands, the request's body is closed, once.
func TestTransportClosesTheRequestBodyOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		body := &closeCounter{}
		c := clientOf(func(w http.ResponseWriter, r *http.Request) { r.Body.Close() })
		resp, err := c.Do(newRequest(t.Context(), t, "POST", "http://x/", body))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		synctest.Wait()
		if body.closed != 1 {
			t.Errorf("closed %d times, want once", body.closed)
		}
	})
}

type closeCounter struct{ closed int }

func (c *closeCounter) Read([]byte) (int, error) { return 0, io.EOF }
func (c *closeCounter) Close() error             { c.closed++; return nil }

// Contract 4.
func TestTransportHandlerCutOff(t *testing.T) {
	type end struct {
		name string
		f    func()
		logs bool
	}
	for _, tt := range []end{
		{"abort", func() { panic(http.ErrAbortHandler) }, false},
		{"panic", func() { panic("handler is broken") }, true},
		{"goexit", func() { (&testing.T{}).SkipNow() }, false},
	} {
		for _, when := range []string{"before the header", "after the header", "in the body"} {
			t.Run(tt.name+" "+when, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var log bytes.Buffer
					logger := ktesting.NewLogger(writerLog{&log}, ktesting.NewConfig())
					c := clientOf(func(w http.ResponseWriter, r *http.Request) {
						switch when {
						case "after the header":
							w.WriteHeader(200)
						case "in the body":
							io.WriteString(w, "half an ev")
						}
						tt.f()
					})
					ctx := klog.NewContext(t.Context(), logger)
					resp, err := c.Do(newRequest(ctx, t, "GET", "http://x/secret/path", nil))
					if err == nil {
						defer resp.Body.Close()
						_, err = io.ReadAll(resp.Body)
						if when == "before the header" {
							t.Error("got a response, want none")
						}
					}
					if !errors.Is(err, io.ErrUnexpectedEOF) {
						t.Errorf("client sees %v, want %v", err, io.ErrUnexpectedEOF)
					}
					synctest.Wait()
					if logged := strings.Contains(log.String(), "handler is broken"); logged != tt.logs {
						t.Errorf("logged = %v, want %v: %s", logged, tt.logs, log.String())
					}
				})
			})
		}
	}
}

// writerLog is a ktesting.TL that writes into a buffer.
type writerLog struct{ io.Writer }

func (w writerLog) Helper()                 {}
func (w writerLog) Log(args ...interface{}) { fmt.Fprintln(w, args...) }

// Contract 1: many requests at once, through client-go's rest client.
func TestTransportServesARESTConfig(t *testing.T) {
	cfg := &rest.Config{Host: "http://in.memory", Transport: envtest.Transport(http.HandlerFunc(
		func(w http.ResponseWriter, r *http.Request) { io.Copy(w, r.Body) }))}
	c, err := rest.HTTPClientFor(cfg)
	if err != nil {
		t.Fatal(err)
	}
	errs := make(chan error)
	const n = 50
	for i := range n {
		go func() {
			want := strings.Repeat(fmt.Sprint(i), 10_000)
			resp, err := c.Post(cfg.Host, "text/plain", strings.NewReader(want))
			if err != nil {
				errs <- err
				return
			}
			defer resp.Body.Close()
			got, err := io.ReadAll(resp.Body)
			if err == nil && string(got) != want {
				err = fmt.Errorf("request %d got another's answer", i)
			}
			errs <- err
		}()
	}
	for range n {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}
