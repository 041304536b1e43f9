package conformance

import (
	"encoding/json"

	"governor/scheme"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
)

// decodeProtobuf reads an object in Kubernetes' protobuf and returns it as JSON
// would have said it.
func decodeProtobuf(data []byte) (any, error) {
	known := scheme.Builtin()
	if err := known.Install(metav1.AddMetaToScheme); err != nil {
		return nil, err
	}
	obj, kind, err := protobuf.NewSerializer(known, known).Decode(data, nil, nil)
	if err != nil {
		return nil, err
	}
	obj.GetObjectKind().SetGroupVersionKind(*kind)
	text, err := json.Marshal(obj)
	if err != nil {
		return nil, err
	}
	var value any
	err = json.Unmarshal(text, &value)
	return value, err
}
