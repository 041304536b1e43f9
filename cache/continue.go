package cache

import (
	"encoding/base64"
	"encoding/json"
	"fmt"

	"governor/client"
)

// token is what a Continue holds: a place in the order, and the query that it
// belongs to.
type token struct {
	Version   string `json:"v"`
	Query     uint64 `json:"q"`
	Namespace string `json:"ns"`
	Name      string `json:"n"`
}

const tokenVersion = "cache.governor.dev/v1"

// token returns the Continue for what comes after last.
func (q *query) token(last client.ObjectKey) string {
	// Strings and numbers always marshal.
	data, _ := json.Marshal(token{Version: tokenVersion, Query: q.text, Namespace: last.Namespace, Name: last.Name})
	return base64.RawURLEncoding.EncodeToString(data)
}

func (q *query) resume(text string) error {
	var t token
	data, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		err = json.Unmarshal(data, &t)
	}
	switch {
	case err != nil || t.Version != tokenVersion:
		return fmt.Errorf("the continue token was not issued by this cache: begin the list anew, and do not mix cached and live lists")
	case t.Query != q.text:
		return fmt.Errorf("the continue token belongs to a list with other options: pass the same kind, namespace and selectors for each page")
	}
	q.after, q.paged = client.ObjectKey{Namespace: t.Namespace, Name: t.Name}, true
	return nil
}
