package kinds_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"governor/envtest/kinds"
	"governor/scheme"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// A webhook's answer becomes the object, but for metadata that is not its to change;
// whatever is wrong with it is an error that says so. Contract 2 and 4.
func TestConversionWebhook(t *testing.T) {
	const good = `{"apiVersion":"example.com/v2","kind":"Widget","metadata":{"name":"a","uid":"u","resourceVersion":"9","labels":{"new":"1"}},"spec":{"b":1}}`
	tests := []struct {
		name, versions, objects string
		// answer changes a good answer, as JSON.
		answer func(answer map[string]any)
		err    error
		want   string // in the error, or in the object
	}{
		{name: "good", objects: good, want: `"spec":{"b":1}`},
		{name: "labels are its to change", objects: good, want: `"labels":{"new":"1"}`},
		{name: "the rest is not", objects: good, want: `"resourceVersion":"5"`},
		{name: "v1beta1", versions: `["v1beta1"]`, objects: good, answer: func(a map[string]any) { a["response"].(map[string]any)["uid"] = "" }, want: `"spec":{"b":1}`},
		{name: "no version that we know", versions: `["v7"]`, objects: good, want: "error: conversion webhook for example.com/v1, Kind=Widget failed: no supported conversion review versions"},
		{name: "unreachable", objects: good, err: errors.New("refused"), want: "error: conversion webhook for example.com/v1, Kind=Widget failed: refused"},
		{name: "no response", objects: good, answer: func(a map[string]any) { delete(a, "response") }, want: "error: conversion webhook for example.com/v1, Kind=Widget failed: no response provided"},
		{name: "another uid", objects: good, answer: func(a map[string]any) { a["response"].(map[string]any)["uid"] = "x" }, want: `failed: expected response.uid=`},
		{name: "another kind of answer", objects: good, answer: func(a map[string]any) { a["kind"] = "Review" }, want: `failed: expected webhook response of apiextensions.k8s.io/v1, Kind=ConversionReview, got apiextensions.k8s.io/v1, Kind=Review`},
		{name: "refused", objects: good, answer: func(a map[string]any) {
			a["response"].(map[string]any)["result"] = map[string]any{"status": "Failure", "message": "not today"}
		}, want: "error: conversion webhook for example.com/v1, Kind=Widget failed: not today"},
		{name: "refused without a word", objects: good, answer: func(a map[string]any) { a["response"].(map[string]any)["result"] = map[string]any{} }, want: "response.result.status was '', not 'Success'"},
		{name: "no object", objects: "", want: "returned 0 objects, expected 1"},
		{name: "two objects", objects: good + "," + good, want: "returned 2 objects, expected 1"},
		{name: "no JSON", objects: `"x"`, want: "error: conversion webhook"},
		{name: "another version", objects: strings.Replace(good, "/v2", "/v3", 1), want: "invalid groupVersion (expected example.com/v2, received example.com/v3)"},
		{name: "another kind", objects: strings.Replace(good, "Widget", "Gadget", 1), want: "must have the same kind: Widget != Gadget"},
		{name: "another name", objects: strings.Replace(good, `"name":"a"`, `"name":"b"`, 1), want: "must have the same name: a != b"},
		{name: "another uid of the object", objects: strings.Replace(good, `"uid":"u"`, `"uid":"v"`, 1), want: "must have the same UID: u != v"},
		{name: "no metadata", objects: `{"apiVersion":"example.com/v2","kind":"Widget"}`, want: "must have the same name: a != "},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			call := func(_ context.Context, where admissionregistrationv1.WebhookClientConfig, question, answer any, timeout time.Duration) error {
				if where.URL == nil || *where.URL != "https://example.com/convert" || timeout != 30*time.Second {
					t.Errorf("called at %v within %v", where.URL, timeout)
				}
				var asked struct {
					APIVersion, Kind string
					Request          struct {
						UID, DesiredAPIVersion string
						Objects                []map[string]any
					}
				}
				if err := json.Unmarshal([]byte(mustJSON(question)), &asked); err != nil {
					t.Fatal(err)
				}
				if asked.Request.DesiredAPIVersion != "example.com/v2" || len(asked.Request.Objects) != 1 || asked.Request.UID == "" {
					t.Errorf("asked %+v", asked)
				}
				reply := parse(t, `{"apiVersion":"`+asked.APIVersion+`","kind":"ConversionReview","response":{"uid":"`+asked.Request.UID+`","result":{"status":"Success"},"convertedObjects":[`+tt.objects+`]}}`)
				if tt.answer != nil {
					tt.answer(reply)
				}
				if tt.err != nil {
					return tt.err
				}
				return json.Unmarshal([]byte(mustJSON(reply)), answer)
			}
			definition := crd(t, v1(`{"type":"object","x-kubernetes-preserve-unknown-fields":true}`),
				`{"name":"v2","served":true,"storage":false,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}`)
			versions := `["v1"]`
			if tt.versions != "" {
				versions = tt.versions
			}
			definition.Object["spec"].(map[string]any)["conversion"] = parse(t, `{"strategy":"Webhook","webhook":{"conversionReviewVersions":`+versions+`,"clientConfig":{"url":"https://example.com/convert"}}}`)
			r := kinds.New(scheme.Builtin(), &kinds.Options{Webhook: call})
			if err := r.SetCRD(definition); err != nil {
				t.Fatal(err)
			}
			object := unstructuredObject(t, `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a","uid":"u","resourceVersion":"5","labels":{"old":"1"}},"spec":{"a":1}}`)
			before := mustJSON(object)
			converted, err := lookup(t, r, "example.com", "v1", "widgets").Rules.Convert(object, schema.GroupVersion{Group: "example.com", Version: "v2"})
			got := ""
			if err != nil {
				got = "error: " + err.Error()
			} else {
				got = mustJSON(converted)
			}
			if !strings.Contains(got, tt.want) {
				t.Errorf("got %s, want %s", got, tt.want)
			}
			if after := mustJSON(object); after != before {
				t.Errorf("written to: %s", after)
			}
		})
	}
}

// Contract 4: without anybody to call, a conversion is an error and not a wrong object.
func TestConversionWebhookWithoutCaller(t *testing.T) {
	definition := crd(t, v1(`{"type":"object"}`), `{"name":"v2","served":true,"storage":false,"schema":{"openAPIV3Schema":{"type":"object"}}}`)
	definition.Object["spec"].(map[string]any)["conversion"] = parse(t, `{"strategy":"Webhook","webhook":{"conversionReviewVersions":["v1"],"clientConfig":{"url":"https://example.com"}}}`)
	_, r := serve(t, "v1", definition)
	if _, err := r.Rules.Convert(widget(t, `{}`), schema.GroupVersion{Group: "example.com", Version: "v2"}); err == nil || !strings.Contains(err.Error(), "nobody calls webhooks here") {
		t.Error(err)
	}
}
