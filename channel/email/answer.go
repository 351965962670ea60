package email

import (
	"errors"
	"fmt"
	"net/textproto"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
)

// stage is how far a mail had come.
type stage string

// The stages, by what was said last.
const (
	atGreeting stage = "greeting"
	atAuth     stage = "AUTH"
	atMail     stage = "MAIL FROM"
	atRcpt     stage = "RCPT TO"
	atData     stage = "DATA"
	atEnd      stage = "the end of the message"
)

// The waits that servers mean and do not name. Greylisting lets through what comes again after five minutes or more (RFC 6647, 5.1);
// a mailbox that is full is not emptied sooner than within an hour.
const (
	greylisted = 5 * time.Minute
	tooFast    = 5 * time.Minute
	full       = time.Hour
)

// enhanced is the status code that begins an answer's text: RFC 2034.
var enhanced = regexp.MustCompile(`^([245])\.(\d{1,3})\.(\d{1,3})(?:\s|$)`)

// answer is what a server has said.
type answer struct {
	code     int    // such as 550
	enhanced string // such as 5.1.1, empty where there is none
	text     string
}

// answerOf is the answer in an error of the protocol.
func answerOf(err error) (answer, bool) {
	var said *textproto.Error
	if !errors.As(err, &said) {
		return answer{}, false
	}
	a := answer{code: said.Code, text: said.Msg}
	if m := enhanced.FindString(said.Msg); m != "" {
		a.enhanced = strings.TrimSpace(m)
	}
	return a, true
}

// codes are the names of an answer in a channel's own table, the narrowest first.
func (a answer) codes() []string {
	code := strconv.Itoa(a.code)
	if a.enhanced == "" {
		return []string{code}
	}
	return []string{code + " " + a.enhanced, a.enhanced, code}
}

// below reports whether the enhanced code is of a class, a subject and one of some details: "5", "1" and "*".
func (a answer) is(list ...string) bool {
	for _, one := range list {
		if prefix, all := strings.CutSuffix(one, "*"); all && strings.HasPrefix(a.enhanced, prefix) && a.enhanced != "" || one == a.enhanced {
			return true
		}
	}
	return false
}

// meaning is the class of an answer, and the wait that it means.
func (a answer) meaning(at stage) (posthouse.Class, time.Duration) {
	if a.code/100 == 4 {
		return a.later(at)
	}
	switch {
	case a.code == 530 || a.code == 534 || a.code == 535 || a.code == 538 || at == atAuth || at == atGreeting:
		return posthouse.ClassAccount, 0 // who we are is refused, whatever is sent
	case a.is("5.2.2"):
		return posthouse.ClassTransient, full
	case a.is("5.1.7", "5.1.8"), at == atMail && !a.is("5.1.*"):
		return posthouse.ClassAccount, 0 // the sender
	case a.is("5.1.*", "5.2.*", "5.4.*"):
		return posthouse.ClassRecipient, 0
	case a.is("5.3.4"), a.code == 555, a.is("5.6.*"), a.is("5.7.*") && at != atRcpt:
		return posthouse.ClassContent, 0
	case at == atRcpt:
		return posthouse.ClassRecipient, 0
	}
	return posthouse.ClassContent, 0 // after the whole of the mail
}

// later is the meaning of an answer that asks to come again.
func (a answer) later(at stage) (posthouse.Class, time.Duration) {
	switch {
	case a.is("4.7.28"), a.code == 454 && at != atAuth && !a.is("4.7.0"):
		return posthouse.ClassRate, tooFast
	case a.code == 432, a.is("4.7.12"):
		return posthouse.ClassAccount, 0 // a new password is wanted
	case at == atRcpt && (a.code == 450 || a.code == 451) && (a.enhanced == "" || a.is("4.7.*", "4.2.0", "4.2.1")):
		return posthouse.ClassTransient, greylisted
	case a.is("4.2.2"):
		return posthouse.ClassTransient, full
	}
	return posthouse.ClassTransient, 0
}

// refused is the result of an answer.
func (d *driver) refused(a answer, at stage) channel.Result {
	class, after := a.meaning(at)
	if own, listed := channel.InCodes(d.codes, a.codes()...); listed {
		class, after = own, 0
	}
	r := channel.Result{Class: class, Code: a.codes()[0], After: after, Error: d.line(fmt.Sprintf("%s answered %s with %d %s", d.host, at, a.code, a.text))}
	if d.keeps {
		r.Response = d.line(fmt.Sprintf("%d %s", a.code, a.text))
	}
	return r
}

func (d *driver) line(text string) string { return d.stream.Redactor().Line(text, 512) }
