package kinds

import (
	"encoding/json"
	"fmt"

	"governor/client"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Convert returns an object of this resource, in whatever version it is, in the
// version of another Resource for the same storage: a request's version to the
// storage version, and back. The object is never written to, and returned as it
// is if it needs no conversion. A typed object has to carry its kind.
//
// Among built-in kinds there are two that are served in two versions: events, of
// the core group and of events.k8s.io, and autoscalers, v1 and v2. What
// autoscaling/v1 cannot say is kept in annotations, as in the real server, but
// metrics and behavior in the JSON of v2.
func (r *Resource) Convert(object client.Object, to schema.GroupVersion) (client.Object, error) {
	gvk := object.GetObjectKind().GroupVersionKind()
	if gvk.GroupVersion() == to {
		return object, nil
	}
	if custom, ok := object.(*unstructured.Unstructured); ok && r.Rules != nil {
		return r.Rules.Convert(custom, to)
	}
	converted, err := convertTyped(object, gvk, to)
	if err != nil {
		return nil, err
	}
	return converted.(client.Object), nil
}

// convertTyped converts a typed object of kind gvk to another version.
func convertTyped(in runtime.Object, gvk schema.GroupVersionKind, to schema.GroupVersion) (runtime.Object, error) {
	if gvk.GroupVersion() == to {
		return in, nil
	}
	var out runtime.Object
	switch in := in.(type) {
	case *corev1.Event:
		if to == eventsv1.SchemeGroupVersion {
			out = eventFromCore(in.DeepCopy())
		}
	case *eventsv1.Event:
		if to == corev1.SchemeGroupVersion {
			out = eventToCore(in.DeepCopy())
		}
	case *autoscalingv1.HorizontalPodAutoscaler:
		if to == autoscalingv2.SchemeGroupVersion {
			out = autoscalerToV2(in.DeepCopy())
		}
	case *autoscalingv2.HorizontalPodAutoscaler:
		if to == autoscalingv1.SchemeGroupVersion {
			out = autoscalerToV1(in.DeepCopy())
		}
	}
	if out == nil {
		return nil, runtime.NewNotRegisteredErrForTarget("envtest", nil, to)
	}
	out.GetObjectKind().SetGroupVersionKind(to.WithKind(gvk.Kind))
	return out, nil
}

func eventFromCore(in *corev1.Event) *eventsv1.Event {
	out := &eventsv1.Event{
		ObjectMeta:               in.ObjectMeta,
		EventTime:                in.EventTime,
		ReportingController:      in.ReportingController,
		ReportingInstance:        in.ReportingInstance,
		Action:                   in.Action,
		Reason:                   in.Reason,
		Regarding:                in.InvolvedObject,
		Related:                  in.Related,
		Note:                     in.Message,
		Type:                     in.Type,
		DeprecatedSource:         in.Source,
		DeprecatedFirstTimestamp: in.FirstTimestamp,
		DeprecatedLastTimestamp:  in.LastTimestamp,
		DeprecatedCount:          in.Count,
	}
	if in.Series != nil {
		out.Series = &eventsv1.EventSeries{Count: in.Series.Count, LastObservedTime: in.Series.LastObservedTime}
	}
	return out
}

func eventToCore(in *eventsv1.Event) *corev1.Event {
	out := &corev1.Event{
		ObjectMeta:          in.ObjectMeta,
		InvolvedObject:      in.Regarding,
		Reason:              in.Reason,
		Message:             in.Note,
		Source:              in.DeprecatedSource,
		FirstTimestamp:      in.DeprecatedFirstTimestamp,
		LastTimestamp:       in.DeprecatedLastTimestamp,
		Count:               in.DeprecatedCount,
		Type:                in.Type,
		EventTime:           in.EventTime,
		Action:              in.Action,
		Related:             in.Related,
		ReportingController: in.ReportingController,
		ReportingInstance:   in.ReportingInstance,
	}
	if in.Series != nil {
		out.Series = &corev1.EventSeries{Count: in.Series.Count, LastObservedTime: in.Series.LastObservedTime}
	}
	return out
}

// The annotations in which autoscaling/v1 keeps what it has no field for.
const (
	metricsAnnotation      = "autoscaling.alpha.kubernetes.io/metrics"
	metricStatusAnnotation = "autoscaling.alpha.kubernetes.io/current-metrics"
	conditionsAnnotation   = "autoscaling.alpha.kubernetes.io/conditions"
	behaviorAnnotation     = "autoscaling.alpha.kubernetes.io/behavior"
	defaultCPUUtilization  = int32(80)
)

func autoscalerToV1(in *autoscalingv2.HorizontalPodAutoscaler) *autoscalingv1.HorizontalPodAutoscaler {
	out := &autoscalingv1.HorizontalPodAutoscaler{
		ObjectMeta: in.ObjectMeta,
		Spec: autoscalingv1.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv1.CrossVersionObjectReference(in.Spec.ScaleTargetRef),
			MinReplicas:    in.Spec.MinReplicas,
			MaxReplicas:    in.Spec.MaxReplicas,
		},
		Status: autoscalingv1.HorizontalPodAutoscalerStatus{
			ObservedGeneration: in.Status.ObservedGeneration,
			LastScaleTime:      in.Status.LastScaleTime,
			CurrentReplicas:    in.Status.CurrentReplicas,
			DesiredReplicas:    in.Status.DesiredReplicas,
		},
	}
	var others []autoscalingv2.MetricSpec
	for _, metric := range in.Spec.Metrics {
		if isCPU(metric) {
			if out.Spec.TargetCPUUtilizationPercentage == nil {
				out.Spec.TargetCPUUtilizationPercentage = metric.Resource.Target.AverageUtilization
			}
			continue
		}
		others = append(others, metric)
	}
	for _, metric := range in.Status.CurrentMetrics {
		if metric.Resource != nil && metric.Resource.Name == corev1.ResourceCPU && metric.Resource.Current.AverageUtilization != nil {
			out.Status.CurrentCPUUtilizationPercentage = metric.Resource.Current.AverageUtilization
		}
	}
	annotate(out, metricsAnnotation, others, len(others) > 0)
	annotate(out, metricStatusAnnotation, in.Status.CurrentMetrics, len(in.Status.CurrentMetrics) > 0)
	annotate(out, conditionsAnnotation, in.Status.Conditions, len(in.Status.Conditions) > 0)
	annotate(out, behaviorAnnotation, in.Spec.Behavior, in.Spec.Behavior != nil)
	return out
}

