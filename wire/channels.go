package wire

import "github.com/posthouse/posthouse"

// ChannelTest is a message that is really sent and not queued.
type ChannelTest struct {
	To      posthouse.Recipient `json:"to,omitzero" doc:"Without it the driver only checks that its provider can be reached, where it can."`
	Content posthouse.Content   `json:"content,omitzero" doc:"Defaults to a short text that says it is a test."`
}

// ChannelTested says how the provider answered.
type ChannelTested struct {
	OK       bool            `json:"ok"`
	Class    posthouse.Class `json:"class"`
	Code     string          `json:"code,omitempty"`
	Error    string          `json:"error,omitempty"`
	Ref      string          `json:"provider_ref,omitempty"`
	Request  string          `json:"request,omitempty" doc:"Redacted."`
	Response string          `json:"response,omitempty" doc:"Redacted."`
}

// Driver describes a kind of channel: what a form needs.
type Driver struct {
	Name    string `json:"name"`
	Title   string `json:"title"`
	TitleZH string `json:"title_zh"`
	Doc     string `json:"doc"`
	DocZH   string `json:"doc_zh"`
	// RecipientURLs is set where a channel's egress.recipient_urls means something.
	RecipientURLs bool `json:"recipient_urls,omitempty"`
	// Callbacks is set where the provider can call the server.
	Callbacks bool    `json:"callbacks,omitempty" doc:"Whether the provider can call the server at an address of the channel's."`
	Fields    []Field `json:"fields"`
}

// FieldKind says what a setting of a driver holds, such as string, secret or duration.
type FieldKind string

// Field is one setting of a driver.
type Field struct {
	Name     string    `json:"name"`
	Label    string    `json:"label"`
	LabelZH  string    `json:"label_zh"`
	Help     string    `json:"help,omitempty"`
	HelpZH   string    `json:"help_zh,omitempty"`
	Kind     FieldKind `json:"kind"`
	Required bool      `json:"required"`
	Secret   bool      `json:"secret" doc:"Encrypted at rest and never shown."`
	Account  bool      `json:"account,omitempty" doc:"Each account of a channel has a value of its own."`
	Default  any       `json:"default,omitempty"`
	Choices  []string  `json:"choices,omitempty"`
	Min      int       `json:"min,omitempty"`
	Max      int       `json:"max,omitempty"`
}

// Tally counts the deliveries of a pulled channel.
type Tally struct {
	New        int `json:"new" doc:"Pending, never failed."`
	Retry      int `json:"retry" doc:"Pending, failed before."`
	Processing int `json:"processing" doc:"Handed out."`
	Unknown    int `json:"unknown"`
	Success    int `json:"success" doc:"Sent or delivered, also those deleted since."`
	Failed     int `json:"failed" doc:"Failed, undelivered, expired, cancelled or quarantined, also those deleted since."`
}
