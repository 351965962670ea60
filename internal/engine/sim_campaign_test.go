package engine

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/campaign"
	"github.com/posthouse/posthouse/internal/segment"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/verify"
	"github.com/posthouse/posthouse/internal/verify/members"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/wire"
)

// simCampaign is what some of the worlds have besides: a campaign of some tens of members in a few segments.
type simCampaign struct {
	w        *world
	draft    wire.CampaignDraft
	people   int
	channel  *simChannel
	importer *campaign.Importer
	is       work.Campaign // as it is stored, once it has ended
}

// drawCampaign gives a quarter of the worlds one.
func (w *world) drawCampaign() {
	r := w.draw("campaign")
	if r.IntN(4) > 0 {
		return
	}
	im, err := campaign.NewImporter(w.store.Audiences, "")
	if err != nil {
		w.t.Fatal(err)
	}
	c := &simCampaign{w: w, people: 12 + r.IntN(25), channel: w.channel(pick(r, "hook", "chat", "sms", "bulk")), importer: im}
	c.draft = wire.CampaignDraft{
		Name: "spring", Channel: c.channel.name, Content: &posthouse.Content{Text: "hello"}, SegmentSize: 8 + r.IntN(12),
		OnUnknown: pick(r, "", posthouse.Hold, posthouse.Retry),
	}
	if r.Float64() < 0.15 {
		c.draft.Deadline = w.start.Add(between(r, 60*time.Second, simStorm))
	}
	w.campaign = c
}

// desk is where people look after the campaign, as a process shows it whose clock is right.
func (c *simCampaign) desk(p *process) *campaign.Desk {
	st := c.w.store
	return campaign.NewDesk(campaign.Options{
		Campaigns: st.Campaigns, History: st.Campaigns, Segments: st.Segments, Lists: st.Audiences, Templates: st.Templates, Importer: c.importer,
		Channel: func(tenant, name string) *state.Channel { return p.engine.Routes.Channel(tenant, name) },
		Wake:    p.engine.Campaigner.Nudge,
	})
}

// run makes the campaign, starts it, and has people pause it, let it go on, and sometimes end it.
func (c *simCampaign) run() {
	w, r := c.w, c.w.draw("people of the campaign")
	w.until(between(r, 0, 20*time.Second))
	var p *process
	for p == nil {
		if p = w.someone(r); p == nil && !w.rest(time.Second) && w.isCalm() {
			<-time.After(time.Second)
		}
	}
	var list strings.Builder
	list.WriteString("openid\n")
	for i := range c.people {
		fmt.Fprintf(&list, "m%03d\n", i)
	}
	ctx, desk := context.Background(), c.desk(p)
	_, err := desk.Create(ctx, posthouse.DefaultTenant, work.Program(), c.draft)
	if err == nil {
		_, err = desk.Import(ctx, posthouse.DefaultTenant, c.draft.Name, campaign.Part{Final: true}, strings.NewReader(list.String()))
	}
	if err == nil {
		_, err = desk.Start(ctx, posthouse.DefaultTenant, work.Program(), c.draft.Name, wire.CampaignStart{Force: true})
	}
	if err != nil {
		w.fail("", "the campaign does not start: %v", err)
		return
	}
	w.note("a campaign of %d starts over %s", c.people, c.channel.name)
	for n := r.IntN(4); n > 0 && w.rest(between(r, time.Second, 40*time.Second)); n-- {
		c.act(campaign.Pause)
		w.rest(between(r, time.Second, 20*time.Second))
		c.act(campaign.Resume)
	}
	if r.Float64() < 0.4 && w.rest(between(r, 0, 60*time.Second)) {
		c.act(campaign.Cancel)
	}
}

// act does something to the campaign. It may have ended by itself, or be held by a rise of the epoch.
func (c *simCampaign) act(a campaign.Action) {
	p := c.w.someone(c.w.draw("act", a))
	if p == nil {
		return
	}
	_, err := did(context.Background(), c.desk(p), posthouse.DefaultTenant, c.draft.Name, a)
	c.w.note("a person does %s to the campaign: %v", a, err)
	if err == nil {
		c.w.saw("campaign "+string(a), 1)
	}
}

// settled lets a campaign go on that waits for a person, and reports whether it has ended.
func (c *simCampaign) settled() bool {
	got, found, err := c.w.store.Campaigns.Campaign(context.Background(), posthouse.DefaultTenant, c.draft.Name)
	if err != nil || !found {
		c.w.t.Fatalf("the campaign is %v, %v", found, err)
	}
	if got.State == posthouse.CampaignPaused {
		c.act(campaign.Resume)
	}
	c.is = got
	return got.State.Final() && !got.FinishedAt.IsZero()
}

