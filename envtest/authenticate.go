package envtest

import (
	"crypto/rand"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
)

// The names that the server knows.
const (
	anonymous          = "system:anonymous"
	authenticated      = "system:authenticated"
	unauthenticated    = "system:unauthenticated"
	serviceAccounts    = "system:serviceaccounts"
	serviceAccountUser = "system:serviceaccount:"
)

// User is who makes a request.
type User struct {
	Name   string
	UID    string
	Groups []string
	Extra  map[string][]string
}

// AddUser returns a config for a user whom RBAC and the Authorizer know by this
// name and these groups; its BearerToken also works on a Listener. An empty name is the anonymous
// user, who has no token.
func (s *Server) AddUser(name string, groups ...string) *rest.Config {
	cfg := &rest.Config{Host: "https://in.memory", QPS: -1, Transport: Transport(s)}
	if name != "" {
		cfg.BearerToken = s.users.issue(User{Name: name, Groups: slices.Clone(groups)}, time.Time{})
	}
	return cfg
}

// users are the owners of tokens. It is ready when zero.
type users struct {
	mu     sync.RWMutex
	tokens map[string]owner // +checklocks:mu
}

// owner is whose a token is, and until when; zero is for ever.
type owner struct {
	user    User
	expires time.Time
}

// issue makes a token.
func (u *users) issue(user User, expires time.Time) string {
	token := rand.Text()
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.tokens == nil {
		u.tokens = make(map[string]owner)
	}
	u.tokens[token] = owner{user: ofGroup(user, authenticated), expires: expires}
	return token
}

// lookup returns whose token this is.
func (u *users) lookup(token string) (User, bool) {
	u.mu.RLock()
	defer u.mu.RUnlock()
	o, ok := u.tokens[token]
	return o.user, ok && (o.expires.IsZero() || time.Now().Before(o.expires))
}

// authenticate finds who makes a request: the owner of its bearer token, or, if it has none,
// the anonymous user. A token that nobody owns is a 401.
func (u *users) authenticate(r *http.Request) (User, error) {
	scheme, token, _ := strings.Cut(strings.TrimSpace(r.Header.Get("Authorization")), " ")
	if token = strings.TrimSpace(token); !strings.EqualFold(scheme, "bearer") || token == "" {
		return User{Name: anonymous, Groups: []string{unauthenticated}}, nil
	}
	user, ok := u.lookup(token)
	if !ok {
		return User{}, apierrors.NewUnauthorized("Unauthorized")
	}
	return user, nil
}

// ofGroup is a user who is in a group too.
func ofGroup(u User, group string) User {
	if !slices.Contains(u.Groups, group) {
		u.Groups = append(slices.Clip(u.Groups), group)
	}
	return u
}

// serviceAccount is the user that a service account is.
func serviceAccount(namespace, name, uid string) User {
	return User{
		Name:   serviceAccountUser + namespace + ":" + name,
		UID:    uid,
		Groups: []string{serviceAccounts, serviceAccounts + ":" + namespace},
	}
}

// splitServiceAccount finds the service account that a user is.
func splitServiceAccount(user string) (namespace, name string, ok bool) {
	rest, ok := strings.CutPrefix(user, serviceAccountUser)
	if !ok {
		return "", "", false
	}
	namespace, name, ok = strings.Cut(rest, ":")
	return namespace, name, ok && namespace != "" && name != "" && !strings.Contains(name, ":")
}
