package kinds

// What the recorder of the table needs.
type (
	Row            = row
	SubresourceRow = subresourceRow
)
