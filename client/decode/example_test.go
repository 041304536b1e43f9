package decode_test

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"governor/client/decode"
)

// Two states of one object share what did not change.
func Example() {
	d := decode.New(func() decode.Object { return &corev1.ConfigMap{} }, nil)
	settings := &corev1.ConfigMap{Data: map[string]string{"colour": "green"}}
	settings.Name, settings.ResourceVersion = "settings", "1"

	var states []*corev1.ConfigMap
	for _, version := range []string{"1", "2"} {
		settings.ResourceVersion = version
		message, err := settings.Marshal()
		if err != nil {
			fmt.Println(err)
			return
		}
		obj, err := d.Protobuf(message)
		if err != nil {
			fmt.Println(err)
			return
		}
		states = append(states, obj.(*corev1.ConfigMap))
	}
	// Only to show it: objects of a Decoder are not to be changed.
	states[0].Data["colour"] = "red"
	fmt.Println(states[0].ResourceVersion, states[1].ResourceVersion, states[1].Data["colour"])
	// Output: 1 2 red
}
