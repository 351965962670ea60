package preset

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/channel/httpapi"
)

// Player reads requests and answers them as the provider of a preset does, by its shapes. It knows one account: that of the shapes'
// fields. It finds what a request says of a message, makes the request anew of that, and takes it if both are the same: a field that is
// another, or a signature that is missing, is refused.
type Player struct {
	preset *Preset
	r      *httpapi.Rehearsal
	send   reading
	token  reading
	// secret are the leaves that depend on what only the account knows.
	secret    map[string]bool
	separator string
}

// PlayedAt is the origin of the URLs that a Player reads.
const PlayedAt = "http://simulator"

// NewPlayer makes a player of a preset. Its URLs begin with PlayedAt and the path that is given.
func NewPlayer(p *Preset, path string) (*Player, error) {
	pl := &Player{preset: p, secret: map[string]bool{}}
	given := maps.Clone(p.Shapes.Fields)
	given[OriginField] = PlayedAt + path
	config, problems := p.Fill(given, nil)
	if err := posthouse.Invalid("the preset cannot be played", problems); err != nil {
		return nil, err
	}
	var err error
	if pl.r, err = rehearsal(config); err != nil {
		return nil, err
	}
	others := map[string]any{}
	for name, value := range texts(config["secrets"]) {
		others[name] = value + "x"
	}
	config["secrets"] = others
	other, err := rehearsal(config)
	if err != nil {
		return nil, err
	}
	outs := []channel.Outgoing{marked(0, pl.r.Members())}
	pl.separator = ","
	if s, ok := config["separator"].(string); ok {
		pl.separator = s
	}
	if pl.send, err = pl.readingOf(func(r *httpapi.Rehearsal) (channel.Request, error) { return r.Request(outs, marks()) }, other); err != nil {
		return nil, err
	}
	if pl.r.NeedsToken() {
		pl.token, err = pl.readingOf(func(r *httpapi.Rehearsal) (channel.Request, error) { return r.TokenRequest(marks()) }, other)
	}
	return pl, err
}

func rehearsal(config map[string]any) (*httpapi.Rehearsal, error) {
	checked, problems := httpapi.Type().Validate(config)
	if err := posthouse.Invalid("the preset cannot be played", problems); err != nil {
		return nil, err
	}
	return httpapi.Rehearse(checked)
}

// reading is a request in which marks stand for what differs between messages.
type reading struct {
	leaves
	captures map[string]capture // by where they stand
}

// capture finds values in a leaf.
type capture struct {
	pattern *regexp.Regexp
	names   []string
	whole   bool // the leaf is a value of its own, which may be any JSON
	// untitled is the leaf of a message without a title, where that has a line of its own before the text; nil for others.
	untitled *regexp.Regexp
}

// mark stands for a value. It is like nothing that a preset says.
func mark(name string) string { return "zqx" + strings.ReplaceAll(name, "_", "-") + "xqz" }

// The marks of time are numbers: milliseconds are told from seconds by their end.
const (
	markSeconds = "1111111111"
	markMillis  = "1111111111222"
)

func marks() httpapi.Moment {
	return httpapi.Moment{Now: time.UnixMilli(1111111111222), UUID: mark("uuid"), Token: mark("token")}
}

// parts are the values of a message that a request may have.
func parts(o *channel.Outgoing) map[string]*string {
	return map[string]*string{
		"address": &o.Recipient.Address, "user": &o.Recipient.User, "type": &o.Recipient.Type, "title": &o.Content.Title, "text": &o.Content.Text,
		"kind": &o.Kind, "ref": &o.Ref, "message": &o.Message, "delivery": &o.Delivery, "channel": &o.Channel, "template": &o.Template, "key": &o.IdemKey,
	}
}

// listed are the parts that each recipient of a call has.
var listed = []string{"address", "user", "delivery", "key"}

// marked is a message of marks.
func marked(n int, members []string) channel.Outgoing {
	o := channel.Outgoing{Attempt: 1}
	for name, part := range parts(&o) {
		*part = mark(name)
		if slices.Contains(listed, name) {
			*part += strconv.Itoa(n)
		}
	}
	payload := map[string]string{}
	for _, name := range members {
		payload[name] = mark("payload." + name)
	}
	if len(members) == 0 {
		o.Payload = json.RawMessage(`"` + mark("payload") + `"`)
	} else {
		o.Payload, _ = json.Marshal(payload) // texts have a JSON form
	}
	return o
}

var marksPattern = regexp.MustCompile(markMillis + `|` + markSeconds + `|zqx(.+?)xqz0?`)

// readingOf makes a request of marks, and learns which of its leaves another account would change.
func (pl *Player) readingOf(compose func(*httpapi.Rehearsal) (channel.Request, error), other *httpapi.Rehearsal) (r reading, err error) {
	r.captures = map[string]capture{}
	var both [2]leaves
	for i, one := range []*httpapi.Rehearsal{pl.r, other} {
		request, err := compose(one)
		if err != nil {
			return r, err
		}
		if both[i], err = leavesIn(request, everywhere); err != nil {
			return r, err
		}
	}
	r.leaves = both[0]
	for path, value := range both[0] {
		if both[1][path] != value {
			pl.secret[path] = true
		}
		if found := marksPattern.FindAllStringSubmatchIndex(value, -1); found != nil {
			r.captures[path] = captureOf(value, found)
		}
	}
	return r, nil
}

