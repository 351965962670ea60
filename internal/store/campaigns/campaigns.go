package campaigns

import (
	"context"
	"encoding/json"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/page"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

// campaignColumns begin with what never changes.
const campaignColumns = "id, tenant, channel, kind, list_name, audience, segment_size, created_at, " +
	campaignProgress + ", version, updated_at"

// campaignProgress is what each step of a campaign writes: also what people may change before its start.
const campaignProgress = "name, template, content, payload, priority, on_unknown, deadline, rules, start_at, template_version, state, reason, planned, last_seq, marks, started_at, finished_at"

func readCampaign(scan sqldb.Scanner) (work.Campaign, error) {
	var c work.Campaign
	var content, payload, rules, marks string
	var priority, start, deadline, created, started, finished, updated int64
	err := scan(&c.ID, &c.Tenant, &c.Channel, &c.Kind, &c.Audience, &c.AudienceID, &c.SegmentSize, &created,
		&c.Name, &c.Template, &content, &payload, &priority, &c.OnUnknown, &deadline, &rules, &start, &c.Version, &c.State, &c.Reason, &c.Planned, &c.Last, &marks, &started, &finished, &c.Edition, &updated)
	if err != nil {
		return c, err
	}
	c.Priority, c.StartAt, c.Deadline = sqldb.PriorityOf(priority), sqldb.TimeOf(start), sqldb.TimeOf(deadline)
	c.CreatedAt, c.UpdatedAt, c.StartedAt, c.FinishedAt = sqldb.TimeOf(created), sqldb.TimeOf(updated), sqldb.TimeOf(started), sqldb.TimeOf(finished)
	if payload != "" {
		c.Payload = json.RawMessage(payload)
	}
	if content != "" {
		c.Content = &posthouse.Content{}
		err = json.Unmarshal([]byte(content), c.Content)
	}
	if err == nil {
		err = json.Unmarshal([]byte(rules), &c.CampaignRules)
	}
	if err == nil {
		err = json.Unmarshal([]byte(marks), &c.Marks)
	}
	return c, err
}

// MakeCampaign makes a campaign, and an empty list of its own where it has none. A name that is taken is a conflict.
func (s Campaigns) MakeCampaign(ctx context.Context, now time.Time, c work.Campaign, own *work.Audience) (work.Campaign, error) {
	made := c
	err := s.db.Change(ctx, now, "make a campaign", func(t *sqldb.Tx) error {
		made = c
		at, err := t.Now()
		if err != nil {
			return err
		}
		if own != nil {
			if _, err := makeAudience(t, *own); err != nil {
				return err
			}
		} else if err := held(t, c.Audience, c.AudienceID); err != nil {
			return err
		}
		step, err := stepOf(&made)
		if err != nil {
			return err
		}
		made.Edition, made.CreatedAt, made.UpdatedAt = 1, sqldb.TimeOf(at), sqldb.TimeOf(at)
		args := []any{
			c.ID, c.Tenant, c.Channel, c.Kind, c.Audience, c.AudienceID, c.SegmentSize, at,
		}
		args = append(append(args, step...), made.Edition, at)
		_, err = t.Exec("INSERT INTO posthouse_campaigns ("+campaignColumns+") VALUES ("+sqldb.Marks(len(args))+")", args...)
		return err
	})
	if s.db.Taken(err) {
		err = taken(c.Name)
	}
	return made, err
}

// taken is the error of a name that another campaign of the tenant has.
func taken(name string) error {
	return posthouse.Errorf(posthouse.CodeConflict, "there is a campaign %q already", name)
}

func stepOf(c *work.Campaign) ([]any, error) {
	marks, err := json.Marshal(c.Marks)
	if err != nil {
		return nil, err
	}
	content := []byte(nil)
	if c.Content != nil {
		if content, err = json.Marshal(c.Content); err != nil {
			return nil, err
		}
	}
	rules, err := json.Marshal(c.CampaignRules)
	return []any{
		c.Name, c.Template, string(content), string(c.Payload),
		sqldb.PriorityNumber(c.Priority), string(c.OnUnknown), sqldb.Micros(c.Deadline), string(rules), sqldb.Micros(c.StartAt),
		c.Version, string(c.State), c.Reason, c.Planned, c.Last, string(marks), sqldb.Micros(c.StartedAt), sqldb.Micros(c.FinishedAt),
	}, err
}

// Campaign reads a campaign by its name or its id.
func (s Campaigns) Campaign(ctx context.Context, tenant, name string) (work.Campaign, bool, error) {
	c, found, err := sqldb.First(s.db.Reads(ctx), readCampaign, "SELECT "+campaignColumns+" FROM posthouse_campaigns WHERE tenant = ? AND name = ?", tenant, name)
	if err == nil && !found && posthouse.ValidID(name) {
		c, found, err = sqldb.First(s.db.Reads(ctx), readCampaign, "SELECT "+campaignColumns+" FROM posthouse_campaigns WHERE id = ? AND tenant = ?", name, tenant)
	}
	return c, found, s.db.Coded(err, "read a campaign")
}

// Campaigns lists a tenant's campaigns, newest first, of a state where one is given.
func (s Campaigns) Campaigns(ctx context.Context, tenant string, state posthouse.CampaignState, cursor string, limit int) ([]work.Campaign, string, error) {
	before, err := page.ID("campaigns", cursor)
	if err != nil {
		return nil, "", err
	}
	where, args := "tenant = ?", []any{tenant}
	if state != "" {
		where, args = where+" AND state = ?", append(args, string(state))
	}
	if before != "" {
		where, args = where+" AND id < ?", append(args, before)
	}
	size := page.Size(limit)
	list, err := sqldb.All(s.db.Reads(ctx), readCampaign, "SELECT "+campaignColumns+" FROM posthouse_campaigns WHERE "+where+" ORDER BY id DESC LIMIT ?", append(args, size+1)...)
	if err != nil {
		return nil, "", s.db.Coded(err, "list the campaigns")
	}
	list, next := page.Cut(list, size, "campaigns", func(c work.Campaign) string { return c.ID })
	return list, next, nil
}

// CampaignOf reads a campaign of any tenant by its id.
func (s Campaigns) CampaignOf(ctx context.Context, id string) (work.Campaign, bool, error) {
	c, found, err := sqldb.First(s.db.Reads(ctx), readCampaign, "SELECT "+campaignColumns+" FROM posthouse_campaigns WHERE id = ?", id)
	return c, found, s.db.Coded(err, "read a campaign")
}

// LiveCampaigns are those of all tenants that something is still to be done for: that are scheduled, run or are paused, or that were
// ended and still have members whose end is not written.
func (s Campaigns) LiveCampaigns(ctx context.Context) ([]work.Campaign, error) {
	list, err := sqldb.All(s.db.Reads(ctx), readCampaign, "SELECT "+campaignColumns+" FROM posthouse_campaigns WHERE state IN (?, ?, ?, ?, ?) AND finished_at = 0 ORDER BY id",
		string(posthouse.CampaignScheduled), string(posthouse.CampaignRunning), string(posthouse.CampaignPaused), string(posthouse.CampaignCancelled), string(posthouse.CampaignExpired))
	return list, s.db.Coded(err, "list the campaigns that go on")
}

// StepCampaign writes where a campaign stands, with new segments, where it still has the edition that it was read with.
func (s Campaigns) StepCampaign(ctx context.Context, now time.Time, c work.Campaign, cut []work.Segment) (work.Campaign, error) {
	stepped := c
	err := s.db.Change(ctx, now, "change a campaign", func(t *sqldb.Tx) error {
		at, err := t.Now()
		if err == nil {
			stepped, err = stepCampaign(t, c, at)
		}
		if err != nil {
			return err
		}
		return insertSegments(t, cut, at)
	})
	if len(cut) == 0 && s.db.Taken(err) { // a segment may be taken too
		err = taken(c.Name)
	}
	return stepped, err
}

func stepCampaign(t *sqldb.Tx, c work.Campaign, at int64) (work.Campaign, error) {
	step, err := stepOf(&c)
	if err != nil {
		return c, err
	}
	n, err := t.Exec("UPDATE posthouse_campaigns SET "+assigned(campaignProgress)+", version = ?, updated_at = ? WHERE id = ? AND version = ?",
		append(step, c.Edition+1, at, c.ID, c.Edition)...)
	if err != nil {
		return c, err
	}
	if n != 1 {
		return c, posthouse.Errorf(posthouse.CodeConflict, "somebody else has just changed the campaign %s: look at it again", c.Name)
	}
	c.Edition, c.UpdatedAt = c.Edition+1, sqldb.TimeOf(at)
	return c, nil
}

// BeginCampaign is StepCampaign with the marks of whom the campaign leaves out, which are kept under its id.
func (s Campaigns) BeginCampaign(ctx context.Context, now time.Time, c work.Campaign, told []work.Block) (work.Campaign, error) {
	stepped := c
	err := s.db.Change(ctx, now, "start a campaign", func(t *sqldb.Tx) error {
		at, err := t.Now()
		if err == nil {
			stepped, err = stepCampaign(t, c, at)
		}
		if err != nil {
			return err
		}
		return putBlocks(t, c.ID, told)
	})
	return stepped, err
}

// CampaignsSince are a tenant's campaigns of a channel that were started, and go on or ended at since or later.
func (s Campaigns) CampaignsSince(ctx context.Context, tenant, channel string, since time.Time) ([]work.Campaign, error) {
	list, err := sqldb.All(s.db.Reads(ctx), readCampaign, "SELECT "+campaignColumns+" FROM posthouse_campaigns WHERE tenant = ? AND channel = ? AND started_at > 0 AND (finished_at = 0 OR finished_at >= ?) ORDER BY id",
		tenant, channel, sqldb.Micros(since))
	return list, s.db.Coded(err, "list the campaigns that have told somebody")
}
