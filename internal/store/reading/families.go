package reading

import (
	"github.com/posthouse/posthouse/internal/store/partition"
	"github.com/posthouse/posthouse/internal/store/sqldb"
)

// reader is what all reading needs.
type reader struct {
	db     *sqldb.DB
	parted *partition.Partitions
}

// The families of what is read.
type (
	// Messages reads messages and deliveries as they are now.
	Messages struct{ reader }
	// History reads what has happened to them.
	History struct{ reader }
	// Chain is the hash chain over messages and their history.
	Chain struct{ reader }
	// Logs are of what was received, handed out and reported.
	Logs struct{ reader }
	// Feed is what happened to deliveries in one order. Recent is what the writer of this process has just added to it.
	Feed struct {
		reader
		Recent *Recent
	}
)

// Families are the families over one connection.
type Families struct {
	Messages Messages
	History  History
	Chain    Chain
	Logs     Logs
	Feed     Feed
}

// Of are the families of an open database.
func Of(db *sqldb.DB, parted *partition.Partitions) Families {
	r := reader{db, parted}
	return Families{Messages{r}, History{r}, Chain{r}, Logs{r}, Feed{r, new(Recent)}}
}