func autoscalerToV2(in *autoscalingv1.HorizontalPodAutoscaler) *autoscalingv2.HorizontalPodAutoscaler {
	out := &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: in.ObjectMeta,
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference(in.Spec.ScaleTargetRef),
			MinReplicas:    in.Spec.MinReplicas,
			MaxReplicas:    in.Spec.MaxReplicas,
		},
		Status: autoscalingv2.HorizontalPodAutoscalerStatus{
			ObservedGeneration: in.Status.ObservedGeneration,
			LastScaleTime:      in.Status.LastScaleTime,
			CurrentReplicas:    in.Status.CurrentReplicas,
			DesiredReplicas:    in.Status.DesiredReplicas,
		},
	}
	if cpu := in.Status.CurrentCPUUtilizationPercentage; cpu != nil {
		out.Status.CurrentMetrics = []autoscalingv2.MetricStatus{{
			Type: autoscalingv2.ResourceMetricSourceType,
			Resource: &autoscalingv2.ResourceMetricStatus{
				Name: corev1.ResourceCPU, Current: autoscalingv2.MetricValueStatus{AverageUtilization: cpu},
			},
		}}
	}
	restore(out, metricsAnnotation, &out.Spec.Metrics)
	restore(out, metricStatusAnnotation, &out.Status.CurrentMetrics)
	restore(out, conditionsAnnotation, &out.Status.Conditions)
	restore(out, behaviorAnnotation, &out.Spec.Behavior)
	target := in.Spec.TargetCPUUtilizationPercentage
	if target == nil && len(out.Spec.Metrics) == 0 {
		target = new(int32)
		*target = defaultCPUUtilization
	}
	if target != nil {
		out.Spec.Metrics = append(out.Spec.Metrics, autoscalingv2.MetricSpec{
			Type: autoscalingv2.ResourceMetricSourceType,
			Resource: &autoscalingv2.ResourceMetricSource{
				Name:   corev1.ResourceCPU,
				Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: target},
			},
		})
	}
	return out
}

func isCPU(m autoscalingv2.MetricSpec) bool {
	return m.Type == autoscalingv2.ResourceMetricSourceType && m.Resource != nil &&
		m.Resource.Name == corev1.ResourceCPU && m.Resource.Target.AverageUtilization != nil
}

// annotate keeps a value in an annotation of a copy that is ours; without a value
// it makes sure that there is no annotation.
func annotate(object client.Object, name string, value any, present bool) {
	annotations := object.GetAnnotations()
	if !present {
		delete(annotations, name)
		object.SetAnnotations(annotations)
		return
	}
	text, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("kinds: %T: %v", value, err)) // plain structs
	}
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[name] = string(text)
	object.SetAnnotations(annotations)
}

// restore takes a value out of an annotation of a copy that is ours; one that does
// not parse is dropped.
func restore[T any](object client.Object, name string, into *T) {
	annotations := object.GetAnnotations()
	text, ok := annotations[name]
	if !ok {
		return
	}
	var value T
	if json.Unmarshal([]byte(text), &value) == nil {
		*into = value
	}
	delete(annotations, name)
	if len(annotations) == 0 {
		annotations = nil
	}
	object.SetAnnotations(annotations)
}
