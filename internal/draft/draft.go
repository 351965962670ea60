// Package draft says what is wrong with a draft as far as the draft alone can tell: what is
// missing, too long, not text or not one of the allowed words.
//
// It also says which texts not every database keeps, for all front doors, and what a row of the outbox holds and how it
// is named, which one writes and the other reads.
//
// It looks at no database: whether the channel, the template and its variables are there is the
// engine's question. Engine and outbox both check here, so that what the outbox takes is what
// the engine accepts.
package draft

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/limittext"
)

// MaxRecipients is how many recipients a message can have by default. MostRecipients is how many one can
// have at all: what one commit takes.
const (
	MaxRecipients  = 1000
	MostRecipients = 10_000
)

// Bounds of a draft, in bytes. They keep every value inside its column on every database.
const (
	MaxWord    = 128 // channel, kind, template, recipient type
	maxSource  = 128 // in characters: people name systems in their own script
	maxKey     = 255 // ref, dedup_key, ordering_key, user
	maxAddress = 512
	MaxTitle   = 1024
	MaxText    = 64 << 10
	MaxExtra   = 64 << 10
	MaxPayload = 256 << 10
	maxAhead   = 366 * 24 * time.Hour // of not_before
	// MaxForgetAfter is the longest that the content of a sensitive message is kept.
	MaxForgetAfter = 90 * 24 * time.Hour
	// MaxDedupWindow is the longest time that a dedup_key holds: for good, as people count.
	MaxDedupWindow = 3650 * 24 * time.Hour
)

// Problems collects what is wrong with one draft.
type Problems struct {
	Path string // before each field's name, such as "messages[2]."
	List []posthouse.Problem
}

// Add notes a problem of a field.
func (p *Problems) Add(field, format string, args ...any) {
	p.List = append(p.List, posthouse.Problem{Path: p.Path + field, Message: limittext.Said(format, args...)})
}

// Text checks that a value is text that every database keeps as it is.
func (p *Problems) Text(field, value string, max int) {
	if len(value) > max {
		p.Add(field, "has %d bytes: at most %d are allowed", len(value), max)
	} else if odd := Unkept(value); odd != "" {
		p.Add(field, "%s", odd)
	}
}

// Word checks that a value is text of one line.
func (p *Problems) Word(field, value string, max int) {
	p.Text(field, value, max)
	if strings.ContainsAny(value, "\r\n") {
		p.Add(field, "holds a line break: one line is allowed")
	}
}

// Payload checks that a payload is a JSON object that every database keeps as it is, and reads.
func (p *Problems) Payload(payload json.RawMessage, max int) { p.Object("payload", payload, max) }

// Object checks that a field is a JSON object of at most max bytes that every database keeps as it is, where it is given.
func (p *Problems) Object(field string, raw json.RawMessage, max int) {
	var object map[string]json.RawMessage
	switch {
	case len(raw) == 0:
	case len(raw) > max:
		p.Add(field, "has %d bytes: at most %d are allowed", len(raw), max)
	case !utf8.Valid(raw):
		p.Add(field, "is not valid UTF-8")
	case json.Unmarshal(raw, &object) != nil:
		p.Add(field, "must be a JSON object")
	default:
		if odd := UnkeptJSON(raw); odd != "" {
			p.Add(field, "%s", odd)
		}
	}
}

