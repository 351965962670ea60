package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/wire"
)

// Campaigns are what is sent to many, each known by name.
type Campaigns struct{ api *caller }

// readsAll is how much longer a call may take that reads an audience of many millions, or several.
const readsAll = 90 * time.Second

// List lists campaigns, newest first. Of the filter, Cursor and Limit count; state is the only one that is listed, empty for all.
func (c Campaigns) List(ctx context.Context, state posthouse.CampaignState, f Filter) (wire.Page[wire.CampaignListed], error) {
	q := Filter{Cursor: f.Cursor, Limit: f.Limit}.query()
	if state != "" {
		q.Set("state", string(state))
	}
	return get[wire.Page[wire.CampaignListed]](ctx, c.api, path("campaigns"), q)
}

// Create makes a campaign. Nothing is sent yet.
func (c Campaigns) Create(ctx context.Context, draft wire.CampaignDraft) (wire.Campaign, error) {
	if draft.Select != nil {
		return copying(ctx, c.api, path("campaigns"), draft)
	}
	return send[wire.Campaign](ctx, c.api, http.MethodPost, path("campaigns"), draft)
}

// Get reads one campaign, by its name or id.
func (c Campaigns) Get(ctx context.Context, name string) (wire.Campaign, error) {
	return get[wire.Campaign](ctx, c.api, path("campaigns", name), nil)
}

// Import sends a file of people, or a part of it, as body is read. It is made one time: after an error, Get says how much is
// stored, and a part from there, or the whole file with an Offset of 0, goes on.
func (c Campaigns) Import(ctx context.Context, name string, p Part, body io.Reader) (posthouse.Audience, error) {
	return upload(ctx, c.api, path("campaigns", name, "members"), p, body)
}

// Preview is how a file of people would be read, and its first records. Nothing of it is kept. Its beginning is enough, but of a workbook or a
// compressed file.
func (c Campaigns) Preview(ctx context.Context, name string, p Part, body io.Reader) (wire.PeoplePreview, error) {
	p.Offset, p.SHA256, p.Final = 0, "", false
	return uploaded[wire.PeoplePreview](ctx, c.api, request{method: http.MethodPost, path: path("campaigns", name, "preview"), query: p.query(), kind: "application/octet-stream"}, body)
}

// fetches is how long people are read whom others keep.
const fetches = time.Hour

// Query imports what a query gives from a database that the server's settings name. It takes a key of scope admin. After an error, the
// same query goes on where it was.
func (c Campaigns) Query(ctx context.Context, name string, q wire.PeopleQuery) (posthouse.Audience, error) {
	return fetch(ctx, c.api, path("campaigns", name, "query"), q)
}

// Followers imports everybody who follows the channel's account. After an error, it goes on where it was.
func (c Campaigns) Followers(ctx context.Context, name string, of wire.PeopleFollowing) (posthouse.Audience, error) {
	return fetch(ctx, c.api, path("campaigns", name, "followers"), of)
}

func fetch(ctx context.Context, c *caller, from string, body any) (posthouse.Audience, error) {
	r, err := withBody(http.MethodPost, from, body)
	if err != nil {
		return posthouse.Audience{}, err
	}
	r.wait = fetches
	return call[posthouse.Audience](ctx, c, r)
}

// Plan says what would happen, before anything is sent.
func (c Campaigns) Plan(ctx context.Context, name string) (wire.CampaignPlan, error) {
	return call[wire.CampaignPlan](ctx, c.api, request{method: http.MethodGet, path: path("campaigns", name, "plan"), wait: readsAll})
}

// Who finds one member by the address.
func (c Campaigns) Who(ctx context.Context, name, address string) (wire.CampaignMember, error) {
	return get[wire.CampaignMember](ctx, c.api, path("campaigns", name, "who"), url.Values{"address": {address}})
}

// Export writes every member and where it stands to w as it comes: in the format ndjson, or csv without formulas. outcome is
// the only one that is told, empty for all. After an error, w has a part.
func (c Campaigns) Export(ctx context.Context, w io.Writer, name, format, outcome string) error {
	return c.ExportOf(ctx, w, name, format, MemberFilter{Outcome: outcome})
}

// MemberFilter says which members of a campaign are meant. The zero value means all.
type MemberFilter struct {
	Outcome string // where they stand
	Code    string // of the reason why they ended like that
	Limit   int    // how many at most
}

func (f MemberFilter) query(format string) url.Values {
	q := url.Values{"format": {format}}
	for name, value := range map[string]string{"outcome": f.Outcome, "code": f.Code} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if f.Limit > 0 {
		q.Set("limit", strconv.Itoa(f.Limit))
	}
	return q
}

// ExportOf is Export for some of the members.
func (c Campaigns) ExportOf(ctx context.Context, w io.Writer, name, format string, of MemberFilter) error {
	return c.api.stream(ctx, request{method: http.MethodGet, path: path("campaigns", name, "members"), query: of.query(format)}, w)
}

