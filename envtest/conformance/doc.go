// Package conformance asks two API servers the same questions.
package conformance
