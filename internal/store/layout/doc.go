// Package layout says what stands in the rows of messages and deliveries: their tables and columns, how a value becomes a row
// and back, and what the ids tell. A delivery has one of two forms, and both are here: a row of its own (rows.go), or the
// columns of its message while it is clean (sole.go).
//
// It reads and writes nothing: the statements are those of package store.
package layout
