package campaign

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/audience"
	"github.com/posthouse/posthouse/internal/content"
	"github.com/posthouse/posthouse/internal/draft"
	"github.com/posthouse/posthouse/internal/render"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/wire"
)

// Campaigns keeps campaigns.
type Campaigns interface {
	MakeCampaign(ctx context.Context, now time.Time, c work.Campaign, own *work.Audience) (work.Campaign, error)
	Campaign(ctx context.Context, tenant, name string) (c work.Campaign, found bool, err error)
	CampaignOf(ctx context.Context, id string) (c work.Campaign, found bool, err error)
	Campaigns(ctx context.Context, tenant string, state posthouse.CampaignState, cursor string, limit int) (list []work.Campaign, next string, err error)
	// StepCampaign writes where a campaign stands, with new segments, where it still has the edition that it was read with.
	StepCampaign(ctx context.Context, now time.Time, c work.Campaign, cut []work.Segment) (work.Campaign, error)
	DeleteCampaign(ctx context.Context, now time.Time, c work.Campaign) error
}

// Segments says where members stand.
type Segments interface {
	Segments(ctx context.Context, campaign string, behind work.SegmentPlace, max int) ([]work.Segment, error)
	ReviseSegment(ctx context.Context, now time.Time, id string, decide func(work.Segment) (work.Segment, bool)) error
	ReplaceSegment(ctx context.Context, now time.Time, old, ended work.Segment, issued []work.Segment) (done bool, err error)
	SegmentsIn(ctx context.Context, campaign string, first, last int64, size int) ([]work.Segment, error)
	Progress(ctx context.Context, campaign string) (work.Progress, error)
	// CountsOf is Progress of several, of which it has Members and Heard alone.
	CountsOf(ctx context.Context, campaigns []string) (map[string]work.Progress, error)
}

// Lists keeps stored lists.
type Lists interface {
	MakeAudience(ctx context.Context, now time.Time, a work.Audience) (work.Audience, error)
	Audience(ctx context.Context, tenant, name string) (a work.Audience, found bool, err error)
	AudienceOf(ctx context.Context, tenant, id string) (a work.Audience, found bool, err error)
	Audiences(ctx context.Context, tenant, cursor string, limit int) (list []posthouse.Audience, next string, err error)
	DeleteAudience(ctx context.Context, now time.Time, a work.Audience) error
	// MembersOf is how many members lists have, by their ids.
	MembersOf(ctx context.Context, ids []string) (map[string]int64, error)
}

// Templates keeps templates.
type Templates interface {
	Template(ctx context.Context, tenant, name string, version int) (posthouse.Template, error)
	// PutTemplate stores a new version: of a campaign's own text.
	PutTemplate(ctx context.Context, now time.Time, t posthouse.Template) (posthouse.Template, error)
	DeleteTemplate(ctx context.Context, tenant, name string) error
}

// OptedOut knows to which addresses nothing is sent.
type OptedOut interface {
	Suppressions(ctx context.Context, tenant string, of work.SuppressionsOf, cursor string, limit int) (list []posthouse.Suppression, next string, err error)
}

// Unwilling knows which users do not want a message.
type Unwilling interface {
	// Refusing are users who do not want messages of a kind by a channel, whose ids come after one. next is the after of the next call,
	// empty for none.
	Refusing(ctx context.Context, tenant, kind, channel, after string) (users []string, next string, err error)
}

// History knows which campaigns have reached people.
type History interface {
	// CampaignsSince are a tenant's campaigns of a channel that were started, and go on or ended at since or later.
	CampaignsSince(ctx context.Context, tenant, channel string, since time.Time) ([]work.Campaign, error)
	// BeginCampaign is StepCampaign with the marks of whom the campaign leaves out.
	BeginCampaign(ctx context.Context, now time.Time, c work.Campaign, told []work.Block) (work.Campaign, error)
}

