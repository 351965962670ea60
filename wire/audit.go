package wire

import (
	"encoding/json"
	"time"
)

// AuditEntry is one line of the audit log: who changed what.
type AuditEntry struct {
	ID      string    `json:"id"`
	Tenant  string    `json:"tenant"`
	At      time.Time `json:"at"`
	Key     string    `json:"key" doc:"The id of the API key that was shown; person:NAME for a person at the console, preferences:link for a user who has chosen on the page behind their link."`
	KeyName string    `json:"key_name,omitempty" doc:"What the key was called then."`
	Source  string    `json:"source" doc:"The address it came from; start, program or command where no request asked for it."`
	Action  string    `json:"action" doc:"The resource and what was done with it, such as channels.put."`
	Target  string    `json:"target,omitempty" doc:"Which one, where it was one."`
	// TargetName is not stored.
	TargetName string          `json:"target_name,omitempty" doc:"How a user of the directory who was changed is called now."`
	Note       string          `json:"note,omitempty" doc:"What the header X-Posthouse-Note said."`
	Affected   int             `json:"affected" doc:"How many things changed, of a bulk action."`
	Detail     json.RawMessage `json:"detail,omitempty" doc:"What was asked for, and how the thing was before and after, without secrets."`
}
