package controller_test

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"governor/client"
	"governor/controller"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const deployments = "/apis/apps/v1/namespaces/ns/deployments"

// both runs a test with CreateOrUpdate and with CreateOrPatch.
func both(t *testing.T, test func(t *testing.T, verb string, do func(context.Context, client.Client, client.Object, controller.MutateFn) (controller.OperationResult, error))) {
	t.Run("CreateOrUpdate", func(t *testing.T) { test(t, "update", controller.CreateOrUpdate) })
	t.Run("CreateOrPatch", func(t *testing.T) { test(t, "patch", controller.CreateOrPatch) })
}

func deployment() *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "d"}}
}

// Case 53; contract 11.
func TestCreateOrUpdateWritesOnceAndThenOnlyChanges(t *testing.T) {
	both(t, func(t *testing.T, verb string, do func(context.Context, client.Client, client.Object, controller.MutateFn) (controller.OperationResult, error)) {
		s := newServer(t)
		c := s.client(t)
		replicas := int32(2)
		for i := range 11 {
			d := deployment()
			result, err := do(t.Context(), c, d, func() error {
				if i == 10 {
					replicas = 3
				}
				d.Spec.Replicas = &replicas
				if len(d.Spec.Template.Spec.Containers) == 0 {
					d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "web"}}
				}
				d.Spec.Template.Spec.Containers[0].Image = "web:1"
				// Equal in meaning, whatever the spelling: nil or empty, 1 or 1000m.
				d.Spec.Template.Spec.Volumes = nil
				if i%2 == 1 {
					d.Spec.Template.Spec.Volumes = []corev1.Volume{}
				}
				cpu := resource.MustParse([]string{"1", "1000m"}[i%2])
				d.Spec.Template.Spec.Containers[0].Resources.Limits = corev1.ResourceList{corev1.ResourceCPU: cpu}
				return nil
			})
			want := controller.OperationResultNone
			switch i {
			case 0:
				want = controller.OperationResultCreated
			case 10:
				want = controller.OperationResultUpdated
			}
			if err != nil || result != want {
				t.Fatalf("call %d: %s, %v, want %s", i, result, err, want)
			}
			if d.UID == "" || d.Spec.Template.Spec.SchedulerName == "" {
				t.Fatalf("call %d: the object is not what the server has: %+v", i, d.ObjectMeta)
			}
		}
		if got, want := s.writes(), []string{"create " + deployments, verb + " " + deployments + "/d"}; !slices.Equal(got, want) {
			t.Errorf("writes are %q, want %q", got, want)
		}
	})
}

// Case 53; contract 11.
func TestCreateOrUpdateDoesNotWriteWhatItShouldNot(t *testing.T) {
	boom := errors.New("boom")
	for _, tt := range []struct {
		name   string
		exists bool
		mutate func(*appsv1.Deployment) controller.MutateFn
		want   string // in the error; empty means none
		result controller.OperationResult
	}{
		{"nothing changes", true, func(*appsv1.Deployment) controller.MutateFn { return func() error { return nil } }, "", controller.OperationResultNone},
		{"nil function", true, func(*appsv1.Deployment) controller.MutateFn { return nil }, "", controller.OperationResultNone},
		{"error", true, func(*appsv1.Deployment) controller.MutateFn { return func() error { return boom } }, "boom", controller.OperationResultNone},
		{"error before the create", false, func(*appsv1.Deployment) controller.MutateFn { return func() error { return boom } }, "boom", controller.OperationResultNone},
		{"name changes", true, func(d *appsv1.Deployment) controller.MutateFn { return func() error { d.Name = "e"; return nil } }, "must not change name", controller.OperationResultNone},
		{"namespace changes before the create", false, func(d *appsv1.Deployment) controller.MutateFn {
			return func() error { d.Namespace = "other"; return nil }
		}, "must not change name", controller.OperationResultNone},
		{"the kind is dropped", true, func(d *appsv1.Deployment) controller.MutateFn {
			return func() error { d.TypeMeta = metav1.TypeMeta{}; return nil }
		}, "", controller.OperationResultNone},
	} {
		t.Run(tt.name, func(t *testing.T) {
			both(t, func(t *testing.T, _ string, do func(context.Context, client.Client, client.Object, controller.MutateFn) (controller.OperationResult, error)) {
				s := newServer(t)
				c := s.client(t)
				var none []string
				if tt.exists {
					if err := c.Create(t.Context(), deployment()); err != nil {
						t.Fatal(err)
					}
					none = s.writes()
				}
				d := deployment()
				result, err := do(t.Context(), c, d, tt.mutate(d))
				if result != tt.result || (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
					t.Errorf("%s, %v, want %s, %q", result, err, tt.result, tt.want)
				}
				if got := s.writes(); !slices.Equal(got, none) {
					t.Errorf("writes are %q", got)
				}
			})
		})
	}
}

