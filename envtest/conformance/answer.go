package conformance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// usual are the values of headers that answers do not show.
var usual = map[string]string{"Content-Type": "application/json"}

// shown are the headers that answers show where they have another value.
var shown = []string{"Content-Type", "Location", "Retry-After", "Warning"}

// head writes the status line and the headers of an answer.
func head(resp *http.Response, s show) []string {
	lines := []string{fmt.Sprintf("%d %s", resp.StatusCode, http.StatusText(resp.StatusCode))}
	if s.codeOnly {
		return lines
	}
	for _, name := range shown {
		for _, value := range resp.Header.Values(name) {
			if value != usual[name] || slices.Contains(s.headers, name) {
				lines = append(lines, name+": "+value)
			}
		}
	}
	return lines
}

// body writes an answer's body: a Status in its own form, an object as YAML,
// anything else as quoted text.
func (m *mask) body(contentType string, data []byte, s show) ([]string, error) {
	if len(data) == 0 {
		return nil, nil
	}
	value, err := decode(contentType, data)
	if err != nil {
		return nil, err
	}
	if s.codeOnly {
		m.object(value) // what it has is seen now
		return nil, nil
	}
	if text, ok := value.(string); ok {
		return quote(m.text(text)), nil
	}
	if lines, ok := m.status(value); ok {
		return lines, nil
	}
	return m.lines(m.shown(value, s)), nil
}

// shown masks a value and leaves what is looked at.
func (m *mask) shown(value any, s show) any {
	m.object(value)
	if !s.managers {
		dropManagedFields(value)
	}
	if len(s.paths) > 0 {
		return pick(value, s.paths)
	}
	return value
}

func dropManagedFields(value any) {
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			dropManagedFields(item)
		}
	case map[string]any:
		if meta, ok := v["metadata"].(map[string]any); ok {
			delete(meta, "managedFields")
		}
		for _, item := range v {
			dropManagedFields(item)
		}
	}
}

func (m *mask) lines(value any) []string {
	if value == nil {
		return nil
	}
	return render(m.texts(value))
}

// status writes a metav1.Status, shortest where it is regular:
//
//	AlreadyExists: configmaps "a" already exists
//	details: {name: a, kind: configmaps}
func (m *mask) status(value any) ([]string, bool) {
	v, ok := value.(map[string]any)
	if !ok || v["kind"] != "Status" || v["apiVersion"] != "v1" {
		return nil, false
	}
	text := func(key string) string { s, _ := v[key].(string); return s }
	reason := text("reason")
	if reason == "" {
		reason = "(no reason)"
	}
	message := text("message")
	line := reason + ": " + m.message(message)
	if text("status") == "Success" && text("reason")+message == "" {
		line = "Success"
	}
	m.object(v) // the token of a list that has expired
	v = maps.Clone(v)
	for _, regular := range []string{"kind", "apiVersion", "reason", "message"} {
		delete(v, regular)
	}
	if text("status") == "Failure" || line == "Success" {
		delete(v, "status")
		delete(v, "code")
	}
	if meta, ok := v["metadata"].(map[string]any); ok && len(meta) == 0 {
		delete(v, "metadata")
	}
	lines := indented(line)
	if details, ok := v["details"].(map[string]any); ok {
		for _, c := range list(details["causes"]) {
			m.cause(c, message)
		}
	}
	if len(v) > 0 {
		lines = append(lines, m.lines(v)...)
	}
	return lines, true
}

// cause masks one cause, and does not repeat what the error's message says of it.
func (m *mask) cause(value any, whole string) {
	cause, ok := value.(map[string]any)
	if !ok || !isText(cause["message"]) {
		return
	}
	message := cause["message"].(string)
	if field, _ := cause["field"].(string); strings.Contains(whole, field+": "+message) {
		cause["message"] = "…"
		return
	}
	cause["message"] = m.message(message)
}

func list(value any) []any {
	l, _ := value.([]any)
	return l
}

// quote marks lines of text, so that empty ones and dashes stay what they are.
func quote(text string) []string {
	var lines []string
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		lines = append(lines, "> "+line)
	}
	return lines
}

// indented keeps a text of several lines together.
func indented(text string) []string {
	lines := strings.FieldsFunc(text, func(r rune) bool { return r == '\n' })
	for i := 1; i < len(lines); i++ {
		lines[i] = "  " + lines[i]
	}
	return lines
}

// event writes one frame of a watch.
func (m *mask) event(frame []byte, s show) ([]string, error) {
	var e struct {
		Type   string
		Object map[string]any
	}
	if err := json.Unmarshal(frame, &e); err != nil {
		return nil, fmt.Errorf("frame %q: %w", frame, err)
	}
	if e.Type == "ERROR" {
		lines, _ := m.status(e.Object)
		for i := range lines {
			lines[i] = strings.Repeat("  ", min(i, 1)) + lines[i]
		}
		lines[0] = fmt.Sprintf("ERROR %v %s", e.Object["code"], lines[0])
		return lines, nil
	}
	return m.lines(map[string]any{e.Type: m.shown(e.Object, s)}), nil
}

// decode reads a body of any media type that the suite asks for: JSON,
// YAML and protobuf become a JSON value, anything else is text.
func decode(contentType string, data []byte) (any, error) {
	if strings.HasPrefix(contentType, "application/vnd.kubernetes.protobuf") {
		return decodeProtobuf(data)
	}
	if strings.HasPrefix(contentType, "application/yaml") {
		var value any
		err := yaml.Unmarshal(data, &value)
		return value, err
	}
	if !strings.HasPrefix(contentType, "application/json") {
		return string(data), nil
	}
	var value any
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if d.Decode(&value) != nil {
		return string(data), nil
	}
	return value, nil
}