// Options are what a desk works with. All are required but for those that name a default.
type Options struct {
	Campaigns Campaigns
	History   History
	Segments  Segments
	Lists     Lists
	Templates Templates
	Importer  *Importer
	// Suppressed knows to which addresses nothing is sent, and Unwilling which users of the directory want nothing. Both default to none.
	Suppressed OptedOut
	Unwilling  Unwilling
	// Directory says which users members are, and Languages what people read. Both default to none: members read a template's own text.
	Directory Directory
	Languages content.Languages
	// Channel is an open channel, nil for none of that name, and Channels are the names of those there are.
	Channel  func(tenant, name string) *state.Channel
	Channels func(tenant string) []string
	// Paces are those of the steward of this process. Defaults to some of its own.
	Paces *Paces
	// Closed says why nothing may be sent on a channel. Defaults to: something may.
	Closed Closed
	// Sweep deletes soon what a deleted campaign or list has left. Defaults to nothing: somebody else does it some time.
	Sweep func()
	// Windows are how full the windows of a channel are. Defaults to none.
	Windows func(ctx context.Context, tenant, channel string) ([]wire.Window, error)
	// Wake says that a campaign has changed. Defaults to nothing.
	Wake func()
	// Repair looks at once for segments that their workers have left, and says what it has issued anew, by campaign. Defaults to
	// nothing.
	Repair func(ctx context.Context) (map[string]Repaired, error)
}

// Desk is where people make campaigns, look at them and end them.
type Desk struct{ o Options }

// NewDesk makes a desk.
func NewDesk(o Options) *Desk {
	if o.Paces == nil {
		o.Paces = NewPaces()
	}
	if o.Closed == nil {
		o.Closed = func(string, string) (string, time.Time) { return "", time.Time{} }
	}
	return &Desk{o}
}

// Create makes a campaign. Every problem of the draft is named at once.
func (d *Desk) Create(ctx context.Context, tenant string, by work.Caller, in wire.CampaignDraft) (wire.Campaign, error) {
	if in.Select != nil {
		return d.createOf(ctx, tenant, by, in)
	}
	return d.create(ctx, tenant, by, in, posthouse.NewID())
}

// create makes a campaign with an id.
func (d *Desk) create(ctx context.Context, tenant string, by work.Caller, in wire.CampaignDraft, id string) (wire.Campaign, error) {
	list, own, err := d.check(ctx, tenant, by, &in, id)
	if err != nil {
		return wire.Campaign{}, err
	}
	c := work.Campaign{Campaign: posthouse.Campaign{
		ID: id, Tenant: tenant, Name: in.Name, Channel: in.Channel, Kind: in.Kind, Template: in.Template, Content: in.Content, Payload: in.Payload,
		Audience: in.Audience, Priority: cmp.Or(in.Priority, posthouse.Normal), OnUnknown: in.OnUnknown, Deadline: in.Deadline,
		SegmentSize: cmp.Or(in.SegmentSize, DefaultSegment), State: posthouse.CampaignDraft, CampaignRules: in.CampaignRules,
	}}
	var members *work.Audience
	if list != nil {
		c.AudienceID, c.Last, c.State = list.ID, list.Last, posthouse.CampaignReady
	} else {
		members = &work.Audience{Audience: posthouse.Audience{ID: posthouse.NewID(), Tenant: tenant, Channel: in.Channel}}
		c.AudienceID = members.ID
	}
	if err := d.keepText(ctx, own); err != nil {
		return wire.Campaign{}, err
	}
	if c, err = d.o.Campaigns.MakeCampaign(ctx, time.Now(), c, members); err != nil {
		return wire.Campaign{}, err
	}
	return d.show(ctx, c)
}

// check says what is wrong with the draft of a campaign that gets an id, and reads the stored list that it names. own is the text that is
// to be stored with it.
func (d *Desk) check(ctx context.Context, tenant string, by work.Caller, in *wire.CampaignDraft, id string) (list *work.Audience, own *posthouse.Template, err error) {
	p := &draft.Problems{}
	p.Word("kind", in.Kind, draft.MaxWord)
	if in.SegmentSize < 0 || in.SegmentSize > MaxSegment {
		p.Add("segment_size", "is %d: want 1 to %d", in.SegmentSize, MaxSegment)
	}
	if len(in.Parameters) > 0 && in.Template == "" && in.OwnText == nil {
		p.Add("parameters", "are given to a campaign without a template: each member gets the same")
	}
	checkTerms(&terms{in.Priority, in.OnUnknown, in.Deadline, in.CampaignRules}, p)
	ch := d.o.Channel(tenant, in.Channel)
	switch {
	case ch == nil:
		p.Add("channel", "there is no channel %.80q, or it is not open; %s", in.Channel, channel.OneOf("channels", in.Channel, d.o.Channels(tenant)))
	case ch.Settings.Pulled:
		p.Add("channel", "is fetched by agents: a campaign needs one that sends")
	}
	if own, err = d.checkContent(ctx, tenant, by, in, id, ch, p); err != nil {
		return nil, nil, err
	}
	if in.Audience != "" {
		if list, err = d.checkList(ctx, tenant, in, p); err != nil {
			return nil, nil, err
		}
	}
	return list, own, posthouse.Invalid("the campaign cannot be made", p.List)
}

