package engine

import (
	"fmt"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/campaign"
	"github.com/posthouse/posthouse/internal/decide"
	"github.com/posthouse/posthouse/internal/pull"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/wire"
)

// quietFor are quiet hours that begin in the hour of virtual time before the one that it is, and last until so many hours after that.
func quietFor(hours int) []posthouse.QuietHours {
	now := time.Now().UTC().Truncate(time.Hour)
	return []posthouse.QuietHours{{From: now.Add(-time.Hour).Format("15:04"), To: now.Add(time.Duration(hours) * time.Hour).Format("15:04"), Spread: posthouse.Duration(10 * time.Minute), ExceptKinds: []string{"otp"}}}
}

// In quiet hours nothing starts, a retry neither: it waits for the end, each recipient for a moment of their own. What its deadline comes
// before is suppressed at once, and what is critical or of an exempt kind goes.
func TestNothingStartsInQuietHours(t *testing.T) {
	virtual(t, func(r *rig) {
		settings := posthouse.ChannelSettings{QuietHours: quietFor(1)}
		end := time.Now().UTC().Truncate(time.Hour).Add(time.Hour)
		r.open("c", settings, state.Opened{MaxBatch: 10, Window: channel.Forever})
		waits := r.send(text("c", "ann", "bob"))
		late, otp, loud := text("c", "cid"), text("c", "dan"), text("c", "eve")
		late.Deadline, otp.Kind, loud.Critical = end.Add(-time.Minute), "otp", true
		tooLate, code, critical := r.send(late), r.send(otp), r.send(loud)
		r.pass(10 * time.Second)
		for _, id := range waits {
			d := r.want(id, posthouse.Pending, state.ReasonQuietHours, 0)
			if d.Attempts != 0 || d.DueAt.Before(end) || d.DueAt.After(end.Add(11*time.Minute)) {
				r.Errorf("%s is due at %s after %d attempts, and the hours end at %s", d.User, d.DueAt, d.Attempts, end)
			}
			x := r.engine.Explainer.Explain(r.Context(), d)
			if len(x.Waits) != 1 || x.Waits[0].Cause != "quiet_hours" || !x.Waits[0].Until.Equal(d.DueAt) {
				r.Errorf("explained as %+v", x)
			}
		}
		r.want(tooLate[0], posthouse.Suppressed, state.ReasonQuietHours, 0)
		r.want(code[0], posthouse.Sent, "", 0)
		r.want(critical[0], posthouse.Sent, "", 0)
		r.pass(time.Until(end) + 15*time.Minute)
		for _, id := range waits {
			r.want(id, posthouse.Sent, "", 0)
		}
	})
}

// A retry whose time comes in quiet hours waits for their end too.
func TestARetryWaitsForTheEndOfQuietHours(t *testing.T) {
	virtual(t, func(r *rig) {
		now := time.Now().UTC()
		begin, end := now.Add(2*time.Minute).Truncate(time.Minute), now.Add(20*time.Minute).Truncate(time.Minute)
		q := []posthouse.QuietHours{{From: begin.Format("15:04"), To: end.Format("15:04")}}
		r.open("c", posthouse.ChannelSettings{QuietHours: q, Backoff: []posthouse.Duration{posthouse.Duration(3 * time.Minute)}}, state.Opened{Window: channel.Forever})
		first := true
		r.provider.decide(func(out channel.Outgoing) channel.Result {
			if first {
				first = false
				return channel.Result{Class: posthouse.ClassTransient}
			}
			return channel.Result{Class: posthouse.ClassOK}
		})
		id := r.send(text("c", "ann"))[0]
		r.pass(5 * time.Minute)
		if d := r.want(id, posthouse.Pending, state.ReasonQuietHours, 1); d.DueAt.Before(end) || len(r.provider.sent()) != 1 {
			r.Errorf("it is due at %s after %d sends, and the hours end at %s", d.DueAt, len(r.provider.sent()), end)
		}
		r.pass(time.Until(end) + time.Minute)
		r.want(id, posthouse.Sent, "", 1)
	})
}

