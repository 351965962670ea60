package engine

import (
	"github.com/posthouse/posthouse/internal/content"
	"github.com/posthouse/posthouse/internal/inquire"
	"github.com/posthouse/posthouse/internal/intake"
	"github.com/posthouse/posthouse/internal/pull"
	"github.com/posthouse/posthouse/internal/upkeep"
	"github.com/posthouse/posthouse/internal/usher"
)

// database is all that the roles need in one, so that a test can put something between them and one part of it.
type database interface {
	intake.Store
	intake.Outbox
	intake.Plans
	intake.Known
	content.Store
	pull.HandOuts
	pull.Held
	pull.Words
	Queue
	inquire.Receipts
	Gates
	Depths
	upkeep.Old
	upkeep.Epochs
	Minutes
	usher.Lines
	Suppressed
}

// parts hands one database to all roles.
func parts(db database) Stores {
	return Stores{
		Intake: db, Outbox: db, Plans: db, Reminders: db, Contents: db, HandOuts: db, Held: db, Words: db,
		Queue: db, Receipts: db, Gates: db, Depths: db, Old: db, Epochs: db, Minutes: db, Lines: db, Suppressed: db,
	}
}
