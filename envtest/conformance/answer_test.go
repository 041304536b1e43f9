package conformance

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const object = `{"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "web-x2b5k", "generateName": "web-",
	"namespace": "t1234", "uid": "0f0ca083-66ff-4eca-bda9-4b949e8c5464", "resourceVersion": "17",
	"creationTimestamp": "2026-01-02T03:04:05Z", "managedFields": []}, "data": {"k": "5", "t": "a: b"}}`

// Contract 2.
func TestAnswersAreMasked(t *testing.T) {
	tests := []struct {
		name, contentType, body string
		show                    show
		want                    string
	}{
		{"object", "application/json", object, show{}, "apiVersion: v1\nkind: ConfigMap\n" +
			"metadata:\n  name: $name1\n  namespace: $NS\n  creationTimestamp: $time\n  generateName: web-\n  resourceVersion: $rv1\n  uid: $uid1\n" +
			"data: {k: \"5\", t: \"a: b\"}"},
		{"fields", "application/json", object, show{paths: []string{"metadata.name", "data.k", "none"}}, "metadata: {name: $name1}\ndata: {k: \"5\"}"},
		{"code", "application/json", object, show{codeOnly: true}, ""},
		{"error", "application/json", `{"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "reason": "Invalid",
			"message": "a is invalid: b: wrong", "code": 422, "details": {"causes": [{"field": "b", "message": "wrong", "reason": "X"}, {"message": "other"}]}}`, show{},
			"Invalid: a is invalid: b: wrong\ndetails: {causes: [{field: b, message: …, reason: X}, {message: other}]}"},
		{"error with an extra", "application/json", `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": "m", "extra": 1}`, show{},
			"(no reason): m\nextra: 1"},
		{"success", "application/json", `{"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}`, show{}, "Success"},
		{"text", "text/plain", "404 page\n\nnot found\n", show{}, "> 404 page\n> \n> not found"},
		{"yaml", "application/yaml", "a: {b: c}\n", show{}, "a: {b: c}"},
		{"list", "application/json", `{"metadata": {"resourceVersion": "9", "continue": "abc"}, "items": []}`, show{},
			"metadata: {continue: $continue1, resourceVersion: $rv0}\nitems: []"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			lines, err := newMask("t1234").body(tt.contentType, []byte(tt.body), tt.show)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, strings.Join(lines, "\n")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Contract 2: one value has one name, and the order of versions shows.
func TestVersionsAreNamedInTheirOrder(t *testing.T) {
	m := newMask("ns")
	for _, step := range []struct{ got, want string }{
		{m.resourceVersion("10"), "$rv1"},
		{m.resourceVersion("12"), "$rv2"},
		{m.resourceVersion("10"), "$rv1"},
		{m.resourceVersion("11"), "$old1"},
		{m.floor("12"), "$rv2"},
		{m.floor("99"), "$rv2"},
		{m.floor("11"), "$rv1"},
		{m.floor("9"), "$rv0"},
		{m.message("too old resource version: 10 (12)"), "too old resource version: $rv1 ($rv)"},
		{m.message("Too large resource version: 999, current: 12"), "Too large resource version: $rv, current: $rv2"},
	} {
		if step.got != step.want {
			t.Errorf("got %s, want %s", step.got, step.want)
		}
	}
	if text, err := m.expand("a/$rv2?x=$NS"); text != "a/12?x=ns" || err != nil {
		t.Errorf("expanded to %q, %v", text, err)
	}
	if _, err := m.expand("$rv7"); err == nil {
		t.Error("no error for a variable that stands for nothing")
	}
}

func TestHeadersAreShown(t *testing.T) {
	r := &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}, "Warning": {"one", "two"}, "Audit-Id": {"x"}}}
	if got := strings.Join(head(r, show{}), "|"); got != "200 OK|Warning: one|Warning: two" {
		t.Errorf("head is %s", got)
	}
}
