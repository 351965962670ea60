package inbound

import (
	"context"
	"fmt"
	"sort"
	"strings"

	"github.com/posthouse/posthouse"
)

// Way is what the text of a message of a route depends on.
type Way struct {
	// Channels are those whose steps say the text, which are all without a template of their own.
	Channels []string
	// Link is an address as long as those by which its notifications are acknowledged. It is empty where none of its steps waits for that, or
	// there are no such addresses.
	Link string
}

// ackMark stands in a text where the router puts the address by which somebody acknowledges the message.
const ackMark = "${ack_url}"

// target is where a message goes, as far as its text depends on it.
type target struct {
	tenant   string
	channels []string
	link     string
}

// targetOf is where a draft goes. A route that cannot be read takes any text: the intake says what is wrong with it.
func (d *Desk) targetOf(in *Request, out *posthouse.Draft) target {
	at := target{tenant: in.Front.Tenant, channels: []string{out.Channel}}
	if out.Route == "" {
		return at
	}
	way, err := d.o.Way(in.Context(), at.tenant, out.Route)
	if err != nil {
		at.channels = nil
		return at
	}
	at.channels, at.link = way.Channels, way.Link
	return at
}

// place tells where a draft goes from all other places.
func place(out *posthouse.Draft) string {
	if out.Route != "" {
		return "route " + out.Route
	}
	return out.Channel
}

// takes reports whether all channels of a target send a content. Addresses in it have the length that they will have.
func (d *Desk) takes(at target, c posthouse.Content) bool {
	if at.link != "" {
		c.Text = strings.ReplaceAll(c.Text, ackMark, at.link)
	}
	for _, name := range at.channels {
		if len(d.o.Refuses(at.tenant, name, c)) > 0 {
			return false
		}
	}
	return true
}

// contentOf is the front's own text, in the form that its target has for it. Where the route waits for somebody to acknowledge it, the text ends
// with the address for that.
func (d *Desk) contentOf(in *Request, m *Message, at target) *posthouse.Content {
	f := &in.Front
	clean := func(text string) string { return strings.ReplaceAll(Clean(text), ackMark, "$ {ack_url}") } // a stranger's is none of ours
	c, text, tail := &posthouse.Content{Title: Cut(clean(OneLine(m.Title)), maxTitle)}, clean(m.Text), m.Tail
	if m.Markdown != "" && (f.Format == posthouse.MarkdownContent || f.Format == "" && d.takes(at, posthouse.Content{Type: posthouse.MarkdownContent, Title: "x", Text: "x"})) {
		c.Type, text = posthouse.MarkdownContent, clean(m.Markdown)
	}
	if text+tail == "" {
		text = c.Title
	}
	if at.link != "" {
		say := "Acknowledge: "
		if in.Chinese() {
			say = "确认收到："
		}
		tail += "\n\n" + say + ackMark
	}
	d.fit(in, at, c, text+tail, tail)
	return c
}

// leastText is to how many bytes a text is cut at most, where a channel takes no longer one.
const leastText = 100

// fit puts a text into a content, cut to what its target takes: what is refused for its length would come again and again. The tail of
// the text stays.
func (d *Desk) fit(in *Request, at target, c *posthouse.Content, text, tail string) {
	body := strings.TrimSuffix(text, tail)
	taken := func(most int) bool {
		c.Text = strings.TrimPrefix(Cut(body, most)+tail, "\n\n")
		return d.takes(at, *c)
	}
	whole := min(len(body), maxText-len(tail))
	if taken(whole) {
		if whole < len(body) {
			in.Note(fmt.Sprintf("its text of %d bytes is cut to %d", len(body), whole))
		}
		return
	}
	// The text that is too long is the first that does not fit. One that is refused however short it is, is refused for something else.
	fits := leastText + sort.Search(max(whole-leastText, 0), func(i int) bool { return !taken(leastText + i + 1) })
	if !taken(fits) {
		taken(whole)
		return
	}
	in.Note(fmt.Sprintf("its text of %d bytes is cut to %d, since the channel takes no more", len(body), fits))
}

// noWay is what is known of routes where there are none.
func noWay(context.Context, string, string) (Way, error) {
	return Way{}, posthouse.Errorf(posthouse.CodeNotFound, "routes are not known here")
}
