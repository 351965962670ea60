package posthouse

// Egress is what the driver of a channel may call beside the URLs of its configuration: without it, nothing. It never opens
// an address that the server itself may not dial.
type Egress struct {
	// Hosts may be called too: hooks.example.com, *.example.com for all below it, or * for any that the server may
	// dial. Recipients' addresses and the files of contents are fetched only from there. Defaults to none.
	Hosts []string `json:"hosts,omitempty"`
	// Ports are those of the hosts that may be called. Defaults to 80, 443 and those that the configuration's URLs name.
	Ports []int `json:"ports,omitempty"`
	// RecipientURLs has a driver that can do so call the URL that each recipient's address is: whoever may send a message or
	// write an address then decides where to, within Hosts. Defaults to false.
	RecipientURLs bool `json:"recipient_urls,omitempty"`
}
