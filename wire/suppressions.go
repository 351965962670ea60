package wire

import (
	"time"

	"github.com/posthouse/posthouse"
)

// SuppressionDraft is an address to which nothing is to be sent.
type SuppressionDraft struct {
	Address string    `json:"address" doc:"The address, as it is written on the channel." example:"o6_bmjrPTlm6_2sgVt7hMZOPfL2M" minLength:"1" maxLength:"512"`
	Channel string    `json:"channel,omitempty" doc:"Where it holds. Defaults to all channels of the tenant." example:"mp" maxLength:"128"`
	Reason  string    `json:"reason,omitempty" doc:"Why, in your own words. It is shown with each message that is not sent for it." example:"unsubscribed on the website" maxLength:"255"`
	Until   time.Time `json:"until,omitzero" doc:"When it ends by itself. Defaults to never." example:"2030-10-01T00:00:00+08:00"`
}

// SuppressionsAdded are the suppressions that are stored for an address now.
type SuppressionsAdded struct {
	Items []posthouse.Suppression `json:"items" doc:"One, or one for each form in which the tenant's channels keep the address."`
}

// SuppressionImport is what became of a file of suppressions.
type SuppressionImport struct {
	Stored  int64           `json:"stored" doc:"How many records are stored, also those that were before."`
	Refused int64           `json:"refused" doc:"How many could not be read."`
	First   []RefusedRecord `json:"first_refused" doc:"The first hundred of these."`
	// DryRun and what follows are of a trial.
	DryRun   bool                    `json:"dry_run,omitempty" doc:"Nothing was stored: stored counts what would be."`
	Replaced int64                   `json:"replaced,omitempty" doc:"With dry_run: how many of them name an address that is suppressed there already. What they say takes its place."`
	Would    []posthouse.Suppression `json:"first_stored,omitempty" doc:"With dry_run: the first five as they would be stored."`
}

// RefusedRecord is a record of a file that could not be read.
type RefusedRecord struct {
	Line   int64  `json:"line" doc:"Where it stands, from 1."`
	Column int64  `json:"column" doc:"Where it is wrong, in characters from 1."`
	Reason string `json:"reason" doc:"What is wrong."`
	Text   string `json:"text" doc:"Its beginning."`
}
