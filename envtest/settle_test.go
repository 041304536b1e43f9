package envtest

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"governor/envtest/storage"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var configMaps = schema.GroupResource{Resource: "configmaps"}

// owned is a ConfigMap that another one owns, and whose deletion in the foreground it
// holds up.
func owned(name string, owner string, uid any, finalizers ...string) string {
	text := ""
	if len(finalizers) > 0 {
		text = fmt.Sprintf(`,"finalizers":[%q]`, finalizers[0])
	}
	return fmt.Sprintf(`{"metadata":{"name":%q%s,"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":%q,"uid":"%v","blockOwnerDeletion":true}]}}`,
		name, text, owner, uid)
}

// chain creates ConfigMaps a, b, c, each owned by the one before.
func chain(t testing.TB, s *Server, finalizers ...string) {
	t.Helper()
	a := mustSend(t, s, "POST", inDefault+"configmaps", `{"metadata":{"name":"a"}}`)
	b := mustSend(t, s, "POST", inDefault+"configmaps", owned("b", "a", a.UID))
	mustSend(t, s, "POST", inDefault+"configmaps", owned("c", "b", b.UID, finalizers...))
}

// happened lists what has happened to some resources, in order: +a, ~a, -a.
func happened(t testing.TB, s *Server, after uint64, resources ...schema.GroupResource) string {
	t.Helper()
	var changes []storage.Change
	for _, r := range resources {
		cursor := s.store.Cursor(r, after)
		found, _, err := cursor.Next()
		if err != nil {
			t.Fatal(err)
		}
		changes = append(changes, found...)
	}
	slices.SortFunc(changes, func(a, b storage.Change) int { return int(a.ResourceVersion) - int(b.ResourceVersion) })
	var texts []string
	for _, c := range changes {
		texts = append(texts, map[storage.ChangeType]string{storage.Added: "+", storage.Modified: "~", storage.Deleted: "-"}[c.Type]+c.Object.Name)
	}
	return strings.Join(texts, " ")
}

// The events come in the order in which a cluster's controllers make them.
func TestWhatFollowsADelete(t *testing.T) {
	tests := []struct {
		name, query string
		held        bool // by a finalizer on the last of the chain
		want        string
	}{
		{"background: the owner first", "", false, "-a -b -c"},
		{"background: as far as it goes", "", true, "-a -b ~c"},
		{"foreground: the owner last", "?propagationPolicy=Foreground", false, "~a ~b -c -b -a"},
		{"foreground: nothing, while one is held", "?propagationPolicy=Foreground", true, "~a ~b ~c"},
		{"orphan: the owner alone", "?propagationPolicy=Orphan", false, "~a ~b -a"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newQuiet(t)
			if tt.held {
				chain(t, s, "x/y")
			} else {
				chain(t, s)
			}
			before := s.store.ResourceVersion()
			mustSend(t, s, "DELETE", inDefault+"configmaps/a"+tt.query, "")
			if got := happened(t, s, before, configMaps); got != tt.want {
				t.Errorf("%s, want %s", got, tt.want)
			}
			if !tt.held {
				return
			}
			before = s.store.ResourceVersion()
			mustSend(t, s, "PUT", inDefault+"configmaps/c", `{"metadata":{"name":"c"}}`)
			want := "-c"
			if tt.query != "" {
				want = "-c -b -a"
			}
			if got := happened(t, s, before, configMaps); got != want {
				t.Errorf("let go: %s, want %s", got, want)
			}
		})
	}
}

