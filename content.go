package posthouse

import (
	"encoding/json"
	"slices"
)

// ContentType says what a content is.
type ContentType string

// The content types. Each driver says which of them it sends; all of them send text.
const (
	TextContent     ContentType = "text"
	MarkdownContent ContentType = "markdown"
	ImageContent    ContentType = "image"
	FileContent     ContentType = "file"
	VideoContent    ContentType = "video"
	VoiceContent    ContentType = "voice"
	NewsContent     ContentType = "news"     // articles with pictures: Extra, in the provider's form
	CardContent     ContentType = "card"     // a title, a text and a link: Extra names the link
	TemplateContent ContentType = "template" // a card of the provider's own form: Extra
)

// ContentTypes lists the content types.
func ContentTypes() []ContentType {
	return []ContentType{
		TextContent, MarkdownContent, ImageContent, FileContent, VideoContent, VoiceContent, NewsContent, CardContent, TemplateContent,
	}
}

// Valid reports whether there is such a type.
func (t ContentType) Valid() bool { return slices.Contains(ContentTypes(), t) }

// HasMedia reports whether a content of the type is a file.
func (t ContentType) HasMedia() bool {
	switch t {
	case ImageContent, FileContent, VideoContent, VoiceContent:
		return true
	}
	return false
}

// Content is what the recipient reads, after rendering.
type Content struct {
	// Type defaults to text.
	Type  ContentType `json:"type,omitempty"`
	Title string      `json:"title,omitempty"`
	Text  string      `json:"text,omitempty"`
	// Media is the one file of an image, a file, a video or a voice.
	Media []Media `json:"media,omitempty"`
	// Mentions are those whom a text in a group calls by name, in the provider's words: user ids or phone numbers.
	Mentions []string `json:"mentions,omitempty"`
	// MentionAll calls everybody in the group.
	MentionAll bool `json:"mention_all,omitempty"`
	// Extra is a JSON object of what only this provider knows, such as the articles of news.
	Extra json.RawMessage `json:"extra,omitempty"`
}

// Kind is the content's type, text where it names none.
func (c *Content) Kind() ContentType {
	if c.Type == "" {
		return TextContent
	}
	return c.Type
}

// IsZero reports whether nothing is said.
func (c Content) IsZero() bool {
	return c.Type == "" && c.Title == "" && c.Text == "" && len(c.Media) == 0 && len(c.Mentions) == 0 && !c.MentionAll && len(c.Extra) == 0
}

// Media names a file, by exactly one of its fields.
type Media struct {
	// URL is where the file is fetched when the message is sent.
	URL string `json:"url,omitempty"`
	// ID is the provider's own, of a file that was uploaded there.
	ID string `json:"id,omitempty"`
	// Upload is the id of a file that was handed in before: see POST /v1/media.
	Upload string `json:"upload,omitempty"`
	// Size and Type are those of an upload, while it is checked whether a message can be sent.
	Size int64  `json:"-"`
	Type string `json:"-"`
}