func TestCreateOrUpdateCreatesWithNilFunction(t *testing.T) {
	both(t, func(t *testing.T, _ string, do func(context.Context, client.Client, client.Object, controller.MutateFn) (controller.OperationResult, error)) {
		s := newServer(t)
		if result, err := do(t.Context(), s.client(t), deployment(), nil); err != nil || result != controller.OperationResultCreated {
			t.Errorf("%s, %v", result, err)
		}
	})
}

func TestCreateOrUpdateNeedsAName(t *testing.T) {
	both(t, func(t *testing.T, _ string, do func(context.Context, client.Client, client.Object, controller.MutateFn) (controller.OperationResult, error)) {
		s := newServer(t)
		_, err := do(t.Context(), s.client(t), &appsv1.Deployment{}, nil)
		if err == nil || !strings.Contains(err.Error(), "needs a name") || len(s.Requests()) != 0 {
			t.Errorf("%v after %v", err, s.Requests())
		}
	})
}

// Case 53: somebody else was faster.
func TestCreateOrUpdateReportsRaces(t *testing.T) {
	both(t, func(t *testing.T, _ string, do func(context.Context, client.Client, client.Object, controller.MutateFn) (controller.OperationResult, error)) {
		s := newServer(t)
		c := s.client(t)
		d := deployment()
		result, err := do(t.Context(), c, d, func() error { return c.Create(t.Context(), deployment()) })
		if result != controller.OperationResultNone || !apierrors.IsAlreadyExists(err) {
			t.Errorf("created meanwhile: %s, %v", result, err)
		}
	})

	s := newServer(t)
	c := s.client(t)
	if err := c.Create(t.Context(), deployment()); err != nil {
		t.Fatal(err)
	}
	d := deployment()
	result, err := controller.CreateOrUpdate(t.Context(), c, d, func() error {
		other := deployment()
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(d), other); err != nil {
			return err
		}
		other.Labels = map[string]string{"by": "other"}
		d.Labels = map[string]string{"by": "us"}
		return c.Update(t.Context(), other)
	})
	if result != controller.OperationResultNone || !apierrors.IsConflict(err) {
		t.Errorf("changed meanwhile: %s, %v", result, err)
	}
}

// Case 53: it writes each time, and says so.
func TestReplacingTheWholeTemplateIsSeenInTheResult(t *testing.T) {
	both(t, func(t *testing.T, _ string, do func(context.Context, client.Client, client.Object, controller.MutateFn) (controller.OperationResult, error)) {
		s := newServer(t)
		c := s.client(t)
		rv := ""
		for i := range 3 {
			d := deployment()
			result, err := do(t.Context(), c, d, func() error {
				d.Spec.Template = corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "web"}}}}
				return nil
			})
			if err != nil || i > 0 && result != controller.OperationResultUpdated {
				t.Fatalf("call %d: %s, %v", i, result, err)
			}
			if rv != "" && d.ResourceVersion != rv {
				t.Errorf("the server's version went from %s to %s", rv, d.ResourceVersion)
			}
			rv = d.ResourceVersion
		}
	})
}

