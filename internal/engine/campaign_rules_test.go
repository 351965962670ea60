package engine

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/campaign"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/wire"
)

// refuse has the provider refuse some people for good.
func (d *drive) refuse(who func(address string) bool) {
	d.provider.answer = func(out channel.Outgoing) channel.Result {
		if who(out.Recipient.Address) {
			return channel.Result{Class: posthouse.ClassRecipient, Code: "43004"}
		}
		return channel.Result{Class: posthouse.ClassOK}
	}
}

// CAMP-10: the first go alone, and the others follow if these are well; else a person decides.
func TestACanaryGoesFirst(t *testing.T) {
	for name, c := range map[string]struct {
		failing int // of the canary, who are 30
		state   posthouse.CampaignState
	}{"well": {3, posthouse.CampaignDone}, "not well": {4, posthouse.CampaignPaused}} {
		t.Run(name, func(t *testing.T) {
			campaigning(t, posthouse.ChannelSettings{}, func(d *drive) {
				last := "o000" + string(rune('0'+c.failing))
				d.refuse(func(a string) bool { return a < last })
				d.make(130, wire.CampaignDraft{CampaignRules: posthouse.CampaignRules{Canary: &posthouse.Canary{Members: 30, MaxFailures: 0.1}}})
				d.act(campaign.Start)
				d.pass(time.Minute)
				failed := int64(c.failing)
				if c.state == posthouse.CampaignPaused {
					got := d.stands(c.state, wire.CampaignProgress{CampaignCounts: wire.CampaignCounts{Members: 130, Sent: 30 - failed, Failed: failed, Unsent: 100}})
					if got.Reason != "canary: 4 of the first 30 have failed" {
						t.Errorf("the reason is %q", got.Reason)
					}
					d.act(campaign.Resume)
					d.pass(time.Minute)
				}
				d.stands(posthouse.CampaignDone, wire.CampaignProgress{CampaignCounts: wire.CampaignCounts{Members: 130, Sent: 130 - failed, Failed: failed}})
				if len(d.provider.sent()) != 130 {
					t.Errorf("%d messages were sent, want 130", len(d.provider.sent()))
				}
			})
		})
	}
}

// CAMP-10: a campaign pauses by itself when too many fail, of the classes that count; resumed, it counts anew.
func TestABrakePausesACampaign(t *testing.T) {
	for name, c := range map[string]struct {
		classes []posthouse.Class
		pauses  bool
	}{"any": {nil, true}, "that class": {[]posthouse.Class{posthouse.ClassContent, posthouse.ClassRecipient}, true}, "another class": {[]posthouse.Class{posthouse.ClassContent}, false}} {
		t.Run(name, func(t *testing.T) {
			campaigning(t, posthouse.ChannelSettings{MaxInflight: 4, Limits: []posthouse.Limit{{Max: 20, Per: posthouse.Duration(time.Second)}}}, func(d *drive) {
				d.refuse(func(a string) bool { return a < "o0100" })
				d.make(400, wire.CampaignDraft{CampaignRules: posthouse.CampaignRules{Brake: &posthouse.Brake{Above: 0.5, After: 60, Classes: c.classes}}})
				d.act(campaign.Start)
				d.pass(30 * time.Second)
				if c.pauses {
					got, err := d.desk.Get(d.Context(), d.tenant, "spring")
					if err != nil || got.State != posthouse.CampaignPaused || !strings.HasPrefix(got.Reason, "brake: ") || got.Progress.Failed < 60 || got.Progress.Unsent < 200 {
						t.Fatalf("it is %s, %q, %+v, %v; want it paused soon after 60 have failed", got.State, got.Reason, got.Progress, err)
					}
					d.refuse(func(a string) bool { return false })
					d.act(campaign.Resume)
					d.pass(30 * time.Second)
					if got := len(d.provider.sent()); got != 400 {
						t.Errorf("%d messages were sent, want 400", got)
					}
				}
				if got, err := d.desk.Get(d.Context(), d.tenant, "spring"); err != nil || got.State != posthouse.CampaignDone || got.Progress.Sent+got.Progress.Failed != 400 {
					t.Errorf("in the end it is %s, %+v, %v", got.State, got.Progress, err)
				}
			})
		})
	}
}

// CAMP-10: a campaign that nobody gave a brake pauses by itself where all of the first have failed: its template is wrong, and each
// more would be lost. One who is reached lets it go on.
func TestACampaignThatReachesNobodyPauses(t *testing.T) {
	for name, reached := range map[string]string{"nobody": "", "somebody": "o0007"} {
		t.Run(name, func(t *testing.T) {
			campaigning(t, posthouse.ChannelSettings{MaxInflight: 4, Limits: []posthouse.Limit{{Max: 20, Per: posthouse.Duration(time.Second)}}}, func(d *drive) {
				d.refuse(func(a string) bool { return a != reached })
				d.make(600, wire.CampaignDraft{})
				d.act(campaign.Start)
				d.pass(time.Minute)
				if reached != "" {
					d.stands(posthouse.CampaignDone, wire.CampaignProgress{CampaignCounts: wire.CampaignCounts{Members: 600, Sent: 1, Failed: 599}})
					return
				}
				got, err := d.desk.Get(d.Context(), d.tenant, "spring")
				if err != nil || got.State != posthouse.CampaignPaused || !strings.HasPrefix(got.Reason, "brake: ") || got.Progress.Failed < 100 || got.Progress.Failed > 150 {
					t.Fatalf("it is %s, %q, %+v, %v; want it paused soon after 100 have failed", got.State, got.Reason, got.Progress, err)
				}
				d.act(campaign.Resume) // a person who does not look: the next hundred fail too
				d.pass(time.Minute)
				if got, err = d.desk.Get(d.Context(), d.tenant, "spring"); err != nil || got.State != posthouse.CampaignPaused || got.Progress.Failed < 200 || got.Progress.Failed > 300 {
					t.Fatalf("resumed, it is %s, %q, %+v, %v; want it paused again", got.State, got.Reason, got.Progress, err)
				}
				d.refuse(func(a string) bool { return false })
				d.act(campaign.Resume)
				d.pass(time.Minute)
				d.stands(posthouse.CampaignDone, wire.CampaignProgress{CampaignCounts: wire.CampaignCounts{Members: 600, Sent: 600 - got.Progress.Failed, Failed: got.Progress.Failed}})
			})
		})
	}
}

