package verify

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/verify/packed"
	"github.com/posthouse/posthouse/internal/verify/scan"
)

// call is what is kept of a ClientLine.
type call struct {
	key        packed.ID // tenant and key, or a key of its own for a line without one
	subject    packed.ID // the message of a send, the delivery of a cancel
	body       uint64
	asked, at  int64 // ns
	keyAt      uint32
	line       uint32
	recipients uint32
	keyLen     uint8
	answer     uint8 // of callAnswers
	tenant     uint16
	status     uint16
	code       uint16
	keyless    bool
}

// callAnswers are the answers of a send, then those of a cancel, then those of both.
var callAnswers = []string{
	AnswerAccepted, AnswerReplayed, AnswerCancelled, AnswerTooLate, AnswerFinal, AnswerRefused, AnswerUnknown,
}

const (
	callAccepted = iota
	callReplayed
	callCancelled
	callTooLate
	callFinal
	callRefused
	callUnknown
)

// acknowledged reports whether the caller was told that its message is accepted.
func (c *call) acknowledged() bool { return c.answer == callAccepted || c.answer == callReplayed }

// calls is the producers' journal: sends sorted by message and cancels sorted by delivery.
type calls struct {
	*packed.Packer
	name           string
	sends, cancels []call
	names          packed.Names
	keys           []byte // the texts of all keys, for people
}

func readCalls(p *packed.Packer, r io.Reader) (*calls, error) {
	c := &calls{Packer: p, name: nameOf(r, "client journal")}
	err := eachLine(c.name, r, func(s *scan.Line) error {
		c.scan(s, uint32(s.Row))
		return nil
	})
	bySubject := func(a, b call) int {
		return cmp.Or(a.subject.Compare(b.subject), cmp.Compare(a.asked, b.asked), cmp.Compare(a.line, b.line))
	}
	slices.SortFunc(c.cancels, bySubject)
	return c, err
}

// scan reads a ClientLine.
func (c *calls) scan(s *scan.Line, line uint32) {
	var l ClientLine
	for s.Field() {
		switch string(s.Name) {
		case "at":
			l.At = s.Instant()
		case "asked":
			l.Asked = s.Instant()
		case "op":
			l.Op = s.Word()
		case "tenant":
			l.Tenant = s.Word()
		case "key":
			l.Key = string(s.Bytes())
		case "body":
			l.Body = string(s.Bytes())
		case "answer":
			l.Answer = s.Word()
		case "status":
			l.Status = s.Int()
		case "code":
			l.Code = s.Word()
		case "message":
			l.Message = string(s.Bytes())
		case "delivery":
			l.Delivery = string(s.Bytes())
		case "recipients":
			l.Recipients = s.Int()
		default:
			s.Unknown()
		}
	}
	c.check(s, &l)
	if s.Err == nil {
		c.keep(&l, line)
	}
}

// check finds what is missing in a line or does not fit together.
func (c *calls) check(s *scan.Line, l *ClientLine) {
	s.Require("at", !l.At.IsZero())
	s.Require("asked", !l.Asked.IsZero())
	s.Ordered("asked", l.Asked, "at", l.At)
	s.Require("tenant", l.Tenant != "")
	s.OneOf("op", l.Op, OpSend, OpCancel)
	if l.Op == OpSend {
		s.OneOf("answer", l.Answer, AnswerAccepted, AnswerReplayed, AnswerRefused, AnswerUnknown)
		s.Require("message", l.Message != "" || (l.Answer != AnswerAccepted && l.Answer != AnswerReplayed))
	} else {
		s.OneOf("answer", l.Answer, AnswerCancelled, AnswerTooLate, AnswerFinal, AnswerRefused, AnswerUnknown)
		s.Require("delivery", l.Delivery != "")
	}
	c.checkID(s, "message", l.Message)
	c.checkID(s, "delivery", l.Delivery)
}

func (c *calls) checkID(s *scan.Line, name, id string) {
	if _, ok := c.ID(id); id != "" && !ok && s.Err == nil {
		s.Err = fmt.Errorf("%s: %q is not an id", name, id)
	}
}

func (c *calls) keep(l *ClientLine, line uint32) {
	out := call{
		body: c.Hash(l.Body), asked: l.Asked.UnixNano(), at: l.At.UnixNano(), line: line, recipients: uint32(l.Recipients),
		answer: uint8(slices.Index(callAnswers, l.Answer)), status: uint16(min(l.Status, 999)),
		tenant: c.names.Number(l.Tenant), code: c.names.Number(l.Code),
		keyAt: uint32(len(c.keys)), keyLen: uint8(min(len(l.Key), 255)), keyless: l.Key == "",
	}
	c.keys = append(c.keys, l.Key[:out.keyLen]...)
	out.key = c.Pair(l.Tenant, l.Key)
	if out.keyless {
		out.key = c.Pair(l.Tenant, fmt.Sprint("\x00line ", line))
	}
	if l.Op == OpSend {
		out.subject, _ = c.ID(l.Message)
		c.sends = append(c.sends, out)
	} else {
		out.subject, _ = c.ID(l.Delivery)
		c.cancels = append(c.cancels, out)
	}
}

