package storage_test

import (
	"fmt"

	"governor/client"
	"governor/envtest/storage"
)

func Example() {
	s := storage.New(nil)
	write := func(value string) {
		_, err := s.Write(configMaps, "default", "app", func(current *storage.Object) (client.Object, error) {
			return configMap("default", "app", value), nil
		})
		if err != nil {
			panic(err)
		}
	}
	write("blue")
	then := s.ResourceVersion()
	write("green")

	old, _, err := s.List(configMaps, "default", then)
	fmt.Println(value(old[0]), err)
	changes, _, err := s.Cursor(configMaps, then).Next()
	fmt.Println(value(changes[0].Previous), "became", value(changes[0].Object), err)
	// Output:
	// blue <nil>
	// blue became green <nil>
}
