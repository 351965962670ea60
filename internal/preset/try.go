package preset

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/channel/httpapi"
)

// Try runs a preset over its shapes, without a network: it must send what was recorded, and read each answer as its shape says. Paths of
// problems are the shapes' names, with the lines of the file in the messages.
func (p *Preset) Try() []posthouse.Problem {
	config, problems := p.Fill(p.Shapes.Fields, nil)
	if len(problems) > 0 {
		return problems
	}
	checked, problems := httpapi.Type().Validate(config)
	if len(problems) > 0 {
		return problems
	}
	r, err := httpapi.Rehearse(checked)
	if err != nil {
		return []posthouse.Problem{{Path: "config", Message: err.Error()}}
	}
	for i := range p.Shapes.List {
		s := &p.Shapes.List[i]
		for _, wrong := range s.try(r) {
			problems = append(problems, posthouse.Problem{Path: s.Name, Message: fmt.Sprintf("line %d: %s", s.Line, wrong)})
		}
	}
	return append(problems, p.missing(r)...)
}

// missing says which shapes a preset lacks.
func (p *Preset) missing(r *httpapi.Rehearsal) (problems []posthouse.Problem) {
	has := func(of Of, good, request bool) bool {
		return slices.ContainsFunc(p.Shapes.List, func(s Shape) bool {
			ok := len(s.Want) > 0 && (s.Want[0].Class == posthouse.ClassOK || s.Want[0].Token != "" || of == OfReceipt && !s.Refused)
			return s.Of == of && ok == good && (!request || s.Request != nil)
		})
	}
	need := func(there bool, what string) {
		if !there {
			problems = append(problems, posthouse.Problem{Path: "shapes", Message: "lack " + what})
		}
	}
	need(has(OfMessage, true, true), "a message that is accepted, with its request")
	need(has(OfMessage, false, false), "an answer that refuses a message")
	if r.NeedsToken() {
		need(has(OfToken, true, true), "the request for a token, with its answer")
		need(has(OfToken, false, false), "an answer without a token")
	}
	if r.HasReceipts() {
		need(has(OfReceipt, true, false), "a receipt")
	}
	return problems
}

func (s *Shape) try(r *httpapi.Rehearsal) []string {
	switch s.Of {
	case OfToken:
		return s.tryToken(r)
	case OfReceipt:
		return s.tryReceipt(r)
	}
	wrong := s.tryRequest(func() (channel.Request, error) { return r.Request(s.Send, s.At) })
	for i, got := range r.Results(s.Send, *s.Answer) {
		want := s.Want[min(i, len(s.Want)-1)]
		wrong = append(wrong, want.compare(got)...)
	}
	return wrong
}

func (s *Shape) tryRequest(compose func() (channel.Request, error)) []string {
	if s.Request == nil {
		return nil
	}
	request, err := compose()
	if err != nil {
		return []string{err.Error()}
	}
	got, err := leavesIn(request, everywhere)
	if err != nil {
		return []string{err.Error()}
	}
	return compare(s.Request, got)
}

func (w *Want) compare(got channel.Result) (wrong []string) {
	add := func(what string, got, want any) {
		wrong = append(wrong, fmt.Sprintf("the %s is %v, want %v", what, got, want))
	}
	if got.Class != w.Class {
		add("class", fmt.Sprintf("%s (code %s: %s)", got.Class, got.Code, got.Error), w.Class)
	}
	if w.Code != "" && got.Code != w.Code {
		add("code", got.Code, w.Code)
	}
	if got.Ref != w.Ref && (w.Ref != "" || got.Class == posthouse.ClassOK) {
		add("ref", got.Ref, w.Ref)
	}
	if w.After != 0 && got.After != w.After.Std() {
		add("wait", posthouse.Duration(got.After), w.After)
	}
	if !strings.Contains(got.Error, w.Error) {
		add("error", got.Error, w.Error)
	}
	return wrong
}

func (s *Shape) tryToken(r *httpapi.Rehearsal) (wrong []string) {
	if !r.NeedsToken() {
		return []string{"the preset needs no token"}
	}
	wrong = s.tryRequest(func() (channel.Request, error) { return r.TokenRequest(s.At) })
	token, lasts, refused := r.Token(*s.Answer, s.At.Now)
	want := s.Want[0]
	switch {
	case want.Token == "":
		return append(wrong, want.compare(refused)...)
	case token != want.Token:
		wrong = append(wrong, fmt.Sprintf("the token is %q (%s), want %q", token, refused.Error, want.Token))
	case s.Lasts != 0 && lasts != s.Lasts.Std():
		wrong = append(wrong, fmt.Sprintf("the token lasts %s, want %s", posthouse.Duration(lasts), s.Lasts))
	}
	return wrong
}

func (s *Shape) tryReceipt(r *httpapi.Rehearsal) []string {
	c := *s.Receipt
	c.At = s.At.Now
	heard, err := r.Receive(c)
	switch {
	case s.Refused && !errors.Is(err, channel.ErrForged):
		return []string{"the receipt is taken, and must be refused"}
	case s.Refused:
		return nil
	case err != nil:
		return []string{err.Error()}
	case heard.Answer != s.Reply:
		return []string{fmt.Sprintf("it is answered %q, want %q", heard.Answer, s.Reply)}
	case len(heard.Reports) != len(s.Reports):
		return []string{fmt.Sprintf("it reports %d messages, want %d", len(heard.Reports), len(s.Reports))}
	}
	for i, got := range heard.Reports {
		want := s.Reports[i]
		if got.Ref != want.Ref || got.Address != want.Address || got.Delivered != want.Delivered || want.Code != "" && got.Code != want.Code {
			return []string{fmt.Sprintf("report %d says ref %q, address %q, delivered %t, code %q; want ref %q, address %q, delivered %t, code %q",
				i, got.Ref, got.Address, got.Delivered, got.Code, want.Ref, want.Address, want.Delivered, want.Code)}
		}
	}
	return nil
}
