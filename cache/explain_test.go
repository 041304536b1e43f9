package cache

import (
	"strings"
	"testing"
	"testing/synctest"

	"governor/client"

	corev1 "k8s.io/api/core/v1"
)

// The planner takes what has the fewest candidates.
func TestExplain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, c := tenPods(t, nil)
		if err := c.IndexField(t.Context(), &corev1.Pod{}, "node", byNodeName); err != nil {
			t.Fatal(err)
		}
		for _, tt := range []struct {
			opts []client.ListOption
			want string
		}{
			{nil, "v1/Pod: 10 of 10 objects, from 10 candidates by all objects"},
			{[]client.ListOption{client.InNamespace("ns1")}, "v1/Pod: 5 of 10 objects, from 5 candidates by namespace ns1"},
			{[]client.ListOption{client.InNamespace("ns9")}, "v1/Pod: 0 of 10 objects, from 0 candidates by namespace ns9"},
			{[]client.ListOption{client.MatchingFields{"metadata.name": "p3"}}, "v1/Pod: 1 of 10 objects, from 1 candidates by name p3"},
			{[]client.ListOption{client.MatchingFields{"node": "n1"}}, "v1/Pod: 3 of 10 objects, from 3 candidates by index of field node"},
			{[]client.ListOption{client.MatchingFields{"node": "n1"}, client.InNamespace("ns2")}, "v1/Pod: 2 of 10 objects, from 2 candidates by index of field node"},
			{[]client.ListOption{client.MatchingFields{"node": "n0"}, client.MatchingLabels{"app": "x"}, client.InNamespace("ns1")},
				"v1/Pod: 2 of 10 objects, from 2 candidates by index of field node; there is no index on demand of label app yet"},
			{[]client.ListOption{client.MatchingFields{"status.phase": "Pending"}},
				"v1/Pod: 10 of 10 objects, from 10 candidates by all objects; there is no index on demand of field status.phase yet"},
			{[]client.ListOption{client.MatchingFields{"metadata.namespace": "ns1"}, client.InNamespace("ns2")}, "v1/Pod: 0 of 10 objects, from 0 candidates by nothing"},
		} {
			e, err := c.Explain(t.Context(), &corev1.PodList{}, tt.opts...)
			if err != nil || e.String() != tt.want {
				t.Errorf("%v: %v\n got %s\nwant %s", tt.opts, err, e, tt.want)
			}
		}
		if _, err := c.Explain(t.Context(), &corev1.PodList{}, client.MatchingFields{"spec.priority": "1"}); err == nil || !strings.Contains(err.Error(), "spec.priority") {
			t.Errorf("a field that nobody knows: %v", err)
		}
		if _, err := c.Explain(t.Context(), &corev1.PodList{}, client.Limit(-1)); err == nil {
			t.Error("a negative limit")
		}
	})
}

// By namespace there is a line for each informer.
func TestExplainNamespaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, c := tenPods(t, &Options{DefaultNamespaces: map[string]Config{"ns1": {}, "ns2": {}}})
		e, err := c.Explain(t.Context(), &corev1.PodList{}, client.MatchingLabels{"app": "x"})
		if err != nil || len(e.Scopes) != 2 || !strings.Contains(e.String(), "in ns1: 2 of 5") || !strings.Contains(e.String(), "in ns2: 1 of 5") {
			t.Errorf("%v, %v", e, err)
		}
	})
}
