package wire

import "time"

// NewCallback says for whom a provider calls us.
type NewCallback struct {
	Account string `json:"account,omitempty" doc:"The account that is called for, of a channel that has several. Defaults to none: the channel itself."`
}

// Callback is an address at which a provider calls us.
type Callback struct {
	Address   string    `json:"address" doc:"What the address ends with. Nobody can guess it, and it says nothing of whose it is."`
	Path      string    `json:"path" doc:"The address below the server's URL: what is entered at the provider."`
	Account   string    `json:"account,omitempty" doc:"The account that is called for; empty for the channel itself."`
	CreatedAt time.Time `json:"created_at"`
}
