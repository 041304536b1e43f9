// Package clients has clients that nobody here wrote talk to envtest.Server:
// client-go's clientset and informers, and a controller on controller-runtime.
// What they take for a Kubernetes API server, a test may take for one.
package clients
