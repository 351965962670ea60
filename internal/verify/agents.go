package verify

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/verify/packed"
	"github.com/posthouse/posthouse/internal/verify/scan"
)

// word is what is kept of an AgentLine.
type word struct {
	delivery, report packed.ID
	token            int64
	asked, at        int64 // ns
	line             uint32
	agent            uint16 // names
	op, answer       uint16 // names
	outcome          uint16 // names
}

// agents is the agents' journal, sorted by delivery and time.
type agents struct {
	*packed.Packer
	name  string
	list  []word
	heard []bool // of list: its delivery is in the log
	names packed.Names
}

func readAgents(p *packed.Packer, r io.Reader) (*agents, error) {
	a := &agents{Packer: p, name: nameOf(r, "agents' journal")}
	err := eachLine(a.name, r, func(s *scan.Line) error {
		if l := scanAgent(s, a); s.Err == nil {
			a.keep(&l, uint32(s.Row))
		}
		return nil
	})
	slices.SortFunc(a.list, func(x, y word) int {
		return cmp.Or(x.delivery.Compare(y.delivery), cmp.Compare(x.asked, y.asked), cmp.Compare(x.line, y.line))
	})
	a.heard = make([]bool, len(a.list))
	return a, err
}

func scanAgent(s *scan.Line, a *agents) (l AgentLine) {
	for s.Field() {
		switch string(s.Name) {
		case "at":
			l.At = s.Instant()
		case "asked":
			l.Asked = s.Instant()
		case "agent":
			l.Agent = s.Word()
		case "op":
			l.Op = s.Word()
		case "delivery":
			l.Delivery = string(s.Bytes())
		case "token":
			l.Token = s.Number()
		case "report":
			l.Report = string(s.Bytes())
		case "outcome":
			l.Outcome = posthouse.Outcome(s.Word())
		case "answer":
			l.Answer = s.Word()
		default:
			s.Unknown()
		}
	}
	s.Require("at", !l.At.IsZero())
	s.Require("asked", !l.Asked.IsZero())
	s.Ordered("asked", l.Asked, "at", l.At)
	s.Require("agent", l.Agent != "")
	s.Require("delivery", l.Delivery != "")
	if _, ok := a.ID(l.Delivery); !ok && s.Err == nil {
		s.Err = fmt.Errorf("delivery: %q is not an id", l.Delivery)
	}
	s.OneOf("op", l.Op, OpClaim, OpStart, OpGiveBack, OpReport)
	s.OneOf("answer", l.Answer, agentAnswers(l.Op)...)
	if l.Op == OpReport {
		s.OneOf("outcome", string(l.Outcome), outcomes()...)
	}
	return l
}

// agentAnswers are the answers that a request of an agent can have.
func agentAnswers(op string) []string {
	switch op {
	case OpClaim:
		return []string{AnswerHanded}
	case OpReport:
		return []string{
			string(posthouse.ReportDone), string(posthouse.ReportEvidence), string(posthouse.ReportStale), string(posthouse.ReportMissing),
			string(posthouse.ReportReused),
			AnswerOK, AnswerRefused, AnswerUnknown,
		}
	}
	return []string{AnswerOK, AnswerRefused, AnswerUnknown}
}

func outcomes() []string {
	var out []string
	for _, o := range posthouse.Outcomes() {
		out = append(out, string(o))
	}
	return out
}

func (a *agents) keep(l *AgentLine, line uint32) {
	w := word{
		token: l.Token, asked: l.Asked.UnixNano(), at: l.At.UnixNano(), line: line, agent: a.names.Number(l.Agent),
		op: a.names.Number(l.Op), answer: a.names.Number(l.Answer), outcome: a.names.Number(string(l.Outcome)),
	}
	w.delivery, _ = a.ID(l.Delivery)
	if l.Report != "" {
		w.report = a.Pair(l.Agent, l.Report)
	}
	a.list = append(a.list, w)
}

// bounds is the part of the list that is about a delivery.
func (a *agents) bounds(id packed.ID) (from, to int) {
	from, _ = slices.BinarySearchFunc(a.list, id, func(w word, id packed.ID) int { return w.delivery.Compare(id) })
	for to = from; to < len(a.list) && a.list[to].delivery == id; to++ {
	}
	return from, to
}

// is reports whether a word is a request that was answered so.
func (a *agents) is(w *word, op, answer string) bool {
	return a.names.Word(w.op) == op && a.names.Word(w.answer) == answer
}

// owner is who holds what an agent was handed.
func (a *agents) owner(w *word) string { return agentOwner + a.names.Word(w.agent) }

// line is a word as a line of an excerpt.
func (a *agents) line(w *word) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  line %d of the %s: %s", stampText(time.Unix(0, w.asked)), w.line, a.name, a.names.Word(w.op))
	if w.outcome != 0 {
		fmt.Fprintf(&b, " %s", a.names.Word(w.outcome))
	}
	fmt.Fprintf(&b, " by %s, token %d, told %s at %s", a.names.Word(w.agent), w.token, a.names.Word(w.answer), stampText(time.Unix(0, w.at)))
	return b.String()
}

func (a *agents) show(words ...*word) func() []string {
	return func() []string {
		var out []string
		for _, w := range words {
			out = append(out, a.line(w))
		}
		return out
	}
}