// terms are how a campaign is sent: what people may change before it begins.
type terms struct {
	priority  posthouse.Priority
	onUnknown posthouse.Policy
	deadline  time.Time
	rules     posthouse.CampaignRules
}

func checkTerms(t *terms, p *draft.Problems) {
	if t.priority != "" && !t.priority.Valid() {
		p.Add("priority", "is %q: want high, normal or low", t.priority)
	}
	if t.onUnknown != "" && t.onUnknown != posthouse.Hold && t.onUnknown != posthouse.Retry {
		p.Add("on_unknown", "is %q: want hold or retry", t.onUnknown)
	}
	p.Time("deadline", t.deadline)
	if !t.deadline.IsZero() && !t.deadline.After(time.Now()) {
		p.Add("deadline", "is %s, which has passed", t.deadline.Format(time.RFC3339))
	}
	checkRules(&t.rules, p)
}

// checkContent says what is wrong with what a campaign of an id says. A text of its own becomes the template that it is kept as, which is
// still to be stored.
func (d *Desk) checkContent(ctx context.Context, tenant string, by work.Caller, in *wire.CampaignDraft, id string, ch *state.Channel, p *draft.Problems) (own *posthouse.Template, err error) {
	const maxPayload = 64 << 10
	p.Payload(in.Payload, maxPayload)
	if fields, err := render.Fields(in.Payload); err == nil {
		for _, name := range slices.Sorted(maps.Keys(fields)) {
			if bytes.Contains(fields[name], []byte("${")) {
				p.Add("payload."+name, "has a placeholder, which is filled in the texts of a template only: give the campaign or its template a parameter %.80q with this text", name)
			}
		}
	}
	given := 0
	for _, is := range []bool{in.Content != nil, in.Template != "", in.OwnText != nil} {
		if is {
			given++
		}
	}
	switch {
	case given == 0:
		p.Add("template", "is required, or a content")
	case in.Content != nil && in.Template != "":
		p.Add("content", "stands beside a template: give one of them")
	case given > 1:
		p.Add("own_text", "stands beside a template or a content: give one of them")
	case in.OwnText != nil:
		if own = ownText(tenant, id, in.OwnText, p); own != nil {
			err = mayCall(by, ch, nil, in.Payload, own)
		}
		in.Template, in.OwnText = ownTemplate(id), nil
	case in.Content != nil:
		if ch != nil && ch.Opened.Content != nil {
			p.List = append(p.List, ch.Opened.Content(*in.Content)...)
		}
		err = mayCall(by, ch, in.Content, in.Payload, nil)
	case in.Template != ownTemplate(id): // its own may be still to be written
		err = d.checkTemplate(ctx, tenant, by, in, ch, p)
	}
	return own, err
}

func (d *Desk) checkTemplate(ctx context.Context, tenant string, by work.Caller, in *wire.CampaignDraft, ch *state.Channel, p *draft.Problems) error {
	t, err := d.o.Templates.Template(ctx, tenant, in.Template, 0)
	switch {
	case posthouse.CodeOf(err) == posthouse.CodeNotFound:
		p.Add("template", "there is no template %.80q", in.Template)
	case err != nil:
		return err
	case t.Disabled:
		p.Add("template", "%.80q is disabled", in.Template)
	default:
		return mayCall(by, ch, nil, in.Payload, &t)
	}
	return nil
}

// mayCall refuses what calls everybody, of a caller who may not.
func mayCall(by work.Caller, ch *state.Channel, c *posthouse.Content, payload json.RawMessage, t *posthouse.Template) error {
	if ch == nil {
		return nil
	}
	if field := callsEverybody(c, payload, t, ch.Opened.CallsEverybody); field != "" {
		return by.MayMentionAll(field)
	}
	return nil
}