// Check notes everything that is wrong with a draft that is handed in at now.
func Check(d *posthouse.Draft, maxRecipients int, now time.Time, p *Problems) {
	switch {
	case d.Channel == "" && d.Route == "":
		p.Add("channel", "is required: the name of a configured channel, or a route")
	case d.Channel != "" && d.Route != "":
		p.Add("route", "stands beside a channel: give one of them")
	case d.Route != "":
		checkRouted(d, p)
	}
	if d.Digest != "" {
		checkGathered(d, p)
	}
	p.Word("digest", d.Digest, MaxWord)
	p.Word("route", d.Route, MaxWord)
	p.Word("channel", d.Channel, MaxWord)
	p.Word("kind", d.Kind, MaxWord)
	p.Word("ref", d.Ref, maxKey)
	p.Word("source", d.Source, utf8.UTFMax*maxSource)
	if n := utf8.RuneCountInString(d.Source); n > maxSource {
		p.Add("source", "has %d characters: at most %d are allowed", n, maxSource)
	}
	p.Word("template", d.Template, MaxWord)
	p.Word("dedup_key", d.DedupKey, maxKey)
	p.Word("ordering_key", d.OrderingKey, maxKey)
	if d.Priority != "" && !d.Priority.Valid() {
		p.Add("priority", "is %q: want high, normal or low", d.Priority)
	}
	if d.OnUnknown != "" && !d.OnUnknown.Valid() {
		p.Add("on_unknown", "is %q: want retry, hold, query or assume_sent", d.OnUnknown)
	}
	if w := d.DedupWindow.Std(); w < 0 || w > MaxDedupWindow {
		p.Add("dedup_window", "is %s: at most %s, ten years, is allowed", d.DedupWindow, posthouse.Duration(MaxDedupWindow))
	}
	checkForget(d, p)
	checkTimes(d, now, p)
	checkClock(d, p)
	checkRecipients(d, maxRecipients, p)
	checkContent(d, p)
}

// Priority is that of what a draft makes: normal, and high for what is critical, unless it names one.
func Priority(d *posthouse.Draft) posthouse.Priority {
	switch {
	case d.Priority != "":
		return d.Priority
	case d.Critical:
		return posthouse.High
	}
	return posthouse.Normal
}

// checkGathered refuses what a message that leaves with others cannot keep.
func checkGathered(d *posthouse.Draft, p *Problems) {
	for _, f := range []struct {
		name string
		set  bool
	}{
		{"route", d.Route != ""}, {"account", d.Account != ""}, {"pool", d.Pool != ""}, {"ordering_key", d.OrderingKey != ""}, {"clock", d.Clock != nil},
		{"sensitive", d.Sensitive}, {"not_before", !d.NotBefore.IsZero()}, {"on_unknown", d.OnUnknown != ""}, {"content.media", d.Content != nil && len(d.Content.Media) > 0},
	} {
		if f.set {
			p.Add(f.name, "stands beside a digest, which cannot keep it: leave one of them out")
		}
	}
}

// checkRouted refuses what is one channel's, beside a route.
func checkRouted(d *posthouse.Draft, p *Problems) {
	for _, f := range []struct {
		name string
		set  bool
	}{
		{"account", d.Account != ""}, {"pool", d.Pool != ""}, {"ordering_key", d.OrderingKey != ""}, {"clock", d.Clock != nil},
	} {
		if f.set {
			p.Add(f.name, "stands beside a route, which cannot keep it: name a channel, or leave it out")
		}
	}
}

// Time checks a time that may be left out: the zero one is.
func (p *Problems) Time(field string, t time.Time) {
	if !t.IsZero() && !posthouse.ValidTime(t) {
		p.Add(field, "is in the year %d of UTC: want %d to %d", t.UTC().Year(), posthouse.FirstYear, posthouse.LastYear)
	}
}

func checkTimes(d *posthouse.Draft, now time.Time, p *Problems) {
	p.Time("not_before", d.NotBefore)
	p.Time("deadline", d.Deadline)
	if d.NotBefore.After(now.Add(maxAhead)) {
		p.Add("not_before", "is %s: at most 366 days ahead are allowed", d.NotBefore.Format(time.RFC3339))
	}
	if d.Deadline.IsZero() {
		return
	}
	if !d.Deadline.After(now) {
		p.Add("deadline", "is %s, which has passed", d.Deadline.Format(time.RFC3339))
	} else if !d.Deadline.After(d.NotBefore) {
		p.Add("deadline", "must be later than not_before")
	}
}