// Members are some of the members and where they stand, in the order of the file. Give a limit: all of them may be millions.
func (c Campaigns) Members(ctx context.Context, name string, of MemberFilter) (list []wire.CampaignMember, err error) {
	var lines bytes.Buffer
	if err := c.ExportOf(ctx, &lines, name, "ndjson", of); err != nil {
		return nil, err
	}
	for from := json.NewDecoder(&lines); ; {
		var m wire.CampaignMember
		switch err := from.Decode(&m); {
		case errors.Is(err, io.EOF):
			return list, nil
		case err != nil:
			return list, err
		}
		list = append(list, m)
	}
}

// Samples are what the first members would get after a change, which is not kept.
func (c Campaigns) Samples(ctx context.Context, name string, change wire.CampaignChange) (wire.CampaignSamples, error) {
	r, err := withBody(http.MethodPost, path("campaigns", name, "samples"), change)
	if err != nil {
		return wire.CampaignSamples{}, err
	}
	return call[wire.CampaignSamples](ctx, c.api, r)
}

// Refused writes the records that could not be read to w, in the format ndjson or csv.
func (c Campaigns) Refused(ctx context.Context, w io.Writer, name, format string) error {
	return c.api.stream(ctx, request{method: http.MethodGet, path: path("campaigns", name, "refused"), query: url.Values{"format": {format}}}, w)
}

// Start begins to send. force starts one that the plan has something against.
func (c Campaigns) Start(ctx context.Context, name string, force bool) (wire.Campaign, error) {
	return c.StartAt(ctx, name, time.Time{}, force)
}

// StartAt is Start for a campaign that begins by itself at a time.
func (c Campaigns) StartAt(ctx context.Context, name string, at time.Time, force bool) (wire.Campaign, error) {
	r, err := withBody(http.MethodPost, path("campaigns", name, "start"), wire.CampaignStart{At: at, Force: force})
	if err != nil {
		return wire.Campaign{}, err
	}
	r.wait = readsAll
	return call[wire.Campaign](ctx, c.api, r)
}

// Unschedule takes back when a campaign is to begin by itself: it is ready again.
func (c Campaigns) Unschedule(ctx context.Context, name string) (wire.Campaign, error) {
	return c.act(ctx, name, "unschedule")
}

// Change changes how a campaign is sent that has not begun. What is not named stays as it is.
func (c Campaigns) Change(ctx context.Context, name string, change wire.CampaignChange) (wire.Campaign, error) {
	return send[wire.Campaign](ctx, c.api, http.MethodPatch, path("campaigns", name), change)
}

// Test sends a campaign's content to a few addresses at once, as an ordinary message. Nothing of the campaign changes. A lost
// answer is asked for again: nobody gets it twice.
func (c Campaigns) Test(ctx context.Context, name string, t wire.CampaignTest) (posthouse.Accepted, error) {
	return c.TestOnce(ctx, posthouse.NewID(), name, t)
}

// TestOnce is Test with an idempotency key: what was sent with it is not sent again.
func (c Campaigns) TestOnce(ctx context.Context, key, name string, t wire.CampaignTest) (posthouse.Accepted, error) {
	if err := checkKey(key); err != nil {
		return posthouse.Accepted{}, err
	}
	r, err := withBody(http.MethodPost, path("campaigns", name, "test"), t)
	if err != nil {
		return posthouse.Accepted{}, err
	}
	r.key = key
	return call[posthouse.Accepted](ctx, c.api, r)
}

// Pause starts nobody more. Who is under way is finished.
func (c Campaigns) Pause(ctx context.Context, name string) (wire.Campaign, error) {
	return c.act(ctx, name, "pause")
}

// Resume goes on with a campaign that is paused.
func (c Campaigns) Resume(ctx context.Context, name string) (wire.Campaign, error) {
	return c.act(ctx, name, "resume")
}

// Repair looks at once for segments that their workers have left, and says what it has issued anew.
func (c Campaigns) Repair(ctx context.Context, name string) (wire.CampaignRepaired, error) {
	return call[wire.CampaignRepaired](ctx, c.api, request{method: http.MethodPost, path: path("campaigns", name, "repair")})
}

// Cancel ends a campaign. Who is under way is finished, everybody else is cancelled.
func (c Campaigns) Cancel(ctx context.Context, name string) (wire.Campaign, error) {
	return c.act(ctx, name, "cancel")
}

// Delete deletes a campaign that was never started, or has ended, with its members and where they stand.
func (c Campaigns) Delete(ctx context.Context, name string) error {
	_, err := c.api.do(ctx, request{method: http.MethodDelete, path: path("campaigns", name)})
	return err
}

// Again makes the next campaign of those members of one who ended in some way. Nothing is sent yet.
func (c Campaigns) Again(ctx context.Context, name string, again wire.CampaignAgain) (wire.Campaign, error) {
	return copying(ctx, c.api, path("campaigns", name, "again"), again)
}

