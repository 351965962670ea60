// Package campaigns keeps campaigns, the audiences they are sent to and the segments these are cut into. It decides nothing:
// each step is handed in with what the row must still be. What follows what is said by package internal/campaign.
package campaigns

import "github.com/posthouse/posthouse/internal/store/sqldb"

// The families of campaigns.
type (
	// Audiences are lists of people, in blocks.
	Audiences struct{ db *sqldb.DB }
	// Campaigns send to them.
	Campaigns struct{ db *sqldb.DB }
	// Segments are ranges of an audience, and where each member stands.
	Segments struct{ db *sqldb.DB }
	// Refs are what providers call the messages of members, and what they told of them.
	Refs struct{ db *sqldb.DB }
)

// Families are all of them.
type Families struct {
	Audiences Audiences
	Campaigns Campaigns
	Segments  Segments
	Refs      Refs
}

// Of is the families in a database.
func Of(db *sqldb.DB) Families { return Families{Audiences{db}, Campaigns{db}, Segments{db}, Refs{db}} }
