package draft

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
)

// The bounds of a content beside its text, before the driver has its own.
const (
	maxMentions = 1000
	maxExtra    = 64 << 10
	maxURL      = 2048
)

// content checks a content by itself; what its driver takes is asked when the channel is known.
func (p *Problems) content(c *posthouse.Content) {
	p.Word("content.title", c.Title, MaxTitle)
	p.Text("content.text", c.Text, MaxText)
	kind := c.Kind()
	switch {
	case !kind.Valid():
		p.Add("content.type", "is %.40q: want %s", c.Type, types())
		return
	case kind.HasMedia() && len(c.Media) != 1:
		p.Add("content.media", "has %d files: a content of type %s is one file", len(c.Media), kind)
	case !kind.HasMedia() && len(c.Media) > 0:
		p.Add("content.media", "stands in a content of type %s: want image, file, video or voice", kind)
	case (kind == posthouse.NewsContent || kind == posthouse.TemplateContent) && len(c.Extra) == 0:
		p.Add("content.extra", "is required for a content of type %s: an object in the provider's own form", kind)
	case (kind == posthouse.TextContent || kind == posthouse.MarkdownContent || kind == posthouse.CardContent) && c.Text == "" && c.Title == "":
		p.Add("content.text", "is required")
	}
	for i := range c.Media {
		p.media(fmt.Sprintf("content.media[%d]", i), &c.Media[i])
	}
	p.mentions(c.Mentions)
	p.object("content.extra", c.Extra, maxExtra)
}

func types() string {
	var names []string
	for _, t := range posthouse.ContentTypes() {
		names = append(names, string(t))
	}
	return strings.Join(names, ", ")
}

func (p *Problems) media(field string, m *posthouse.Media) {
	named := 0
	for _, one := range []string{m.URL, m.ID, m.Upload} {
		if one != "" {
			named++
		}
	}
	switch {
	case named == 0:
		p.Add(field, "names no file: want url, id or upload")
	case named > 1:
		p.Add(field, "names a file in %d ways: want one of url, id and upload", named)
	}
	p.Word(field+".upload", m.Upload, MaxWord)
	p.Word(field+".id", m.ID, maxAddress)
	p.Word(field+".url", m.URL, maxURL)
	if m.URL == "" {
		return
	}
	if u, err := url.Parse(m.URL); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil {
		p.Add(field+".url", "is %.80q: want http or https with a host, and no password in it", m.URL)
	}
}

func (p *Problems) mentions(list []string) {
	if len(list) > maxMentions {
		p.Add("content.mentions", "has %d names: at most %d are allowed", len(list), maxMentions)
		return
	}
	if i := slices.Index(list, ""); i >= 0 {
		p.Add(fmt.Sprintf("content.mentions[%d]", i), "is empty")
	}
	for i, name := range list {
		p.Word(fmt.Sprintf("content.mentions[%d]", i), name, MaxWord)
	}
}
