package decode

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// The getters of a Compact. Those here cost nothing.

// GetNamespace implements metav1.Object.
func (c *Compact) GetNamespace() string { return c.namespace }

// GetName implements metav1.Object.
func (c *Compact) GetName() string { return c.name }

// GetUID implements metav1.Object.
func (c *Compact) GetUID() types.UID { return c.uid }

// GetResourceVersion implements metav1.Object.
func (c *Compact) GetResourceVersion() string { return c.resourceVersion }

// GetLabels implements metav1.Object.
func (c *Compact) GetLabels() map[string]string { return c.traits.labels }

// GetOwnerReferences implements metav1.Object.
func (c *Compact) GetOwnerReferences() []metav1.OwnerReference { return c.traits.owners }

// Those here decode the object.

// GetGenerateName implements metav1.Object.
func (c *Compact) GetGenerateName() string { return c.read().GetGenerateName() }

// GetGeneration implements metav1.Object.
func (c *Compact) GetGeneration() int64 { return c.read().GetGeneration() }

// GetSelfLink implements metav1.Object.
func (c *Compact) GetSelfLink() string { return c.read().GetSelfLink() }

// GetCreationTimestamp implements metav1.Object.
func (c *Compact) GetCreationTimestamp() metav1.Time { return c.read().GetCreationTimestamp() }

// GetDeletionTimestamp implements metav1.Object.
func (c *Compact) GetDeletionTimestamp() *metav1.Time { return c.read().GetDeletionTimestamp() }

// GetDeletionGracePeriodSeconds implements metav1.Object.
func (c *Compact) GetDeletionGracePeriodSeconds() *int64 {
	return c.read().GetDeletionGracePeriodSeconds()
}

// GetAnnotations implements metav1.Object.
func (c *Compact) GetAnnotations() map[string]string { return c.read().GetAnnotations() }

// GetFinalizers implements metav1.Object.
func (c *Compact) GetFinalizers() []string { return c.read().GetFinalizers() }

// GetManagedFields implements metav1.Object.
func (c *Compact) GetManagedFields() []metav1.ManagedFieldsEntry { return c.read().GetManagedFields() }
