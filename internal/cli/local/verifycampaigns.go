package local

import (
	"cmp"
	"context"
	"iter"
	"math"
	"time"

	"github.com/posthouse/posthouse/internal/audience"
	"github.com/posthouse/posthouse/internal/campaign"
	"github.com/posthouse/posthouse/internal/store"
	"github.com/posthouse/posthouse/internal/verify"
	"github.com/posthouse/posthouse/internal/verify/members"
	"github.com/posthouse/posthouse/internal/work"
)

// judgedCampaigns judges all campaigns of a database.
func judgedCampaigns(ctx context.Context, s *store.Store, in *verify.Inputs) func(arrived func(key string) []verify.Arrived) iter.Seq2[verify.CampaignFinding, error] {
	return func(arrived func(key string) []verify.Arrived) iter.Seq2[verify.CampaignFinding, error] {
		return func(yield func(verify.CampaignFinding, error) bool) {
			j := campaignJudge{s, in, arrived}
			on := true
			err := j.each(ctx, func(c work.Campaign) error {
				n, barred, err := j.judge(ctx, c, func(f members.Finding) {
					on = on && yield(verify.CampaignFinding{Subject: f.Subject, What: f.What, Barred: f.Barred}, nil)
				})
				on = on && err == nil && yield(verify.CampaignFinding{Members: n, Suppressed: barred}, nil)
				return err
			})
			if err != nil && on {
				yield(verify.CampaignFinding{}, err)
			}
		}
	}
}

// campaignJudge reads what a database holds of campaigns.
type campaignJudge struct {
	*store.Store
	in      *verify.Inputs
	arrived func(key string) []verify.Arrived // nil where nobody knows
}

// each visits the campaigns of all tenants.
func (j campaignJudge) each(ctx context.Context, visit func(work.Campaign) error) error {
	return eachTenant(ctx, j.Store, func(tenant string) error {
		for cursor := ""; ; {
			list, more, err := j.Campaigns.Campaigns(ctx, tenant, "", cursor, 0)
			for i := 0; err == nil && i < len(list); i++ {
				err = visit(list[i])
			}
			if cursor = more; err != nil || cursor == "" {
				return err
			}
		}
	})
}

// judge judges one, as it was a moment ago: its segments are read by one statement. It returns how many members were judged, and how many
// of them are suppressed.
func (j campaignJudge) judge(ctx context.Context, c work.Campaign, found func(members.Finding)) (n, suppressed int, err error) {
	if c.Planned == 0 {
		return 0, 0, nil
	}
	segments, err := j.Segments.Segments(ctx, c.ID, work.SegmentPlace{}, math.MaxInt32)
	if err != nil {
		return 0, 0, err
	}
	a, there, err := j.Audiences.AudienceOf(ctx, c.Tenant, c.AudienceID)
	if err != nil {
		return 0, 0, err
	}
	run := members.Run{Campaign: c, Segments: segments, AtRest: j.in.AtRest, Slack: max(0, j.in.Slack), Timeout: j.timeout(&c)}
	if there {
		im, err := campaign.NewImporter(j.Audiences, "")
		if err != nil {
			return 0, 0, err
		}
		run.Twice = im.Repeated(ctx, a)
		barred, err := j.suppressed(ctx, &c, im, a)
		if err != nil {
			return 0, 0, err
		}
		suppressed = len(barred)
		run.Barred = func(seq int64, at time.Time) (time.Time, bool) {
			b, is := barred[seq]
			return b.From, is && b.Holds(at)
		}
	}
	if j.arrived != nil {
		run.Arrived = func(key string) (list []members.Arrival) {
			for _, a := range j.arrived(key) {
				list = append(list, members.Arrival(a))
			}
			return list
		}
	}
	n, err = members.Judge(run, found)
	return n, suppressed, err
}

// suppressed are the members of a campaign to whose addresses nothing is sent, by their numbers.
func (j campaignJudge) suppressed(ctx context.Context, c *work.Campaign, im *campaign.Importer, a work.Audience) (map[int64]verify.Barred, error) {
	if j.in.Suppressed == nil || j.arrived == nil {
		return nil, nil
	}
	list := map[int64]verify.Barred{}
	err := im.Members(ctx, a, 1, c.Planned, func(m audience.Member) error {
		if b, is := j.in.Suppressed(c.Tenant, c.Channel, c.Kind, m.Address); is {
			list[m.Seq] = b
		}
		return nil
	})
	return list, err
}

// timeout is how long one send of a campaign may take.
func (j campaignJudge) timeout(c *work.Campaign) time.Duration {
	for _, ch := range j.in.Channels {
		if ch.Tenant == c.Tenant && ch.Name == c.Channel {
			return cmp.Or(ch.Timeout.Std(), 10*time.Second)
		}
	}
	return 10 * time.Second
}
