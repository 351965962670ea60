package duty

import (
	"context"
	"net/http"
	"strconv"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/intake"
	"github.com/posthouse/posthouse/internal/read"
	"github.com/posthouse/posthouse/internal/web"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/rule"
	"github.com/posthouse/posthouse/wire"
)

// Options are what the front works on. All are required.
type Options struct {
	Reader   read.Reader
	Accepter Accepter
	Channels Channels
	Rosters  Rosters
}

// Accepter accepts messages. The engine's roles satisfy it.
type Accepter interface {
	Accept(ctx context.Context, req intake.Request) (intake.Answer, error)
}

// Channels knows the configured channels.
type Channels interface {
	Get(ctx context.Context, tenant, name string) (posthouse.Channel, error)
}

// Rosters reads duty rosters.
type Rosters interface {
	Roster(ctx context.Context, tenant, name string) (r posthouse.Roster, found bool, err error)
}

// front speaks the document.
type front struct{ Options }

// kind is that of messages that come in as notices; the view message_send_log shows them.
const kind = "notice"

// maxText bounds a notice's text, in bytes.
const maxText = 64 << 10

// platforms are the names a platform goes by; the code is also the channel's name.
var platforms = map[string]string{"tianyuan": "tianyuan", "天元": "tianyuan", "zhaohu": "zhaohu", "招呼": "zhaohu"}

// fields are the names that a notice has for the fields of a message.
var fields = map[string]string{"to[0].user": "userId", "to[0].type": "userType", "channel": "platform", "content.text": "messageContent"}

var noticeBody = web.BodyOf[wire.NewNotice]().Keyed()

// Routes are the document's addresses.
func Routes(o Options) []web.Route {
	f := front{o}
	return web.Tagged("notices",
		web.Post("/v1/notices", posthouse.ScopeSend, "Accept a duty-gated notice for 天元 or 招呼.", noticeBody, f.send).Answers(http.StatusAccepted, http.StatusOK).Sighted(),
		web.Get("/v1/notices", posthouse.ScopeRead, "List notices, newest first.", f.list).Query("status", "platform", "userId").Paged().Sighted(),
		web.Get("/v1/notices/{id}", posthouse.ScopeRead, "One notice, in the words of its document.", f.get).Sighted(),
		web.Get("/v1/duty-schedule", posthouse.ScopeRead, "The roster duty, in the words of its document.", f.schedule),
	)
}

func (f front) send(c *web.Call, in wire.NewNotice) (out wire.NoticeSent, err error) {
	check(c, &in)
	if err := c.Wrong(); err != nil {
		return out, err
	}
	channel := platforms[in.Platform]
	if _, err := f.Channels.Get(c.Context(), c.Tenant(), channel); posthouse.CodeOf(err) == posthouse.CodeNotFound {
		c.Refuse("platform", "has no channel yet: configure it with PUT /v1/channels/%s", channel)
		return out, c.Wrong()
	}
	answer, err := f.Accepter.Accept(c.Context(), intake.Request{
		Tenant: c.Tenant(), Caller: c.Caller(), Endpoint: "notices", Key: c.Once.Key, Hash: c.Once.Hash,
		Drafts: []posthouse.Draft{{
			Channel: channel, Kind: kind, Source: "notices", Content: &posthouse.Content{Text: in.Content},
			To: []posthouse.Recipient{{User: in.UserID, Type: rule.RecipientType(in.UserType)}},
		}},
		Path: func(int) string { return "" },
	})
	if err != nil {
		return out, web.Renamed(err, fields)
	}
	c.Replayed(answer.Replayed)
	d := answer.Accepted[0].Deliveries[0]
	if d.State == posthouse.Suppressed {
		c.Status = http.StatusOK // nothing will be sent
	}
	return wire.NoticeSent{ID: d.ID, Status: string(d.State), Reason: d.Reason}, nil
}

func check(c *web.Call, in *wire.NewNotice) {
	for _, f := range []struct{ name, value string }{{"userId", in.UserID}, {"userType", in.UserType}, {"platform", in.Platform}, {"messageContent", in.Content}} {
		if f.value == "" {
			c.RefuseNew(f.name, "is required")
		}
	}
	c.CheckWord("userId", in.UserID, 255)
	c.CheckText("messageContent", in.Content, maxText)
	if _, known := platforms[in.Platform]; !known {
		c.RefuseNew("platform", "is %.60q: want tianyuan (天元) or zhaohu (招呼)", in.Platform)
	}
	if t := rule.RecipientType(in.UserType); t != rule.HeadOffice && t != rule.Branch {
		c.RefuseNew("userType", "is %.60q: want head_office (总行) or branch (分行)", in.UserType)
	}
}

func view(d *posthouse.Delivery, m *posthouse.Message) wire.Notice {
	return wire.Notice{
		ID: d.ID, UserID: d.User, Platform: d.Channel, Content: m.Content.Text, Status: status(d), RetryCount: d.Tries,
		CreateTime: d.CreatedAt, UpdateTime: d.UpdatedAt, LastError: d.Error,
	}
}

func (f front) get(c *web.Call) (out wire.Notice, err error) {
	id := c.PathValue("id")
	missing := posthouse.Errorf(posthouse.CodeNotFound, "there is no notice %.80q", id)
	d, err := f.Reader.Deliveries.Delivery(c.Context(), c.Viewer(), id)
	if posthouse.CodeOf(err) == posthouse.CodeNotFound {
		return out, missing
	}
	if err != nil {
		return out, err
	}
	m, _, err := f.Reader.Messages.Message(c.Context(), c.Viewer(), d.Message)
	if err == nil && m.Kind != kind {
		err = missing
	}
	return view(&d, &m), err
}

func (f front) list(c *web.Call) (out wire.Page[wire.Notice], err error) {
	by := work.Filter{Tenant: c.Tenant(), Sight: c.Sight(), Kind: kind, User: c.Query.Get("userId")}
	if word := c.Query.Get("status"); word != "" {
		if by.States, by.Tried = statesOf(word); by.States == nil {
			c.Refuse("query.status", "is %.60q: want pending, success, failure, stopped or a state such as suppressed", word)
		}
	}
	if p := c.Query.Get("platform"); p != "" {
		if by.Channel = platforms[p]; by.Channel == "" {
			c.Refuse("query.platform", "is %.60q: want tianyuan (天元) or zhaohu (招呼)", p)
		}
	}
	if by.Cursor, by.Limit, err = c.Page(); err != nil {
		return out, err
	}
	list, next, err := f.Reader.Told(c.Context(), by)
	out = wire.Page[wire.Notice]{Items: make([]wire.Notice, len(list)), Next: next}
	for i := range list {
		out.Items[i] = view(&list[i].Delivery, &list[i].Message)
	}
	return out, err
}

// schedule is the roster duty in the words of its document, as the view duty_schedule shows it.
func (f front) schedule(c *web.Call) (wire.Page[wire.Scheduled], error) {
	r, _, err := f.Rosters.Roster(c.Context(), c.Tenant(), rule.DefaultRoster)
	list := []wire.Scheduled{}
	for day := 1; day <= 7; day++ {
		number := strconv.Itoa(day)
		for _, user := range r.Days[number] {
			list = append(list, wire.Scheduled{ID: rule.DefaultRoster + ":" + number + ":" + user, Day: day, UserID: user})
		}
	}
	return wire.Page[wire.Scheduled]{Items: list}, err
}
