package wire

import (
	"encoding/json"

	"github.com/posthouse/posthouse"
)

// Preview asks what a template makes of a payload.
type Preview struct {
	Payload json.RawMessage  `json:"payload,omitempty" doc:"What the template is filled with, an object."`
	Clock   *posthouse.Clock `json:"clock,omitempty" doc:"Counts to now, as a message with it does when it is sent."`
	Channel string           `json:"channel,omitempty" doc:"A channel whose provider's bounds are looked at."`
	Title   string           `json:"title,omitempty" doc:"A title to try in place of the stored one."`
	Text    string           `json:"text,omitempty" doc:"A text to try in place of the stored one. With it the template need not exist."`
	// Type and Extra are those of the text to try.
	Type    posthouse.ContentType `json:"type,omitempty" doc:"With a text to try: the type of the content."`
	Extra   json.RawMessage       `json:"extra,omitempty" doc:"With a text to try: what only the provider knows, such as a card with its buttons, an object whose strings have placeholders."`
	Lenient bool                  `json:"lenient,omitempty" doc:"With a text to try: leave what is missing as it is written."`
	// Language previews what its readers get.
	Language string `json:"language,omitempty" doc:"Shows what a recipient gets who reads this language, a tag such as en; without a text to try."`
}

// Lengths is the length of a text in bytes of UTF-8, units of UTF-16, code points, and as a reader counts.
type Lengths struct {
	Bytes      int `json:"bytes"`
	UTF16      int `json:"utf16"`
	Characters int `json:"characters"`
	Graphemes  int `json:"graphemes"`
}

// Previewed is a filled template.
type Previewed struct {
	Content    posthouse.Content   `json:"content" doc:"What the recipient reads. Placeholders that could not be filled stay."`
	Title      Lengths             `json:"title_length"`
	Text       Lengths             `json:"text_length"`
	Variables  []string            `json:"variables"`
	Language   string              `json:"language,omitempty" doc:"The language of the content, where the template says it."`
	Payload    json.RawMessage     `json:"payload,omitempty" doc:"What it was filled with: the payload, with the fields of a clock and platformUrl."`
	Leaves     json.RawMessage     `json:"leaves,omitempty" doc:"What of that leaves for a provider with templates of its own: the template's parameters, or the members that title and text name."`
	ExternalID string              `json:"external_id,omitempty" doc:"What the provider calls the template."`
	Disabled   bool                `json:"disabled,omitempty" doc:"A message with it would be refused."`
	Problems   []posthouse.Problem `json:"problems" doc:"What the payload lacks; a message with it would be refused."`
	Warnings   []posthouse.Problem `json:"warnings" doc:"What the channel's provider would cut or refuse."`
}

// TemplateTest is a message that is really sent and not queued.
type TemplateTest struct {
	Channel string              `json:"channel"`
	To      posthouse.Recipient `json:"to"`
	Payload json.RawMessage     `json:"payload,omitempty" doc:"What the template is filled with, an object."`
	Clock   *posthouse.Clock    `json:"clock,omitempty" doc:"Counts to now."`
}

// InstalledTemplates says which default templates were stored now, and which names had one already.
type InstalledTemplates struct {
	Installed []string `json:"installed"`
	Kept      []string `json:"kept"`
}
