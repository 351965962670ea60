package pull

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/verify"
	"github.com/posthouse/posthouse/torture/internal/house"
)

// phone is an agent of the native protocol.
type phone struct {
	*handset
	key string
}

// live fetches, sends and reports until it dies, and then forgets what it had in hand.
func (p *phone) live(ctx context.Context) {
	for p.on(ctx) {
		list := p.claim(ctx)
		list = p.giveSomeBack(ctx, list)
		if list = p.start(ctx, list); len(list) == 0 {
			continue
		}
		if reports := p.sendAll(ctx, list); len(reports) > 0 {
			p.report(ctx, reports)
		}
	}
}

// ask is one request of the native protocol to any of the servers.
func (p *phone) ask(ctx context.Context, what string, in, out any) error {
	return p.network.call(ctx, p.rng.IntN(1<<10), http.MethodPost, "/v1/agents/"+p.id+"/"+what, in, out, func(r *http.Request) {
		r.Header.Set("Authorization", "Bearer "+p.key)
	})
}

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
	hangs := p.chance(20)
	if len(list) > 0 {
		p.hung.Do(func() { hangs = true })
	}
	if hangs {
		return nil // before it has begun: it comes to itself without them
	}
	return p.wish(ctx, "start", verify.OpStart, list)
}

// sendAll sends hand-outs one after the other, and makes a report of each.
func (p *phone) sendAll(ctx context.Context, list []posthouse.Handout) (reports []posthouse.AgentReport) {
	for i := range list {
		h := &list[i]
		if ctx.Err() != nil {
			return nil
		}
		r := posthouse.AgentReport{ReportID: posthouse.NewID(), Delivery: h.Delivery, Token: h.Token, Outcome: p.send(ctx, h.IdemKey, h.Recipient.Address)}
		switch r.Outcome {
		case posthouse.OutcomeNotSent:
			r.Code, r.Error = "RADIO", "no signal"
		case posthouse.OutcomeUnknown:
			r.Error = "the modem did not answer"
		default:
			r.Ref = "sim-" + h.Delivery
		}
		reports = append(reports, r)
	}
	return reports
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
