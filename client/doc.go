// Package client speaks with the API server.
package client