// owns reports whether an arrival is a member's.
func (c *simCampaign) owns(a *arrival) bool { return c != nil && a.out.Message == c.is.ID }

// judged judges the campaign: nobody is lost or has a copy that nothing explains, and who is in doubt has a reason.
func (c *simCampaign) judged(arrived func(key string) []verify.Arrived) iter.Seq2[verify.CampaignFinding, error] {
	return func(yield func(verify.CampaignFinding, error) bool) {
		segments, err := c.w.store.Segments.Segments(context.Background(), c.is.ID, work.SegmentPlace{}, math.MaxInt32)
		n := 0
		if err == nil {
			c.look(segments)
			n, err = members.Judge(members.Run{
				Campaign: c.is, Segments: segments, AtRest: true, Slack: time.Minute, Timeout: c.channel.settings.Timeout.Std(),
				Arrived: func(key string) (list []members.Arrival) {
					for _, a := range arrived(key) {
						list = append(list, members.Arrival(a))
					}
					return list
				},
			}, func(f members.Finding) { yield(verify.CampaignFinding{Subject: f.Subject, What: f.What}, nil) })
		}
		yield(verify.CampaignFinding{Members: n}, err)
	}
}

// look holds that whoever is in doubt is so for a reason, and that the provider's memory bounds the copies; and counts what is rare.
func (c *simCampaign) look(segments []work.Segment) {
	for i := range segments {
		s := &segments[i]
		c.w.saw("campaign's segment repaired", count(s.RepairedFrom != ""))
		for place := range campaign.Len(s) {
			if campaign.At(s, place) != campaign.Unknown {
				continue
			}
			c.w.saw("campaign's member in doubt", 1)
			if place >= len(s.Noted) || s.Noted[place] == 0 || s.Reasons[s.Noted[place]-1].Code == "" {
				c.w.fail("", "member %d of the campaign is unknown, and nothing says why", s.First+int64(place))
			}
		}
	}
	copies := map[string]int{}
	for _, a := range c.w.provider.arrivals {
		if c.owns(a) && a.copied() {
			copies[a.out.IdemKey]++
		}
	}
	for key, n := range copies {
		c.w.saw("campaign's copies beyond the first", n-1)
		switch policy := cmp.Or(c.draft.OnUnknown, c.channel.settings.OnUnknown); {
		case n == 1:
		case policy != posthouse.Retry:
			c.w.fail("", "%s of the campaign has %d copies under the policy %s", key, n, policy)
		case c.channel.window > 0:
			c.w.fail("", "%s of the campaign has %d copies at a provider that knows the key for %v", key, n, c.channel.window)
		}
	}
}

// books are the campaigns and segments of the database as a process reaches them.
type books struct{ *process }

// sends is what a process needs to send the campaign; nothing in a world without.
func (p *process) sends() Campaigns {
	c := p.w.campaign
	if c == nil {
		return Campaigns{}
	}
	st, b := p.w.store, books{p}
	return Campaigns{
		Segments: b, Legs: campaign.Post{Campaigns: st.Campaigns, Lists: st.Audiences, Templates: st.Templates, Importer: c.importer},
		Steward: &campaign.Steward{Campaigns: b, History: st.Campaigns, Segments: b, Counts: st.Segments, Lists: st.Audiences, Importer: c.importer},
	}
}

var _ interface {
	segment.Store
	campaign.Live
	campaign.Remains
} = books{}

func moveCampaign(c *work.Campaign, by time.Duration) {
	for _, t := range []*time.Time{&c.StartAt, &c.Deadline, &c.CreatedAt, &c.UpdatedAt, &c.StartedAt, &c.FinishedAt} {
		move(t, by)
	}
}

// moved are segments on another clock.
func moved(list []work.Segment, by time.Duration) []work.Segment {
	list = slices.Clone(list)
	for i := range list {
		s := &list[i]
		for _, t := range []*time.Time{&s.CreatedAt, &s.FinishedAt, &s.LeaseUntil, &s.DueAt, &s.BeganAt, &s.DoubtedAt} {
			move(t, by)
		}
	}
	return list
}

func (b books) CampaignOf(ctx context.Context, id string) (c work.Campaign, found bool, err error) {
	err = b.look("campaign/read", func() (err error) {
		c, found, err = b.w.store.Campaigns.CampaignOf(ctx, id)
		return err
	})
	moveCampaign(&c, -b.skew)
	return c, found, err
}

func (b books) StepCampaign(ctx context.Context, _ time.Time, c work.Campaign, cut []work.Segment) (after work.Campaign, err error) {
	moveCampaign(&c, b.skew)
	err = b.do("campaign/step", func() (err error) {
		after, err = b.w.store.Campaigns.StepCampaign(ctx, time.Now(), c, moved(cut, b.skew))
		return err
	})
	moveCampaign(&after, -b.skew)
	return after, err
}

