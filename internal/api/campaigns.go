package api

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/audience"
	"github.com/posthouse/posthouse/internal/campaign"
	"github.com/posthouse/posthouse/internal/intake"
	"github.com/posthouse/posthouse/internal/web"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/wire"
)

// Campaigns makes campaigns, fills them with people and shows them.
type Campaigns interface {
	madeCampaigns
	seenCampaigns
}

type madeCampaigns interface {
	Create(ctx context.Context, tenant string, by work.Caller, in wire.CampaignDraft) (wire.Campaign, error)
	Import(ctx context.Context, tenant, name string, p campaign.Part, body io.Reader) (posthouse.Audience, error)
	Preview(ctx context.Context, tenant, name string, f audience.Format, body io.Reader) (wire.PeoplePreview, error)
	Start(ctx context.Context, tenant string, by work.Caller, name string, in wire.CampaignStart) (wire.Campaign, error)
	Change(ctx context.Context, tenant string, by work.Caller, name string, in wire.CampaignChange) (wire.Campaign, error)
	Act(ctx context.Context, tenant, name string, a campaign.Action) (wire.Campaign, error)
	Repair(ctx context.Context, tenant, name string) (wire.CampaignRepaired, error)
	Resolve(ctx context.Context, tenant, name string, in wire.CampaignResolve) (wire.CampaignResolved, error)
	Repeat(ctx context.Context, tenant string, by work.Caller, name string, in wire.CampaignAgain) (wire.Campaign, error)
	Samples(ctx context.Context, tenant string, by work.Caller, name string, in wire.CampaignChange) (wire.CampaignSamples, error)
	Clone(ctx context.Context, tenant string, by work.Caller, name string, in wire.CampaignClone) (wire.Campaign, error)
}

// CampaignTests makes the message that shows a campaign to a few people.
type CampaignTests interface {
	Test(ctx context.Context, tenant, name string, in wire.CampaignTest) (posthouse.Draft, error)
}

type seenCampaigns interface {
	Get(ctx context.Context, tenant, name string) (wire.Campaign, error)
	List(ctx context.Context, tenant string, of posthouse.CampaignState, cursor string, limit int) (list []wire.CampaignListed, next string, err error)
	Plan(ctx context.Context, tenant, name string) (wire.CampaignPlan, error)
	Who(ctx context.Context, tenant, name, address string) (wire.CampaignMember, error)
	Export(ctx context.Context, tenant, name string, of campaign.MembersOf) (func(each func(wire.CampaignMember) error) error, error)
	Refused(ctx context.Context, tenant, name string) (func(each func(audience.Refused) error) error, error)
}

// campaigns is the resource of what is sent to many.
type campaigns struct {
	Campaigns
	removals Removals
	tests    CampaignTests
	channels Channels
	sender   Sender
	streams  *streams        // streams of this process
	ending   <-chan struct{} // closed when the server stops
}

// Removals delete campaigns and stored lists.
type Removals interface {
	Delete(ctx context.Context, tenant, name string) error
	DeleteList(ctx context.Context, tenant, name string) error
}

func (s campaigns) remove(c *web.Call) error {
	return s.removals.Delete(c.Context(), c.Tenant(), c.PathValue("name"))
}

// fileParams say how a file is read.
var fileParams = []string{"offset", "sha256", "final", "format", "delimiter", "columns", "address", "encoding", "sheet"}

