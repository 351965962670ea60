package engine

import (
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/campaign"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/wire"
)

// suppress stores a suppression of an address in a channel, all where that is empty.
func (r *rig) suppress(channel, address, reason string, until time.Time) {
	r.Helper()
	err := r.store.Suppressions.Suppress(r.Context(), time.Now(), []posthouse.Suppression{{
		Tenant: r.tenant, Channel: channel, Address: address, Reason: reason, Source: posthouse.SuppressedByPerson, Until: until,
	}})
	if err != nil {
		r.Fatal(err)
	}
}

// I22: whatever waits when an address is suppressed is not sent, and says why; others of the same claim are.
func TestNothingStartsForASuppressedAddress(t *testing.T) {
	virtual(t, func(r *rig) {
		r.open("c", posthouse.ChannelSettings{ExemptKinds: []string{"otp"}}, state.Opened{MaxBatch: 10, Window: channel.Forever})
		r.open("d", posthouse.ChannelSettings{}, state.Opened{})
		r.pause("c")
		r.pause("d")
		many := r.send(text("c", "ann", "bob", "cid", "dan"))
		alone := r.send(text("c", "bob"))
		otp := text("c", "bob")
		otp.Kind = "otp"
		exempt, elsewhere, everywhere := r.send(otp), r.send(text("d", "bob")), r.send(text("d", "cid"))
		r.suppress("c", "bob", "asked by telephone", time.Time{})
		r.suppress("", "cid", "", time.Time{})
		r.suppress("c", "dan", "on holiday", time.Now().Add(time.Minute))
		r.pass(2 * time.Minute)
		r.resume("c")
		r.resume("d")
		r.pass(10 * time.Second)
		for id, why := range map[string]string{many[1]: "asked by telephone", alone[0]: "asked by telephone", many[2]: "its address is suppressed", everywhere[0]: "its address is suppressed"} {
			if d := r.want(id, posthouse.Suppressed, state.ReasonSuppressed, 0); d.Error != why || d.Attempts != 0 {
				r.Errorf("%s: got %q after %d attempts, want %q and none", id, d.Error, d.Attempts, why)
			}
		}
		for _, id := range []string{many[0], many[3], exempt[0], elsewhere[0]} {
			r.want(id, posthouse.Sent, "", 0)
		}
		if n := len(r.provider.sent()); n != 4 {
			r.Errorf("%d were sent to, want 4: %v", n, r.provider.to())
		}
		if got := r.history(alone[0]); got != "accept start suppress " {
			r.Errorf("the history is %q", got)
		}
	})
}

// A repeat that may have been reached stays unknown when its address was suppressed meanwhile.
func TestASuppressedRepeatStaysUnknown(t *testing.T) {
	hours(t)
	virtual(t, func(r *rig) {
		r.open("c", posthouse.ChannelSettings{OnUnknown: posthouse.Retry, Backoff: []posthouse.Duration{posthouse.Duration(time.Minute)}}, state.Opened{Window: channel.Forever})
		r.provider.answer = func(channel.Outgoing) channel.Result { return channel.Result{Class: posthouse.ClassUnknown} }
		id := r.send(text("c", "bob"))[0]
		r.pass(10 * time.Second)
		r.suppress("", "bob", "", time.Time{})
		r.pass(time.Hour)
		if d := r.get(id); d.State != posthouse.Unknown || d.Reason != state.ReasonSuppressed || d.Attempts != 1 || len(r.provider.sent()) != 1 {
			r.Errorf("got %s, %q after %d attempts and %d sends", d.State, d.Reason, d.Attempts, len(r.provider.sent()))
		}
	})
}

// I22, CAMP-10: a suppression that is stored while a campaign runs stops every member who has not started, by name and with its reason.
func TestACampaignHeedsWhoIsSuppressedWhileItRuns(t *testing.T) {
	campaigning(t, posthouse.ChannelSettings{Limits: []posthouse.Limit{{Max: 10, Per: posthouse.Duration(time.Minute)}}}, func(d *drive) {
		d.make(40, wire.CampaignDraft{})
		d.suppress("c", "o0005", "unsubscribe", time.Time{})
		plan, err := d.desk.Plan(d.Context(), d.tenant, "spring")
		if err != nil || plan.Suppressed != 1 || plan.Duration.Std() != 3*time.Minute {
			d.Errorf("the plan is %+v, %v", plan, err)
		}
		d.act(campaign.Start)
		d.pass(30 * time.Second)
		d.suppress("", "o0003", "too late", time.Time{})
		d.suppress("", "o0035", "in time", time.Time{})
		d.pass(10 * time.Minute)
		c := d.stands(posthouse.CampaignDone, wire.CampaignProgress{CampaignCounts: wire.CampaignCounts{Members: 40, Sent: 38, Suppressed: 2}})
		if len(c.Progress.Reasons) != 1 || c.Progress.Reasons[0].Outcome != "suppressed" || c.Progress.Reasons[0].Members != 2 {
			d.Errorf("reasons: %+v", c.Progress.Reasons)
		}
		n := d.copies()
		if n["o0005"] != 0 || n["o0035"] != 0 || n["o0003"] != 1 || len(n) != 38 {
			d.Errorf("%d were sent to: o0003 %d times, o0005 %d, o0035 %d", len(n), n["o0003"], n["o0005"], n["o0035"])
		}
		who, err := d.desk.Who(d.Context(), d.tenant, "spring", "o0035")
		if err != nil || who.Outcome != "suppressed" || who.Reason == nil || who.Reason.Code != "ADDRESS_SUPPRESSED" {
			d.Errorf("o0035 is %+v, %v", who, err)
		}
	})
}
