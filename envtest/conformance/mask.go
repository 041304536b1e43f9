package conformance

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// mask knows what the volatile values of one case stand for, in both
// directions: it writes $rv1 into an answer where the server's resourceVersion
// stood, and the resourceVersion into a later request where $rv1 stands.
//
//	$NS        the case's namespace
//	$rv1       the first resourceVersion of an object that the case has seen, $rv2
//	           the next, later one; a list's or a bookmark's is the last one that is
//	           not later. $rv0 is one before all of them.
//	$uid1      UUIDs, in the order in which they were seen
//	$name1     generated names
//	$continue1 tokens of lists
//	$token1    tokens of service accounts
//	$hash      every storageVersionHash of discovery
//	$time      every timestamp; $age every age of some seconds
type mask struct {
	values map[string]string // by variable, without the $
	names  map[string]string // variables by kind and value
	counts map[string]int
	latest uint64 // resourceVersion
}

func newMask(namespace string) *mask {
	return &mask{
		values: map[string]string{"NS": namespace, "rv0": "1"},
		names:  map[string]string{},
		counts: map[string]int{},
	}
}

var variable = regexp.MustCompile(`\$(NS|(?:rv|uid|name|continue|token)[0-9]+|webhook|ca)\b`)

// expand puts the values into a request's text.
func (m *mask) expand(text string) (string, error) {
	var unknown string
	text = variable.ReplaceAllStringFunc(text, func(v string) string {
		value, ok := m.values[v[1:]]
		if !ok {
			unknown = v
		}
		return value
	})
	if unknown != "" {
		return "", fmt.Errorf("%s stands for nothing yet", unknown)
	}
	return text, nil
}

// name gives a value its variable, the next of its kind if it has none.
func (m *mask) name(kind, value string) string {
	if v, ok := m.names[kind+value]; ok {
		return v
	}
	m.counts[kind]++
	v := kind + strconv.Itoa(m.counts[kind])
	m.names[kind+value] = "$" + v
	m.values[v] = value
	return "$" + v
}

// resourceVersion masks an object's. One that comes late, after a later one, is an
// $old: a fault, unless someone else wrote the object.
func (m *mask) resourceVersion(value string) string {
	n, err := strconv.ParseUint(value, 10, 64)
	if err != nil {
		return value
	}
	if _, known := m.names["rv"+value]; !known && n < m.latest {
		return m.name("old", value)
	}
	if m.counts["rv"] == 0 {
		m.values["rv0"] = strconv.FormatUint(n-1, 10)
	}
	m.latest = max(m.latest, n)
	return m.name("rv", value)
}

// floor masks a resourceVersion that is not an object's: whoever else writes to
// the server moves it, so that only what the case wrote counts.
func (m *mask) floor(value string) string {
	n, err := strconv.ParseUint(value, 10, 64)
	if err != nil {
		return value
	}
	for i := m.counts["rv"]; i > 0; i-- {
		v := "rv" + strconv.Itoa(i)
		if known, _ := strconv.ParseUint(m.values[v], 10, 64); known <= n {
			return "$" + v
		}
	}
	return "$rv0"
}

// generated is what the server appends to a generateName.
var generated = regexp.MustCompile(`^[bcdfghjklmnpqrstvwxz2456789]{5}$`)

// object masks the values that are known by their place, in any JSON value.
func (m *mask) object(value any) {
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			m.object(item)
		}
	case map[string]any:
		if meta, ok := v["metadata"].(map[string]any); ok {
			_, isList := v["items"]
			_, isTable := v["rows"]
			m.metadata(meta, isList || isTable || !isText(meta["name"]))
		}
		if status, ok := v["status"].(map[string]any); ok && isText(status["token"]) {
			status["token"] = m.name("token", status["token"].(string))
		}
		if isText(v["storageVersionHash"]) {
			v["storageVersionHash"] = "$hash"
		}
		for k, item := range v {
			if k != "metadata" {
				m.object(item)
			}
		}
	}
}

func (m *mask) metadata(meta map[string]any, shared bool) {
	if rv, ok := meta["resourceVersion"].(string); ok {
		if shared {
			meta["resourceVersion"] = m.floor(rv)
		} else {
			meta["resourceVersion"] = m.resourceVersion(rv)
		}
	}
	if token, ok := meta["continue"].(string); ok && token != "" {
		meta["continue"] = m.name("continue", token)
	}
	prefix, _ := meta["generateName"].(string)
	name, _ := meta["name"].(string)
	if suffix, ok := strings.CutPrefix(name, prefix); ok && prefix != "" && generated.MatchString(suffix) {
		meta["name"] = m.name("name", name)
	}
	managedFields(meta)
}

func isText(value any) bool {
	s, ok := value.(string)
	return ok && s != ""
}

var (
	uuid      = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	timestamp = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)
	version   = regexp.MustCompile(`(?i)resource ?versions?\b[^0-9]*[0-9].*`)
	present   = regexp.MustCompile(`(too old resource version: [0-9]+) \([0-9]+\)`) // whatever it is
	digits    = regexp.MustCompile(`\b[0-9]+\b`)
	age       = regexp.MustCompile(`^\d+s$`)
	source    = regexp.MustCompile(`in scheme "[^"]*"`) // names a line of Go
)

// texts masks what is known by its form, in every string of a JSON value.
func (m *mask) texts(value any) any {
	switch v := value.(type) {
	case string:
		return m.text(v)
	case []any:
		for i := range v {
			v[i] = m.texts(v[i])
		}
	case map[string]any:
		masked := make(map[string]any, len(v))
		for _, k := range keys(v) { // in the order in which they are written
			masked[m.text(k)] = m.texts(v[k])
		}
		return masked
	}
	return value
}

// text masks what is known by its form, in a text.
func (m *mask) text(s string) string {
	s = uuid.ReplaceAllStringFunc(s, func(v string) string { return m.name("uid", v) })
	s = timestamp.ReplaceAllString(s, "$$time")
	s = age.ReplaceAllString(s, "$$age")
	s = source.ReplaceAllString(s, "in a scheme")
	for key, v := range m.names {
		if name, ok := strings.CutPrefix(key, "name"); ok {
			s = strings.ReplaceAll(s, name, v)
		}
	}
	return strings.ReplaceAll(s, m.values["NS"], "$NS")
}

// message masks the resourceVersions in an error's text, too.
func (m *mask) message(s string) string {
	s = present.ReplaceAllString(m.text(s), "$1 ($$rv)")
	return version.ReplaceAllStringFunc(s, func(part string) string {
		return digits.ReplaceAllStringFunc(part, func(n string) string {
			if v, ok := m.names["rv"+n]; ok {
				return v
			}
			if len(n) < 2 {
				return n
			}
			return "$rv"
		})
	})
}