// A cap counts what a person gets: what is beyond it waits or is suppressed, what is known not to have been sent is given back, and what is
// critical is not counted.
func TestACapCountsWhatAPersonGets(t *testing.T) {
	hours(t)
	virtual(t, func(r *rig) {
		hour := posthouse.Duration(time.Hour)
		r.open("c", posthouse.ChannelSettings{Tries: 1, Caps: []posthouse.Cap{{Max: 2, Per: hour, Kinds: []string{"news"}, Then: posthouse.CapSuppress}}}, state.Opened{Window: channel.Forever})
		r.open("d", posthouse.ChannelSettings{Caps: []posthouse.Cap{{Max: 1, Per: hour}}}, state.Opened{Window: channel.Forever})
		refused := map[string]bool{}
		r.provider.decide(func(out channel.Outgoing) channel.Result {
			if refused[out.Ref] {
				return channel.Result{Class: posthouse.ClassRecipient}
			}
			return channel.Result{Class: posthouse.ClassOK}
		})
		refused["0"] = true
		news := func(n int, user string, loud bool) string {
			d := text("c", user)
			d.Kind, d.Ref, d.Critical = "news", fmt.Sprint(n), loud
			id := r.send(d)[0]
			r.pass(5 * time.Second)
			return id
		}
		r.want(news(0, "ann", false), posthouse.Failed, string(posthouse.ClassRecipient), 1) // given back
		r.want(news(1, "ann", false), posthouse.Sent, "", 0)
		r.want(news(2, "ann", false), posthouse.Sent, "", 0)
		if d := r.want(news(3, "ann", false), posthouse.Suppressed, state.ReasonCapped, 0); d.Error == "" || d.Attempts != 0 {
			r.Errorf("it is suppressed by %q after %d attempts", d.Error, d.Attempts)
		}
		r.want(news(4, "ann", true), posthouse.Sent, "", 0)
		r.want(news(5, "bob", false), posthouse.Sent, "", 0)
		lost := true
		r.open("e", posthouse.ChannelSettings{OnUnknown: posthouse.Hold, Caps: []posthouse.Cap{{Max: 1, Per: hour, Then: posthouse.CapSuppress}}}, state.Opened{Window: channel.Forever})
		r.provider.decide(func(channel.Outgoing) channel.Result {
			if lost {
				return channel.Result{Class: posthouse.ClassUnknown}
			}
			return channel.Result{Class: posthouse.ClassOK}
		})
		doubtful := r.send(text("e", "ann"))[0]
		r.pass(5 * time.Second)
		r.want(doubtful, posthouse.Unknown, string(posthouse.ClassUnknown), 1)
		lost = false
		if _, err := r.engine.Operator.Resolve(r.Context(), r.tenant, doubtful, decide.ResolveRetry); err != nil { // its own count is no reason to suppress it
			r.Fatal(err)
		}
		r.pass(5 * time.Second)
		r.want(doubtful, posthouse.Sent, "", 1)
		one := r.send(text("d", "ann"))[0]
		r.pass(5 * time.Second)
		two := r.send(text("d", "ann"))[0]
		r.pass(5 * time.Second)
		r.want(one, posthouse.Sent, "", 0)
		d := r.want(two, posthouse.Pending, state.ReasonCapped, 0)
		if x := r.engine.Explainer.Explain(r.Context(), d); len(x.Waits) == 0 || x.Waits[0].Cause != "cap" {
			r.Errorf("explained as %+v", x)
		}
		r.pass(61 * time.Minute)
		r.want(two, posthouse.Sent, "", 0)
	})
}

// A campaign waits for the end of quiet hours, and a cap leaves members out by name.
func TestACampaignHeedsQuietHoursAndCaps(t *testing.T) {
	hours(t)
	campaigning(t, posthouse.ChannelSettings{}, func(d *drive) {
		end := time.Now().UTC().Truncate(time.Hour).Add(time.Hour)
		d.open("c", posthouse.ChannelSettings{QuietHours: quietFor(1), Caps: []posthouse.Cap{{Max: 1, Per: posthouse.Duration(24 * time.Hour), Then: posthouse.CapSuppress}}}, state.Opened{Window: channel.Forever})
		loud := text("c", "o0005")
		loud.Kind = "otp" // counted, and not quiet
		d.send(loud)
		d.pass(10 * time.Second)
		d.make(40, wire.CampaignDraft{})
		d.act(campaign.Start)
		d.pass(time.Until(end) - 5*time.Minute)
		if n := len(d.copies()); n != 1 {
			d.Errorf("%d were sent to in quiet hours, want the one before", n)
		}
		d.pass(30 * time.Minute)
		d.stands(posthouse.CampaignDone, wire.CampaignProgress{CampaignCounts: wire.CampaignCounts{Members: 40, Sent: 39, Suppressed: 1}})
		who, err := d.desk.Who(d.Context(), d.tenant, "spring", "o0005")
		if err != nil || who.Reason == nil || who.Reason.Code != "CAPPED" {
			d.Errorf("o0005 is %+v, %v", who, err)
		}
	})
}

