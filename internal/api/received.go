package api

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/web"
	"github.com/posthouse/posthouse/wire"
)

// received is the resource of the text messages that agents get.
type received struct {
	agents  Agents
	answers Answers
	// texted is told of a text, and reports whether it acknowledged a notification.
	texted func(ctx context.Context, agent posthouse.Agent, in channel.Inbound) (acknowledged bool, err error)
}

// Bounds of what an agent got.
const (
	maxReceived = 100
	maxSender   = 64   // bytes
	longText    = 1024 // no word that acknowledges is longer: what is behind is not looked at
)

// receivedBody lets any text stand in what people write: a phone cannot correct it.
var receivedBody = web.BodyOf[wire.ReceivedTexts](web.OneTo(maxReceived, "texts", "texts"), web.Mended("texts", "text")).Loose()

func (r received) routes() []web.Route {
	return web.Tagged("agents",
		web.Post("/v1/agents/{id}/received", agents, "Hand in text messages that the agent got: a word or a code acknowledges a notification that agents have sent to that number. A repeat is answered as before.", receivedBody, r.take),
	)
}

// take hears texts in their order. Where one cannot be written the agent comes again with all: those before it are repeats then.
func (r received) take(c *web.Call, in wire.ReceivedTexts) (wire.ReceivedResults, error) {
	now := time.Now()
	if len(in.Texts) == 0 {
		c.Refuse("texts", "has 0 texts: want 1 to %d", maxReceived)
	}
	for i := range in.Texts {
		checkReceived(c, fmt.Sprintf("texts[%d].", i), &in.Texts[i])
	}
	if err := c.Wrong(); err != nil {
		return wire.ReceivedResults{}, err
	}
	agent, err := r.agents.Agent(c.Context(), c.Tenant(), c.PathValue("id"))
	if err != nil {
		return wire.ReceivedResults{}, err
	}
	out := wire.ReceivedResults{Results: make([]wire.ReceivedResult, len(in.Texts))}
	for i := range in.Texts {
		if out.Results[i], err = r.hear(c.Context(), agent, &in.Texts[i], now); err != nil {
			return wire.ReceivedResults{}, err
		}
	}
	return out, nil
}

func checkReceived(c *web.Call, path string, t *wire.ReceivedText) {
	if t.ID == "" {
		c.RefuseNew(path+"text_id", "is required: the phone's own id of the text, 1 to %d bytes", maxMark)
	}
	c.CheckWord(path+"text_id", t.ID, maxMark)
	if t.Sender == "" {
		c.RefuseNew(path+"sender", "is required: the number that it came from, such as +8613800138000")
	}
	c.CheckWord(path+"sender", t.Sender, maxSender)
	if t.ReceivedAt.IsZero() {
		c.RefuseNew(path+"received_at", "is required: when the phone got it, such as 2026-10-01T08:30:00+08:00")
	}
	t.Text = strings.ReplaceAll(t.Text, "\x00", "")
}

// hear takes one text, once. What it was answered is kept by its id, and nothing of what it says.
func (r received) hear(ctx context.Context, agent posthouse.Agent, t *wire.ReceivedText, now time.Time) (wire.ReceivedResult, error) {
	endpoint := "agents/" + agent.ID + "/received"
	before, found, err := r.answers.Answer(ctx, agent.Tenant, endpoint, t.ID, "")
	if err != nil {
		return wire.ReceivedResult{}, err
	}
	if found {
		return wire.ReceivedResult{ID: t.ID, Acknowledged: string(before) == "true", Repeated: true}, nil
	}
	at := t.ReceivedAt
	if at.After(now) { // by a clock that is ahead it would mean what is yet to be sent
		at = now
	}
	acknowledged, err := r.texted(ctx, agent, channel.Inbound{
		Way: channel.InboundSMS, Address: t.Sender, Text: state.Plain(t.Text, longText), ID: agent.ID + "/" + t.ID, At: at,
	})
	if err != nil {
		return wire.ReceivedResult{}, err
	}
	kept, err := r.answers.KeepAnswer(ctx, agent.Tenant, endpoint, t.ID, "", []byte(strconv.FormatBool(acknowledged)))
	return wire.ReceivedResult{ID: t.ID, Acknowledged: string(kept) == "true"}, err
}
