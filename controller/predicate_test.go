package controller_test

import (
	"strings"
	"testing"

	"governor/client"
	"governor/controller"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestUpdatePredicates(t *testing.T) {
	old := pod("ns", "a", func(p *corev1.Pod) {
		p.Labels, p.Annotations = map[string]string{"l": "1"}, map[string]string{"a": "1"}
	})
	changed := func(change func(*corev1.Pod)) *corev1.Pod {
		p := old.DeepCopy()
		change(p)
		return p
	}
	resync := changed(func(*corev1.Pod) {})
	status := changed(func(p *corev1.Pod) { p.ResourceVersion = "2"; p.Status.Phase = corev1.PodRunning })
	spec := changed(func(p *corev1.Pod) { p.ResourceVersion = "2"; p.Generation = 2 })
	labels := changed(func(p *corev1.Pod) { p.ResourceVersion = "2"; p.Labels["l"] = "2" })
	annotations := changed(func(p *corev1.Pod) { p.ResourceVersion = "2"; p.Annotations["a"] = "2" })
	// Case 16: made anew under the same name while nobody watched. Contract 9.
	recreated := changed(func(p *corev1.Pod) { p.ResourceVersion = "9"; p.UID = "uid-2" })

	type row struct {
		name string
		to   *corev1.Pod
		want bool
	}
	for _, tt := range []struct {
		name      string
		predicate controller.Predicate
		rows      []row
	}{
		{"generation", controller.GenerationChangedPredicate{}, []row{
			{"resync", resync, false}, {"status", status, false}, {"spec", spec, true},
			{"labels", labels, false}, {"annotations", annotations, false}, {"recreated", recreated, true}}},
		{"resourceVersion", controller.ResourceVersionChangedPredicate{}, []row{
			{"resync", resync, false}, {"status", status, true}, {"recreated", recreated, true}}},
		{"labels", controller.LabelChangedPredicate{}, []row{
			{"resync", resync, false}, {"spec", spec, false}, {"labels", labels, true}, {"recreated", recreated, true}}},
		{"annotations", controller.AnnotationChangedPredicate{}, []row{
			{"resync", resync, false}, {"labels", labels, false}, {"annotations", annotations, true}, {"recreated", recreated, true}}},
	} {
		for _, r := range tt.rows {
			t.Run(tt.name+"/"+r.name, func(t *testing.T) {
				if got := tt.predicate.Update(controller.UpdateEvent{ObjectOld: old, ObjectNew: r.to}); got != r.want {
					t.Errorf("Update is %v, want %v", got, r.want)
				}
			})
		}
		t.Run(tt.name+"/other events pass", func(t *testing.T) {
			p := tt.predicate
			if !p.Create(controller.CreateEvent{Object: old}) || !p.Delete(controller.DeleteEvent{Object: old}) ||
				!p.Generic(controller.GenericEvent{Object: old}) {
				t.Error("an event that is no update is dropped")
			}
		})
		t.Run(tt.name+"/half an update", func(t *testing.T) {
			if tt.predicate.Update(controller.UpdateEvent{ObjectNew: old}) || tt.predicate.Update(controller.UpdateEvent{ObjectOld: old}) {
				t.Error("an update without one of its objects passes")
			}
		})
	}
}

// all is what a predicate says of the four events of one object.
func all(p controller.Predicate, object client.Object) [4]bool {
	return [4]bool{
		p.Create(controller.CreateEvent{Object: object}),
		p.Update(controller.UpdateEvent{ObjectOld: pod("ns", "old"), ObjectNew: object}),
		p.Delete(controller.DeleteEvent{Object: object}),
		p.Generic(controller.GenericEvent{Object: object}),
	}
}

func TestCombinedPredicates(t *testing.T) {
	yes := controller.PredicateFuncs{}
	no := controller.NewPredicateFuncs(func(client.Object) bool { return false })
	onlyCreate := controller.PredicateFuncs{
		UpdateFunc:  func(controller.UpdateEvent) bool { return false },
		DeleteFunc:  func(controller.DeleteEvent) bool { return false },
		GenericFunc: func(controller.GenericEvent) bool { return false },
	}
	noCreate := controller.PredicateFuncs{CreateFunc: func(controller.CreateEvent) bool { return false }}
	const T, F = true, false
	for _, tt := range []struct {
		name      string
		predicate controller.Predicate
		want      [4]bool
	}{
		{"no functions", yes, [4]bool{T, T, T, T}},
		{"no", no, [4]bool{F, F, F, F}},
		{"only create", onlyCreate, [4]bool{T, F, F, F}},
		{"not", controller.Not(onlyCreate), [4]bool{F, T, T, T}},
		{"not not", controller.Not(controller.Not(noCreate)), [4]bool{F, T, T, T}},
		{"and of none", controller.And(), [4]bool{T, T, T, T}},
		{"and", controller.And(yes, onlyCreate), [4]bool{T, F, F, F}},
		{"and of opposites", controller.And(noCreate, onlyCreate), [4]bool{F, F, F, F}},
		{"or of none", controller.Or(), [4]bool{F, F, F, F}},
		{"or", controller.Or(no, onlyCreate), [4]bool{T, F, F, F}},
		{"or of opposites", controller.Or(noCreate, onlyCreate), [4]bool{T, T, T, T}},
		{"option", controller.WithPredicates(yes, noCreate), [4]bool{F, T, T, T}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := all(tt.predicate, pod("ns", "a")); got != tt.want {
				t.Errorf("create, update, delete, generic are %v, want %v", got, tt.want)
			}
		})
	}
}

func TestFilterSeesTheNewObjectOfAnUpdate(t *testing.T) {
	p := controller.NewPredicateFuncs(func(o client.Object) bool { return o.GetName() == "new" })
	if got := all(p, pod("ns", "new")); got != [4]bool{true, true, true, true} {
		t.Errorf("create, update, delete, generic are %v", got)
	}
	if got := all(p, pod("ns", "other")); got != [4]bool{} {
		t.Errorf("create, update, delete, generic of another object are %v", got)
	}
}

func TestLabelSelectorPredicate(t *testing.T) {
	p, err := controller.LabelSelectorPredicate(metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}})
	if err != nil {
		t.Fatal(err)
	}
	web := pod("ns", "web", func(p *corev1.Pod) { p.Labels = map[string]string{"app": "web"} })
	if got := all(p, web); got != [4]bool{true, true, true, true} {
		t.Errorf("the selected object: %v", got)
	}
	if got := all(p, pod("ns", "bare")); got != [4]bool{} {
		t.Errorf("another object: %v", got)
	}

	_, err = controller.LabelSelectorPredicate(metav1.LabelSelector{
		MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Near"}}})
	if err == nil || !strings.Contains(err.Error(), "Near") {
		t.Errorf("an invalid selector: %v", err)
	}
}