// Phones are handed nothing in quiet hours or beyond a cap. What a phone gives back, or says that it has not sent, is not counted.
func TestPhonesHeedQuietHoursAndCaps(t *testing.T) {
	hours(t)
	virtual(t, func(r *rig) {
		end := time.Now().UTC().Truncate(time.Hour).Add(time.Hour)
		r.pull("sms", posthouse.ChannelSettings{QuietHours: quietFor(1), Caps: []posthouse.Cap{{Max: 1, Per: posthouse.Duration(48 * time.Hour), Then: posthouse.CapSuppress}}})
		phone := r.phone("p1", nil, "sms")
		first := r.send(text("sms", "ann"))[0]
		if got := r.fetch(pull.Claim{Agent: phone, Max: 10}); len(got.Handouts) != 0 {
			r.Errorf("in quiet hours it is handed %d", len(got.Handouts))
		}
		if d := r.want(first, posthouse.Pending, state.ReasonQuietHours, 0); d.DueAt.Before(end) {
			r.Errorf("it is due at %s, and the hours end at %s", d.DueAt, end)
		}
		r.pass(time.Until(end) + 15*time.Minute)
		h := r.one(phone)
		if _, err := r.engine.Pull.GiveBack(r.Context(), r.tenant, phone.ID, holdsOf(h), "no signal"); err != nil {
			r.Fatal(err)
		}
		r.pass(time.Minute)
		h = r.one(phone)
		report := work.Report{Tenant: r.tenant, Agent: phone.ID, AgentReport: posthouse.AgentReport{ReportID: "r1", Delivery: h.Delivery, Token: h.Token, Outcome: posthouse.OutcomeNotSent, Retry: new(bool)}}
		if _, err := r.engine.Pull.ReportHandouts(r.Context(), []work.Report{report}); err != nil {
			r.Fatal(err)
		}
		second := r.send(text("sms", "ann"))[0]
		if h = r.one(phone); h.Delivery != second {
			r.Errorf("it is handed %s, want %s", h.Delivery, second)
		}
		report = work.Report{Tenant: r.tenant, Agent: phone.ID, AgentReport: posthouse.AgentReport{ReportID: "r2", Delivery: h.Delivery, Token: h.Token, Outcome: posthouse.OutcomeSent}}
		if _, err := r.engine.Pull.ReportHandouts(r.Context(), []work.Report{report}); err != nil {
			r.Fatal(err)
		}
		third := r.send(text("sms", "ann"))[0]
		if got := r.fetch(pull.Claim{Agent: phone, Max: 10}); len(got.Handouts) != 0 {
			r.Errorf("beyond a cap it is handed %d", len(got.Handouts))
		}
		r.want(third, posthouse.Suppressed, state.ReasonCapped, 0)
	})
}

// Quiet hours that are shortened or removed let go what they hold, a person's own kind too; what they still hold keeps its end, and a time that
// the message names holds as well.
func TestQuietHoursThatAreShortenedLetGo(t *testing.T) {
	virtual(t, func(r *rig) {
		r.open("c", posthouse.ChannelSettings{QuietHours: quietFor(9)}, state.Opened{Window: channel.Forever})
		r.open("d", posthouse.ChannelSettings{QuietHours: quietFor(9)}, state.Opened{Window: channel.Forever})
		news, other, later := text("c", "ann"), text("d", "bob"), text("c", "cid")
		later.NotBefore = time.Now().Add(2 * time.Hour)
		a, b := r.send(news)[0], r.send(other)[0]
		r.pass(5 * time.Second)
		l := r.send(later)[0]
		before := r.want(b, posthouse.Pending, state.ReasonQuietHours, 0).DueAt
		r.want(a, posthouse.Pending, state.ReasonQuietHours, 0)

		r.open("c", posthouse.ChannelSettings{QuietHours: quietFor(3)}, state.Opened{Window: channel.Forever})
		r.pass(10 * time.Second)
		d := r.want(a, posthouse.Pending, state.ReasonQuietHours, 0)
		if end := time.Now().UTC().Truncate(time.Hour).Add(3 * time.Hour); d.DueAt.Before(end) || d.DueAt.After(end.Add(11*time.Minute)) {
			r.Errorf("it is due at %s, and the shortened hours end at %s", d.DueAt, end)
		}
		r.open("c", posthouse.ChannelSettings{}, state.Opened{Window: channel.Forever})
		r.pass(10 * time.Second)
		r.want(a, posthouse.Sent, "", 0)
		r.want(l, posthouse.Pending, "", 0)
		if d := r.want(b, posthouse.Pending, state.ReasonQuietHours, 0); !d.DueAt.Equal(before) {
			r.Errorf("what another channel holds is due at %s, and was at %s", d.DueAt, before)
		}
		if got := r.history(a); got != "accept start release wake wake start sent " {
			r.Errorf("its history is %q", got)
		}
	})
}
