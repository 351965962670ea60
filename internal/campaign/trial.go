package campaign

import (
	"context"
	"encoding/json"

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
	out := posthouse.Draft{Channel: c.Channel, Content: c.Content, Template: c.Template, Payload: c.Payload, Kind: c.Kind, Ref: testRef + c.Name, Priority: c.Priority, OnUnknown: c.OnUnknown}
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