// Clone makes a campaign like another one, for the same list, or for a copy of its members or of some of them. Nothing is sent yet.
func (c Campaigns) Clone(ctx context.Context, name string, clone wire.CampaignClone) (wire.Campaign, error) {
	return copying(ctx, c.api, path("campaigns", name, "clone"), clone)
}

// copying waits until the members of a campaign are copied.
func copying(ctx context.Context, c *caller, to string, body any) (wire.Campaign, error) {
	r, err := withBody(http.MethodPost, to, body)
	if err != nil {
		return wire.Campaign{}, err
	}
	r.wait = readsAll
	return call[wire.Campaign](ctx, c, r)
}

// Resolve decides on members of whom nobody knows whether they were reached.
func (c Campaigns) Resolve(ctx context.Context, name string, r wire.CampaignResolve) (wire.CampaignResolved, error) {
	return send[wire.CampaignResolved](ctx, c.api, http.MethodPost, path("campaigns", name, "resolve"), r)
}

func (c Campaigns) act(ctx context.Context, name, what string) (wire.Campaign, error) {
	return send[wire.Campaign](ctx, c.api, http.MethodPost, path("campaigns", name, what), nil)
}

// Audiences are stored lists of people that several campaigns use.
type Audiences struct{ api *caller }

// List lists the stored lists, by name. Of the filter, Cursor and Limit count.
func (c Audiences) List(ctx context.Context, f Filter) (wire.Page[posthouse.Audience], error) {
	return get[wire.Page[posthouse.Audience]](ctx, c.api, path("audiences"), Filter{Cursor: f.Cursor, Limit: f.Limit}.query())
}

// Create makes an empty list.
func (c Audiences) Create(ctx context.Context, draft wire.AudienceDraft) (posthouse.Audience, error) {
	return send[posthouse.Audience](ctx, c.api, http.MethodPost, path("audiences"), draft)
}

// Get reads one list, by its name or id.
func (c Audiences) Get(ctx context.Context, name string) (posthouse.Audience, error) {
	return get[posthouse.Audience](ctx, c.api, path("audiences", name), nil)
}

// Delete deletes a list that no campaign uses.
func (c Audiences) Delete(ctx context.Context, name string) error {
	_, err := c.api.do(ctx, request{method: http.MethodDelete, path: path("audiences", name)})
	return err
}

// Import sends a file of people, or a part of it, see [Campaigns.Import].
func (c Audiences) Import(ctx context.Context, name string, p Part, body io.Reader) (posthouse.Audience, error) {
	return upload(ctx, c.api, path("audiences", name, "members"), p, body)
}

// Query imports what a query gives into a list, see [Campaigns.Query].
func (c Audiences) Query(ctx context.Context, name string, q wire.PeopleQuery) (posthouse.Audience, error) {
	return fetch(ctx, c.api, path("audiences", name, "query"), q)
}

// Followers imports everybody who follows the list's channel, see [Campaigns.Followers].
func (c Audiences) Followers(ctx context.Context, name string, of wire.PeopleFollowing) (posthouse.Audience, error) {
	return fetch(ctx, c.api, path("audiences", name, "followers"), of)
}

// Refused writes the records that could not be read to w, in the format ndjson or csv.
func (c Audiences) Refused(ctx context.Context, w io.Writer, name, format string) error {
	return c.api.stream(ctx, request{method: http.MethodGet, path: path("audiences", name, "refused"), query: url.Values{"format": {format}}}, w)
}

// Part is a stretch of a file of people, and how it is read.
type Part struct {
	// Offset is where it begins in the file, after decompression, and SHA256 the hash of what is before it, hexadecimal.
	Offset int64
	SHA256 string
	// Final says that the file ends with it.
	Final bool
	// Format is csv or ndjson. Defaults to what the first byte tells; a workbook (.xlsx) is read as csv.
	Format string
	// Delimiter stands between the fields of a CSV. Defaults to what most lines agree on.
	Delimiter string
	// Columns name those of a CSV without a header.
	Columns []string
	// Address is the column or field of the address. Defaults to one with a usual name whose values are addresses of the channel.
	Address string
	// Encoding is utf-8 or gbk. Defaults to what the file shows to be. UTF-16 is read where a mark begins the file.
	Encoding string
	// Sheet is that of a workbook. Defaults to the first with a column of addresses, else the first with something in it.
	Sheet string
}

func (p Part) query() url.Values {
	q := url.Values{}
	for name, value := range map[string]string{
		"sha256": p.SHA256, "format": p.Format, "delimiter": p.Delimiter, "columns": strings.Join(p.Columns, ","), "address": p.Address, "encoding": p.Encoding, "sheet": p.Sheet,
	} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if p.Offset > 0 {
		q.Set("offset", strconv.FormatInt(p.Offset, 10))
	}
	if p.Final {
		q.Set("final", "true")
	}
	return q
}

// upload sends a part of a file of people.
func upload(ctx context.Context, c *caller, to string, p Part, body io.Reader) (posthouse.Audience, error) {
	return uploaded[posthouse.Audience](ctx, c, request{method: http.MethodPost, path: to, query: p.query(), kind: "application/octet-stream"}, body)
}
