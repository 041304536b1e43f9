package envtest

import (
	"errors"
	"fmt"

	"k8s.io/client-go/rest"
)

// AddUser returns a config for a user that RBAC knows by this name and these
// groups, with a client certificate that the control plane's CA has signed. At first it may
// do what every authenticated user may; bind a role to it for more. It works
// from Start to Stop, without a restart.
func (c *ControlPlane) AddUser(name string, groups ...string) (*rest.Config, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if name == "" {
		return nil, errors.New("add user: the name is empty")
	}
	if c.admin == nil || c.dataDir == "" {
		return nil, fmt.Errorf("add user %s: the control plane is not running", name)
	}
	user, err := c.identity.kubernetes.client(name, groups...)
	if err != nil {
		return nil, fmt.Errorf("add user %s: %w", name, err)
	}
	return c.identity.config(c.apiPort, user), nil
}
