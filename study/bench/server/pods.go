package server

import (
	"bytes"
	_ "embed"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"governor/study/bench/workload"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	replicas = workload.Replicas
	// nodes is how many there are.
	nodes = 250
)

// podJSON is the Pod that all others are made from: as a real one is, with two
// containers, managedFields, and the volume of the token that admission adds.
//
//go:embed testdata/pod.json
var podJSON string

// edits counts how often each part of an object has been changed.
type edits struct{ spec, status, metadata int }

// pods makes Pods. What replicas have in common is equal in all of one
// Deployment, and what differs in reality differs: names, UIDs, addresses,
// times, container IDs, the name of the token's volume in each mount.
type pods struct {
	deployments []*corev1.Pod // its first replica, without what differs
}

func newPods(objects int) (*pods, error) {
	// Compact: managedFields are kept as the text that they are.
	var compact bytes.Buffer
	if err := json.Compact(&compact, []byte(podJSON)); err != nil {
		return nil, err
	}
	p := &pods{}
	for d := range workload.Deployments(objects) {
		random := randomOf(1, d)
		text := strings.NewReplacer(
			"service-0", fmt.Sprintf("service-%d", d),
			"team-7", workload.Namespace(d),
			"7d9c5b8f6d", hex(random, 10),
			"10000000-0000-4000-8000-000000000000", uid(random),
			"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", hex(random, 64),
			"v1.42.7", fmt.Sprintf("v1.%d.%d", random.IntN(60), random.IntN(20)),
		).Replace(compact.String())
		pod := &corev1.Pod{}
		if err := json.Unmarshal([]byte(text), pod); err != nil {
			return nil, err
		}
		p.deployments = append(p.deployments, pod)
	}
	return p, nil
}

// pod makes the Pod at ordinal, with edits made to it. It is the caller's.
func (p *pods) pod(ordinal int, e edits) *corev1.Pod {
	pod := p.deployments[ordinal/replicas].DeepCopy()
	random := randomOf(2, ordinal)
	pod.Name = pod.GenerateName + workload.Suffix(ordinal)
	pod.UID = types.UID(uid(random))
	born := time.Unix(1700000000+int64(ordinal/replicas)*997+int64(random.IntN(90)), 0)
	at := func(later int) metav1.Time { return metav1.NewTime(born.Add(time.Duration(later) * time.Second).UTC()) }
	pod.CreationTimestamp = at(0)
	if ordinal%replicas < workload.Canaries {
		pod.Labels[workload.CanaryLabel] = workload.CanaryValue
	}

	node := random.IntN(nodes)
	pod.Spec.NodeName = fmt.Sprintf("node-%d", node)
	pod.Status.HostIP = fmt.Sprintf("192.0.2.%d", node)
	pod.Status.HostIPs = []corev1.HostIP{{IP: pod.Status.HostIP}}
	pod.Status.PodIP = fmt.Sprintf("10.%d.%d.%d", random.IntN(256), random.IntN(256), random.IntN(256))
	pod.Status.PodIPs = []corev1.PodIP{{IP: pod.Status.PodIP}}
	pod.Status.StartTime = new(at(1))
	nameToken(pod, "kube-api-access-"+workload.Suffix(random.IntN(1<<20)))

	ready := 3 + random.IntN(20)
	for i := range pod.Status.ContainerStatuses {
		status := &pod.Status.ContainerStatuses[i]
		status.ContainerID = "containerd://" + hex(random, 64)
		status.State.Running.StartedAt = at(2 + i)
	}
	for i := range pod.Status.Conditions {
		pod.Status.Conditions[i].LastTransitionTime = at(ready * (i & 1))
	}
	for i := range pod.ManagedFields {
		pod.ManagedFields[i].Time = new(at(ready * i))
	}
	e.apply(pod, at)
	return pod
}

// nameToken renames the last volume, which is the token's, and its mounts.
func nameToken(pod *corev1.Pod, name string) {
	volume := &pod.Spec.Volumes[len(pod.Spec.Volumes)-1]
	for c := range pod.Spec.Containers {
		for m := range pod.Spec.Containers[c].VolumeMounts {
			if mount := &pod.Spec.Containers[c].VolumeMounts[m]; mount.Name == volume.Name {
				mount.Name = name
			}
		}
	}
	volume.Name = name
}

// apply changes the Pod as its owners would: the kubelet its status, a user its
// metadata, a rollout in place its spec.
func (e edits) apply(pod *corev1.Pod, at func(int) metav1.Time) {
	if e.status > 0 {
		now := at(3600 * e.status)
		for i := range pod.Status.ContainerStatuses {
			pod.Status.ContainerStatuses[i].RestartCount = int32(e.status)
			pod.Status.ContainerStatuses[i].State.Running.StartedAt = now
		}
		for i := 1; i < 3; i++ { // Ready, ContainersReady
			pod.Status.Conditions[i].LastTransitionTime = now
		}
		pod.ManagedFields[len(pod.ManagedFields)-1].Time = &now
	}
	if e.metadata > 0 {
		pod.Annotations["checksum/config"] = strings.Repeat(fmt.Sprintf("%08x", e.metadata), 8)
		pod.Labels["release"] = fmt.Sprintf("r%d", e.metadata)
		pod.ManagedFields[0].Time = new(at(3600 * e.metadata))
	}
	if e.spec > 0 {
		pod.Generation += int64(e.spec)
		for c := range pod.Spec.Containers {
			container := &pod.Spec.Containers[c]
			container.Image += fmt.Sprintf("-r%d", e.spec)
			pod.Status.ContainerStatuses[c].Image = container.Image
			for v := range container.Env {
				if container.Env[v].Value != "" {
					container.Env[v].Value += fmt.Sprintf("-r%d", e.spec)
				}
			}
			container.LivenessProbe.PeriodSeconds += int32(e.spec)
			container.ReadinessProbe.PeriodSeconds += int32(e.spec)
			container.Resources.Requests[corev1.ResourceCPU] = *resource.NewMilliQuantity(100+10*int64(e.spec), resource.DecimalSI)
		}
	}
}

// randomOf is a source of its own for each object, so that runs are the same.
func randomOf(kind, ordinal int) *rand.Rand {
	return rand.New(rand.NewPCG(uint64(kind), uint64(ordinal)))
}

func hex(random *rand.Rand, digits int) string {
	var text strings.Builder
	for text.Len() < digits {
		fmt.Fprintf(&text, "%016x", random.Uint64())
	}
	return text.String()[:digits]
}

func uid(random *rand.Rand) string {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], random.Uint64())
	binary.BigEndian.PutUint64(b[8:], random.Uint64())
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
