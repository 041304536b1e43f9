package envtest

import (
	_ "embed"
	"encoding/json"
	"sync"
	"time"

	"governor/client"
	"governor/envtest/storage"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// table turns an answer into a Table, for kubectl get.
func (s *Server) table(c *call, a *answer) (*metav1.Table, error) {
	t, err := s.newTabler(c)
	if err != nil {
		return nil, err
	}
	switch {
	case a.page != nil:
		table, err := t.table(a.page.objects...)
		if err != nil {
			return nil, err
		}
		table.ListMeta = a.page.meta()
		return table, nil
	case a.object != nil:
		return t.table(a.object)
	default:
		return t.tableOf(a.value)
	}
}

// tabler makes Tables of the objects of one resource, as one client wants them.
type tabler struct {
	server  *Server
	call    *call
	include metav1.IncludeObjectPolicy
	layout  layout
}

// layout is how objects of a kind are shown.
type layout struct {
	columns []metav1.TableColumnDefinition
	// cells are what is in the columns, for an object as it is stored.
	cells func(o client.Object) []any
	// noRows is what a Table without rows has: null, or an empty list.
	noRows []metav1.TableRow
}

// newTabler finds out how the objects of a call are shown.
func (s *Server) newTabler(c *call) (*tabler, error) {
	var o metav1.TableOptions
	if err := c.decodeOptions(&o); err != nil {
		return nil, err
	}
	if errs := validation.ValidateTableOptions(&o); len(errs) > 0 {
		return nil, errBadRequest("Unable to convert to Table as requested: " + errs.ToAggregate().Error())
	}
	return &tabler{server: s, call: c, include: o.IncludeObject, layout: layoutOf(c)}, nil
}

// layoutOf returns how the objects that a call is about are shown.
func layoutOf(c *call) layout {
	if c.resource.Custom != nil {
		return customLayout(c.resource.Custom.PrinterColumns)
	}
	key := c.resource.Storage
	if cells := builtinCells[key]; cells != nil {
		l := layout{columns: builtinColumns()[key.String()], cells: cells}
		if c.resource.GroupVersionKind != definitionKind {
			l.noRows = []metav1.TableRow{}
		}
		return l
	}
	return plainLayout
}

// plainLayout shows any object.
var plainLayout = layout{
	columns: []metav1.TableColumnDefinition{
		described(metav1.TableColumnDefinition{Name: "Name", Type: "string", Format: "name"}),
		described(metav1.TableColumnDefinition{Name: "Created At", Type: "date"}),
	},
	cells: func(o client.Object) []any {
		return []any{o.GetName(), o.GetCreationTimestamp().UTC().Format(time.RFC3339)}
	},
}

// columnsJSON are the columns of built-in kinds, as a Kubernetes 1.37 API server has
// them; the descriptions of Name and Age, which are always the same, are left out.
//
//go:embed columns.json
var columnsJSON []byte

// builtinColumns parses columnsJSON, once per process.
var builtinColumns = sync.OnceValue(func() map[string][]metav1.TableColumnDefinition {
	var all map[string][]metav1.TableColumnDefinition
	if err := json.Unmarshal(columnsJSON, &all); err != nil {
		panic("envtest: columns.json: " + err.Error()) // embedded: our own mistake
	}
	for _, columns := range all {
		for i := range columns {
			columns[i] = described(columns[i])
		}
	}
	return all
})

// described fills in the description of a column that is one of the metadata.
func described(column metav1.TableColumnDefinition) metav1.TableColumnDefinition {
	switch {
	case column.Description != "":
	case column.Format == "name":
		column.Description = metav1.ObjectMeta{}.SwaggerDoc()["name"]
	default:
		column.Description = metav1.ObjectMeta{}.SwaggerDoc()["creationTimestamp"]
	}
	return column
}

// table returns a Table of objects, whose resourceVersion is that of the last one.
func (t *tabler) table(objects ...*storage.Object) (*metav1.Table, error) {
	table := t.empty()
	table.ColumnDefinitions = t.layout.columns
	for _, o := range objects {
		shown, err := t.shown(o)
		if err != nil {
			return nil, err
		}
		table.Rows = append(table.Rows, metav1.TableRow{
			Cells:      t.layout.cells(o.Value),
			Conditions: rowConditions(o.Value),
			Object:     shown,
		})
		table.ResourceVersion = o.Value.GetResourceVersion()
	}
	return table, nil
}

// tableOf returns the Table of an object that is not stored.
func (t *tabler) tableOf(value runtime.Object) (*metav1.Table, error) {
	object, ok := value.(client.Object)
	if !ok {
		return nil, errNoTable(t.call.groupResource())
	}
	how := plainLayout
	switch {
	case t.call.kind() == scaleKind && t.call.resource.Custom != nil:
		how = customLayout(scaleColumns)
	case t.call.kind() == scaleKind:
		how = scaleLayout
	}
	table := t.empty()
	table.ColumnDefinitions = how.columns
	table.ResourceVersion = object.GetResourceVersion()
	row := metav1.TableRow{Cells: how.cells(object)}
	switch t.include {
	case metav1.IncludeNone:
	case metav1.IncludeObject:
		row.Object.Object = object
	default:
		row.Object.Object = partialOf(object, t.kind("PartialObjectMetadata"))
	}
	table.Rows = append(table.Rows, row)
	return table, nil
}

func (t *tabler) empty() *metav1.Table {
	table := &metav1.Table{Rows: t.layout.noRows}
	table.SetGroupVersionKind(t.kind("Table"))
	return table
}

// kind is that of something in the version of meta.k8s.io that the client wants.
func (t *tabler) kind(name string) schema.GroupVersionKind {
	return t.call.format.as.GroupVersion().WithKind(name)
}

// shown returns what a row has of an object itself, from the cache of its encodings.
func (t *tabler) shown(o *storage.Object) (runtime.RawExtension, error) {
	f := format{mediaType: runtime.ContentTypeJSON}
	_, end := o.Value.GetAnnotations()[metav1.InitialEventsAnnotationKey] // a bookmark, which needs it
	switch {
	case t.include == metav1.IncludeNone && !end:
		return runtime.RawExtension{}, nil
	case t.include == metav1.IncludeObject:
	default:
		f.as = t.kind("PartialObjectMetadata")
	}
	b, err := t.server.encoder(t.call.resource, f).bytes(o)
	return runtime.RawExtension{Raw: b}, err
}

// errNoTable: what the path names has no metadata to show.
func errNoTable(resource schema.GroupResource) error {
	return statusError(406, metav1.StatusReasonNotAcceptable,
		"the resource "+resource.String()+" does not support being converted to a Table", nil)
}
