package retold

import "github.com/posthouse/posthouse/internal/store"

// Options are what every import asks for. To is required.
type Options struct {
	To *store.Store
	// Tenant is whose all of it becomes. Defaults to "default".
	Tenant string
	// History leaves out what may still be sent: for a first run while the old system works.
	History bool
	// DryRun reads and converts everything, and writes nothing.
	DryRun bool
	// Batch is how many rows are read and written at once. Defaults to a few hundred.
	Batch int
	// Progress is told how far a table is, after each batch. Defaults to none.
	Progress func(table string, read, of int)
}

// Counts are what became of the rows of a table.
type Counts struct {
	Name string `json:"table"`
	// Missing is set where the source has no such table.
	Missing bool `json:"missing,omitempty"`
	Rows    int  `json:"rows"`
	// New were stored, or would be; There are those that were stored before.
	New   int `json:"new"`
	There int `json:"there"`
}
