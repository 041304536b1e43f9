package envtest

import (
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"governor/envtest/kinds"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// format is how a client wants the answer.
type format struct {
	// mediaType is one of runtime.ContentTypeJSON, …YAML and …Protobuf.
	mediaType string
	// as is what the object is to be turned into: a PartialObjectMetadata, a
	// PartialObjectMetadataList or a Table of meta.k8s.io; zero is the object itself.
	as schema.GroupVersionKind
	// pretty: indented.
	pretty bool
	// named is what the Content-Type says besides the media type.
	named string
}

// mediaTypes are those that the server speaks; the first is for those who do not
// care.
var mediaTypes = []string{runtime.ContentTypeJSON, runtime.ContentTypeYAML, runtime.ContentTypeProtobuf}

// negotiate finds the best format that the client accepts and the call's resource has. Upstream: apiserver
// pkg/endpoints/handlers/negotiation.
func (c *call) negotiate() (format, error) {
	f, err := negotiateFor(c.Request, func(f format) bool { return available(f, c.resource) })
	if err != nil {
		err = c.errNotAcceptable()
	}
	return f, err
}

// negotiateFor finds the best format that the client accepts and of which has says that it can be
// had.
func negotiateFor(r *http.Request, has func(format) bool) (format, error) {
	header := r.Header.Get("Accept")
	switch header {
	case "":
		return format{mediaType: runtime.ContentTypeJSON, pretty: wantsPretty(r)}, nil
	case runtime.ContentTypeJSON: // it need not be parsed
		if f := (format{mediaType: header, pretty: wantsPretty(r)}); has(f) {
			return f, nil
		}
	}
	for _, clause := range acceptClauses(header) {
		for _, mediaType := range mediaTypes {
			if !matches(clause.mediaType, mediaType) {
				continue
			}
			f := format{mediaType: mediaType, pretty: clause.params["pretty"] == "1" || wantsPretty(r)}
			f.as.Group, f.as.Version, f.as.Kind = clause.params["g"], clause.params["v"], clause.params["as"]
			if streamable(f, clause.params["stream"]) && has(f) {
				return f, nil
			}
		}
	}
	return format{}, errUnacceptable(mediaTypes)
}

// clause is one part of an Accept header.
type clause struct {
	mediaType string
	params    map[string]string
	quality   float64
}

// acceptClauses returns the parts of an Accept header, the most wanted first. Parts that make
// no sense are left out.
func acceptClauses(header string) []clause {
	var clauses []clause
	for part := range strings.SplitSeq(header, ",") {
		mediaType, params, err := mime.ParseMediaType(part)
		if err != nil {
			continue
		}
		c := clause{mediaType: mediaType, params: params, quality: 1}
		if text, ok := params["q"]; ok {
			if q, err := strconv.ParseFloat(text, 64); err == nil {
				c.quality = q
			}
		}
		clauses = append(clauses, c)
	}
	slices.SortStableFunc(clauses, func(a, b clause) int {
		switch {
		case a.quality > b.quality:
			return -1
		case a.quality < b.quality:
			return 1
		}
		return 0
	})
	return clauses
}

// matches says whether a range of an Accept header includes a media type.
func matches(pattern, mediaType string) bool {
	main, _, _ := strings.Cut(mediaType, "/")
	return pattern == mediaType || pattern == main+"/*" || pattern == "*/*"
}

// available says whether a resource can be had in a format.
func available(f format, resource *kinds.Resource) bool {
	if f.as.Empty() {
		return f.mediaType != runtime.ContentTypeProtobuf || hasProtobuf(resource)
	}
	if gv := f.as.GroupVersion(); gv != metav1.SchemeGroupVersion && gv.String() != "meta.k8s.io/v1beta1" {
		return false
	}
	switch f.as.Kind {
	case "PartialObjectMetadata", "PartialObjectMetadataList":
		return true
	case "Table":
		return f.mediaType != runtime.ContentTypeProtobuf
	}
	return false
}

// streamable says whether a format has the kind of stream that is asked for.
func streamable(f format, stream string) bool {
	return stream == "" || stream == "watch" && f.mediaType != runtime.ContentTypeYAML
}

// hasProtobuf says whether objects of a resource have a protobuf encoding: typed ones.
func hasProtobuf(resource *kinds.Resource) bool {
	return resource.Custom == nil && resource.GroupVersionResource.Group != "apiextensions.k8s.io"
}

// wantsPretty says whether a person reads the answer.
func wantsPretty(r *http.Request) bool {
	if strings.Contains(r.URL.RawQuery, "pretty") {
		if v := r.URL.Query().Get("pretty"); v != "" {
			pretty, _ := strconv.ParseBool(v)
			return pretty
		}
	}
	agent := r.UserAgent()
	return strings.HasPrefix(agent, "curl") || strings.HasPrefix(agent, "Wget") || strings.HasPrefix(agent, "Mozilla/5.0")
}

// errNotAcceptable: the resource has none of the formats that the client accepts. Built-in
// resources are behind a router, which words it in its own way if it knows none of them
// at all.
func (c *call) errNotAcceptable() error {
	known := slices.ContainsFunc(acceptClauses(c.Header.Get("Accept")), func(clause clause) bool {
		return slices.ContainsFunc(mediaTypes, func(m string) bool { return matches(clause.mediaType, m) })
	})
	if known || c.resource.Custom != nil {
		return errUnacceptable(mediaTypes)
	}
	all := mediaTypes
	if verb := c.attributes.Verb; verb == "list" || verb == "watch" {
		all = append(slices.Clone(mediaTypes), streamTypes...)
	}
	return statusError(http.StatusNotAcceptable, metav1.StatusReasonNotAcceptable,
		"406: Not Acceptable\n\nAvailable representations: "+strings.Join(all, ", "), &metav1.StatusDetails{})
}

// errUnacceptable: the client accepts none of the media types that there are.
func errUnacceptable(types []string) error {
	return statusError(http.StatusNotAcceptable, metav1.StatusReasonNotAcceptable,
		"only the following media types are accepted: "+strings.Join(types, ", "), nil)
}
