package pull

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/verify"
	"github.com/posthouse/posthouse/torture/house"
)

// phone is an agent of the native protocol. It lives many lives; between them it keeps what a phone has on its
// disk: which messages it has sent.
type phone struct {
	*swarm
	id, key string
	rng     *rand.Rand
	sent    map[string]bool // by idempotency key
}

// live fetches, sends and reports until it dies, and then forgets what it had in hand.
func (p *phone) live(ctx context.Context) {
	for ctx.Err() == nil {
		list := p.claim(ctx)
		list = p.giveSomeBack(ctx, list)
		if list = p.start(ctx, list); len(list) == 0 {
			continue
		}
		var reports []posthouse.AgentReport
		for i := range list {
			if ctx.Err() != nil {
				return
			}
			reports = append(reports, p.send(ctx, &list[i]))
		}
		p.report(ctx, reports)
	}
}

// ask is one request of the native protocol to any of the servers.
func (p *phone) ask(ctx context.Context, what string, in, out any) error {
	return p.network.call(ctx, p.rng.IntN(1<<10), http.MethodPost, "/v1/agents/"+p.id+"/"+what, in, out, func(r *http.Request) {
		r.Header.Set("Authorization", "Bearer "+p.key)
	})
}

// chance is true in so many cases of a thousand.
func (p *phone) chance(permille int) bool { return p.rng.IntN(1000) < permille }

// claim asks for work and mostly asks again where the answer was lost; else the leases run out.
func (p *phone) claim(ctx context.Context) []posthouse.Handout {
	in := map[string]any{"claim_id": posthouse.NewID(), "max": 1 + p.rng.IntN(10), "wait": "300ms"}
	for range 3 {
		asked := time.Now()
		var out struct {
			Handouts []posthouse.Handout `json:"handouts"`
			Repeated bool                `json:"repeated"`
		}
		err := p.ask(ctx, "claims", in, &out)
		if err == nil {
			for _, h := range out.Handouts {
				p.word(asked, verify.OpClaim, h.Delivery, h.Token, "", "", verify.AnswerHanded)
			}
			if out.Repeated && len(out.Handouts) > 0 {
				p.recovered.Add(1)
			}
			return out.Handouts
		}
		p.complain(err)
		if house.Pause(ctx, 20*time.Millisecond); p.chance(200) {
			break
		}
	}
	return nil
}

// complain fails the test where a server refuses what it must take.
func (p *phone) complain(err error) {
	if status := (*statusError)(nil); errors.As(err, &status) && status.status < 500 && status.status != http.StatusConflict && status.status != http.StatusNotFound {
		p.t.Errorf("%s: %v", p.id, err)
	}
}

// holds names hand-outs as start and give-back take them.
func holds(list []posthouse.Handout) map[string]any {
	var out []map[string]any
	for _, h := range list {
		out = append(out, map[string]any{"delivery": h.Delivery, "token": h.Token})
	}
	return map[string]any{"handouts": out, "reason": "torture"}
}

// wish asks for something about hand-outs and says which of them may be taken as done. Where the answer is lost
// it asks once more, and then takes none.
func (p *phone) wish(ctx context.Context, what, op string, list []posthouse.Handout) (ok []posthouse.Handout) {
	if len(list) == 0 {
		return nil
	}
	for range 2 {
		asked := time.Now()
		var out struct {
			Results []struct {
				OK bool `json:"ok"`
			} `json:"results"`
		}
		err := p.ask(ctx, what, holds(list), &out)
		if p.complain(err); err == nil && len(out.Results) != len(list) {
			p.t.Errorf("%s: %s of %d hand-outs has %d results", p.id, what, len(list), len(out.Results))
			return nil
		}
		for i, h := range list {
			answer := verify.AnswerUnknown
			if err == nil {
				answer = verify.AnswerRefused
				if out.Results[i].OK {
					answer, ok = verify.AnswerOK, append(ok, h)
				}
			}
			p.word(asked, op, h.Delivery, h.Token, "", "", answer)
		}
		if err == nil || ctx.Err() != nil {
			return ok
		}
	}
	return nil
}

// giveSomeBack returns a few hand-outs as if the phone could not send now.
func (p *phone) giveSomeBack(ctx context.Context, list []posthouse.Handout) (rest []posthouse.Handout) {
	if len(list) == 0 || !p.chance(60) {
		return list
	}
	p.wish(ctx, "give-back", verify.OpGiveBack, list[:1])
	return list[1:]
}

// start marks hand-outs as started. What is not surely marked is not sent.
func (p *phone) start(ctx context.Context, list []posthouse.Handout) []posthouse.Handout {
	if len(list) > 0 && p.chance(20) {
		return nil // it hangs before it has begun, and comes to itself without them
	}
	return p.wish(ctx, "start", verify.OpStart, list)
}