// byKey sorts the sends by key, byMessage by message; each in the order of time.
func (c *calls) byKey() {
	slices.SortFunc(c.sends, func(a, b call) int { return cmp.Or(a.key.Compare(b.key), cmp.Compare(a.asked, b.asked)) })
}

func (c *calls) byMessage() {
	slices.SortFunc(c.sends, func(a, b call) int { return cmp.Or(a.subject.Compare(b.subject), cmp.Compare(a.asked, b.asked)) })
}

// cancelsOf are the cancels of a delivery.
func (c *calls) cancelsOf(delivery packed.ID) []call {
	return packed.Stretch(c.cancels, delivery, func(l *call) packed.ID { return l.subject })
}

// indexOfCancel is where a call of cancelsOf stands.
func (c *calls) indexOfCancel(l *call) int {
	return sort.Search(len(c.cancels), func(i int) bool {
		return cmp.Or(c.cancels[i].subject.Compare(l.subject), cmp.Compare(c.cancels[i].asked, l.asked), cmp.Compare(c.cancels[i].line, l.line)) >= 0
	})
}

func (c *calls) keyText(l *call) string {
	if l.keyless {
		return fmt.Sprintf("line %d", l.line)
	}
	return string(c.keys[l.keyAt : l.keyAt+uint32(l.keyLen)])
}

// text is a call as a line of an excerpt.
func (c *calls) text(l *call, what string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  client line %d: %s", stampText(time.Unix(0, l.at)), l.line, what)
	if !l.keyless {
		fmt.Fprintf(&b, " with key %s", c.keyText(l))
	}
	fmt.Fprintf(&b, " by tenant %s", c.names.Word(l.tenant))
	if l.body != 0 {
		fmt.Fprintf(&b, ", body %x", l.body&0xffff)
	}
	fmt.Fprintf(&b, ", told %s", callAnswers[l.answer])
	if l.code != 0 {
		fmt.Fprintf(&b, " (%s)", c.names.Word(l.code))
	}
	if (l.subject != packed.ID{}) {
		fmt.Fprintf(&b, ", %s", l.subject.Text())
	}
	return b.String()
}

// judgeKeys holds that a key stands for one message and one body, and counts keys (I27). It leaves
// the sends sorted by message.
func (c calling) judgeKeys() {
	calls := c.calls
	calls.byKey()
	for list := calls.sends; len(list) > 0; {
		n := 1
		for n < len(list) && list[n].key == list[0].key {
			n++
		}
		c.judgeKey(list[:n])
		list = list[n:]
	}
	calls.byMessage()
}

// judgeKey judges the calls with one key.
func (c calling) judgeKey(list []call) {
	c.totals.Attempted++
	var first *call // that was accepted
	undecided := false
	for i := range list {
		l := &list[i]
		c.sawCall(l)
		switch {
		case l.acknowledged() && first == nil:
			first = l
		case l.acknowledged():
			c.checked(idempotent, 1)
			c.judgeReplay(first, l)
		case l.answer == callUnknown:
			undecided = true
		}
	}
	if first == nil {
		if undecided {
			c.undecided++
		}
		return
	}
	c.checked(idempotent, 1)
	for i := range list {
		l := &list[i]
		if l.answer == callRefused && c.calls.names.Word(l.code) == string(posthouse.CodeKeyReused) && l.body == first.body && l.body != 0 {
			c.fail(idempotent, c.calls.keyText(l), c.showCalls(first, l), "a repeat with the same body was refused as another one")
		}
	}
}

// judgeReplay judges a second acceptance under one key.
func (c calling) judgeReplay(first, l *call) {
	switch {
	case first.subject != l.subject:
		c.fail(idempotent, c.calls.keyText(l), c.showCalls(first, l), "one key was told two messages")
	case first.body != l.body && first.body != 0 && l.body != 0: // nobody need say it
		c.fail(idempotent, c.calls.keyText(l), c.showCalls(first, l), "another body was accepted under the same key")
	}
}

func (c calling) showCalls(list ...*call) func() []string {
	return func() []string {
		var out []string
		for _, l := range list {
			out = append(out, c.calls.text(l, "send"))
		}
		return out
	}
}

func (c calling) sawCall(l *call) {
	if l.answer == callUnknown {
		c.saw(commitUnknown)
	}
}
