package workload

import "fmt"

const (
	// Replicas is how many objects a Deployment has, but the last; Canaries is how
	// many of them, the first ones, have the label for that.
	Replicas, Canaries = 50, 20
	// Namespaces is how many there are.
	Namespaces = 20
)

// Deployments is how many there are of so many objects.
func Deployments(objects int) int { return (objects + Replicas - 1) / Replicas }

// Namespace is where a Deployment is.
func Namespace(deployment int) string { return fmt.Sprintf("team-%d", deployment%Namespaces) }

// CanaryLabel is the label of canaries, beside those that all replicas have.
const CanaryLabel, CanaryValue = "track", "canary"

// CanaryLabels select the canaries of a Deployment.
func CanaryLabels(deployment int) map[string]string {
	return map[string]string{
		"app.kubernetes.io/name": fmt.Sprintf("service-%d", deployment),
		CanaryLabel:              CanaryValue,
	}
}