func TestCreateOrPatchWritesObjectAndStatusApart(t *testing.T) {
	spec := func(d *appsv1.Deployment) { paused := !d.Spec.Paused; d.Spec.Paused = paused }
	status := func(d *appsv1.Deployment) { d.Status.Replicas++ }
	main, sub := "patch "+deployments+"/d", "patch "+deployments+"/d/status"
	for _, tt := range []struct {
		name   string
		mutate func(*appsv1.Deployment)
		want   controller.OperationResult
		writes []string
	}{
		{"object", spec, controller.OperationResultUpdated, []string{main}},
		{"status", status, controller.OperationResultUpdatedStatusOnly, []string{sub}},
		{"both", func(d *appsv1.Deployment) { spec(d); status(d) }, controller.OperationResultUpdatedStatus, []string{main, sub}},
	} {
		for _, form := range []string{"typed", "unstructured"} {
			t.Run(tt.name+"/"+form, func(t *testing.T) {
				s := newServer(t)
				c := s.client(t)
				if err := c.Create(t.Context(), deployment()); err != nil {
					t.Fatal(err)
				}
				d := deployment()
				var obj client.Object = d
				mutate := func() error { tt.mutate(d); return nil }
				if form == "unstructured" {
					u := &unstructured.Unstructured{}
					u.SetAPIVersion("apps/v1")
					u.SetKind("Deployment")
					u.SetNamespace("ns")
					u.SetName("d")
					obj = u
					mutate = func() error {
						tt.mutate(d)
						if d.Spec.Paused {
							_ = unstructured.SetNestedField(u.Object, true, "spec", "paused")
						}
						if d.Status.Replicas > 0 {
							_ = unstructured.SetNestedField(u.Object, int64(d.Status.Replicas), "status", "replicas")
						}
						return nil
					}
				}
				result, err := controller.CreateOrPatch(t.Context(), c, obj, mutate)
				if err != nil || result != tt.want {
					t.Errorf("%s, %v, want %s", result, err, tt.want)
				}
				if got := s.writes()[1:]; !slices.Equal(got, tt.writes) {
					t.Errorf("writes are %q, want %q", got, tt.writes)
				}
				stored := deployment()
				if err := c.Get(t.Context(), client.ObjectKeyFromObject(d), stored); err != nil {
					t.Fatal(err)
				}
				if !reflect.DeepEqual([]any{stored.Spec.Paused, stored.Status.Replicas}, []any{d.Spec.Paused, d.Status.Replicas}) {
					t.Errorf("stored are %v and %d, want %v and %d", stored.Spec.Paused, stored.Status.Replicas, d.Spec.Paused, d.Status.Replicas)
				}
				if obj.GetResourceVersion() != stored.ResourceVersion {
					t.Errorf("the object has version %s, the server %s", obj.GetResourceVersion(), stored.ResourceVersion)
				}
			})
		}
	}
}

// A patch does not undo what others did meanwhile.
func TestCreateOrPatchKeepsWhatOthersChange(t *testing.T) {
	s := newServer(t)
	c := s.client(t)
	if err := c.Create(t.Context(), deployment()); err != nil {
		t.Fatal(err)
	}
	d := deployment()
	result, err := controller.CreateOrPatch(t.Context(), c, d, func() error {
		other := deployment()
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(d), other); err != nil {
			return err
		}
		other.Labels = map[string]string{"by": "other"}
		d.Annotations = map[string]string{"by": "us"}
		return c.Update(t.Context(), other)
	})
	if err != nil || result != controller.OperationResultUpdated || d.Labels["by"] != "other" || d.Annotations["by"] != "us" {
		t.Errorf("%s, %v, labels %v, annotations %v", result, err, d.Labels, d.Annotations)
	}
}
