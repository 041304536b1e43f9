package envtest

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"governor/client"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/duration"
)

// rowConditions say that a row is about something that is over.
func rowConditions(o client.Object) []metav1.TableRowCondition {
	pod, ok := o.(*corev1.Pod)
	if !ok {
		return nil
	}
	message := ""
	switch pod.Status.Phase {
	case corev1.PodSucceeded:
		message = "The pod has completed successfully."
	case corev1.PodFailed:
		message = "The pod failed."
	default:
		return nil
	}
	return []metav1.TableRowCondition{{
		Type: metav1.RowCompleted, Status: metav1.ConditionTrue, Reason: string(pod.Status.Phase), Message: message,
	}}
}

func podCells(p *corev1.Pod) []any {
	v := podView{pod: p, reason: cmp.Or(p.Status.Reason, string(p.Status.Phase)), total: len(p.Spec.Containers)}
	for _, condition := range p.Status.Conditions {
		if condition.Type == corev1.PodScheduled && condition.Reason == corev1.PodReasonSchedulingGated {
			v.reason = corev1.PodReasonSchedulingGated
		}
	}
	if initializing := v.addInit(); !initializing || podCondition(p, corev1.PodInitialized) {
		v.addContainers()
	}
	ended := p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
	switch {
	case p.DeletionTimestamp != nil && p.Status.Reason == "NodeLost":
		v.reason = "Unknown"
	case p.DeletionTimestamp != nil && !ended:
		v.reason = "Terminating"
	}
	ip, gates := "", ""
	if len(p.Status.PodIPs) > 0 {
		ip = p.Status.PodIPs[0].IP
	}
	if n := len(p.Spec.ReadinessGates); n > 0 {
		open := 0
		for _, gate := range p.Spec.ReadinessGates {
			if podCondition(p, gate.ConditionType) {
				open++
			}
		}
		gates = fmt.Sprintf("%d/%d", open, n)
	}
	return []any{
		p.Name, fmt.Sprintf("%d/%d", v.ready, v.total), v.reason, v.restarts.String(), age(p),
		orNone(ip), orNone(p.Spec.NodeName), orNone(p.Status.NominatedNodeName), orNone(gates),
	}
}