func TestNamespaceGoesWhenItIsEmpty(t *testing.T) {
	s := newQuiet(t)
	mustSend(t, s, "POST", "/api/v1/namespaces", `{"metadata":{"name":"n"}}`)
	const in = "/api/v1/namespaces/n/"
	mustSend(t, s, "POST", in+"pods", `{"metadata":{"name":"pod"},"spec":{"nodeName":"x","containers":[{"name":"c","image":"i"}]}}`)
	mustSend(t, s, "POST", in+"configmaps", `{"metadata":{"name":"held","finalizers":["x/y"]}}`)
	mustSend(t, s, "POST", in+"secrets", `{"metadata":{"name":"free"}}`)
	all := []schema.GroupResource{namespaces, pods, configMaps, {Resource: "secrets"}}
	steps := []struct {
		method, path, body string
		want, left         string
	}{
		{"DELETE", "/api/v1/namespaces/n", "", "~n ~pod ~n", "pods. has 1 resource instances"},
		{"DELETE", in + "pods/pod?gracePeriodSeconds=0", "", "~pod -pod ~held -free ~n", "configmaps. has 1 resource instances"},
		{"PUT", in + "configmaps/held", `{"metadata":{"name":"held"}}`, "-held ~n -n", ""},
	}
	for _, step := range steps {
		before := s.store.ResourceVersion()
		mustSend(t, s, step.method, step.path, step.body)
		if got := happened(t, s, before, all...); got != step.want {
			t.Errorf("%s %s: %s, want %s", step.method, step.path, got, step.want)
		}
		o := s.store.Get(namespaces, "", "n")
		if step.left == "" {
			if o != nil {
				t.Error("the namespace is still there")
			}
			break
		}
		i := slices.IndexFunc(o.Value.(*corev1.Namespace).Status.Conditions, func(c corev1.NamespaceCondition) bool {
			return c.Type == corev1.NamespaceContentRemaining && strings.Contains(c.Message, step.left)
		})
		if i < 0 {
			t.Errorf("%s %s: %v", step.method, step.path, o.Value)
		}
	}
	if code, answer := send(t, s, "POST", in+"configmaps", `{"metadata":{"name":"late"}}`); code != 404 {
		t.Error(code, answer)
	}
}

// Whatever is created beside the deletion of a namespace is refused, or goes with it.
func TestNothingOutlivesItsNamespace(t *testing.T) {
	for range 20 {
		s := newQuiet(t)
		mustSend(t, s, "POST", "/api/v1/namespaces", `{"metadata":{"name":"n"}}`)
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				for j := range 10 {
					code, answer := send(t, s, "POST", "/api/v1/namespaces/n/configmaps", fmt.Sprintf(`{"metadata":{"name":"c-%d-%d"}}`, i, j))
					if code != 201 && code != 403 && code != 404 {
						t.Error(code, answer)
					}
				}
			})
		}
		wg.Go(func() { mustSend(t, s, "DELETE", "/api/v1/namespaces/n", "") })
		wg.Wait()
		if left, _, err := s.store.List(configMaps, "n", 0); err != nil || len(left) > 0 {
			t.Fatalf("%d are left: %v", len(left), err)
		}
		if s.store.Get(namespaces, "", "n") != nil {
			t.Fatal("the namespace is still there")
		}
	}
}

// An owner that waits goes, whoever takes its last dependent away, and when.
func TestForegroundDeleteRaces(t *testing.T) {
	for range 20 {
		s := newQuiet(t)
		owner := mustSend(t, s, "POST", inDefault+"configmaps", `{"metadata":{"name":"owner"}}`)
		for i := range 6 {
			mustSend(t, s, "POST", inDefault+"configmaps", owned(fmt.Sprint("d", i), "owner", owner.UID, "x/y"))
		}
		var wg sync.WaitGroup
		wg.Go(func() { mustSend(t, s, "DELETE", inDefault+"configmaps/owner?propagationPolicy=Foreground", "") })
		for i := range 6 {
			wg.Go(func() {
				send(t, s, "DELETE", inDefault+fmt.Sprint("configmaps/d", i), "")
				send(t, s, "PUT", inDefault+fmt.Sprint("configmaps/d", i), fmt.Sprintf(`{"metadata":{"name":"d%d"}}`, i))
			})
		}
		wg.Wait()
		if left, _, _ := s.store.List(configMaps, "default", 0); len(left) > 0 {
			t.Fatalf("%d are left, such as %v", len(left), left[0].Value)
		}
	}
}

// Deleting many at once takes time in proportion to how many they are.
func TestManyDependents(t *testing.T) {
	s := newQuiet(t)
	owner := mustSend(t, s, "POST", inDefault+"configmaps", `{"metadata":{"name":"owner"}}`)
	for i := range 2000 {
		mustSend(t, s, "POST", inDefault+"configmaps", owned(fmt.Sprint("d", i), "owner", owner.UID))
	}
	mustSend(t, s, "DELETE", inDefault+"configmaps/owner?propagationPolicy=Foreground", "")
	if left, _, _ := s.store.List(configMaps, "default", 0); len(left) > 0 {
		t.Errorf("%d are left", len(left))
	}
	if n := len(s.ledger.dependents); n > 0 {
		t.Errorf("the ledger still has %d owners", n)
	}
}