func (s campaigns) routes() []web.Route {
	return web.Tagged("campaigns",
		web.Get("/v1/campaigns", reads, "List campaigns with how many members stand where, newest first.", s.list).Query("state").Paged(),
		web.Post("/v1/campaigns", sends, "Make a campaign. Nothing is sent yet.", web.BodyOf[wire.CampaignDraft]().Loose(), s.create).Audited(),
		web.Get("/v1/campaigns/{name}", reads, "A campaign, by its name or id: whom it is for, and how far it is.", s.get),
		web.Act("/v1/campaigns/{name}/members", sends, "Import a part of a file of people. What arrives is stored; the answer says where the next part begins.", s.take).
			Query(fileParams...).TakesFile().Audited(),
		web.Act("/v1/campaigns/{name}/preview", sends, "How a file of people would be read, and its first five records. Nothing of it is kept; its beginning is enough, but of a workbook or a compressed file.", s.preview).
			Query("format", "delimiter", "columns", "address", "encoding", "sheet").TakesFile(),
		web.Get("/v1/campaigns/{name}/members", reads, "Every member and where it stands, as lines of JSON or as CSV without formulas, as they are read.", s.export).Query("format", "outcome", "code", "limit"),
		web.Get("/v1/campaigns/{name}/refused", reads, "The records that could not be read, with line, column and reason, as lines of JSON or as CSV.", s.refused).Query("format"),
		web.Get("/v1/campaigns/{name}/watch", reads, "How far it is, each time that changes, until it has ended (server-sent events: progress, and end at last).", s.watch),
		web.Get("/v1/campaigns/{name}/plan", reads, "What would happen: members, what is missing, samples, and how long it takes.", s.plan),
		web.Get("/v1/campaigns/{name}/who", reads, "One member by the address, and where it stands.", s.who).Query("address"),
		web.Post("/v1/campaigns/{name}/start", sends, "Begin to send, now or by itself at a time. The template's version of this moment counts.", web.BodyOf[wire.CampaignStart](), s.start).Audited(),
		web.Patch("/v1/campaigns/{name}", sends, "Change what a campaign says and how it is sent that has not begun, and keep what is not named.", web.BodyOf[wire.CampaignChange](), s.change).Audited(),
		web.Post("/v1/campaigns/{name}/samples", sends, "What the first members would get after a change, which is not kept.", web.BodyOf[wire.CampaignChange](), s.samples),
		web.Act("/v1/campaigns/{name}/unschedule", sends, "Take back when a campaign is to begin by itself: it is ready again.", s.act(campaign.Unschedule)).Audited(),
		web.Post("/v1/campaigns/{name}/test", sends, "Send its content to a few addresses at once, as an ordinary message with the ref test:NAME. Nothing of the campaign changes.", web.BodyOf[wire.CampaignTest]().Keyed(), s.test).
			Answers(http.StatusAccepted).Audited(),
		web.Act("/v1/campaigns/{name}/pause", sends, "Start nobody more. Who is under way is finished.", s.act(campaign.Pause)).Audited(),
		web.Act("/v1/campaigns/{name}/resume", sends, "Go on with a campaign that is paused.", s.act(campaign.Resume)).Audited(),
		web.Act("/v1/campaigns/{name}/repair", sends, "Look at once for segments that their workers have left, and issue anew exactly who was not sent to.", s.repair).Audited(),
		web.Post("/v1/campaigns/{name}/resolve", sends, "Decide whether members in doubt were reached: one of them, or all.", web.BodyOf[wire.CampaignResolve](), s.resolve).Audited(),
		web.Post("/v1/campaigns/{name}/again", sends, "Make the next campaign of those members who ended in some way, with their variables. Nothing is sent yet.", web.BodyOf[wire.CampaignAgain]().Loose(), s.again).Audited(),
		web.Post("/v1/campaigns/{name}/clone", sends, "Make a campaign like this one, for the same list, or for a copy of its members or of some of them. Nothing is sent yet.", web.BodyOf[wire.CampaignClone]().Loose(), s.clone).Audited(),
		web.Delete("/v1/campaigns/{name}", sends, "Delete a campaign that was never started, or has ended, with its members and where they stand.", s.remove).Audited(),
		web.Act("/v1/campaigns/{name}/cancel", sends, "End a campaign. Who is under way is finished, everybody else is cancelled.", s.act(campaign.Cancel)).Audited(),
	)
}

func (s campaigns) list(c *web.Call) (wire.Page[wire.CampaignListed], error) {
	of := posthouse.CampaignState(c.Query.Get("state"))
	if of != "" && !of.Valid() {
		c.Refuse("query.state", "%s", channel.Want(of, posthouse.CampaignStates()))
	}
	return paged(c, func(cursor string, limit int) ([]wire.CampaignListed, string, error) {
		return s.List(c.Context(), c.Tenant(), of, cursor, limit)
	})
}

