package engine

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/decide"
	"github.com/posthouse/posthouse/internal/intake"
	"github.com/posthouse/posthouse/internal/verify"
	"github.com/posthouse/posthouse/internal/work"
)

// caller hands in one message, as often as it takes to be told that it was accepted, and perhaps
// cancels it later.
type caller struct {
	n       int
	at      time.Duration // since the start of the world
	draft   posthouse.Draft
	key     string              // the Idempotency-Key, empty for a caller that asks once only
	answer  string              // the last one, as verify.ClientLine has it
	told    *posthouse.Accepted // with an acceptance
	toldAt  time.Time
	cancels []withdrawal
}

// withdrawal is an answer to a cancel.
type withdrawal struct {
	at time.Time
	decide.Cancellation
}

// drawCaller makes the nth message. Each recipient has a name of its own, which stands for the
// delivery in every draw: ids are random.
func (w *world) drawCaller(n int) *caller {
	r := w.draw("message", n)
	burst := w.draw("burst", r.IntN(4)) // messages come in bursts, so that much is under way at once
	c := &caller{n: n, at: between(burst, 0, simStorm-30*time.Second) + between(r, 0, 3*time.Second)}
	ch := w.channels[r.IntN(len(w.channels))]
	recipients := 1 + r.IntN(3)
	if ch.batch > 0 {
		recipients = 3 + r.IntN(12)
	}
	if ch.shares && w.draw("alone", n).IntN(4) > 0 {
		recipients = 1
	}
	c.draft = posthouse.Draft{
		Channel: ch.name, Content: &posthouse.Content{Text: "hello"}, Ref: fmt.Sprint(n),
		Priority: pick(r, "", posthouse.High, posthouse.Normal, posthouse.Low),
	}
	for i := range recipients {
		c.draft.To = append(c.draft.To, posthouse.Recipient{User: fmt.Sprintf("m%dr%d", n, i)})
	}
	if r.Float64() < 0.9 {
		c.key = fmt.Sprintf("key-%d", n)
	}
	if r.Float64() < 0.1 {
		c.draft.OnUnknown = pick(r, posthouse.Hold, posthouse.Retry, posthouse.AssumeSent)
	}
	if r.Float64() < 0.05 {
		c.draft.DedupKey = fmt.Sprint("once-", r.IntN(2))
	}
	if order := w.draw("order", n); order.Float64() < 0.1 {
		c.draft.OrderingKey = fmt.Sprint("line-", order.IntN(4))
	}
	at := w.start.Add(c.at)
	if r.Float64() < 0.15 {
		c.draft.NotBefore = at.Add(between(r, time.Second, time.Minute)).UTC()
	}
	if r.Float64() < 0.2 {
		c.draft.Deadline = at.Add(between(r, time.Second, 2*time.Minute)).UTC()
		if !c.draft.NotBefore.IsZero() {
			c.draft.Deadline = c.draft.NotBefore.Add(between(r, time.Second, time.Minute))
		}
	}
	return c
}

// run is the caller's part of the script.
func (c *caller) run(w *world) {
	if !w.until(c.at) {
		return
	}
	for try := 1; ; try++ {
		r := w.draw("try", c.n, try)
		line := verify.ClientLine{Asked: time.Now(), Op: verify.OpSend, Key: c.key, Body: c.key, Recipients: len(c.draft.To)}
		line.Answer, line.Code = c.ask(w, r)
		if c.told != nil {
			line.Message = c.told.ID
			if c.told.DuplicateOf != "" {
				line.Recipients = 0 // nothing was created
			}
		}
		w.told(line)
		c.answer = line.Answer
		if c.answer != verify.AnswerUnknown || c.key == "" {
			break
		}
		<-time.After(between(r, 100*time.Millisecond, 4*time.Second))
	}
	r := w.draw("cancel", c.n)
	if c.told != nil && len(c.told.Deliveries) > 0 && r.Float64() < 0.25 && w.rest(between(r, 0, 40*time.Second)) {
		c.cancel(w, r)
	}
}

// ask hands the message in once, and returns the answer and the error's code. A process that died
// meanwhile has told nothing.
func (c *caller) ask(w *world, r *rand.Rand) (answer, code string) {
	p := w.someone(r)
	if p == nil {
		return verify.AnswerUnknown, "" // nobody there
	}
	d := c.draft
	d.To = slices.Clone(d.To)
	move(&d.NotBefore, -p.skew)
	move(&d.Deadline, -p.skew)
	ctx, cancel := context.WithTimeout(context.Background(), between(r, time.Second, 10*time.Second))
	defer cancel()
	var got intake.Answer
	var err error
	if !p.call(func() {
		got, err = p.engine.Intake.Accept(ctx, intake.Request{Caller: work.Program(), Tenant: posthouse.DefaultTenant, Endpoint: "messages", Key: c.key, Hash: c.key, Drafts: []posthouse.Draft{d}})
	}) {
		return verify.AnswerUnknown, ""
	}
	if err != nil {
		code := posthouse.CodeOf(err)
		w.saw("accept's outcome unknown", count(code == posthouse.CodeOutcomeUnknown))
		if code == posthouse.CodeInvalid {
			return verify.AnswerRefused, string(code)
		}
		return verify.AnswerUnknown, string(code)
	}
	w.saw("accept replayed", count(got.Replayed))
	c.told, c.toldAt = &got.Accepted[0], time.Now()
	if got.Replayed {
		return verify.AnswerReplayed, ""
	}
	return verify.AnswerAccepted, ""
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

// cancel withdraws the message's deliveries, some or all.
func (c *caller) cancel(w *world, r *rand.Rand) {
	p := w.someone(r)
	if p == nil {
		return
	}
	asked := time.Now()
	var ids []string
	for _, d := range c.told.Deliveries {
		if r.Float64() < 0.7 {
			ids = append(ids, d.ID)
		}
	}
	var got []decide.Cancellation
	var err error
	if !p.call(func() { got, err = p.engine.Operator.Cancel(context.Background(), posthouse.DefaultTenant, ids) }) || err != nil {
		return
	}
	for _, g := range got {
		c.cancels = append(c.cancels, withdrawal{time.Now(), g})
		w.told(verify.ClientLine{Asked: asked, Op: verify.OpCancel, Delivery: g.Delivery, Answer: g.Result})
		w.saw("cancel answered "+g.Result, 1)
	}
}