// send is what a phone does with one message, and what it says of it. Some take longer than their lease.
func (p *phone) send(ctx context.Context, h *posthouse.Handout) posthouse.AgentReport {
	r := posthouse.AgentReport{ReportID: posthouse.NewID(), Delivery: h.Delivery, Token: h.Token, Outcome: posthouse.OutcomeSent, Ref: "sim-" + h.Delivery}
	if p.sent[h.IdemKey] {
		return r
	}
	slow := p.chance(p.slowness)
	if slow && p.chance(500) {
		house.Pause(ctx, lease+time.Second)
	}
	switch n := p.rng.IntN(1000); {
	case n < 60:
		p.arrived(h.IdemKey, h.Recipient.Address, verify.ArrivalRefused)
		r.Outcome, r.Code, r.Error, r.Ref = posthouse.OutcomeNotSent, "RADIO", "no signal", ""
	case n < 80:
		r.Outcome, r.Error, r.Ref = posthouse.OutcomeUnknown, "the modem did not answer", ""
		if p.chance(500) {
			p.take(h, verify.ArrivalLost)
		}
	case n < 200:
		p.take(h, verify.ArrivalAccepted)
		r.Outcome = posthouse.OutcomeDelivered
	default:
		p.take(h, verify.ArrivalAccepted)
	}
	if slow {
		house.Pause(ctx, lease+time.Second)
	}
	return r
}

// take sends a message and keeps in mind that it has.
func (p *phone) take(h *posthouse.Handout, answer string) {
	p.sent[h.IdemKey] = true
	p.arrived(h.IdemKey, h.Recipient.Address, answer)
}

// report says what became of hand-outs until it is answered, sometimes twice, and sometimes contradicts itself.
func (p *phone) report(ctx context.Context, list []posthouse.AgentReport) {
	if !p.reportOnce(ctx, list) {
		return
	}
	if p.chance(150) {
		p.reportOnce(ctx, list)
	}
	if p.chance(60) {
		turned := list[p.rng.IntN(len(list))]
		turned.ReportID, turned.Outcome, turned.Error = posthouse.NewID(), posthouse.OutcomeNotSent, "late and wrong"
		p.reportOnce(ctx, []posthouse.AgentReport{turned})
	}
}

// reportOnce hands in reports until they are answered; a dead phone does not.
func (p *phone) reportOnce(ctx context.Context, list []posthouse.AgentReport) bool {
	for ctx.Err() == nil {
		results, asked, err := p.deliver(ctx, list)
		if err == nil && len(results) != len(list) {
			p.t.Errorf("%s: %d reports have %d results", p.id, len(list), len(results))
			return false
		}
		for i, r := range list {
			answer := verify.AnswerUnknown
			if err == nil {
				answer = string(results[i])
			}
			p.word(asked, verify.OpReport, r.Delivery, r.Token, r.ReportID, r.Outcome, answer)
		}
		if err == nil {
			return true
		}
		house.Pause(ctx, 20*time.Millisecond)
	}
	return false
}

// deliver hands in reports once, one alone in its own form, in which the status says what it is answered.
func (p *phone) deliver(ctx context.Context, list []posthouse.AgentReport) (results []posthouse.ReportResult, asked time.Time, err error) {
	var in any = map[string]any{"reports": list}
	if len(list) == 1 {
		in = list[0]
	}
	var out struct {
		Results []struct {
			Result posthouse.ReportResult `json:"result"`
		} `json:"results"`
	}
	asked = time.Now()
	err = p.ask(ctx, "report", in, &out)
	if status := (*statusError)(nil); errors.As(err, &status) && len(list) == 1 {
		switch status.status {
		case http.StatusConflict:
			return []posthouse.ReportResult{posthouse.ReportStale}, asked, nil
		case http.StatusNotFound:
			return []posthouse.ReportResult{posthouse.ReportMissing}, asked, nil
		}
	}
	p.complain(err)
	for _, r := range out.Results {
		results = append(results, r.Result)
	}
	return results, asked, err
}

// register makes the phone's agent, with no limits, and keeps its key.
func (p *phone) register(ctx context.Context, h *house.House) error {
	var made struct {
		Secret string `json:"secret"`
	}
	err := p.network.call(ctx, 0, http.MethodPost, "/v1/agents", map[string]any{
		"id": p.id, "channels": []string{channelName}, "limits": []any{},
	}, &made, func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+h.Key) })
	if p.key = made.Secret; err == nil && p.key == "" {
		err = fmt.Errorf("the agent %s has no key", p.id)
	}
	return err
}
