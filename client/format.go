package client

import (
	"fmt"
	"reflect"
	"strings"

	"governor/scheme"

	"k8s.io/apimachinery/pkg/runtime"
)

const (
	mediaJSON     = "application/json"
	mediaProtobuf = "application/vnd.kubernetes.protobuf"

	// What a metadata-only client accepts. One object, a watch's stream, and a
	// list are asked for by different names.
	asMetadata     = ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
	asMetadataList = ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
)

// format is how objects of one kind and form travel.
type format struct {
	// accept is the Accept header, acceptList that of a list; the server picks
	// from it.
	accept, acceptList string
	// contentType is that of the bodies we send, encoder what writes them.
	contentType string
	encoder     runtime.Encoder
}

// formats has what a client sends and accepts.
type formats struct {
	json, protobuf runtime.Encoder
	// allowed says whether the caller's configuration leaves room for protobuf.
	allowed bool
}

// newFormats takes the encoders from a scheme.
func newFormats(s *scheme.Scheme, protobufAllowed bool) (*formats, error) {
	f := &formats{allowed: protobufAllowed}
	for _, info := range s.Codecs().SupportedMediaTypes() {
		switch info.MediaType {
		case mediaJSON:
			f.json = info.Serializer
		case mediaProtobuf:
			f.protobuf = info.Serializer
		}
	}
	if f.json == nil || f.protobuf == nil {
		return nil, fmt.Errorf("the scheme's codecs lack JSON or protobuf")
	}
	return f, nil
}

// of returns the format for a form; of Typed, an example tells whether the
// kind has protobuf.
func (f *formats) of(form Form, example runtime.Object) format {
	switch {
	case form == MetadataOnly && f.allowed:
		return format{
			accept:      mediaProtobuf + asMetadata + "," + mediaJSON + asMetadata + "," + mediaJSON,
			acceptList:  mediaProtobuf + asMetadataList + "," + mediaJSON + asMetadataList + "," + mediaJSON,
			contentType: mediaJSON,
			encoder:     f.json,
		}
	case form == Typed && f.allowed && hasProtobuf(example):
		const both = mediaProtobuf + "," + mediaJSON
		return format{accept: both, acceptList: both, contentType: mediaProtobuf, encoder: f.protobuf}
	}
	return f.plain(form)
}

// plain returns the format that every kind has: JSON.
func (f *formats) plain(form Form) format {
	one := format{accept: mediaJSON, acceptList: mediaJSON, contentType: mediaJSON, encoder: f.json}
	if form == MetadataOnly {
		one.accept = mediaJSON + asMetadata + "," + mediaJSON
		one.acceptList = mediaJSON + asMetadataList + "," + mediaJSON
	}
	return one
}

// protobufPackages are the Go packages whose types the API server itself
// serves, and so in protobuf too. Custom resources are served in JSON only,
// whatever methods their Go types have.
var protobufPackages = [...]string{
	"k8s.io/api/",
	"k8s.io/apiextensions-apiserver/",
	"k8s.io/kube-aggregator/",
}

// hasProtobuf says whether the server has a protobuf form of obj's kind.
func hasProtobuf(obj runtime.Object) bool {
	if _, ok := obj.(protoMessage); !ok {
		return false
	}
	pkg := reflect.TypeOf(obj).Elem().PkgPath()
	for _, prefix := range protobufPackages {
		if strings.HasPrefix(pkg, prefix) {
			return true
		}
	}
	return false
}
