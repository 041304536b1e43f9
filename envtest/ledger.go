package envtest

import (
	"cmp"
	"fmt"
	"slices"
	"sync"

	"governor/client"
	"governor/envtest/kinds"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// place is where an object is.
type place struct {
	resource        schema.GroupResource
	namespace, name string
}

// ledger is what a write has to know of other objects: which namespaces take new
// ones, and who depends on whom. Each write is entered in the same step in which the
// store makes it, so the two never disagree but for a moment in which an object of
// the ledger is not in the store yet, or no longer: whoever reads here looks
// there. The zero value is ready to use.
type ledger struct {
	mu         sync.Mutex                   // taken while the store's is held, never the other way round
	namespaces map[string]bool              // +checklocks:mu whether they are terminating, by name
	dependents map[types.UID]map[place]bool // +checklocks:mu by the owner's UID
}

var (
	namespaces = schema.GroupResource{Resource: "namespaces"}
	pods       = schema.GroupResource{Resource: "pods"}
	events     = schema.GroupResource{Resource: "events"}
)

// enter is told of a write before the store makes it, and may refuse it: nothing
// is created in a namespace that is not there, or is going.
func (l *ledger) enter(r *kinds.Resource, namespace, name string, old, value client.Object) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r.Namespaced && old == nil && value != nil {
		if err := l.admitsLocked(r, namespace, name); err != nil {
			return err
		}
	}
	if r.Storage == namespaces {
		l.namespaceLocked(name, value)
	}
	l.ownersLocked(place{r.Storage, namespace, name}, ownerUIDs(old), ownerUIDs(value))
	return nil
}

// +checklocks:l.mu
func (l *ledger) namespaceLocked(name string, value client.Object) {
	if value == nil {
		delete(l.namespaces, name)
		return
	}
	if l.namespaces == nil {
		l.namespaces = map[string]bool{}
	}
	ns, ok := value.(*corev1.Namespace)
	l.namespaces[name] = ok && ns.Status.Phase == corev1.NamespaceTerminating
}

// +checklocks:l.mu
func (l *ledger) ownersLocked(dependent place, before, after []types.UID) {
	if dependent.resource == events {
		return // no garbage collector looks at them
	}
	for _, uid := range before {
		if !slices.Contains(after, uid) {
			delete(l.dependents[uid], dependent)
			if len(l.dependents[uid]) == 0 {
				delete(l.dependents, uid)
			}
		}
	}
	for _, uid := range after {
		if l.dependents == nil {
			l.dependents = map[types.UID]map[place]bool{}
		}
		if l.dependents[uid] == nil {
			l.dependents[uid] = map[place]bool{}
		}
		l.dependents[uid][dependent] = true
	}
}

// admits says why a namespace does not take a new object: it is not there, or
// it is going.
func (l *ledger) admits(r *kinds.Resource, namespace, name string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.admitsLocked(r, namespace, name)
}

// +checklocks:l.mu
func (l *ledger) admitsLocked(r *kinds.Resource, namespace, name string) error {
	terminating, exists := l.namespaces[namespace]
	switch {
	case !exists:
		return apierrors.NewNotFound(namespaces, namespace)
	case terminating:
		err := apierrors.NewForbidden(r.GroupVersionResource.GroupResource(), name,
			fmt.Errorf("unable to create new content in namespace %s because it is being terminated", namespace))
		err.ErrStatus.Details.Causes = []metav1.StatusCause{{
			Type:    corev1.NamespaceTerminatingCause,
			Message: fmt.Sprintf("namespace %s is being terminated", namespace),
			Field:   "metadata.namespace",
		}}
		return err
	}
	return nil
}

// terminating says whether a namespace is going.
func (l *ledger) terminating(namespace string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.namespaces[namespace]
}

// dependentsOf returns where the objects are that name an owner, in an order of their own.
func (l *ledger) dependentsOf(owner types.UID) []place {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.dependents[owner]) == 0 {
		return nil
	}
	places := make([]place, 0, len(l.dependents[owner]))
	for p := range l.dependents[owner] {
		places = append(places, p)
	}
	slices.SortFunc(places, place.compare)
	return places
}

func (p place) compare(q place) int {
	return cmp.Or(
		cmp.Compare(p.resource.Group, q.resource.Group),
		cmp.Compare(p.resource.Resource, q.resource.Resource),
		cmp.Compare(p.namespace, q.namespace),
		cmp.Compare(p.name, q.name),
	)
}
