package engine

import (
	"context"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/campaign"
	"github.com/posthouse/posthouse/internal/limit"
	"github.com/posthouse/posthouse/internal/segment"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
)

// part is a unit of a campaign: the members of a segment that one call sends to.
type part struct {
	seated
	of     *segments
	in     *segment.Stretch
	is     about
	places []int // who is to be sent to
	began  []int // who was started, in the order of taken
	outs   []channel.Outgoing
	bad    map[int]string      // who gets nothing, since it cannot be made
	barred map[int]segment.Bar // who gets nothing, since the address is suppressed, or a cap reached
	reads  map[int]string      // in which language a member gets it, where that is not the template's own
	// unasked says that nobody could be asked about who is to be sent to: they wait.
	unasked bool
	taken   []limit.Grant // permits of its members besides
	ended   ending
}

func (p *part) about() about { return p.is }

// prepare makes what each member gets. Whose content cannot be made has failed by that.
func (p *part) prepare(context.Context, time.Time) bool {
	if p.unasked {
		return false
	}
	r, leg := p.is.route, p.in
	template, templateID := leg.Letter.Template()
	made := p.places[:0:0]
	granted := leg.Letter.CallsEverybody(r.Opened.CallsEverybody) != "" // else the campaign would not have been made
	for _, i := range p.places {
		if p.barred[i].Why != "" {
			continue
		}
		m := leg.Members[i]
		content, payload, problems := leg.Letter.For(m, p.reads[i], r.Opened.Names)
		if len(problems) > 0 {
			p.refuse(i, problems)
			continue
		}
		id := campaign.MemberID(leg.Campaign.ID, m.Seq)
		out := channel.Outgoing{
			Tenant: r.Key.Tenant, Channel: r.Key.Channel, Account: p.is.account, Message: leg.Campaign.ID, Delivery: id,
			Recipient: r.Addressed(posthouse.Recipient{Address: m.Address}), Content: content, Kind: leg.Campaign.Kind, Ref: leg.Campaign.Name,
			Priority: leg.Campaign.Priority, Template: template, TemplateID: templateID, Payload: payload, IdemKey: id, Attempt: p.in.Pass + 1,
		}
		if field := r.Opened.CallsEverybody(out); field != "" && !granted {
			p.refuse(i, []posthouse.Problem{{Path: field, Message: "calls everybody whom the channel reaches, which the campaign itself does not"}})
			continue
		}
		made = append(made, i)
		p.outs = append(p.outs, out)
	}
	p.places = made
	return len(made) > 0
}

func (p *part) refuse(place int, problems []posthouse.Problem) {
	if p.bad == nil {
		p.bad = map[int]string{}
	}
	p.bad[place] = problems[0].Path + " " + problems[0].Message
}

func (p *part) bar(place int, why segment.Bar) {
	if p.barred == nil {
		p.barred = map[int]segment.Bar{}
	}
	p.barred[place] = why
}

func (p *part) outgoing() []channel.Outgoing { return p.outs }

func (p *part) end(e ending) { p.ended = e }

// holds is asked about deliveries: it has none.
func (p *part) holds(string, int64) bool { return false }

// sent reports whether a byte of it may have left.
func (p *part) sent() bool {
	return len(p.places) > 0 && (p.ended.verdict == verdictResult || p.ended.verdict == verdictQuarantine)
}

// done gives back the permits of members that were not used, and lets the lane go on.
func (p *part) done() (unsent, unseen int) {
	unsent = len(p.bad) + len(p.barred)
	if !p.sent() {
		unsent += len(p.places)
	}
	for i := range p.ended.results {
		if p.sent() && p.ended.results[i].Unsent {
			unseen++
		}
	}
	r := p.is.route
	if !p.sent() {
		for i := range p.taken {
			p.of.permits.refund(&p.taken[i], 1)
		}
	} else if len(p.taken) > 0 {
		p.uncount()
	}
	// The slots come free for others of the campaign too.
	p.of.holder.Occupy(slotsOf(r, p.is.account), -p.is.size)
	p.of.routes.Rouse(r.Key, p.in.Lane.Priority, "")
	return unsent, unseen
}

// uncount gives back what caps have counted of members who were not reached.
func (p *part) uncount() {
	for i, place := range p.began {
		k := slices.Index(p.places, place)
		if k >= 0 && (k >= len(p.ended.results) || !state.Unsent(p.ended.results[k].Class)) {
			continue
		}
		grant := state.CapsIn(p.taken[i])
		p.of.permits.refund(&grant, 1)
	}
}

// count counts its attempts, and who got nothing.
func (p *part) count() {
	r, kind := p.is.route, string(posthouse.TextContent)
	if len(p.outs) > 0 {
		kind = string(p.outs[0].Content.Kind())
	}
	if n := len(p.barred); n > 0 {
		p.of.metrics.Sends.WithLabelValues(r.Key.Channel, kind, string(verdictSuppress)).Add(float64(n))
	}
	if !p.sent() {
		return
	}
	for _, res := range p.ended.results {
		p.of.metrics.Sends.WithLabelValues(r.Key.Channel, kind, string(res.Class)).Inc()
		p.of.rollup.Add(work.MinuteKey{Tenant: r.Key.Tenant, Channel: r.Key.Channel, Account: p.is.account, Type: kind, Outcome: string(res.Class)}, p.ended.took, "")
	}
}