// podCondition says whether a condition of a pod is true.
func podCondition(p *corev1.Pod, kind corev1.PodConditionType) bool {
	for _, condition := range p.Status.Conditions {
		if condition.Type == kind {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

// restarts counts restarts and knows when the last one was.
type restarts struct {
	count int32
	last  metav1.Time
}

func (r *restarts) add(status *corev1.ContainerStatus) {
	r.count += status.RestartCount
	if t := status.LastTerminationState.Terminated; t != nil && r.last.Before(&t.FinishedAt) {
		r.last = t.FinishedAt
	}
}

func (r *restarts) String() string {
	if r.count == 0 || r.last.IsZero() {
		return fmt.Sprint(r.count)
	}
	return fmt.Sprintf("%d (%s ago)", r.count, since(r.last.Time))
}

// podView is what is seen of a pod in a row.
type podView struct {
	pod          *corev1.Pod
	reason       string
	ready, total int
	restarts     restarts
	// sidecars are the restarts of init containers that keep running.
	sidecars restarts
}

// addInit looks at the init containers, and says whether they are still at work.
func (v *podView) addInit() (initializing bool) {
	sidecars := map[string]bool{}
	for _, container := range v.pod.Spec.InitContainers {
		if p := container.RestartPolicy; p != nil && *p == corev1.ContainerRestartPolicyAlways {
			sidecars[container.Name] = true
			v.total++
		}
	}
	for i := range v.pod.Status.InitContainerStatuses {
		status := &v.pod.Status.InitContainerStatuses[i]
		sidecar := sidecars[status.Name]
		v.restarts.add(status)
		if sidecar {
			v.sidecars.add(status)
		}
		ended, waiting := status.State.Terminated, status.State.Waiting
		switch {
		case ended != nil && ended.ExitCode == 0:
			continue
		case sidecar && status.Started != nil && *status.Started:
			if status.Ready {
				v.ready++
			}
			continue
		case ended != nil:
			v.reason = "Init:" + endReason(ended)
		case waiting != nil && waiting.Reason != "" && waiting.Reason != "PodInitializing":
			v.reason = "Init:" + waiting.Reason
		default:
			v.reason = fmt.Sprintf("Init:%d/%d", i, len(v.pod.Spec.InitContainers))
		}
		return true
	}
	return false
}

// endReason says why a container has ended.
func endReason(t *corev1.ContainerStateTerminated) string {
	switch {
	case t.Reason != "":
		return t.Reason
	case t.Signal != 0:
		return fmt.Sprintf("Signal:%d", t.Signal)
	default:
		return fmt.Sprintf("ExitCode:%d", t.ExitCode)
	}
}

// addContainers looks at the containers; the first one has the last word.
func (v *podView) addContainers() {
	v.restarts = v.sidecars
	running, failure := false, ""
	for i := len(v.pod.Status.ContainerStatuses) - 1; i >= 0; i-- {
		status := &v.pod.Status.ContainerStatuses[i]
		v.restarts.add(status)
		ended, waiting := status.State.Terminated, status.State.Waiting
		switch {
		case waiting != nil && waiting.Reason != "":
			v.reason = waiting.Reason
		case ended != nil:
			v.reason = endReason(ended)
			if ended.ExitCode != 0 {
				failure = v.reason
			}
		case status.Ready && status.State.Running != nil:
			running = true
			v.ready++
		}
	}
	if v.reason != "Completed" {
		return
	}
	switch { // one of several
	case running && podCondition(v.pod, corev1.PodReady):
		v.reason = "Running"
	case failure != "":
		v.reason = failure
	case running:
		v.reason = "NotReady"
	}
}

// containerCells are the names and the images of containers.
func containerCells(containers []corev1.Container) (names, images string) {
	for i, container := range containers {
		if i > 0 {
			names, images = names+",", images+","
		}
		names, images = names+container.Name, images+container.Image
	}
	return names, images
}

// count is what p points to; the API server's default is one replica.
func count(p *int32) int32 {
	if p == nil {
		return 1
	}
	return *p
}

func deploymentCells(d *appsv1.Deployment) []any {
	names, images := containerCells(d.Spec.Template.Spec.Containers)
	selector := "<invalid>"
	if s, err := metav1.LabelSelectorAsSelector(d.Spec.Selector); err == nil {
		selector = s.String()
	}
	return []any{
		d.Name, fmt.Sprintf("%d/%d", d.Status.ReadyReplicas, count(d.Spec.Replicas)),
		d.Status.UpdatedReplicas, d.Status.AvailableReplicas, age(d), names, images, selector,
	}
}

func replicaSetCells(r *appsv1.ReplicaSet) []any {
	names, images := containerCells(r.Spec.Template.Spec.Containers)
	return []any{
		r.Name, count(r.Spec.Replicas), r.Status.Replicas, r.Status.ReadyReplicas, age(r),
		names, images, metav1.FormatLabelSelector(r.Spec.Selector),
	}
}

func replicationControllerCells(r *corev1.ReplicationController) []any {
	names, images := "", ""
	if r.Spec.Template != nil {
		names, images = containerCells(r.Spec.Template.Spec.Containers)
	}
	return []any{
		r.Name, count(r.Spec.Replicas), r.Status.Replicas, r.Status.ReadyReplicas, age(r),
		names, images, labels.FormatLabels(r.Spec.Selector),
	}
}

func statefulSetCells(s *appsv1.StatefulSet) []any {
	names, images := containerCells(s.Spec.Template.Spec.Containers)
	return []any{
		s.Name, fmt.Sprintf("%d/%d", s.Status.ReadyReplicas, count(s.Spec.Replicas)), age(s), names, images,
	}
}

func daemonSetCells(d *appsv1.DaemonSet) []any {
	names, images := containerCells(d.Spec.Template.Spec.Containers)
	return []any{
		d.Name, d.Status.DesiredNumberScheduled, d.Status.CurrentNumberScheduled, d.Status.NumberReady,
		d.Status.UpdatedNumberScheduled, d.Status.NumberAvailable,
		labels.FormatLabels(d.Spec.Template.Spec.NodeSelector), age(d),
		names, images, metav1.FormatLabelSelector(d.Spec.Selector),
	}
}

func revisionCells(r *appsv1.ControllerRevision) []any {
	owner := "<none>"
	if ref := metav1.GetControllerOf(r); ref != nil {
		gv, _ := schema.ParseGroupVersion(ref.APIVersion)
		owner = strings.ToLower(gv.WithKind(ref.Kind).GroupKind().String()) + "/" + ref.Name
	}
	return []any{r.Name, owner, r.Revision, age(r)}
}

func cronJobCells(c *batchv1.CronJob) []any {
	suspend, last, zone := "<unset>", "<none>", "<none>"
	if s := c.Spec.Suspend; s != nil {
		suspend = map[bool]string{true: "True", false: "False"}[*s]
	}
	if t := c.Status.LastScheduleTime; t != nil {
		last = since(t.Time)
	}
	if c.Spec.TimeZone != nil {
		zone = *c.Spec.TimeZone
	}
	names, images := containerCells(c.Spec.JobTemplate.Spec.Template.Spec.Containers)
	return []any{
		c.Name, c.Spec.Schedule, zone, suspend, len(c.Status.Active), last, age(c),
		names, images, metav1.FormatLabelSelector(c.Spec.JobTemplate.Spec.Selector),
	}
}

// jobStates are the conditions that name a job's state, the strongest first.
var jobStates = []batchv1.JobConditionType{
	batchv1.JobComplete, batchv1.JobFailed, "Terminating", batchv1.JobSuspended, batchv1.JobFailureTarget, batchv1.JobSuccessCriteriaMet,
}

func jobCells(j *batchv1.Job) []any {
	has := map[batchv1.JobConditionType]bool{"Terminating": j.DeletionTimestamp != nil}
	for _, condition := range j.Status.Conditions {
		has[condition.Type] = has[condition.Type] || condition.Status == corev1.ConditionTrue
	}
	status := "Running"
	for _, state := range jobStates {
		if has[state] {
			status = string(state)
			break
		}
	}
	completions := fmt.Sprintf("%d/1", j.Status.Succeeded)
	if wanted := j.Spec.Completions; wanted != nil {
		completions = fmt.Sprintf("%d/%d", j.Status.Succeeded, *wanted)
	} else if p := j.Spec.Parallelism; p != nil && *p > 1 {
		completions += fmt.Sprintf(" of %d", *p)
	}
	took := ""
	if start := j.Status.StartTime; start != nil {
		end := time.Now()
		if j.Status.CompletionTime != nil {
			end = j.Status.CompletionTime.Time
		}
		took = duration.HumanDuration(end.Sub(start.Time))
	}
	names, images := containerCells(j.Spec.Template.Spec.Containers)
	return []any{
		j.Name, status, completions, took, age(j), names, images, metav1.FormatLabelSelector(j.Spec.Selector),
	}
}

// accessModes are a volume's access modes in short.
func accessModes(modes []corev1.PersistentVolumeAccessMode) string {
	has := map[corev1.PersistentVolumeAccessMode]bool{}
	for _, mode := range modes {
		has[mode] = true
	}
	var short []string
	for _, mode := range []struct {
		mode  corev1.PersistentVolumeAccessMode
		short string
	}{
		{corev1.ReadWriteOnce, "RWO"}, {corev1.ReadOnlyMany, "ROX"}, {corev1.ReadWriteMany, "RWX"}, {corev1.ReadWriteOncePod, "RWOP"},
	} {
		if has[mode.mode] {
			short = append(short, mode.short)
		}
	}
	return strings.Join(short, ",")
}

func claimCells(c *corev1.PersistentVolumeClaim) []any {
	phase := string(c.Status.Phase)
	if c.DeletionTimestamp != nil {
		phase = "Terminating"
	}
	capacity, modes := "", ""
	if c.Spec.VolumeName != "" {
		modes = accessModes(c.Status.AccessModes)
		size := c.Status.Capacity[corev1.ResourceStorage]
		capacity = size.String()
	}
	class, ok := c.Annotations[corev1.BetaStorageClassAnnotation]
	if !ok && c.Spec.StorageClassName != nil {
		class = *c.Spec.StorageClassName
	}
	return []any{
		c.Name, phase, c.Spec.VolumeName, capacity, modes, class, orUnset(c.Spec.VolumeAttributesClassName), age(c),
		orUnset(c.Spec.VolumeMode),
	}
}

func volumeCells(v *corev1.PersistentVolume) []any {
	phase := string(v.Status.Phase)
	if v.DeletionTimestamp != nil {
		phase = "Terminating"
	}
	claim := ""
	if ref := v.Spec.ClaimRef; ref != nil {
		claim = ref.Namespace + "/" + ref.Name
	}
	size := v.Spec.Capacity[corev1.ResourceStorage]
	class, ok := v.Annotations[corev1.BetaStorageClassAnnotation]
	if !ok {
		class = v.Spec.StorageClassName
	}
	return []any{
		v.Name, size.String(), accessModes(v.Spec.AccessModes), string(v.Spec.PersistentVolumeReclaimPolicy), phase,
		claim, class, orUnset(v.Spec.VolumeAttributesClassName), v.Status.Reason, age(v), orUnset(v.Spec.VolumeMode),
	}
}