func (b books) LiveCampaigns(ctx context.Context) (list []work.Campaign, err error) {
	defer b.tock("campaign")
	if err := b.tick("campaign", simPoll); err != nil {
		return nil, err
	}
	err = b.look("campaign/live", func() (err error) {
		list, err = b.w.store.Campaigns.LiveCampaigns(ctx)
		return err
	})
	for i := range list {
		moveCampaign(&list[i], -b.skew)
	}
	return list, err
}

// Segments are read by a campaign that begins at a time, which no world has.
func (b books) Segments(ctx context.Context, campaign string, behind work.SegmentPlace, max int) ([]work.Segment, error) {
	return b.w.store.Segments.Segments(ctx, campaign, behind, max)
}

func (b books) ClaimSegment(ctx context.Context, _ time.Time, c work.SegmentClaim) (s work.Segment, found bool, err error) {
	err = b.do("segment/claim", func() (err error) {
		s, found, err = b.w.store.Segments.ClaimSegment(ctx, time.Now(), c)
		return err
	})
	return moved([]work.Segment{s}, -b.skew)[0], found, err
}

func (b books) StartChunk(ctx context.Context, _ time.Time, s work.Segment, lease time.Duration) (is work.Chunk, err error) {
	err = b.do("segment/start", func() (err error) {
		is, err = b.w.store.Segments.StartChunk(ctx, time.Now(), moved([]work.Segment{s}, b.skew)[0], lease)
		return err
	})
	return is, err
}

func (b books) SaveSegments(ctx context.Context, _ time.Time, list []work.Segment, refs []work.RefBlock, lease time.Duration) (held []bool, err error) {
	err = b.do("segment/save", func() (err error) {
		held, err = b.w.store.Segments.SaveSegments(ctx, time.Now(), moved(list, b.skew), refs, lease)
		return err
	})
	b.w.saw("campaign's late result refused", count(slices.Contains(held, false)))
	return held, err
}

func (b books) ReviseSegment(ctx context.Context, _ time.Time, id string, decide func(work.Segment) (work.Segment, bool)) error {
	return b.do("segment/revise", func() error {
		return b.w.store.Segments.ReviseSegment(ctx, time.Now(), id, func(s work.Segment) (work.Segment, bool) {
			after, changed := decide(moved([]work.Segment{s}, -b.skew)[0])
			return moved([]work.Segment{after}, b.skew)[0], changed
		})
	})
}

func (b books) DueLanes(ctx context.Context, _ time.Time) (lanes []work.Lane, err error) {
	err = b.look("segment/lanes", func() (err error) {
		lanes, err = b.w.store.Segments.DueLanes(ctx, time.Now())
		return err
	})
	return lanes, err
}

func (b books) LeftSegments(ctx context.Context, _ time.Time, max int) (list []work.Segment, err error) {
	err = b.look("segment/left", func() (err error) {
		list, err = b.w.store.Segments.LeftSegments(ctx, time.Now(), max)
		return err
	})
	return moved(list, -b.skew), err
}

func (b books) OpenSegments(ctx context.Context, _ time.Time, id string, max int) (list []work.Segment, err error) {
	err = b.look("segment/open", func() (err error) {
		list, err = b.w.store.Segments.OpenSegments(ctx, time.Now(), id, max)
		return err
	})
	return moved(list, -b.skew), err
}

func (b books) ReplaceSegment(ctx context.Context, _ time.Time, old, ended work.Segment, issued []work.Segment) (done bool, err error) {
	pair := moved([]work.Segment{old, ended}, b.skew)
	err = b.do("segment/replace", func() (err error) {
		done, err = b.w.store.Segments.ReplaceSegment(ctx, time.Now(), pair[0], pair[1], moved(issued, b.skew))
		return err
	})
	return done, err
}

func (b books) Unsettled(ctx context.Context, id string) (some bool, err error) {
	err = b.look("segment/unsettled", func() (err error) {
		some, err = b.w.store.Segments.Unsettled(ctx, id)
		return err
	})
	return some, err
}

// campaignDoom has some processes of a world with a campaign die at one of its calls.
func (w *world) campaignDoom(name string, d doom) doom {
	r := w.draw("campaign's doom", name)
	if w.campaign == nil || r.IntN(3) > 0 {
		return d
	}
	return doom{pick(r, "segment/claim", "segment/start", "segment/start", "segment/save", "segment/save", "segment/replace", "campaign/step"), 1 + r.IntN(4), r.IntN(2) == 0}
}