func (d *Desk) checkList(ctx context.Context, tenant string, in *wire.CampaignDraft, p *draft.Problems) (*work.Audience, error) {
	a, found, err := d.o.Lists.Audience(ctx, tenant, in.Audience)
	switch {
	case err != nil:
		return nil, err
	case !found || a.Name == "":
		p.Add("audience", "there is no audience %.80q", in.Audience)
	case a.State != posthouse.AudienceReady:
		p.Add("audience", "%s is still being imported", in.Audience)
	case a.Channel != "" && a.Channel != in.Channel:
		p.Add("audience", "%s has addresses of the channel %s", in.Audience, a.Channel)
	}
	return &a, nil
}

// Get is a campaign by its name or id.
func (d *Desk) Get(ctx context.Context, tenant, name string) (wire.Campaign, error) {
	c, err := d.named(ctx, tenant, name)
	if err != nil {
		return wire.Campaign{}, err
	}
	return d.show(ctx, c)
}

// List lists campaigns with how many of their members stand where, newest first, of a state where one is given.
func (d *Desk) List(ctx context.Context, tenant string, of posthouse.CampaignState, cursor string, limit int) ([]wire.CampaignListed, string, error) {
	list, next, err := d.o.Campaigns.Campaigns(ctx, tenant, of, cursor, limit)
	if err != nil {
		return nil, "", err
	}
	campaigns, audiences := make([]string, len(list)), make([]string, len(list))
	for i := range list {
		campaigns[i], audiences[i] = list[i].ID, list[i].AudienceID
	}
	members, err := d.o.Lists.MembersOf(ctx, audiences)
	if err != nil {
		return nil, "", err
	}
	stand, err := d.o.Segments.CountsOf(ctx, campaigns)
	if err != nil {
		return nil, "", err
	}
	out := make([]wire.CampaignListed, len(list))
	for i := range list {
		c := &list[i]
		out[i] = wire.CampaignListed{Campaign: c.Campaign, Counts: countsOf(c, members[c.AudienceID], stand[c.ID])}
		if out[i].Counts.Unsent+out[i].Counts.Started > 0 {
			out[i].Halted, out[i].Until = halts(c, d.o.Closed)
		}
	}
	return out, next, nil
}

func (d *Desk) named(ctx context.Context, tenant, name string) (work.Campaign, error) {
	c, found, err := d.o.Campaigns.Campaign(ctx, tenant, name)
	if err == nil && !found {
		err = posthouse.Errorf(posthouse.CodeNotFound, "there is no campaign %.80q", name)
	}
	return c, err
}

// audienceOf is whom a campaign is for.
func (d *Desk) audienceOf(ctx context.Context, c *work.Campaign) (work.Audience, error) {
	return audienceOf(ctx, d.o.Lists, c)
}

func audienceOf(ctx context.Context, lists Lists, c *work.Campaign) (work.Audience, error) {
	a, found, err := lists.AudienceOf(ctx, c.Tenant, c.AudienceID)
	if err == nil && !found {
		err = fmt.Errorf("the campaign %s has lost its audience", c.Name)
	}
	return a, err
}

// show puts together what is known of a campaign.
func (d *Desk) show(ctx context.Context, c work.Campaign) (wire.Campaign, error) {
	out := wire.Campaign{Campaign: c.Campaign}
	a, err := d.audienceOf(ctx, &c)
	if err != nil {
		return out, err
	}
	p, err := d.o.Segments.Progress(ctx, c.ID)
	if err != nil {
		return out, err
	}
	now := time.Now()
	if d.o.Paces.due(c.ID, now) && c.State == posthouse.CampaignRunning {
		d.o.Paces.saw(c.ID, settledOf(&p), now)
	}
	out.People, out.Progress = a.Audience, progressOf(&c, &a, p, d.o.Paces, now)
	if ch := d.o.Channel(c.Tenant, c.Channel); ch != nil && c.State == posthouse.CampaignRunning {
		out.Progress.PerSecond = min(out.Progress.PerSecond, fastest(ch))
		out.Progress.Left = posthouse.Duration(max(out.Progress.Left.Std(), leastLeft(&c, out.Progress.Unsent, ch, now)))
	}
	if out.Progress.Waits, out.Progress.Until = waits(&c, &p, d.o.Closed, now); out.Progress.Waits != "" {
		out.Progress.Left = 0
	}
	if c.State == posthouse.CampaignRunning && out.Progress.Unsent > 0 {
		err = d.full(ctx, &c, &out.Progress, now)
	}
	return out, err
}

