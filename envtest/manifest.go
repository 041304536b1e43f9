package envtest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// readManifests reads those objects in files and directories that are wanted; each
// path has to have one. An error of wanted is about the document.
func readManifests(plural, singular string, paths []string, wanted func(*unstructured.Unstructured) (bool, error)) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	for _, path := range paths {
		files, err := manifestFiles(path)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", plural, err)
		}
		found := len(objects)
		for _, file := range files {
			if objects, err = appendManifests(objects, file, wanted); err != nil {
				return nil, fmt.Errorf("read %s: %s: %w", plural, file, err)
			}
		}
		if len(objects) == found {
			return nil, fmt.Errorf("read %s: %s: there is no %s", plural, path, singular)
		}
	}
	return objects, nil
}

// manifestFiles is path, or the manifests in it, sorted by name.
func manifestFiles(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, e := range entries {
		if !e.IsDir() && slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(e.Name())) {
			files = append(files, filepath.Join(path, e.Name()))
		}
	}
	return files, nil
}

func appendManifests(objects []*unstructured.Unstructured, file string, wanted func(*unstructured.Unstructured) (bool, error)) ([]*unstructured.Unstructured, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	documents := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	for n := 1; ; n++ {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		var asJSON []byte
		if err == nil {
			asJSON, err = yaml.ToJSON(document)
		}
		if err != nil {
			return nil, fmt.Errorf("document %d: %w", n, err)
		}
		if string(asJSON) == "null" {
			continue // a comment, or nothing at all
		}
		object := &unstructured.Unstructured{}
		if err := object.UnmarshalJSON(asJSON); err != nil {
			return nil, fmt.Errorf("document %d: %w", n, err)
		}
		switch is, err := wanted(object); {
		case err != nil:
			return nil, fmt.Errorf("document %d %w", n, err)
		case !is:
			continue
		case object.GetName() == "":
			return nil, fmt.Errorf("document %d has no name", n)
		}
		objects = append(objects, object)
	}
}
