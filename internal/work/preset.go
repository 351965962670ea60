package work

import "time"

// PresetRow is a preset that an installation added: its files as they are written.
type PresetRow struct {
	Tenant, Name string
	Version      int
	Body, Shapes string
	UpdatedAt    time.Time
}