func captureOf(value string, found [][]int) (c capture) {
	pattern, at := "", 0
	for _, m := range found {
		name := "now_s"
		switch {
		case m[2] >= 0:
			name = strings.ReplaceAll(value[m[2]:m[3]], "-", "_")
		case value[m[0]:m[1]] == markMillis:
			name = "now_ms"
		}
		pattern += regexp.QuoteMeta(value[at:m[0]]) + `(.*?)`
		at = m[1]
		c.names = append(c.names, name)
	}
	c.whole = len(found) == 1 && value == `"`+value[found[0][0]:found[0][1]]+`"`
	c.pattern = regexp.MustCompile(`(?s)^` + pattern + regexp.QuoteMeta(value[at:]) + `$`)
	if _, line, has := strings.Cut(pattern, "(.*?)\n"); has && c.names[0] == "title" {
		before, _, _ := strings.Cut(pattern, `(.*?)`)
		c.untitled = regexp.MustCompile(`(?s)^` + before + line + regexp.QuoteMeta(value[at:]) + `$`)
	}
	return c
}

// deep reports whether a text is looked into: where the recorded request has JSON within a text.
func (r reading) deep(path string) bool {
	if !strings.Contains(path, inner) && !strings.HasPrefix(path, "body") {
		return false
	}
	for known := range r.leaves {
		if strings.HasPrefix(known, path+".") || strings.HasPrefix(known, path+"[") {
			return true
		}
	}
	return path == "body"
}

// What a request is refused for.
var (
	// ErrAccount is of a request that only another account would make: a secret, a signature or a token is missing or wrong.
	ErrAccount = errors.New("the account is not known")
	// ErrRequest is of one that the provider cannot read.
	ErrRequest = errors.New("the request is not one that the shapes have")
)

// Message reads a request as messages, and reports by which token it was made. The error is ErrAccount or ErrRequest with what differs.
func (pl *Player) Message(r channel.Request) (outs []channel.Outgoing, token string, err error) {
	got, err := leavesIn(r, pl.send.deep)
	if err != nil {
		return nil, "", fmt.Errorf("%w: %w", ErrRequest, err)
	}
	values, several := pl.send.find(got, r.Body, pl.separator)
	outs, at := outsOf(values, several, pl.r.Members()), momentOf(values)
	request, err := pl.r.Request(outs, at)
	if err != nil {
		return nil, "", fmt.Errorf("%w: %w", ErrRequest, err)
	}
	return outs, at.Token, pl.same(request, got, pl.send)
}

// IsToken reports whether a request is for a token, by where it goes, and what is wrong with it.
func (pl *Player) IsToken(r channel.Request) (is bool, err error) {
	if !pl.r.NeedsToken() {
		return false, nil
	}
	got, err := leavesIn(r, pl.token.deep)
	if err != nil || got["url"] != pl.token.leaves["url"] {
		return false, nil //nolint:nilerr // it is read as a message, and refused there
	}
	values, _ := pl.token.find(got, r.Body, pl.separator)
	request, err := pl.r.TokenRequest(momentOf(values))
	if err != nil {
		return true, fmt.Errorf("%w: %w", ErrRequest, err)
	}
	return true, pl.same(request, got, pl.token)
}

// same compares a request with the one that a message of its values makes.
func (pl *Player) same(want channel.Request, got leaves, by reading) error {
	made, err := leavesIn(want, by.deep)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrRequest, err)
	}
	for name := range got {
		if _, recorded := made[name]; !recorded && strings.HasPrefix(name, "header.") {
			delete(got, name)
		}
	}
	if strings.HasPrefix(made["header.Content-Type"], "application/json") {
		delete(made, "header.Content-Type")
	}
	differences := compare(made, got)
	if len(differences) == 0 {
		return nil
	}
	cause := ErrAccount
	for _, d := range differences {
		if path, _, _ := strings.Cut(d, " "); !pl.secret[path] {
			cause = ErrRequest
		}
	}
	return fmt.Errorf("%w: %s", cause, differences[0])
}

// find takes the values out of a request; several are those of more than one recipient.
func (r reading) find(got leaves, body []byte, separator string) (values map[string]string, several map[string][]string) {
	values, several = map[string]string{}, map[string][]string{}
	for _, path := range slices.Sorted(maps.Keys(r.captures)) {
		c := r.captures[path]
		if c.whole && strings.HasPrefix(c.names[0], "payload") {
			if raw, ok := rawAt(body, path); ok {
				values[c.names[0]] = string(raw)
				continue
			}
		}
		m, names := c.pattern.FindStringSubmatch(got[path]), c.names
		if m == nil && c.untitled != nil {
			m, names = c.untitled.FindStringSubmatch(got[path]), c.names[1:]
		}
		if m == nil {
			continue
		}
		for i, name := range names {
			if path == "url" {
				m[i+1], _ = url.PathUnescape(m[i+1]) // it was escaped well, or it differs
			}
			if _, known := values[name]; !known {
				values[name] = m[i+1]
			}
		}
		if name := names[0]; len(c.names) == 1 && slices.Contains(listed, name) {
			several[name] = c.all(path, got, m[1], separator)
		}
	}
	return values, several
}

