package decode

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// perDeployment is how many replicas are alike.
const perDeployment = 50

// newPods returns a maker of Pods as a cluster has them: those of one
// Deployment differ in what differs in real ones.
func newPods(t testing.TB) func(i int) *corev1.Pod {
	t.Helper()
	text, err := os.ReadFile("testdata/pod.json")
	if err != nil {
		t.Fatal(err)
	}
	templates := map[int]*corev1.Pod{}
	return func(i int) *corev1.Pod {
		deployment := i / perDeployment
		template := templates[deployment]
		if template == nil {
			template = &corev1.Pod{}
			its := strings.ReplaceAll(string(text), "service-0", fmt.Sprintf("service-%d", deployment))
			if err := json.Unmarshal([]byte(its), template); err != nil {
				t.Fatal(err)
			}
			templates[deployment] = template
		}
		pod := template.DeepCopy()
		pod.Name = fmt.Sprintf("%s%05d", pod.GenerateName, i)
		pod.UID = types.UID(fmt.Sprintf("00000000-0000-4000-8000-%012d", i))
		pod.ResourceVersion = fmt.Sprint(1000 + i)
		pod.OwnerReferences[0].UID = types.UID(fmt.Sprintf("10000000-0000-4000-8000-%012d", deployment))
		pod.Spec.NodeName = fmt.Sprintf("node-%d", i%200)
		pod.Status.PodIP = fmt.Sprintf("10.%d.%d.%d", i>>16, i>>8&255, i&255)
		pod.Status.HostIP = fmt.Sprintf("192.0.2.%d", i%200)
		token := fmt.Sprintf("kube-api-access-%05x", i)
		pod.Spec.Volumes[1].Name = token
		for c := range pod.Spec.Containers {
			pod.Spec.Containers[c].VolumeMounts[1].Name = token
			pod.Status.ContainerStatuses[c].ContainerID = fmt.Sprintf("containerd://%064x", i<<4+c)
		}
		return pod
	}
}
