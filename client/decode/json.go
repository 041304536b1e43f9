package decode

import "sigs.k8s.io/json"

func (d *Decoder) decodeJSON(data []byte) (kind string, obj Object, err error) {
	obj = d.fresh()
	if err := json.UnmarshalCaseSensitivePreserveInts(data, obj); err != nil {
		return "", nil, err
	}
	return obj.GetObjectKind().GroupVersionKind().Kind, obj, nil
}