// outside is where members stand who are in no segment.
func outside(c *work.Campaign) Outcome {
	switch c.State {
	case posthouse.CampaignCancelled:
		return Cancelled
	case posthouse.CampaignExpired:
		return Expired
	}
	return Unsent
}

// Import stores a part of a file in the campaign's own audience.
func (d *Desk) Import(ctx context.Context, tenant, name string, p Part, body io.Reader) (posthouse.Audience, error) {
	c, err := d.named(ctx, tenant, name)
	if err != nil {
		return posthouse.Audience{}, err
	}
	if c.Audience != "" {
		return posthouse.Audience{}, posthouse.Errorf(posthouse.CodeConflict, "the campaign is for the stored list %s: import into that", c.Audience)
	}
	if _, err := Next(&c.Campaign, Import); err != nil {
		return posthouse.Audience{}, err
	}
	a, err := d.audienceOf(ctx, &c)
	if err != nil {
		return posthouse.Audience{}, err
	}
	return d.take(ctx, a, p, body)
}

// take imports a part, with addresses as the channel keeps them.
func (d *Desk) take(ctx context.Context, a work.Audience, p Part, body io.Reader) (_ posthouse.Audience, err error) {
	if p.Keep, p.Addresses, err = d.keep(a.Tenant, a.Channel); err != nil {
		return a.Audience, err
	}
	a, err = d.o.Importer.Import(ctx, time.Now, a, p, body)
	return a.Audience, err
}

// Preview reads the beginning of a file as it would be imported into a campaign, and keeps nothing of it.
func (d *Desk) Preview(ctx context.Context, tenant, name string, f audience.Format, body io.Reader) (out wire.PeoplePreview, err error) {
	c, err := d.named(ctx, tenant, name)
	if err != nil {
		return out, err
	}
	keep, kind, err := d.keep(tenant, c.Channel)
	if err != nil {
		return out, err
	}
	f.Addresses = kind
	seen, err := audience.Look(body, f, keep)
	if err != nil {
		return out, faultOf(err)
	}
	out = wire.PeoplePreview{
		Format: string(seen.Kind), Encoding: string(cmp.Or(seen.From, seen.Encoding)), Delimiter: seen.Delimiter, Address: seen.Address, Header: len(seen.Format.Columns) == 0, Sheet: seen.Sheet, Sheets: seen.Sheets,
		Columns: append([]string{}, seen.Columns...), Rows: append([][]string{}, seen.Rows...), Read: seen.Read, Refused: seen.Wrong, Faulty: seen.Faulty, CutOff: seen.CutOff, First: []wire.RefusedRecord{},
	}
	for _, r := range seen.Refused {
		out.First = append(out.First, wire.RefusedRecord{Line: r.Line, Column: r.Column, Reason: r.Reason, Text: r.Text})
	}
	return out, nil
}

// keep is an address as a channel keeps it, nil for that of no channel, and what its addresses are.
func (d *Desk) keep(tenant, name string) (func(address string) (string, error), channel.AddressKind, error) {
	if name == "" {
		return nil, "", nil
	}
	ch := d.o.Channel(tenant, name)
	if ch == nil {
		return nil, "", posthouse.Errorf(posthouse.CodeConflict, "the channel %s is not open: it says which addresses are right", name)
	}
	return keeps(ch), ch.Opened.Addresses, nil
}

// keeps is an address as a channel keeps it, or why nobody can be sent to by it: what means everybody is no member.
func keeps(ch *state.Channel) func(address string) (string, error) {
	return func(address string) (string, error) {
		var err error
		if ch.Opened.Address != nil {
			if address, err = ch.Opened.Address(address); err != nil {
				return "", err
			}
		}
		if ch.Opened.CallsEverybody(channel.Outgoing{Recipient: posthouse.Recipient{Address: address}}) != "" {
			return "", errors.New("it means everybody whom the channel reaches: a campaign is for people one by one")
		}
		return audience.PlainAddress(address)
	}
}
