package engine

import (
	"slices"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/campaign"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/wire"
)

// leavesAlone are quiet hours from so many hours after the one that it is until so many after it.
func leavesAlone(from, to int, users ...string) posthouse.QuietHours {
	now := time.Now().UTC().Truncate(time.Hour)
	at := func(hours int) string { return now.Add(time.Duration(hours) * time.Hour).Format("15:04") }
	return posthouse.QuietHours{From: at(from), To: at(to), Users: users}
}

// knows puts users into the directory.
func (r *rig) knows(users ...posthouse.User) {
	r.Helper()
	if err := r.store.Users.PutUsers(r.Context(), time.Now(), r.tenant, users); err != nil {
		r.Fatal(err)
	}
}

// whoIs checks where a member of the campaign stands, and why.
func (d *drive) whoIs(address, outcome, code string) {
	d.Helper()
	who, err := d.desk.Who(d.Context(), d.tenant, "spring", address)
	got := ""
	if who.Reason != nil {
		got = who.Reason.Code
	}
	if err != nil || who.Outcome != outcome || got != code {
		d.Errorf("%s is %s (%q), %v: want %s (%q)", address, who.Outcome, got, err, outcome, code)
	}
}

// Members whom quiet hours name, by the user or the address, and those who live where it is night, wait for the end of their hours, while the
// others of their segment are sent to. They are sent to then, by the same segments and without having lost a try.
func TestMembersWaitForTheirOwnQuietHours(t *testing.T) {
	hours(t)
	campaigning(t, posthouse.ChannelSettings{}, func(d *drive) {
		end := time.Now().UTC().Truncate(time.Hour).Add(time.Hour)
		d.knows(posthouse.User{ID: "u1", Addresses: map[string]string{"c": "o0005"}}, posthouse.User{ID: "u2", Addresses: map[string]string{"c": "o0017"}, TimeZone: "Etc/GMT-12"},
			posthouse.User{ID: "u3", Addresses: map[string]string{"c": "o0018"}, TimeZone: "Europe/Berlin"})
		d.open("c", posthouse.ChannelSettings{QuietHours: []posthouse.QuietHours{leavesAlone(-1, 1, "u1", "o0003"), leavesAlone(11, 13)}}, state.Opened{Window: channel.Forever})
		d.make(40, wire.CampaignDraft{SegmentSize: 10})
		d.act(campaign.Start)
		d.pass(time.Minute)
		c := d.stands(posthouse.CampaignRunning, wire.CampaignProgress{CampaignCounts: wire.CampaignCounts{Members: 40, Sent: 37, Unsent: 3}})
		if r := c.Progress.Reasons; len(r) != 1 || r[0].Outcome != "unsent" || r[0].Code != "QUIET_HOURS" || r[0].Members != 3 {
			d.Errorf("the reasons are %+v", r)
		}
		for _, address := range []string{"o0003", "o0005", "o0017"} {
			d.whoIs(address, "unsent", "QUIET_HOURS")
		}
		d.pass(time.Until(end) - time.Minute)
		if n := len(d.copies()); n != 37 {
			d.Errorf("%d were sent to before the end, want 37", n)
		}
		d.pass(2 * time.Minute)
		c = d.stands(posthouse.CampaignDone, wire.CampaignProgress{CampaignCounts: wire.CampaignCounts{Members: 40, Sent: 40}})
		if p, err := d.rig.store.Segments.Progress(d.Context(), c.ID); err != nil || len(c.Progress.Reasons) != 0 || p.Segments[work.SegmentDone] != 4 || p.Segments[work.SegmentVoid] != 0 {
			d.Errorf("it ends with the reasons %+v and the segments %v, %v", c.Progress.Reasons, p.Segments, err)
		}
		for address, n := range d.copies() {
			if n != 1 {
				d.Errorf("%s was sent to %d times", address, n)
			}
		}
	})
}

// A member whose quiet hours end after the campaign's deadline is suppressed at once. The others are sent to.
func TestMembersWhoAreLeftAloneBeyondTheDeadlineAreSuppressed(t *testing.T) {
	campaigning(t, posthouse.ChannelSettings{}, func(d *drive) {
		d.open("c", posthouse.ChannelSettings{QuietHours: []posthouse.QuietHours{leavesAlone(-1, 2, "o0003")}}, state.Opened{Window: channel.Forever, MaxBatch: 10})
		d.make(20, wire.CampaignDraft{Deadline: time.Now().Add(30 * time.Minute)})
		d.act(campaign.Start)
		d.pass(time.Minute)
		d.stands(posthouse.CampaignDone, wire.CampaignProgress{CampaignCounts: wire.CampaignCounts{Members: 20, Sent: 19, Suppressed: 1}})
		d.whoIs("o0003", "suppressed", "QUIET_HOURS")
		if slices.Contains(d.provider.to(), "o0003") {
			d.Error("it was sent to")
		}
	})
}

// A member who waits for quiet hours beside others that are tried again loses no try by theirs.
func TestAMemberWhoIsLeftAloneLosesNoTry(t *testing.T) {
	hours(t)
	backoff := []posthouse.Duration{posthouse.Duration(time.Minute), posthouse.Duration(time.Minute)}
	campaigning(t, posthouse.ChannelSettings{}, func(d *drive) {
		end := time.Now().UTC().Truncate(time.Hour).Add(time.Hour)
		d.open("c", posthouse.ChannelSettings{Tries: 3, Backoff: backoff, QuietHours: []posthouse.QuietHours{leavesAlone(-1, 1, "o0003")}}, state.Opened{Window: channel.Forever})
		d.provider.decide(func(out channel.Outgoing) channel.Result {
			if out.Recipient.Address == "o0005" && out.Attempt < 3 {
				return channel.Result{Class: posthouse.ClassTransient}
			}
			return channel.Result{Class: posthouse.ClassOK}
		})
		d.make(10, wire.CampaignDraft{})
		d.act(campaign.Start)
		d.pass(20 * time.Minute)
		d.whoIs("o0003", "unsent", "QUIET_HOURS")
		d.whoIs("o0005", "sent", "")
		d.pass(time.Until(end) + 2*time.Minute)
		d.stands(posthouse.CampaignDone, wire.CampaignProgress{CampaignCounts: wire.CampaignCounts{Members: 10, Sent: 10}})
		for _, out := range d.provider.sent() {
			if out.Recipient.Address == "o0003" && out.Attempt != 1 {
				d.Errorf("its first try is called the %dth", out.Attempt)
			}
		}
	})
}
