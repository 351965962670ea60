package api

import (
	"net/http"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/rule"
)

// noticeKind is the kind of messages that come in as notices; the view message_send_log shows them.
const noticeKind = "notice"

// noticeBody is a notice as the bank's document writes it.
type noticeBody struct {
	UserID   string `json:"userId"`
	UserType string `json:"userType" doc:"head_office or branch; also 总行 and 分行."`
	Platform string `json:"platform" doc:"tianyuan or zhaohu; also 天元 and 招呼."`
	Content  string `json:"messageContent"`
}

// noticeSent answers a notice.
type noticeSent struct {
	ID     string `json:"id"`
	Status string `json:"status" doc:"pending, or suppressed with its reason."`
	Reason string `json:"reason,omitempty"`
}

// notice is a notice in the field names and status words of the document.
type notice struct {
	ID         string    `json:"id"`
	UserID     string    `json:"user_id"`
	Platform   string    `json:"platform"`
	Content    string    `json:"content"`
	Status     string    `json:"status"`
	RetryCount int       `json:"retry_count"`
	CreateTime time.Time `json:"create_time"`
	UpdateTime time.Time `json:"update_time"`
	LastError  string    `json:"last_error"`
}

// platforms are the names a platform goes by; the code is also the channel's name.
var platforms = map[string]string{"tianyuan": "tianyuan", "天元": "tianyuan", "zhaohu": "zhaohu", "招呼": "zhaohu"}

var noticeReader = bodyOf[noticeBody]()

func (a *api) sendNotice(c *call) (answer, error) {
	key, hash, in, err := readKeyed(c, noticeReader)
	if err != nil {
		return answer{}, err
	}
	c.checkNotice(&in)
	if err := c.wrong(); err != nil {
		return answer{}, err
	}
	channel := platforms[in.Platform]
	if _, err := a.Channels.Get(c.Context(), c.key.Tenant, channel); posthouse.CodeOf(err) == posthouse.CodeNotFound {
		c.refuse("platform", "has no channel yet: configure it with PUT /v1/channels/%s", channel)
		return answer{}, c.wrong()
	}
	out, err := a.Engine.Accept(c.Context(), engine.Request{
		Tenant: c.key.Tenant, Endpoint: "notices", Key: key, Hash: hash,
		Drafts: []posthouse.Draft{{
			Channel: channel, Kind: noticeKind, Source: "notices", Content: &posthouse.Content{Text: in.Content},
			To: []posthouse.Recipient{{User: in.UserID, Type: rule.RecipientType(in.UserType)}},
		}},
		Path: func(int) string { return "" },
	})
	if err != nil {
		return answer{}, renamed(err, noticeWords)
	}
	d := out.Accepted[0].Deliveries[0]
	reply := answer{status: http.StatusAccepted, header: replayHeader(out.Replayed), body: noticeSent{ID: d.ID, Status: string(d.State), Reason: d.Reason}}
	if d.State == posthouse.Suppressed {
		reply.status = http.StatusOK // nothing will be sent
	}
	return reply, nil
}

func (c *call) checkNotice(in *noticeBody) {
	for _, f := range []struct{ name, value string }{{"userId", in.UserID}, {"userType", in.UserType}, {"platform", in.Platform}, {"messageContent", in.Content}} {
		if f.value == "" && !c.concerns(f.name) {
			c.refuse(f.name, "is required")
		}
	}
	checkWord(c, "userId", in.UserID, 255)
	checkText(c, "messageContent", in.Content, maxText)
	if _, known := platforms[in.Platform]; !known && !c.concerns("platform") {
		c.refuse("platform", "is %.60q: want tianyuan (天元) or zhaohu (招呼)", in.Platform)
	}
	if t := rule.RecipientType(in.UserType); t != rule.HeadOffice && t != rule.Branch && !c.concerns("userType") {
		c.refuse("userType", "is %.60q: want head_office (总行) or branch (分行)", in.UserType)
	}
}

// noticeWords are the names that a notice has for the fields of a message.
var noticeWords = map[string]string{"to[0].user": "userId", "to[0].type": "userType", "channel": "platform", "content.text": "messageContent"}

// noticeStatus is a delivery's state in the document's words.
func noticeStatus(d *posthouse.Delivery) string {
	switch {
	case d.State == posthouse.Pending && d.Tries > 0, d.State == posthouse.Unknown:
		return "failure"
	case d.State == posthouse.Pending, d.State == posthouse.Sending:
		return "pending"
	case d.State == posthouse.Sent, d.State == posthouse.Delivered:
		return "success"
	case d.State == posthouse.Failed:
		return "stopped"
	}
	return string(d.State)
}

// statesOf are the states a status word stands for: noticeStatus the other way round.
func statesOf(status string) ([]posthouse.State, work.Tried) {
	switch status {
	case "pending":
		return []posthouse.State{posthouse.Pending, posthouse.Sending}, work.NeverTried
	case "failure":
		return []posthouse.State{posthouse.Pending, posthouse.Unknown}, work.TriedBefore
	case "success":
		return []posthouse.State{posthouse.Sent, posthouse.Delivered}, 0
	case "stopped":
		return []posthouse.State{posthouse.Failed}, 0
	}
	if s := posthouse.State(status); s.Valid() {
		return []posthouse.State{s}, 0
	}
	return nil, 0
}

func viewNotice(d *posthouse.Delivery, m *posthouse.Message) notice {
	return notice{
		ID: d.ID, UserID: d.User, Platform: d.Channel, Content: m.Content.Text, Status: noticeStatus(d), RetryCount: d.Tries,
		CreateTime: d.CreatedAt, UpdateTime: d.UpdatedAt, LastError: d.Error,
	}
}

func (a *api) notice(c *call) (answer, error) {
	id := c.PathValue("id")
	missing := posthouse.Errorf(posthouse.CodeNotFound, "there is no notice %.80q", id)
	d, err := a.Store.Delivery(c.Context(), c.key.Tenant, id)
	if posthouse.CodeOf(err) == posthouse.CodeNotFound {
		return answer{}, missing
	}
	if err != nil {
		return answer{}, err
	}
	m, _, err := a.Store.Message(c.Context(), c.key.Tenant, d.Message)
	if err != nil {
		return answer{}, err
	}
	if m.Kind != noticeKind {
		return answer{}, missing
	}
	return ok(viewNotice(&d, &m))
}

func (a *api) notices(c *call) (answer, error) {
	f := work.Filter{Tenant: c.key.Tenant, Kind: noticeKind, User: c.query.Get("userId"), Cursor: c.query.Get("cursor"), Limit: c.number("limit", 1, maxPage)}
	if status := c.query.Get("status"); status != "" {
		if f.States, f.Tried = statesOf(status); f.States == nil {
			c.refuse("query.status", "is %.60q: want pending, success, failure, stopped or a state such as suppressed", status)
		}
	}
	if p := c.query.Get("platform"); p != "" {
		if f.Channel = platforms[p]; f.Channel == "" {
			c.refuse("query.platform", "is %.60q: want tianyuan (天元) or zhaohu (招呼)", p)
		}
	}
	if err := c.wrong(); err != nil {
		return answer{}, err
	}
	list, next, err := a.Store.Deliveries(c.Context(), f)
	if err != nil {
		return answer{}, err
	}
	messages, err := a.Store.MessagesOf(c.Context(), c.key.Tenant, list)
	if err != nil {
		return answer{}, err
	}
	views := make([]notice, len(list))
	for i := range list {
		m := messages[list[i].Message]
		views[i] = viewNotice(&list[i], &m)
	}
	return pageOf(views, next)
}