func checkForget(d *posthouse.Draft, p *Problems) {
	switch after := d.ForgetAfter.Std(); {
	case after != 0 && !d.Sensitive:
		p.Add("forget_after", "needs sensitive: other contents are kept with their messages")
	case after < 0 || after > MaxForgetAfter || after != 0 && after < time.Second:
		p.Add("forget_after", "is %s: want %s to %s", d.ForgetAfter, posthouse.Duration(time.Second), posthouse.Duration(MaxForgetAfter))
	}
}

func checkClock(d *posthouse.Draft, p *Problems) {
	if d.Clock == nil {
		return
	}
	if d.Content != nil {
		p.Add("clock", "needs a template: a finished text cannot count")
	}
	if d.Clock.Until.IsZero() && d.Clock.Since.IsZero() {
		p.Add("clock", "is empty: want until, since or both")
	}
	p.Time("clock.until", d.Clock.Until)
	p.Time("clock.since", d.Clock.Since)
}

func checkRecipients(d *posthouse.Draft, most int, p *Problems) {
	if n := len(d.To); n == 0 && d.Route == "" { // the steps of a route may name their own
		p.Add("to", "is required: 1 to %d recipients", most)
	} else if n > most {
		p.Add("to", "has %d recipients: at most %d are allowed in one message", n, most)
		return
	}
	for i := range d.To {
		p.Recipient(fmt.Sprintf("to[%d]", i), &d.To[i])
	}
}

// Recipient checks that a recipient is a user or an address, a roster or a role, and that every database keeps its words.
func (p *Problems) Recipient(field string, to *posthouse.Recipient) {
	p.Word(field+".user", to.User, maxKey)
	p.Word(field+".address", to.Address, maxAddress)
	p.Word(field+".type", to.Type, MaxWord)
	one := to.User != "" || to.Address != ""
	switch {
	case to.Manager != 0:
		p.Add(field+".manager", "is for the steps of routes: want a user or an address, a roster or a role")
	case !one && to.Roster == "" && to.Role == "":
		p.Add(field, "names nobody: want a user or an address, a roster or a role")
	case one && to.Roster+to.Role != "", to.Roster != "" && to.Role != "":
		p.Add(field, "names several things: want a user or an address, or a roster, or a role")
	}
	p.Word(field+".roster", to.Roster, MaxWord)
	p.Word(field+".role", to.Role, MaxWord)
}

func checkContent(d *posthouse.Draft, p *Problems) {
	switch {
	case d.Content == nil && d.Template == "" && d.Kind == "" && d.Route == "": // the steps of a route may have templates
		p.Add("content", "is required, or a template with a payload")
	case d.Content != nil && d.Template != "":
		p.Add("content", "stands beside a template: give one of them")
	}
	if d.Content != nil {
		p.content(d.Content)
		p.marks(d)
	}
	p.Payload(d.Payload, MaxPayload)
}

// marks refuses what only a route fills in: it would leave as it stands.
func (p *Problems) marks(d *posthouse.Draft) {
	if d.Route != "" {
		return
	}
	for _, mark := range []string{"${ack_url}", "${ack_code}", "${preferences_url}"} {
		if strings.Contains(d.Content.Title+d.Content.Text, mark) {
			p.Add("content.text", "holds %s, which only a message by a route fills in: give it a route in place of the channel", mark)
		}
	}
}

// The bounds of a content beside its text, before the driver has its own.
const (
	maxMentions = 1000
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
	p.Object("content.extra", c.Extra, MaxExtra)
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

// Unkept says what keeps a text from being stored or looked up in every database, "" for nothing.
func Unkept(text string) string {
	switch {
	case !utf8.ValidString(text):
		return "is not valid UTF-8"
	case strings.ContainsRune(text, 0):
		return holdsNUL
	}
	return ""
}