// CAMP-10: a brake counts who is under way: however many a channel has under way at once, no more than the first hundred are called where
// all of them fail, and no more than its share of all fails where it has a share.
func TestABrakeCountsWhoIsUnderWay(t *testing.T) {
	for name, c := range map[string]struct {
		brake   *posthouse.Brake
		failing func(n int) bool // of the n-th who is called
		most    func(calls, failed int) bool
	}{
		"nobody is reached": {nil, func(int) bool { return true }, func(calls, _ int) bool { return calls == 100 }},
		"a share of a fifth": {&posthouse.Brake{Above: 0.2, After: 100}, func(n int) bool { return n > 1000 && n%2 == 0 }, func(calls, failed int) bool {
			return float64(failed) <= 0.215*float64(calls) && failed > calls/5
		}},
	} {
		t.Run(name, func(t *testing.T) {
			campaigning(t, posthouse.ChannelSettings{MaxInflight: 1000}, func(d *drive) {
				var mu sync.Mutex
				calls, failed := 0, 0
				judge := func() channel.Result {
					mu.Lock()
					defer mu.Unlock()
					if calls++; c.failing(calls) {
						failed++
						return channel.Result{Class: posthouse.ClassContent, Code: "40037"}
					}
					return channel.Result{Class: posthouse.ClassOK}
				}
				d.provider.answer = func(channel.Outgoing) channel.Result {
					result := judge()
					<-time.After(200 * time.Millisecond) // in virtual time
					return result
				}
				d.make(4000, wire.CampaignDraft{SegmentSize: 300, CampaignRules: posthouse.CampaignRules{Brake: c.brake}})
				d.act(campaign.Start)
				d.pass(10 * time.Minute)
				got, err := d.desk.Get(d.Context(), d.tenant, "spring")
				if err != nil || got.State != posthouse.CampaignPaused || !strings.HasPrefix(got.Reason, "brake: ") {
					t.Fatalf("it is %s, %q, %+v, %v; want it paused by its brake", got.State, got.Reason, got.Progress, err)
				}
				if !c.most(calls, failed) {
					t.Errorf("it was paused after %d calls, of which %d have failed", calls, failed)
				}
			})
		})
	}
}

// CAMP-10: who is spread is sent to evenly over the window.
func TestACampaignIsSpreadOverAWindow(t *testing.T) {
	campaigning(t, posthouse.ChannelSettings{}, func(d *drive) {
		d.make(400, wire.CampaignDraft{SegmentSize: 1000, CampaignRules: posthouse.CampaignRules{Spread: posthouse.Duration(20 * time.Minute)}})
		plan, err := d.desk.Plan(d.Context(), d.tenant, "spring")
		if err != nil || plan.Duration.Std() != 20*time.Minute || plan.Segments != 200 || plan.Spread.Std() != 20*time.Minute {
			t.Errorf("the plan is %+v, %v", plan, err)
		}
		d.act(campaign.Start)
		before := 0
		for tenth := range 10 {
			d.pass(2 * time.Minute)
			if n := len(d.provider.sent()) - before; n < 38 || n > 42 {
				t.Errorf("in the tenth no. %d, %d were sent to, want 40", tenth+1, n)
			}
			before = len(d.provider.sent())
		}
		d.pass(time.Minute)
		d.stands(posthouse.CampaignDone, wire.CampaignProgress{CampaignCounts: wire.CampaignCounts{Members: 400, Sent: 400}})
	})
}

// CAMP-10: rules that make no sense are refused, each by its field.
func TestRulesOfCampaignsAreChecked(t *testing.T) {
	campaigning(t, posthouse.ChannelSettings{}, func(d *drive) {
		_, err := d.desk.Create(d.Context(), d.tenant, work.Program(), wire.CampaignDraft{Name: "spring", Channel: "c", Content: &posthouse.Content{Text: "x"}, CampaignRules: posthouse.CampaignRules{
			Spread: -1, Canary: &posthouse.Canary{MaxFailures: 1}, Brake: &posthouse.Brake{Above: -0.1, Classes: []posthouse.Class{"ok", "recipient"}},
		}})
		for _, field := range []string{"spread", "canary.members", "canary.max_failures", "brake.above", "brake.after", "brake.classes[0]"} {
			if err == nil || !strings.Contains(err.Error(), field+": ") {
				t.Errorf("%v does not name %s", err, field)
			}
		}
	})
}