// all are the values of a list: its further items, or the parts of a text.
func (c capture) all(path string, got leaves, first, separator string) []string {
	list := []string{first}
	begin, ok := strings.CutSuffix(path, "[0]")
	if !ok {
		return strings.Split(first, separator)
	}
	for n := 1; ; n++ {
		m := c.pattern.FindStringSubmatch(got[fmt.Sprintf("%s[%d]", begin, n)])
		if m == nil {
			return list
		}
		list = append(list, m[1])
	}
}

// rawAt is the JSON value of a body at the path of a leaf.
func rawAt(body []byte, path string) (raw json.RawMessage, ok bool) {
	raw = body
	for step := range strings.SplitSeq(strings.TrimPrefix(path, "body."), ".") {
		var members map[string]json.RawMessage
		if json.Unmarshal(raw, &members) != nil {
			return nil, false
		}
		if raw, ok = members[step]; !ok {
			return nil, false
		}
	}
	return raw, true
}

// outsOf are the messages that values make. What the request does not say of a recipient is left empty.
func outsOf(values map[string]string, several map[string][]string, members []string) []channel.Outgoing {
	n := 1
	for _, list := range several {
		n = max(n, len(list))
	}
	outs := make([]channel.Outgoing, n)
	for i := range outs {
		outs[i].Attempt = 1
		for name, part := range parts(&outs[i]) {
			*part = values[name]
			if list := several[name]; i < len(list) && n > 1 {
				*part = list[i]
			}
		}
		outs[i].Payload = payloadOf(values, members)
	}
	return outs
}

func payloadOf(values map[string]string, members []string) json.RawMessage {
	if len(members) == 0 {
		return json.RawMessage(values["payload"])
	}
	payload := map[string]json.RawMessage{}
	for _, name := range members {
		raw := json.RawMessage(values[strings.ReplaceAll("payload."+name, "-", "_")])
		if !json.Valid(raw) {
			raw = quoted(string(raw))
		}
		payload[name] = raw
	}
	out, _ := json.Marshal(payload) // each is JSON
	return out
}

// momentOf is the moment that values say; the uncaptured is empty.
func momentOf(values map[string]string) httpapi.Moment {
	at := httpapi.Moment{UUID: values["uuid"], Token: values["token"]}
	if ms, err := strconv.ParseInt(values["now_ms"], 10, 64); err == nil {
		at.Now = time.UnixMilli(ms)
	} else if s, err := strconv.ParseInt(values["now_s"], 10, 64); err == nil {
		at.Now = time.Unix(s, 0)
	}
	return at
}

// Reply is the shape that answers a class, and the first of its recipients; none where no shape has it.
func (pl *Player) Reply(of Of, classes ...posthouse.Class) *Shape {
	for _, class := range classes {
		for i := range pl.preset.Shapes.List {
			s := &pl.preset.Shapes.List[i]
			if s.Of == of && s.Answer != nil && len(s.Want) == 1 && len(s.Send) <= 1 && s.Want[0].Class == class && (s.Want[0].Token == "" || class == posthouse.ClassOK) {
				return s
			}
		}
	}
	return nil
}

// TokenReply is the shape that gives a token.
func (pl *Player) TokenReply() *Shape {
	for i := range pl.preset.Shapes.List {
		if s := &pl.preset.Shapes.List[i]; s.Of == OfToken && s.Want[0].Token != "" {
			return s
		}
	}
	return nil
}

// Numbered reports whether the provider's ids are numbers.
func (pl *Player) Numbered() bool {
	s := pl.Reply(OfMessage, posthouse.ClassOK)
	return s != nil && s.Want[0].Ref != "" && strings.Trim(s.Want[0].Ref, "0123456789") == ""
}

// Body is the answer of a shape with another id, token and address in the place of its own.
func (s *Shape) Body(replace ...string) []byte {
	return []byte(strings.NewReplacer(replace...).Replace(string(s.Answer.Body)))
}

// Token is the body of an answer that gives a token from now on: an end that the shape names in seconds or milliseconds is moved with it, or
// a token played a day after the shape's moment would be over at once.
func (s *Shape) Token(token string, now time.Time) []byte {
	was, is := s.At.Now.Add(s.Lasts.Std()), now.Add(s.Lasts.Std())
	return s.Body(s.Want[0].Token, token,
		strconv.FormatInt(was.UnixMilli(), 10), strconv.FormatInt(is.UnixMilli(), 10),
		strconv.FormatInt(was.Unix(), 10), strconv.FormatInt(is.Unix(), 10))
}

// ContentType is that of a shape's answer.
func (s *Shape) ContentType() string {
	if kind := s.Answer.Header.Get("Content-Type"); kind != "" {
		return kind
	}
	if json.Valid(s.Answer.Body) {
		return "application/json"
	}
	return http.DetectContentType(s.Answer.Body)
}