func TestWhoseOwnerWasNeverThere(t *testing.T) {
	s := newQuiet(t)
	before := s.store.ResourceVersion()
	mustSend(t, s, "POST", inDefault+"configmaps", owned("a", "nobody", "f00"))
	if got := happened(t, s, before, configMaps); got != "+a -a" {
		t.Errorf("%s, want that it goes again", got)
	}
	before = s.store.ResourceVersion()
	mustSend(t, s, "POST", inDefault+"configmaps",
		strings.ReplaceAll(owned("a", "nobody", "f00"), `"apiVersion":"v1"`, `"apiVersion":"example.com/v1"`))
	if got := happened(t, s, before, configMaps); got != "+a" {
		t.Errorf("%s, want that it stays: nobody knows its owner's kind", got)
	}
	// An Event's references are nobody's business.
	mustSend(t, s, "POST", inDefault+"events", `{"metadata":{"name":"e","ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"x","uid":"y"}]},"involvedObject":{"namespace":"default"}}`)
	if s.store.Get(events, "default", "e") == nil {
		t.Error("an Event was collected")
	}
}

const widgets = `{"metadata":{"name":"widgets.example.com"},"spec":{"group":"example.com","scope":"Namespaced",
	"names":{"plural":"widgets","kind":"Widget"},"versions":[{"name":"v1","served":true,"storage":true,
	"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}}`

func TestDefinitionIsServedAtOnceAndTakesItsObjectsAlong(t *testing.T) {
	s := newQuiet(t)
	const crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	const in = "/apis/example.com/v1/namespaces/default/widgets"
	resource := schema.GroupResource{Group: "example.com", Resource: "widgets"}
	mustSend(t, s, "POST", crds, widgets)
	mustSend(t, s, "POST", in, `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"free"}}`)
	held := mustSend(t, s, "POST", in, `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"held","finalizers":["x/y"]}}`)
	mustSend(t, s, "DELETE", crds+"/widgets.example.com", "")
	if left, _, _ := s.store.List(resource, "", 0); len(left) != 1 || left[0].Value.GetDeletionTimestamp() == nil {
		t.Fatalf("left: %v", left)
	}
	if code, answer := send(t, s, "POST", in, `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"late"}}`); code != 403 {
		t.Errorf("create while it is going: %d %s", code, answer)
	}
	now := s.store.Get(resource, "default", "held").Value.GetResourceVersion()
	mustSend(t, s, "PUT", in+"/held", fmt.Sprintf(`{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"held","uid":%q,"resourceVersion":%q}}`, held.UID, now))
	if code, answer := send(t, s, "GET", in, ""); code != 404 {
		t.Errorf("after it has gone: %d %s", code, answer)
	}
	if code, _ := send(t, s, "GET", crds+"/widgets.example.com", ""); code != 404 {
		t.Errorf("the definition: %d", code)
	}
}

// Owners that are not there are taken out of the references beside one that is.
func TestLostOwnersAreForgotten(t *testing.T) {
	s := newQuiet(t)
	there := mustSend(t, s, "POST", inDefault+"configmaps", `{"metadata":{"name":"there"}}`)
	before := s.store.ResourceVersion()
	mustSend(t, s, "POST", inDefault+"configmaps", fmt.Sprintf(`{"metadata":{"name":"a","ownerReferences":[
		{"apiVersion":"v1","kind":"ConfigMap","name":"there","uid":%q},{"apiVersion":"v1","kind":"ConfigMap","name":"gone","uid":"f00"}]}}`, there.UID))
	if got := happened(t, s, before, configMaps); got != "+a ~a" {
		t.Errorf("%s", got)
	}
	if uids := ownerUIDs(s.store.Get(configMaps, "default", "a").Value); len(uids) != 1 || uids[0] != there.UID {
		t.Errorf("owners %v", uids)
	}
}
