package envtest

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// continueToken says where the next page of a list starts. Clients get it in
// base64 and must not look inside; it is as the real server's, so that recorded answers compare.
type continueToken struct {
	APIVersion string `json:"v"`
	// ResourceVersion of all pages of the list; negative for whatever is current.
	ResourceVersion int64 `json:"rv"`
	// Start is the key of the first object, with a slash before it; below the
	// namespace if the list is of one.
	Start string `json:"start"`
}

const continueVersion = "meta.k8s.io/v1"

// newContinue returns the token of the page after the object with a key.
func newContinue(resourceVersion uint64, namespace, key string) string {
	if namespace != "" {
		key = strings.TrimPrefix(key, namespace+"/")
	}
	return continueToken{continueVersion, int64(resourceVersion), "/" + key + "\x00"}.String()
}

// String is the token as clients get it.
func (t continueToken) String() string {
	text, _ := json.Marshal(t) // strings and a number: cannot fail
	return base64.RawURLEncoding.EncodeToString(text)
}

// key is where to start in a list of a namespace; "" is all of them.
func (t continueToken) key(namespace string) string {
	start := strings.TrimPrefix(t.Start, "/")
	if namespace != "" {
		return namespace + "/" + start
	}
	return start
}

// parseContinue reads a token that a client sent.
func parseContinue(text string) (t continueToken, err error) {
	decoded, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		err = json.Unmarshal(decoded, &t)
	}
	switch {
	case err != nil:
		return t, fmt.Errorf("continue key is not valid: %w", err)
	case t.APIVersion != continueVersion:
		return t, fmt.Errorf("continue key is not valid: server does not recognize this encoded version %s", t.APIVersion)
	case t.ResourceVersion == 0:
		return t, errors.New("continue key is not valid: incorrect encoded start resourceVersion (version meta.k8s.io/v1)")
	case t.Start == "":
		return t, errors.New("continue key is not valid: encoded start key empty (version meta.k8s.io/v1)")
	}
	if start := "/" + strings.TrimPrefix(t.Start, "/"); path.Clean(start) != start {
		return t, fmt.Errorf("continue key is not valid: %s", t.Start)
	}
	return t, nil
}

// errContinueExpired: the list that a token continues is forgotten. The error has a
// token for the rest of the list as it is now.
func errContinueExpired(t continueToken) error {
	t.ResourceVersion = -1
	err := apierrors.NewResourceExpired("The provided continue parameter is too old " +
		"to display a consistent list result. You can start a new list without " +
		"the continue parameter, or use the continue token in this response to " +
		"retrieve the remainder of the results. Continuing with the provided " +
		"token results in an inconsistent list - objects that were created, " +
		"modified, or deleted between the time the first chunk was returned " +
		"and now may show up in the list.")
	err.ErrStatus.Continue = t.String()
	return err
}
