package campaign

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/draft"
	"github.com/posthouse/posthouse/internal/render"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/wire"
)

// maxTest is how many addresses a test goes to at most.
const maxTest = 100

// testRef begins the ref of a message that is a campaign's test; the campaign's name follows.
const testRef = "test:"

// Test makes the message that shows a campaign to a few people, before its start or later. It is an ordinary one: nothing of
// the campaign changes when it is sent.
func (d *Desk) Test(ctx context.Context, tenant, name string, in wire.CampaignTest) (posthouse.Draft, error) {
	var p draft.Problems
	if n := len(in.To); n < 1 || n > maxTest {
		p.Add("to", "has %d addresses: want 1 to %d", n, maxTest)
	}
	if _, err := render.Fields(in.Variables); err != nil {
		p.Add("variables", "%v", err)
	}
	if err := posthouse.Invalid("the test cannot be sent", p.List); err != nil {
		return posthouse.Draft{}, err
	}
	c, err := d.named(ctx, tenant, name)
	if err != nil {
		return posthouse.Draft{}, err
	}
	out := single(&c, testRef)
	for _, address := range in.To {
		out.To = append(out.To, posthouse.Recipient{Address: address})
	}
	if c.Template == "" {
		return out, nil
	}
	own := in.Variables
	if len(own) == 0 {
		a, err := d.audienceOf(ctx, &c)
		if err == nil {
			own, err = d.o.Importer.firstVariables(ctx, &a)
		}
		if err != nil {
			return out, err
		}
	}
	out.Payload, err = payloadFor(c.Payload, own)
	return out, err
}

// firstVariables are those of the first member, nil where there is none yet.
func (im *Importer) firstVariables(ctx context.Context, a *work.Audience) (own json.RawMessage, err error) {
	m, _, err := im.Member(ctx, *a, 1)
	return m.Variables, err
}

// againRef begins the ref of a message that is sent to a member once more, where the campaign's name follows, and its dedup key.
const againRef = "again:"

// Again makes the message to a member whom the provider failed to reach for a reason of its own. It is an ordinary one, with an
// idempotency key of its own; its dedup key names the member, so that it is made once. false says that nothing is to be sent: the
// campaign was cancelled, its deadline has passed, or it is gone.
func (d *Desk) Again(ctx context.Context, of work.Undelivered, now time.Time) (posthouse.Draft, bool, error) {
	c, found, err := d.o.Campaigns.CampaignOf(ctx, of.Campaign)
	if err != nil || !found || c.State == posthouse.CampaignCancelled || !c.Deadline.IsZero() && !now.Before(c.Deadline) {
		return posthouse.Draft{}, false, err
	}
	a, err := d.audienceOf(ctx, &c)
	if err != nil {
		return posthouse.Draft{}, false, err
	}
	m, found, err := d.o.Importer.Member(ctx, a, of.Seq)
	if err != nil || !found {
		return posthouse.Draft{}, false, err
	}
	out := single(&c, againRef)
	out.To, out.Deadline = []posthouse.Recipient{{Address: m.Address}}, c.Deadline
	out.DedupKey, out.DedupWindow = AgainKey(c.ID, of.Seq), posthouse.Duration(againFor)
	if c.Template != "" {
		out.Payload, err = payloadFor(c.Payload, m.Variables)
	}
	return out, err == nil, err
}

// againFor is how long a member who was sent to once more is remembered: longer than any provider tells what became of a send.
const againFor = 30 * 24 * time.Hour

// AgainKey is the dedup key of the message that goes to a member once more.
func AgainKey(campaign string, seq int64) string {
	return fmt.Sprintf("%s%s:%d", againRef, campaign, seq)
}

// IsAgain reports whether a message with a dedup key goes to a member once more: that it may do once.
func IsAgain(dedupKey string) bool {
	id, seq, ok := strings.Cut(strings.TrimPrefix(dedupKey, againRef), ":")
	_, err := strconv.ParseInt(seq, 10, 64)
	return ok && err == nil && strings.HasPrefix(dedupKey, againRef) && posthouse.ValidID(id)
}

// single is a message of a campaign to people who are still to be named. Its template is as it is now.
func single(c *work.Campaign, ref string) posthouse.Draft {
	return posthouse.Draft{Channel: c.Channel, Content: c.Content, Template: c.Template, Payload: c.Payload, Kind: c.Kind, Ref: ref + c.Name, Priority: c.Priority, OnUnknown: c.OnUnknown}
}
