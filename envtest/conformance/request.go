package conformance

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"sigs.k8s.io/yaml"
)

// request is a check's request, understood.
type request struct {
	method, path string
	header       http.Header
	user         string   // "As: alice group1 group2"
	groups       []string // "nobody" alone: no credentials
	body         string
	show         show
}

// show says what of the answer is looked at: what stands after " | ".
type show struct {
	codeOnly bool     // "code"
	managers bool     // "managers": metadata.managedFields too
	stream   bool     // "events": the answer is a watch's, read to its end
	events   int      // "3 events": so many of them
	until    string   // "until 404", "until status.phase=Active": asked again until then
	headers  []string // "Content-Type": names in capitals
	paths    []string // everything else
}

var headerLine = regexp.MustCompile(`^([A-Z][A-Za-z-]*): (.*)$`)

// parseRequest reads the lines of a request, in which every variable has its value.
func parseRequest(lines []string) (*request, error) {
	line, filter, _ := strings.Cut(lines[0], " | ")
	method, path, _ := strings.Cut(line, " ")
	r := &request{method: method, path: strings.ReplaceAll(path, " ", "%20"), header: http.Header{}}
	if err := r.show.parse(strings.Fields(filter)); err != nil {
		return nil, err
	}
	rest := lines[1:]
	for len(rest) > 0 {
		m := headerLine.FindStringSubmatch(rest[0])
		if m == nil {
			break
		}
		if rest = rest[1:]; m[1] != "As" {
			r.header.Add(m[1], m[2])
			continue
		}
		who := strings.Fields(m[2])
		r.user, r.groups = who[0], who[1:]
	}
	return r, r.setBody(strings.Join(rest, "\n"))
}

func (s *show) parse(words []string) error {
	for i := 0; i < len(words); i++ {
		word := words[i]
		switch {
		case word == "code":
			s.codeOnly = true
		case word == "managers":
			s.managers = true
		case word == "until" && i+1 < len(words):
			i++
			s.until = words[i]
		case i+1 < len(words) && words[i+1] == "events":
			n, err := strconv.Atoi(word)
			if err != nil || n < 1 {
				return fmt.Errorf("%q events: not a number", word)
			}
			s.stream, s.events = true, n
			i++
		case word == "events":
			s.stream = true
		case word[0] >= 'A' && word[0] <= 'Z':
			s.headers = append(s.headers, word)
		default:
			s.paths = append(s.paths, word)
		}
	}
	return nil
}

// setBody makes JSON of a body that is YAML in the script. It leaves alone one that
// is JSON there ("{" or "[" at its beginning), malformed or not, and one whose
// Content-Type says that YAML is what is sent.
func (r *request) setBody(text string) error {
	if text == "" {
		return nil
	}
	if r.header.Get("Content-Type") == "" {
		r.header.Set("Content-Type", "application/json")
	}
	r.body = text
	if strings.HasSuffix(r.header.Get("Content-Type"), "yaml") || strings.ContainsAny(text[:1], `{["!`) {
		return nil
	}
	body, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		return fmt.Errorf("body: %w", err)
	}
	r.body = string(body)
	return nil
}

// userAgent makes "conformance" the field manager of those who name none.
const userAgent = "conformance/1"

func (r *request) send(ctx context.Context, t Target) (*http.Response, error) {
	method := r.method
	if method == "WATCH" {
		method = http.MethodGet
	}
	client, host, err := t.client(r.user, r.groups)
	if err != nil {
		return nil, err
	}
	// The body's length is always known, as it is with every client of Kubernetes.
	req, err := http.NewRequestWithContext(ctx, method, host+r.path, strings.NewReader(r.body))
	if err != nil {
		return nil, err
	}
	req.Header = r.header
	req.Header.Set("User-Agent", userAgent)
	return client.RoundTrip(req)
}

// How long a case may take. Garbage collection of a kind that it has just learned takes
// the real server half a minute.
const (
	shortPatience = 15 * time.Second
	longPatience  = 90 * time.Second
)

// readAll reads a body that ends.
func readAll(resp *http.Response) ([]byte, error) {
	defer resp.Body.Close()
	return io.ReadAll(resp.Body)
}
