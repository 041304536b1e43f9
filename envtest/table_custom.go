package envtest

import (
	"reflect"
	"strings"

	"governor/client"
	"governor/envtest/kinds"

	"k8s.io/apimachinery/pkg/api/meta/table"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/util/jsonpath"
)

// customLayout shows objects of a custom kind in the columns that its definition asks for, or else with
// their age.
func customLayout(columns []kinds.Column) layout {
	if len(columns) == 0 {
		columns = []kinds.Column{ageColumn}
	}
	l := layout{columns: plainLayout.columns[:1:1], noRows: []metav1.TableRow{}}
	paths := make([]*jsonpath.JSONPath, len(columns))
	for i, column := range columns {
		paths[i] = jsonpath.New(column.Name).AllowMissingKeys(true)
		if paths[i].Parse("{"+column.JSONPath+"}") != nil {
			paths[i] = nil // the cells stay empty
		}
		description := column.Description
		if description == "" {
			description = "Custom resource definition column (in JSONPath format): " + column.JSONPath
		}
		l.columns = append(l.columns, metav1.TableColumnDefinition{
			Name: column.Name, Type: column.Type, Format: column.Format, Description: description, Priority: column.Priority,
		})
	}
	l.cells = func(o client.Object) []any {
		cells := []any{o.GetName()}
		for i, path := range paths {
			cells = append(cells, customCell(o, path, columns[i].Type))
		}
		return cells
	}
	return l
}

// ageColumn is what a definition without columns has.
var ageColumn = kinds.Column{
	Name: "Age", Type: "date", JSONPath: ".metadata.creationTimestamp",
	Description: metav1.ObjectMeta{}.SwaggerDoc()["creationTimestamp"],
}

// scaleColumns show the Scale of a custom object.
var scaleColumns = []kinds.Column{
	{Name: "Desired", Type: "integer", JSONPath: ".spec.replicas", Description: "Number of desired replicas"},
	{Name: "Available", Type: "integer", JSONPath: ".status.replicas", Description: "Number of actual replicas"},
	ageColumn,
}

// customCell is the first thing that a path finds in an object, or nil.
func customCell(o client.Object, path *jsonpath.JSONPath, columnType string) any {
	if path == nil {
		return nil
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		return nil
	}
	found, err := path.FindResults(content)
	if err != nil || len(found) == 0 || len(found[0]) == 0 {
		return nil
	}
	value := found[0][0].Interface()
	if columnType != "string" {
		return typedCell(value, columnType)
	}
	var text strings.Builder
	if path.PrintResults(&text, []reflect.Value{reflect.ValueOf(value)}) != nil {
		return nil
	}
	return text.String()
}

// typedCell is a value as a column of its type shows it, nil if it has another type.
func typedCell(value any, columnType string) any {
	switch v := value.(type) {
	case int64:
		switch columnType {
		case "integer":
			return v
		case "number":
			return float64(v)
		}
	case float64:
		switch columnType {
		case "integer":
			return int64(v)
		case "number":
			return v
		}
	case bool:
		if columnType == "boolean" {
			return v
		}
	case string:
		if columnType == "date" {
			var when metav1.Time
			if when.UnmarshalQueryParameter(v) != nil {
				return "<invalid>"
			}
			return table.ConvertToHumanReadableDateType(when)
		}
	}
	return nil
}