func (s campaigns) create(c *web.Call, in wire.CampaignDraft) (wire.Campaign, error) {
	c.CheckName("name", in.Name)
	if err := c.Wrong(); err != nil {
		return wire.Campaign{}, err
	}
	made, err := s.Create(c.Context(), c.Tenant(), c.Caller(), in)
	c.Named(in.Name)
	c.Changed(nil, in)
	return made, err
}

func (s campaigns) get(c *web.Call) (wire.Campaign, error) {
	return s.Get(c.Context(), c.Tenant(), c.PathValue("name"))
}

func (s campaigns) start(c *web.Call, in wire.CampaignStart) (wire.Campaign, error) {
	c.Changed(nil, in)
	return s.Start(c.Context(), c.Tenant(), c.Caller(), c.PathValue("name"), in)
}

func (s campaigns) change(c *web.Call, in wire.CampaignChange) (wire.Campaign, error) {
	c.Changed(nil, in)
	return s.Change(c.Context(), c.Tenant(), c.Caller(), c.PathValue("name"), in)
}

func (s campaigns) samples(c *web.Call, in wire.CampaignChange) (wire.CampaignSamples, error) {
	return s.Samples(c.Context(), c.Tenant(), c.Caller(), c.PathValue("name"), in)
}

func (s campaigns) repair(c *web.Call) (wire.CampaignRepaired, error) {
	done, err := s.Repair(c.Context(), c.Tenant(), c.PathValue("name"))
	c.Changed(nil, done.Repaired)
	return done, err
}

func (s campaigns) act(a campaign.Action) func(c *web.Call) (wire.Campaign, error) {
	return func(c *web.Call) (wire.Campaign, error) {
		return s.Act(c.Context(), c.Tenant(), c.PathValue("name"), a)
	}
}

func (s campaigns) again(c *web.Call, in wire.CampaignAgain) (wire.Campaign, error) {
	if in.Name != "" {
		c.CheckName("name", in.Name)
	}
	if err := c.Wrong(); err != nil {
		return wire.Campaign{}, err
	}
	made, err := s.Repeat(c.Context(), c.Tenant(), c.Caller(), c.PathValue("name"), in)
	c.Changed(nil, in)
	return made, err
}

func (s campaigns) clone(c *web.Call, in wire.CampaignClone) (wire.Campaign, error) {
	if in.Name != "" {
		c.CheckName("name", in.Name)
	}
	if err := c.Wrong(); err != nil {
		return wire.Campaign{}, err
	}
	made, err := s.Clone(c.Context(), c.Tenant(), c.Caller(), c.PathValue("name"), in)
	c.Changed(nil, in)
	return made, err
}

func (s campaigns) resolve(c *web.Call, in wire.CampaignResolve) (wire.CampaignResolved, error) {
	done, err := s.Resolve(c.Context(), c.Tenant(), c.PathValue("name"), in)
	c.Changed(nil, struct {
		wire.CampaignResolve
		wire.CampaignResolved
	}{in, done})
	return done, err
}

// test hands in the message of a campaign's test.
func (s campaigns) test(c *web.Call, in wire.CampaignTest) (posthouse.Accepted, error) {
	if err := c.Wrong(); err != nil {
		return posthouse.Accepted{}, err
	}
	draft, err := s.tests.Test(c.Context(), c.Tenant(), c.PathValue("name"), in)
	if err != nil {
		return posthouse.Accepted{}, err
	}
	if !maySend(c) {
		if err := s.channels.MayTest(c.Context(), c.Tenant(), draft.Channel, draft.To); err != nil {
			return posthouse.Accepted{}, err
		}
	}
	out, err := s.sender.Accept(c.Context(), intake.Request{Tenant: c.Tenant(), Caller: c.Caller(), Endpoint: "campaigns.test", Key: c.Once.Key, Hash: c.Once.Hash, Drafts: []posthouse.Draft{draft}})
	c.Asked(struct {
		wire.CampaignTest
		Message posthouse.Draft `json:"message"`
	}{in, draft}, len(draft.To))
	if err != nil {
		return posthouse.Accepted{}, err
	}
	c.Replayed(out.Replayed)
	return out.Accepted[0], nil
}

