package console

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/shellword"
	"github.com/posthouse/posthouse/internal/web"
)

// letter is what the page of a new message shows.
type letter struct {
	Channels  []posthouse.Channel
	Channel   string
	To        string // a line each
	By        string // what the lines are: user or address
	Title     string
	Text      string
	Kind      string
	Ref       string
	Once      string   // the Idempotency-Key: a double click sends once
	Strangers []string // whom the directory does not know
	Preview   *posthouse.Draft
	Problems  []posthouse.Problem
}

// Undecided says that a letter which is shown is not sent.
func (l letter) Undecided() bool { return true }

// composes is what a role must reach to write messages.
func composes() web.Use { return web.Use{Scope: posthouse.ScopeSend, Action: "messages.create"} }

func showCompose(v *visit) error {
	l := letter{Channel: v.query("channel"), To: v.query("to"), By: "user", Once: posthouse.NewID()}
	return v.compose(http.StatusOK, l)
}

// compose draws the form with the channels there are.
func (v *visit) compose(status int, l letter) (err error) {
	if l.Channels, err = v.call().Channels.List(v.ctx()); err != nil {
		return err
	}
	return v.draw(status, "compose", "compose", l)
}

// sendLetter shows what would be sent, and sends it when it is confirmed.
func sendLetter(v *visit) error {
	l := letter{
		Channel: v.form("channel"), To: v.form("to"), By: v.form("by"), Title: v.form("title"), Text: v.form("text"),
		Kind: v.form("kind"), Ref: v.form("ref"), Once: v.form("once"),
	}
	d := l.draft()
	switch v.form("step") {
	case "send":
	case "back":
		return v.compose(http.StatusOK, l)
	default:
		if err := v.call().Messages.Check(v.ctx(), d); err != nil { // nobody is shown what is refused afterwards
			return v.refuseLetter(l, err)
		}
		l.Preview, l.Strangers = &d, v.strangers(d.To)
		return v.compose(http.StatusOK, l)
	}
	sent, err := v.call().Messages.SendOnce(v.ctx(), l.Once, d)
	if err != nil {
		return v.refuseLetter(l, err)
	}
	return v.goTo(v.at("messages", sent.Accepted[0].ID) + "?said=handed_in")
}

// mostSought bounds how many of the recipients of a letter are looked up before it is sent.
const mostSought = 50

// strangers are the users among recipients whom the directory does not know, none where the person may not see it: a channel may reach them by
// their ids, and a name that is mistyped looks the same.
func (v *visit) strangers(to []posthouse.Recipient) (list []string) {
	for _, r := range to[:min(len(to), mostSought)] {
		if r.User == "" {
			continue
		}
		if _, err := v.call().Users.Get(v.ctx(), r.User); posthouse.CodeOf(err) == posthouse.CodeNotFound {
			list = append(list, r.User)
		}
	}
	return list
}

// refuseLetter shows a letter again with what the API finds wrong with it.
func (v *visit) refuseLetter(l letter, err error) error {
	var coded *posthouse.Error
	if !errors.As(err, &coded) || coded.Code != posthouse.CodeInvalid {
		return err
	}
	for _, p := range coded.Problems {
		p.Path = strings.TrimPrefix(p.Path, "messages[0].") // the form has one
		l.Problems = append(l.Problems, p)
	}
	return v.compose(http.StatusUnprocessableEntity, l)
}

// draft is the message that a form describes.
func (l letter) draft() posthouse.Draft {
	d := posthouse.Draft{Channel: l.Channel, Kind: l.Kind, Ref: l.Ref, Content: &posthouse.Content{Title: l.Title, Text: l.Text}}
	given := map[string]bool{}
	for line := range strings.Lines(l.To) {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || given[line]: // who is given twice gets it once
		case l.By == "address":
			d.To = append(d.To, posthouse.Recipient{Address: line})
		default:
			d.To = append(d.To, posthouse.Recipient{User: line})
		}
		given[line] = true
	}
	return d
}

// Curl is the command that hands in the message of the form.
func (l letter) Curl(url string) (string, error) {
	body, err := json.MarshalIndent(l.Preview, "", "  ")
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("curl %s -H \"Authorization: Bearer $POSTHOUSE_API_KEY\" --json @- <<'JSON'\n%s\nJSON", shellword.Quote(url+"/v1/messages"), body), nil
}

// Go are the lines of Go that hand in the message of the form.
func (l letter) Go() string {
	var b strings.Builder
	fmt.Fprintf(&b, "sent, err := api.Messages.Send(ctx, posthouse.Draft{\n\tChannel: %q,\n\tTo: []posthouse.Recipient{\n", l.Preview.Channel)
	for _, to := range l.Preview.To {
		if to.User != "" {
			fmt.Fprintf(&b, "\t\t{User: %q},\n", to.User)
		} else {
			fmt.Fprintf(&b, "\t\t{Address: %q},\n", to.Address)
		}
	}
	b.WriteString("\t},\n")
	for _, one := range [][2]string{{"Kind", l.Kind}, {"Ref", l.Ref}} {
		if one[1] != "" {
			fmt.Fprintf(&b, "\t%s: %q,\n", one[0], one[1])
		}
	}
	b.WriteString("\tContent: &posthouse.Content{")
	if l.Title != "" {
		fmt.Fprintf(&b, "Title: %q, ", l.Title)
	}
	fmt.Fprintf(&b, "Text: %q},\n})", l.Text)
	return b.String()
}
