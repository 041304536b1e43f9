package controller

import (
	"context"
	"testing"

	"governor/client"
)

// A source leaves states out only where nobody can miss them.
func TestSourceCoalescesWhereNoReconciliationIsLost(t *testing.T) {
	own := EnqueueRequestForObject{}
	owner := EnqueueRequestForOwner(nil, nil, nil)
	mapped := EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []Request { return nil })
	for _, tt := range []struct {
		name       string
		handler    EventHandler[Request]
		predicates Predicates
		want       bool
	}{
		{"the object's key", own, nil, true},
		{"generations only grow", own, Predicates{GenerationChangedPredicate{}, ResourceVersionChangedPredicate{}}, true},
		{"labels may change and change back", own, Predicates{GenerationChangedPredicate{}, LabelChangedPredicate{}}, false},
		{"a predicate of the user's", own, Predicates{NewPredicateFuncs(func(client.Object) bool { return true })}, false},
		{"an owner may come and go", owner, nil, false},
		{"a map function", mapped, nil, false},
		{"functions", HandlerFuncs[Request]{}, nil, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := Kind(nil, nil, tt.handler, tt.predicates...).(*kindSource[Request])
			if got := s.coalesces(); got != tt.want {
				t.Errorf("coalesces is %v, want %v", got, tt.want)
			}
		})
	}
}
