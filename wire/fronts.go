package wire

import "github.com/posthouse/posthouse"

// PutFront makes a front, or replaces the settings of one.
type PutFront struct {
	Kind string `json:"kind" doc:"Whose form it is: see GET /v1/front-kinds. It cannot be changed."`
	posthouse.FrontSettings
}

// NewFront is a front with what its sender is to be told.
type NewFront struct {
	posthouse.Front
	Path  string    `json:"path" doc:"Where it is, below the server's URL; the token follows it, or goes in the header Authorization."`
	Token string    `json:"token,omitempty" doc:"What the sender shows. It is answered once, when it is made, and kept as a hash alone."`
	Setup []Snippet `json:"setup,omitempty" doc:"What to paste at the sender, with the token in it."`
	// Warnings are only answered when it is stored.
	Warnings []posthouse.Problem `json:"warnings,omitempty" doc:"What of its recipients, or of the routes that it leads to, would not work now: a roster that is empty or not there, a role that nobody has. The front is stored."`
}

// Snippet is something to paste.
type Snippet struct {
	Title string `json:"title" doc:"Where it goes."`
	Text  string `json:"text" doc:"What to paste."`
}

// FrontKind is a kind of fronts.
type FrontKind struct {
	Kind        string `json:"kind" doc:"What a front names it by."`
	Title       string `json:"title" doc:"Whose form it is."`
	TitleZH     string `json:"title_zh" doc:"Whose form it is, in Chinese."`
	Groups      bool   `json:"groups,omitempty" doc:"A call may bring several things: each has a meaning."`
	Signs       bool   `json:"signs,omitempty" doc:"Its senders can sign what they send: signed has a meaning."`
	Expressions bool   `json:"expressions,omitempty" doc:"Expressions make the message."`
	// NamesRecipients is for senders that are there to write to whom they name.
	NamesRecipients bool `json:"names_recipients,omitempty" doc:"Its senders name the recipients, which are those of a front without any of its own."`
}

// RevealedCall is the body of a call at a front, whole.
type RevealedCall struct {
	ID   string `json:"id" doc:"The call."`
	Body string `json:"body" doc:"At most 64 KiB of it; what shows the token stands as (token)."`
}
