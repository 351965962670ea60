package local

import (
	"cmp"
	"context"
	"iter"
	"math"
	"time"

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
				n, err := j.judge(ctx, c, func(f members.Finding) {
					on = on && yield(verify.CampaignFinding{Subject: f.Subject, What: f.What}, nil)
				})
				on = on && err == nil && yield(verify.CampaignFinding{Members: n}, nil)
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
	for after := ""; ; {
		tenants, next, err := j.Tenants.Tenants(ctx, after, 0)
		if err != nil {
			return err
		}
		for _, t := range tenants {
			for cursor := ""; ; {
				list, more, err := j.Campaigns.Campaigns(ctx, t.Name, "", cursor, 0)
				for i := 0; err == nil && i < len(list); i++ {
					err = visit(list[i])
				}
				if err != nil {
					return err
				}
				if cursor = more; cursor == "" {
					break
				}
			}
		}
		if after = next; after == "" {
			return nil
		}
	}
}

// judge judges one, as it was a moment ago: its segments are read by one statement.
func (j campaignJudge) judge(ctx context.Context, c work.Campaign, found func(members.Finding)) (int, error) {
	if c.Planned == 0 {
		return 0, nil
	}
	segments, err := j.Segments.Segments(ctx, c.ID, work.SegmentPlace{}, math.MaxInt32)
	if err != nil {
		return 0, err
	}
	a, there, err := j.Audiences.Audience(ctx, c.Tenant, c.AudienceID)
	if err != nil {
		return 0, err
	}
	run := members.Run{Campaign: c, Segments: segments, AtRest: j.in.AtRest, Slack: max(0, j.in.Slack), Timeout: j.timeout(&c)}
	if there {
		im, err := campaign.NewImporter(j.Audiences, "")
		if err != nil {
			return 0, err
		}
		run.Twice = im.Repeated(ctx, a)
	}
	if j.arrived != nil {
		run.Arrived = func(key string) (list []members.Arrival) {
			for _, a := range j.arrived(key) {
				list = append(list, members.Arrival(a))
			}
			return list
		}
	}
	return members.Judge(run, found)
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
