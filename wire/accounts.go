package wire

import (
	"time"

	"github.com/posthouse/posthouse"
)

// Accounts are accounts of one channel.
type Accounts struct {
	Accounts []posthouse.Account `json:"accounts" doc:"The accounts, each as GET shows it; a name stands once."`
}

// AccountsStored says what became of accounts that were put.
type AccountsStored struct {
	Stored  int  `json:"stored" doc:"How many were stored, or would be."`
	Created int  `json:"created" doc:"How many of them are new."`
	DryRun  bool `json:"dry_run,omitempty" doc:"Nothing was stored: it was only looked at."`
}

// Pause says why an account or a channel is paused, and until when.
type Pause struct {
	Reason string    `json:"reason,omitempty" doc:"Shown with what is paused, and by explain."`
	Until  time.Time `json:"until,omitzero" doc:"When it goes on by itself. Without it a person resumes it."`
}
