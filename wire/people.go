package wire

import (
	"time"

	"github.com/posthouse/posthouse"
)

// PutPerson makes a person or changes one.
type PutPerson struct {
	Title    string                    `json:"title,omitempty" doc:"How the person is called on pages, up to 255 bytes. Defaults to the name."`
	Roles    map[string]posthouse.Role `json:"roles" doc:"What the person may do, by tenant: viewer, operator, sender or admin."`
	Disabled bool                      `json:"disabled,omitempty" doc:"Keep the person out: sessions and links end at once. Defaults to false."`
}

// PersonLink signs a person in to the console, once.
type PersonLink struct {
	Path   string    `json:"path" doc:"The address below the server's URL. It is shown this once; an older link of the person has ended."`
	EndsAt time.Time `json:"ends_at" doc:"Until when it can be used."`
}

// SignedOut says what ended.
type SignedOut struct {
	Ended int `json:"ended" doc:"How many sessions and links there were."`
}