func (s campaigns) plan(c *web.Call) (wire.CampaignPlan, error) {
	return s.Plan(c.Context(), c.Tenant(), c.PathValue("name"))
}

func (s campaigns) who(c *web.Call) (wire.CampaignMember, error) {
	if err := c.Wrong(); err != nil {
		return wire.CampaignMember{}, err
	}
	return s.Who(c.Context(), c.Tenant(), c.PathValue("name"), c.Query.Get("address"))
}

func (s campaigns) take(c *web.Call) (posthouse.Audience, error) {
	p, err := partOf(c)
	if err != nil {
		return posthouse.Audience{}, err
	}
	a, err := s.Import(c.Context(), c.Tenant(), c.PathValue("name"), p, c.File())
	c.Asked(p.Format, 0)
	return a, err
}

// preview shows how a file would be read.
func (s campaigns) preview(c *web.Call) (wire.PeoplePreview, error) {
	format, problems := audience.FormatOf(c.Query)
	c.Add(problems)
	if err := c.Wrong(); err != nil {
		return wire.PeoplePreview{}, err
	}
	return s.Preview(c.Context(), c.Tenant(), c.PathValue("name"), format, c.File())
}

// partOf reads what the query says of a part of a file.
func partOf(c *web.Call) (campaign.Part, error) {
	q := c.Query
	p := campaign.Part{SHA256: strings.ToLower(q.Get("sha256")), Final: c.Flag("final")}
	var problems []posthouse.Problem
	p.Format, problems = audience.FormatOf(q)
	c.Add(problems)
	if text := q.Get("offset"); text != "" {
		var err error
		if p.Offset, err = strconv.ParseInt(text, 10, 64); err != nil || p.Offset < 0 {
			c.Refuse("query.offset", "is %.60q: want a whole number of bytes", text)
		}
	}
	return p, c.Wrong()
}

func (s campaigns) export(c *web.Call) (any, error) {
	format, outcome := formatOf(c), c.Query.Get("outcome")
	of := campaign.MembersOf{Outcome: outcome, Code: c.Query.Get("code"), Limit: int64(c.Number("limit", 1, 1<<30))}
	if outcome != "" && !slices.Contains(campaign.Outcomes(), outcome) {
		c.Refuse("query.outcome", "%s", channel.Want(outcome, campaign.Outcomes()))
	}
	if err := c.Wrong(); err != nil {
		return nil, err
	}
	each, err := s.Export(c.Context(), c.Tenant(), c.PathValue("name"), of)
	if err != nil {
		return nil, err
	}
	return web.Listed(format == formatCSV, []string{"seq", "address", "outcome", "code", "error", "account", "segment", "variables"}, each, func(m wire.CampaignMember) []string {
		why := wire.CampaignReason{}
		if m.Reason != nil {
			why = *m.Reason
		}
		return []string{strconv.FormatInt(m.Seq, 10), m.Address, m.Outcome, why.Code, why.Error, m.Account, m.Segment, string(m.Variables)}
	}), nil
}

func (s campaigns) refused(c *web.Call) (any, error) {
	format := formatOf(c)
	if err := c.Wrong(); err != nil {
		return nil, err
	}
	each, err := s.Refused(c.Context(), c.Tenant(), c.PathValue("name"))
	return listedRefused(format, each, err)
}

func listedRefused(format string, each func(func(audience.Refused) error) error, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return web.Listed(format == formatCSV, []string{"line", "column", "reason", "text"}, each, func(r audience.Refused) []string {
		return []string{strconv.FormatInt(r.Line, 10), strconv.FormatInt(r.Column, 10), r.Reason, r.Text}
	}), nil
}
