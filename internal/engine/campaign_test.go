package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/campaign"
	"github.com/posthouse/posthouse/internal/segment"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/wire"
)

// drive is an engine that sends campaigns, with the desk where they are made.
type drive struct {
	*rig
	desk  *campaign.Desk
	store campaignStore
}

// campaignStore is the database of campaigns, in which a test may break a write.
type campaignStore struct {
	segment.Store
	before func(what string) error // a write; nil for nothing
}

func (s *campaignStore) StartChunk(ctx context.Context, now time.Time, seg work.Segment, lease time.Duration) (work.Chunk, error) {
	if err := s.broken("start"); err != nil {
		return work.ChunkLost, err
	}
	return s.Store.StartChunk(ctx, now, seg, lease)
}

func (s *campaignStore) SaveSegments(ctx context.Context, now time.Time, list []work.Segment, refs []work.RefBlock, lease time.Duration) ([]bool, error) {
	if err := s.broken("save"); err != nil {
		return nil, err
	}
	return s.Store.SaveSegments(ctx, now, list, refs, lease)
}

func (s *campaignStore) broken(what string) error {
	if s.before == nil {
		return nil
	}
	return s.before(what)
}

// campaigning runs a test on an engine with a channel "c".
func campaigning(t *testing.T, settings posthouse.ChannelSettings, test func(d *drive)) {
	virtual(t, func(r *rig) {
		r.stop()
		im, err := campaign.NewImporter(r.store.Audiences, t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		d, paces := &drive{rig: r, store: campaignStore{Store: r.store.Segments}}, campaign.NewPaces()
		r.sends = Campaigns{
			Directory: r.store.Users, Segments: &d.store, Legs: campaign.Post{Campaigns: r.store.Campaigns, Lists: r.store.Audiences, Templates: r.store.Templates, Importer: im},
			Steward: &campaign.Steward{Campaigns: r.store.Campaigns, History: r.store.Campaigns, Segments: r.store.Segments, Counts: r.store.Segments, Lists: r.store.Audiences, Importer: im, Paces: paces},
		}
		r.restart()
		d.desk = campaign.NewDesk(campaign.Options{
			Paces: paces, Closed: func(tenant, channel string) (string, time.Time) { return r.engine.Routes.Closed(tenant, channel) },
			Campaigns: r.store.Campaigns, History: r.store.Campaigns, Segments: r.store.Segments, Lists: r.store.Audiences, Templates: r.store.Templates, Importer: im, Suppressed: r.store.Suppressions,
			Channel: func(tenant, name string) *state.Channel { return r.engine.Routes.Channel(tenant, name) },
			Wake:    func() { r.engine.Campaigner.Nudge() }, Repair: func(ctx context.Context) (map[string]campaign.Repaired, error) {
				return r.engine.Campaigner.Repair(ctx)
			},
		})
		r.open("c", settings, state.Opened{Window: channel.Forever, Address: func(a string) (string, error) { return a, nil }})
		test(d)
	})
}

// make makes a campaign of n people.
func (d *drive) make(n int, draft wire.CampaignDraft) {
	d.Helper()
	var b strings.Builder
	b.WriteString("openid,name\n")
	for i := range n {
		fmt.Fprintf(&b, "o%04d,n%d\n", i, i)
	}
	draft.Name, draft.Channel = "spring", "c"
	if draft.Content == nil && draft.Template == "" {
		draft.Content = &posthouse.Content{Text: "hello"}
	}
	if draft.SegmentSize == 0 {
		draft.SegmentSize = 50
	}
	_, err := d.desk.Create(d.Context(), d.tenant, work.Program(), draft)
	if err == nil {
		_, err = d.desk.Import(d.Context(), d.tenant, "spring", campaign.Part{Final: true}, strings.NewReader(b.String()))
	}
	if err != nil {
		d.Fatal(err)
	}
}

func (d *drive) act(a campaign.Action) wire.Campaign {
	d.Helper()
	c, err := did(d.Context(), d.desk, d.tenant, "spring", a)
	if err != nil {
		d.Fatal(err)
	}
	return c
}

// did does something to a campaign.
func did(ctx context.Context, desk *campaign.Desk, tenant, name string, a campaign.Action) (wire.Campaign, error) {
	switch a {
	case campaign.Start:
		return desk.Start(ctx, tenant, work.Program(), name, wire.CampaignStart{})
	case campaign.Mend:
		done, err := desk.Repair(ctx, tenant, name)
		return done.Campaign, err
	}
	return desk.Act(ctx, tenant, name, a)
}

// stands checks where a campaign and its members stand, and that their counts add up.
func (d *drive) stands(state posthouse.CampaignState, want wire.CampaignProgress) wire.Campaign {
	d.Helper()
	c, err := d.desk.Get(d.Context(), d.tenant, "spring")
	if err != nil {
		d.Fatal(err)
	}
	got := c.Progress
	got.Reasons, got.PerSecond, got.Left, got.Waits, got.Until = nil, 0, 0, "", time.Time{}
	if sum := got.Unsent + got.Started + got.Sent + got.Delivered + got.Undelivered + got.Failed + got.Unknown + got.Expired + got.Cancelled + got.Suppressed; sum != got.Members {
		d.Errorf("the counts of %d members make %d: %+v", got.Members, sum, got)
	}
	if diff := cmp.Diff(want, got); c.State != state || diff != "" {
		d.Errorf("the campaign is %s, %q; want %s (-want +got):\n%s", c.State, c.Reason, state, diff)
	}
	return c
}

// copies counts how often each member was sent to.
func (d *drive) copies() map[string]int {
	n := map[string]int{}
	for _, out := range d.provider.sent() {
		n[out.Recipient.Address]++
	}
	return n
}

// CAMP-1, CAMP-2, CAMP-8: everybody gets the template with the own variables, once.
func TestACampaignReachesEverybodyOnce(t *testing.T) {
	campaigning(t, posthouse.ChannelSettings{}, func(d *drive) {
		if _, err := d.rig.store.Templates.PutTemplate(d.Context(), time.Now(), posthouse.Template{Tenant: d.tenant, Name: "hi", Text: "hello ${name}", ExternalID: "T1"}); err != nil {
			d.Fatal(err)
		}
		d.make(230, wire.CampaignDraft{Template: "hi", Kind: "coupon"})
		d.act(campaign.Start)
		d.pass(10 * time.Second)
		d.stands(posthouse.CampaignDone, wire.CampaignProgress{CampaignCounts: wire.CampaignCounts{Members: 230, Sent: 230}})
		keys := map[string]bool{}
		for _, out := range d.provider.sent() {
			if want := "hello n" + strings.TrimLeft(out.Recipient.Address[1:4], "0") + out.Recipient.Address[4:]; out.Content.Text != want || out.TemplateID != "T1" || out.Kind != "coupon" {
				d.Errorf("%s got %+v, want %q", out.Recipient.Address, out, want)
			}
			keys[out.IdemKey] = true
		}
		if len(d.copies()) != 230 || len(d.provider.sent()) != 230 || len(keys) != 230 {
			d.Errorf("%d people got %d messages with %d keys", len(d.copies()), len(d.provider.sent()), len(keys))
		}
	})
}

// CAMP-10: refusals for good are told with their reason; others are tried again, and give up in the end.
func TestMembersAreTriedAgainAsTheChannelSays(t *testing.T) {
	campaigning(t, posthouse.ChannelSettings{Tries: 3, Backoff: []posthouse.Duration{posthouse.Duration(time.Minute)}}, func(d *drive) {
		tries := map[string]int{}
		d.provider.answer = func(out channel.Outgoing) channel.Result {
			d.provider.mu.Lock()
			defer d.provider.mu.Unlock()
			to := out.Recipient.Address
			tries[to]++
			switch {
			case to == "o0003":
				return channel.Result{Class: posthouse.ClassRecipient, Code: "43004", Error: "does not follow"}
			case to == "o0060", to == "o0007" && tries[to] < 3:
				return channel.Result{Class: posthouse.ClassTransient, Code: "-1", Error: "busy"}
			}
			return channel.Result{Class: posthouse.ClassOK}
		}
		d.make(100, wire.CampaignDraft{})
		d.act(campaign.Start)
		d.pass(10 * time.Second)
		d.stands(posthouse.CampaignRunning, wire.CampaignProgress{CampaignCounts: wire.CampaignCounts{Members: 100, Sent: 97, Failed: 1, Unsent: 2}})
		d.pass(5 * time.Minute)
		c := d.stands(posthouse.CampaignDone, wire.CampaignProgress{CampaignCounts: wire.CampaignCounts{Members: 100, Sent: 98, Failed: 2}})
		want := []wire.CampaignReason{
			{Outcome: "failed", Class: posthouse.ClassRecipient, Code: "43004", Error: "does not follow", Members: 1},
			{Outcome: "failed", Class: posthouse.ClassTransient, Code: "-1", Error: "busy", Members: 1},
		}
		slices.SortFunc(c.Progress.Reasons, func(a, b wire.CampaignReason) int { return -strings.Compare(a.Code, b.Code) })
		if diff := cmp.Diff(want, c.Progress.Reasons); diff != "" {
			d.Errorf("reasons (-want +got):\n%s", diff)
		}
		if tries["o0003"] != 1 || tries["o0007"] != 3 || tries["o0060"] != 3 || tries["o0001"] != 1 {
			d.Errorf("tries: %v", tries)
		}
		who, err := d.desk.Who(d.Context(), d.tenant, "spring", "o0003")
		if err != nil || who.Outcome != "failed" || who.Reason == nil || who.Reason.Code != "43004" {
			d.Errorf("o0003 is %+v, %v", who, err)
		}
	})
}

// CAMP-7: who may have been reached waits for a person, or is sent to again with the same key, by the campaign's policy.
func TestWhoMayHaveBeenReachedIsHeldOrSentToAgain(t *testing.T) {
	for _, policy := range []posthouse.Policy{posthouse.Hold, posthouse.Retry} {
		t.Run(string(policy), func(t *testing.T) {
			campaigning(t, posthouse.ChannelSettings{Backoff: []posthouse.Duration{posthouse.Duration(time.Minute)}}, func(d *drive) {
				d.provider.answer = func(out channel.Outgoing) channel.Result {
					if out.Recipient.Address == "o0005" && out.Attempt == 1 {
						return channel.Result{Class: posthouse.ClassUnknown, Code: "TIMEOUT"}
					}
					return channel.Result{Class: posthouse.ClassOK}
				}
				d.make(20, wire.CampaignDraft{OnUnknown: policy})
				d.act(campaign.Start)
				d.pass(5 * time.Minute)
				want, copies := wire.CampaignProgress{CampaignCounts: wire.CampaignCounts{Members: 20, Sent: 19, Unknown: 1}}, 1
				if policy == posthouse.Retry {
					want, copies = wire.CampaignProgress{CampaignCounts: wire.CampaignCounts{Members: 20, Sent: 20}}, 2
				}
				d.stands(posthouse.CampaignDone, want)
				keys := map[string]bool{}
				for _, out := range d.provider.sent() {
					if out.Recipient.Address == "o0005" {
						keys[out.IdemKey] = true
					}
				}
				if got := d.copies()["o0005"]; got != copies || len(keys) != 1 {
					t.Errorf("o0005 was sent to %d times with %d keys, want %d with one", got, len(keys), copies)
				}
				if policy == posthouse.Hold {
					d.decide()
				}
			})
		})
	}
}

// decide is a person's word on o0005, of which nobody knows whether it was reached.
func (d *drive) decide() {
	d.Helper()
	for _, bad := range []wire.CampaignResolve{{Outcome: "perhaps"}, {Outcome: wire.CampaignSent, Address: "o0006"}, {Outcome: wire.CampaignSent, Address: "nobody"}} {
		if _, err := d.desk.Resolve(d.Context(), d.tenant, "spring", bad); err == nil {
			d.Errorf("%+v was taken", bad)
		}
	}
	for i, want := range []int64{1, 0} {
		got, err := d.desk.Resolve(d.Context(), d.tenant, "spring", wire.CampaignResolve{Outcome: wire.CampaignNotSent})
		if err != nil || got.Resolved != want {
			d.Errorf("the person's word no. %d decided on %d, %v; want %d", i+1, got.Resolved, err, want)
		}
	}
	d.stands(posthouse.CampaignDone, wire.CampaignProgress{CampaignCounts: wire.CampaignCounts{Members: 20, Sent: 19, Failed: 1}})
	if who, err := d.desk.Who(d.Context(), d.tenant, "spring", "o0005"); err != nil || who.Outcome != "failed" || who.Reason == nil || who.Reason.Code != "OPERATOR" {
		d.Errorf("o0005 is %+v, %v", who, err)
	}
}

// CAMP-10: nothing starts after a pause was answered; a resume goes on with exactly the others.
func TestAPauseStartsNobodyMore(t *testing.T) {
	campaigning(t, posthouse.ChannelSettings{Limits: []posthouse.Limit{{Max: 10, Per: posthouse.Duration(time.Second)}}}, func(d *drive) {
		d.make(200, wire.CampaignDraft{})
		d.act(campaign.Start)
		d.pass(5 * time.Second)
		d.act(campaign.Pause)
		before := len(d.provider.sent())
		d.pass(time.Minute)
		if after := len(d.provider.sent()); after != before || before < 30 || before > 70 {
			d.Errorf("%d were sent to before the pause, and %d after it", before, after-before)
		}
		d.stands(posthouse.CampaignPaused, wire.CampaignProgress{CampaignCounts: wire.CampaignCounts{Members: 200, Sent: int64(before), Unsent: int64(200 - before)}})
		d.act(campaign.Resume)
		d.pass(time.Minute)
		d.stands(posthouse.CampaignDone, wire.CampaignProgress{CampaignCounts: wire.CampaignCounts{Members: 200, Sent: 200}})
		if len(d.copies()) != 200 || len(d.provider.sent()) != 200 {
			d.Errorf("%d people got %d messages", len(d.copies()), len(d.provider.sent()))
		}
	})
}

// CAMP-5: past the deadline nothing is sent; who is left has expired, and is counted. A cancel does the same at once.
func TestADeadlineAndACancelEndWhoIsLeft(t *testing.T) {
	for _, by := range []posthouse.CampaignState{posthouse.CampaignExpired, posthouse.CampaignCancelled} {
		t.Run(string(by), func(t *testing.T) {
			campaigning(t, posthouse.ChannelSettings{Limits: []posthouse.Limit{{Max: 10, Per: posthouse.Duration(time.Second)}}}, func(d *drive) {
				draft := wire.CampaignDraft{}
				if by == posthouse.CampaignExpired {
					draft.Deadline = time.Now().Add(5 * time.Second)
				}
				d.make(500, draft)
				if _, err := d.desk.Start(d.Context(), d.tenant, work.Program(), "spring", wire.CampaignStart{}); (err == nil) != draft.Deadline.IsZero() {
					t.Errorf("starting what cannot end before its deadline: %v", err)
				}
				if !draft.Deadline.IsZero() {
					if _, err := d.desk.Start(d.Context(), d.tenant, work.Program(), "spring", wire.CampaignStart{Force: true}); err != nil {
						t.Fatal(err)
					}
				}
				d.pass(5 * time.Second)
				if draft.Deadline.IsZero() {
					d.act(campaign.Cancel)
				}
				before := len(d.provider.sent())
				d.pass(time.Minute)
				if after := len(d.provider.sent()); after != before || before == 0 || before > 60 {
					t.Errorf("%d were sent to before the end, and %d after it", before, after-before)
				}
				want := wire.CampaignProgress{CampaignCounts: wire.CampaignCounts{Members: 500, Sent: int64(before), Expired: int64(500 - before)}}
				if draft.Deadline.IsZero() {
					want.Expired, want.Cancelled = 0, want.Expired
				}
				if c := d.stands(by, want); c.FinishedAt.IsZero() {
					t.Error("its end is not written")
				}
			})
		})
	}
}

// CAMP-6, CAMP-7: a process that dies leaves those in doubt who were under way, and each is named; all others are sent to once.
func TestADeadWorkerLeavesOnlyWhoWasUnderWayInDoubt(t *testing.T) {
	campaigning(t, posthouse.ChannelSettings{MaxInflight: 8}, func(d *drive) {
		dead := false
		d.provider.answer = func(out channel.Outgoing) channel.Result {
			d.provider.mu.Lock()
			n := len(d.provider.sends)
			d.provider.mu.Unlock()
			if n > 60 && !dead {
				<-time.After(30 * time.Second)
			}
			return channel.Result{Class: posthouse.ClassOK}
		}
		d.store.before = func(string) error {
			if dead {
				return context.DeadlineExceeded
			}
			return nil
		}
		d.make(200, wire.CampaignDraft{OnUnknown: posthouse.Hold})
		d.act(campaign.Start)
		d.pass(2 * time.Second)
		dead = true // nothing that this process learns comes to the database any more
		d.stop()
		d.store.before = nil
		d.restart()
		d.open("c", posthouse.ChannelSettings{MaxInflight: 8}, state.Opened{Window: channel.Forever, Address: func(a string) (string, error) { return a, nil }})
		d.pass(3 * time.Minute)
		c, err := d.desk.Get(d.Context(), d.tenant, "spring")
		if err != nil || c.State != posthouse.CampaignDone {
			d.Fatalf("the campaign is %s, %v", c.State, err)
		}
		doubt := c.Progress.Unknown
		if doubt == 0 || doubt > 8 {
			d.Errorf("%d are in doubt, want 1 to 8", doubt)
		}
		d.stands(posthouse.CampaignDone, wire.CampaignProgress{CampaignCounts: wire.CampaignCounts{Members: 200, Sent: 200 - doubt, Unknown: doubt}})
		for to, n := range d.copies() {
			if n != 1 {
				d.Errorf("%s was sent to %d times", to, n)
			}
		}
	})
}

// A channel's refusal of the account burns nobody's tries, and single messages find a slot beside a campaign.
func TestACampaignLeavesSlotsToSingleMessages(t *testing.T) {
	campaigning(t, posthouse.ChannelSettings{MaxInflight: 8}, func(d *drive) {
		d.provider.answer = func(out channel.Outgoing) channel.Result {
			<-time.After(time.Second)
			return channel.Result{Class: posthouse.ClassOK}
		}
		d.make(500, wire.CampaignDraft{})
		d.act(campaign.Start)
		d.pass(3500 * time.Millisecond)
		began := time.Now()
		id := d.send(text("c", "single"))[0]
		d.pass(1100 * time.Millisecond)
		d.want(id, posthouse.Sent, "", 0)
		for i, out := range d.provider.sent() {
			if out.Delivery == id && d.provider.at[i].Sub(began) > 100*time.Millisecond {
				d.Errorf("it waited for %s", d.provider.at[i].Sub(began))
			}
		}
	})
}

// Windows of single recipients hold for members too: who has none left waits, and everybody else goes on.
func TestAMemberWaitsForTheOwnWindowAlone(t *testing.T) {
	settings := posthouse.ChannelSettings{RecipientLimits: []posthouse.Limit{{Max: 1, Per: posthouse.Duration(time.Minute)}}}
	campaigning(t, settings, func(d *drive) {
		draft := posthouse.Draft{Channel: "c", Content: &posthouse.Content{Text: "x"}, To: []posthouse.Recipient{{Address: "o0003"}}}
		id := d.send(draft)[0]
		d.pass(time.Second)
		d.want(id, posthouse.Sent, "", 0)
		d.make(20, wire.CampaignDraft{})
		d.act(campaign.Start)
		d.pass(10 * time.Second)
		d.stands(posthouse.CampaignRunning, wire.CampaignProgress{CampaignCounts: wire.CampaignCounts{Members: 20, Sent: 19, Unsent: 1}})
		d.pass(2 * time.Minute)
		d.stands(posthouse.CampaignDone, wire.CampaignProgress{CampaignCounts: wire.CampaignCounts{Members: 20, Sent: 20}})
	})
}

// A campaign whose template cannot be read waits, and keeps no single message of its channel waiting.
func TestACampaignThatCannotBeReadDelaysNobody(t *testing.T) {
	campaigning(t, posthouse.ChannelSettings{}, func(d *drive) {
		d.keep(posthouse.Template{Tenant: d.tenant, Name: "hi", Text: "hello ${name}"})
		d.make(100, wire.CampaignDraft{Template: "hi"})
		d.pause("c")
		d.act(campaign.Start)
		if err := d.rig.store.Templates.DeleteTemplate(d.Context(), d.tenant, "hi"); err != nil {
			d.Fatal(err)
		}
		d.resume("c")
		d.pass(5 * time.Second)
		id := d.send(text("c", "single"))[0]
		d.pass(100 * time.Millisecond)
		d.want(id, posthouse.Sent, "", 0)
		d.stands(posthouse.CampaignRunning, wire.CampaignProgress{CampaignCounts: wire.CampaignCounts{Members: 100, Unsent: 100}})
		d.act(campaign.Cancel)
		d.pass(5 * time.Second)
		d.stands(posthouse.CampaignCancelled, wire.CampaignProgress{CampaignCounts: wire.CampaignCounts{Members: 100, Cancelled: 100}})
	})
}

// CAMP-8: nothing of a file, or of a payload, goes to the provider but what the template or the channel's configuration names.
func TestOnlyWhatTheTemplateNamesGoesToTheProvider(t *testing.T) {
	campaigning(t, posthouse.ChannelSettings{}, func(d *drive) {
		d.open("c", posthouse.ChannelSettings{}, state.Opened{Window: channel.Forever, Driver: d.provider, Names: []string{"shop"}})
		put := func(tmpl posthouse.Template) {
			tmpl.Tenant = d.tenant
			if _, err := d.rig.store.Templates.PutTemplate(d.Context(), time.Now(), tmpl); err != nil {
				d.Fatal(err)
			}
		}
		put(posthouse.Template{Name: "text", Text: "hello ${name}"})
		put(posthouse.Template{Name: "mapped", Text: "hello", Parameters: map[string]string{"thing1": "${name}", "thing2": "coupon"}})
		const columns, row = "openid,name,id_card,mobile,shop\n", "o1,Ann,110101199003070000,13800138000,north\n"
		for _, c := range []struct {
			template string
			content  *posthouse.Content
			want     string
		}{
			{template: "text", want: `{"name":"Ann","shop":"north"}`},
			{template: "mapped", want: `{"shop":"north","thing1":"Ann","thing2":"coupon"}`},
			{content: &posthouse.Content{Text: "hello"}, want: ""},
		} {
			name := "of-" + c.template
			_, err := d.desk.Create(d.Context(), d.tenant, work.Program(), wire.CampaignDraft{Name: name, Channel: "c", Template: c.template, Content: c.content})
			if err == nil {
				_, err = d.desk.Import(d.Context(), d.tenant, name, campaign.Part{Final: true}, strings.NewReader(columns+row))
			}
			if err == nil {
				_, err = d.desk.Start(d.Context(), d.tenant, work.Program(), name, wire.CampaignStart{})
			}
			if err != nil {
				d.Fatal(err)
			}
			d.pass(10 * time.Second)
			sent := d.provider.sent()
			if got := string(sent[len(sent)-1].Payload); got != c.want {
				t.Errorf("of a member with the template %q %s leaves, want %s", c.template, got, c.want)
			}
			if c.template == "" {
				continue
			}
			d.send(posthouse.Draft{Channel: "c", To: []posthouse.Recipient{{User: "u1"}}, Template: c.template, Payload: payload(map[string]string{"name": "Ann", "id_card": "110101199003070000", "shop": "north"})})
			d.pass(time.Second)
			sent = d.provider.sent()
			if got := string(sent[len(sent)-1].Payload); got != c.want {
				t.Errorf("of a message with the template %q %s leaves, want %s", c.template, got, c.want)
			}
		}
		d.send(posthouse.Draft{Channel: "c", To: []posthouse.Recipient{{User: "u1"}}, Content: &posthouse.Content{Text: "x"}, Payload: payload(map[string]string{"first": "Ann"})})
		d.pass(time.Second)
		sent := d.provider.sent()
		if got := string(sent[len(sent)-1].Payload); got != `{"first":"Ann"}` {
			t.Errorf("of a message without a template %s leaves", got)
		}
		_, err := d.desk.Create(d.Context(), d.tenant, work.Program(), wire.CampaignDraft{Name: "filled", Channel: "c", Template: "text", Payload: payload(map[string]string{"thing1": "${name}"})})
		if err == nil || !strings.Contains(err.Error(), "payload.thing1") {
			t.Errorf("a placeholder in the payload of a campaign: %v", err)
		}
	})
}

// CAMP-11: a campaign says how fast it goes now, by the last minute alone, and why nobody is sent to, until when where that is known.
func TestACampaignSaysWhyNobodyIsSentTo(t *testing.T) {
	for name, c := range map[string]struct {
		result   channel.Result
		settings posthouse.ChannelSettings
		act      func(d *drive)
		why      string
		until    time.Duration // 0 for unknown
	}{
		"its quota has ended": {result: channel.Result{Class: posthouse.ClassRate, Code: "45009", After: 9 * time.Hour}, why: "the account is refused by the provider: 45009", until: 9 * time.Hour},
		"it may not send":     {result: channel.Result{Class: posthouse.ClassAccount, Code: "48001"}, settings: posthouse.ChannelSettings{ProbeAfter: posthouse.Duration(time.Hour)}, why: "the account is refused by the provider: 48001", until: time.Hour},
		"another try":         {result: channel.Result{Class: posthouse.ClassTransient, Code: "-1"}, settings: posthouse.ChannelSettings{Backoff: []posthouse.Duration{posthouse.Duration(time.Hour)}}, why: "members wait for another try: they were refused, or are left alone for now", until: time.Hour},
		"a paused channel":    {result: channel.Result{Class: posthouse.ClassOK}, act: func(d *drive) { d.pause("c") }, why: "the channel c is paused"},
		"nothing: it goes on": {result: channel.Result{Class: posthouse.ClassOK}, settings: posthouse.ChannelSettings{Limits: []posthouse.Limit{{Max: 1, Per: posthouse.Duration(10 * time.Second)}}}},
	} {
		t.Run(name, func(t *testing.T) {
			none := 0.0
			c.settings.Jitter = &none
			campaigning(t, c.settings, func(d *drive) {
				d.provider.answer = func(channel.Outgoing) channel.Result { return c.result }
				d.make(60, wire.CampaignDraft{})
				if c.act != nil {
					c.act(d)
				}
				began := time.Now()
				d.act(campaign.Start)
				d.pass(2 * time.Minute)
				got, err := d.desk.Get(d.Context(), d.tenant, "spring")
				if err != nil || got.State != posthouse.CampaignRunning || !strings.HasPrefix(got.Progress.Waits, c.why) || (c.why == "") != (got.Progress.Waits == "") {
					t.Fatalf("it is %s and waits for %q, %v; want it running and waiting for %q", got.State, got.Progress.Waits, err, c.why)
				}
				if off := got.Progress.Until.Sub(began.Add(c.until)); c.until > 0 && (off < -time.Minute || off > time.Minute) || c.until == 0 && !got.Progress.Until.IsZero() {
					t.Errorf("it waits until %s, want %s after %s", got.Progress.Until, c.until, began)
				}
				if c.why != "" && got.Progress.Left != 0 {
					t.Errorf("it says that %s are left", got.Progress.Left)
				}
				if p := got.Progress.PerSecond; c.why == "" && (p < 0.08 || p > 0.12) {
					t.Errorf("it goes at %g a second, want 0.1", p)
				}
			})
		})
	}
}

// CAMP-11: a pause is no part of the rate.
func TestAPauseIsNoPartOfTheRate(t *testing.T) {
	hours(t)
	campaigning(t, posthouse.ChannelSettings{Limits: []posthouse.Limit{{Max: 2, Per: posthouse.Duration(time.Second)}}}, func(d *drive) {
		d.make(600, wire.CampaignDraft{})
		d.act(campaign.Start)
		d.pass(30 * time.Second)
		d.act(campaign.Pause)
		d.pass(time.Hour)
		d.act(campaign.Resume)
		d.pass(30 * time.Second)
		got, err := d.desk.Get(d.Context(), d.tenant, "spring")
		if p := got.Progress; err != nil || p.PerSecond < 1.7 || p.PerSecond > 2.3 || p.Left.Std() < 3*time.Minute || p.Left.Std() > 5*time.Minute {
			t.Errorf("it goes at %g a second, and %s are left, %v; want 2 and 4 minutes", p.PerSecond, p.Left, err)
		}
	})
}

// CAMP-13: the members of a campaign who ended in some way make the next one, with their own variables and nothing of their outcome.
func TestMembersOfAnOutcomeMakeTheNextCampaign(t *testing.T) {
	campaigning(t, posthouse.ChannelSettings{}, func(d *drive) {
		if _, err := d.rig.store.Templates.PutTemplate(d.Context(), time.Now(), posthouse.Template{Tenant: d.tenant, Name: "hi", Text: "hello ${name}"}); err != nil {
			d.Fatal(err)
		}
		d.refuse(func(a string) bool { return a < "o0007" })
		d.make(20, wire.CampaignDraft{Template: "hi", Kind: "coupon", CampaignRules: posthouse.CampaignRules{NotToldWithin: posthouse.Duration(time.Hour)}})
		d.act(campaign.Start)
		d.pass(time.Minute)
		d.stands(posthouse.CampaignDone, wire.CampaignProgress{CampaignCounts: wire.CampaignCounts{Members: 20, Sent: 13, Failed: 7}})
		for _, wrong := range [][]string{nil, {"failed", "unsent"}, {"lost"}, {"expired"}} {
			if _, err := d.desk.Repeat(d.Context(), d.tenant, work.Program(), "spring", wire.CampaignAgain{Outcomes: wrong}); err == nil {
				t.Errorf("a campaign of those who are %v is made", wrong)
			}
		}
		next, err := d.desk.Repeat(d.Context(), d.tenant, work.Program(), "spring", wire.CampaignAgain{Outcomes: []string{"failed", "unknown"}})
		if err != nil || next.Name != "spring-again" || next.State != posthouse.CampaignReady || next.People.Members != 7 || next.Template != "hi" || next.Kind != "coupon" {
			t.Fatalf("the next campaign is %+v, %v", next, err)
		}
		before := len(d.provider.sent())
		d.refuse(func(string) bool { return false })
		if _, err := d.desk.Start(d.Context(), d.tenant, work.Program(), next.Name, wire.CampaignStart{}); err != nil {
			t.Fatal(err)
		}
		d.pass(time.Minute)
		got := map[string]string{}
		for _, out := range d.provider.sent()[before:] {
			got[out.Recipient.Address] = out.Content.Text
		}
		if len(got) != 7 || got["o0003"] != "hello n3" {
			t.Errorf("sent: %v", got)
		}
		if m, err := d.desk.Who(d.Context(), d.tenant, next.Name, "o0003"); err != nil || string(m.Variables) != `{"name":"n3"}` {
			t.Errorf("the variables of a member are %s, %v", m.Variables, err)
		}
	})
}

// CAMP-13: the plan of the next campaign warns of a variable that a member's record lacks, as the plan of the first one does.
func TestAPlanOfTheNextCampaignSaysWhatIsMissing(t *testing.T) {
	campaigning(t, posthouse.ChannelSettings{}, func(d *drive) {
		if _, err := d.rig.store.Templates.PutTemplate(d.Context(), time.Now(), posthouse.Template{Tenant: d.tenant, Name: "hi", Text: "${name}: ${sum}"}); err != nil {
			d.Fatal(err)
		}
		_, err := d.desk.Create(d.Context(), d.tenant, work.Program(), wire.CampaignDraft{Name: "spring", Channel: "c", Template: "hi"})
		if err == nil {
			_, err = d.desk.Import(d.Context(), d.tenant, "spring", campaign.Part{Final: true}, strings.NewReader("openid,name,sum\no0001,n1,\n"))
		}
		if err != nil {
			d.Fatal(err)
		}
		first, err := d.desk.Plan(d.Context(), d.tenant, "spring")
		if err != nil || first.Missing["sum"] != 1 || len(first.Problems) != 1 {
			t.Fatalf("the first plan is %+v, %v", first, err)
		}
		if _, err := d.desk.Start(d.Context(), d.tenant, work.Program(), "spring", wire.CampaignStart{Force: true}); err != nil {
			t.Fatal(err)
		}
		d.pass(time.Minute)
		d.stands(posthouse.CampaignDone, wire.CampaignProgress{CampaignCounts: wire.CampaignCounts{Members: 1, Failed: 1}})
		next, err := d.desk.Repeat(d.Context(), d.tenant, work.Program(), "spring", wire.CampaignAgain{Outcomes: []string{"failed"}})
		if err != nil {
			t.Fatal(err)
		}
		again, err := d.desk.Plan(d.Context(), d.tenant, next.Name)
		if diff := cmp.Diff(first, again); diff != "" || err != nil {
			t.Errorf("the plan of those who failed is another one than the first (-first +again), %v:\n%s", err, diff)
		}
	})
}
