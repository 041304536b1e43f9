package envtest

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/net"
)

// warn tells the client something that is no error, in a header; what has been told
// is not told again. It has to come before the answer.
func (c *call) warn(text string) {
	header, err := net.NewWarningHeader(299, "-", text)
	if err != nil || slices.Contains(c.w.Header()["Warning"], header) {
		return // one that cannot be put into a header is lost
	}
	c.w.Header().Add("Warning", header)
}

// warnAll tells the client what is wrong with a body that is taken nevertheless.
// A fault of the YAML parser has several lines, a warning each.
func (c *call) warnAll(faults []error) {
	for _, fault := range faults {
		text := fault.Error()
		for _, prefix := range yamlPrefixes {
			if rest, ok := strings.CutPrefix(text, prefix); ok {
				text = rest
				break
			}
		}
		for line := range strings.SplitSeq(text, "\n") {
			c.warn(strings.TrimSpace(line))
		}
	}
}

// yamlPrefixes is what faults of the YAML parser begin with.
var yamlPrefixes = []string{
	"yaml: unmarshal errors:\n",
	"error converting YAML to JSON: yaml: unmarshal errors:\n",
}
