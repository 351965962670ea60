package dingtalk

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/channel/internal/access"
	"github.com/posthouse/posthouse/channel/internal/batch"
	"github.com/posthouse/posthouse/channel/internal/errcode"
)

// The limits of work notifications: 100 people in a call, 5000 people a minute, and 2048 bytes of the
// message's JSON.
const (
	workBatch     = 100
	workPerMinute = 4500 // of 5000
	workBytes     = 2048
)

// workCodes are those of the pages on work notifications and of the global list. Where DingTalk says that
// its system failed, it may have accepted: there is no key by which it would know a repeated call.
var workCodes = codes{
	"-1":     {Class: posthouse.ClassUnknown},
	"500":    {Class: posthouse.ClassUnknown},
	"34015":  {Class: posthouse.ClassUnknown},
	"400001": {Class: posthouse.ClassUnknown},

	"90002": {Class: posthouse.ClassRate, After: time.Second}, // calls a second
	"90018": {Class: posthouse.ClassRate, After: time.Second},
	"41047": {Class: posthouse.ClassRate, After: time.Minute}, // a minute
	"41048": {Class: posthouse.ClassRate, After: time.Minute},
	"90001": {Class: posthouse.ClassRate, After: 15 * time.Minute}, // how long is not documented
	"90003": {Class: posthouse.ClassRate, After: 15 * time.Minute},
	"90004": {Class: posthouse.ClassRate, After: 15 * time.Minute},
	"90005": {Class: posthouse.ClassRate, After: 15 * time.Minute},
	"90006": {Class: posthouse.ClassRate, After: 15 * time.Minute},
	"90007": {Class: posthouse.ClassRate, After: 15 * time.Minute},
	"90008": {Class: posthouse.ClassRate, After: 15 * time.Minute},
	"90009": {Class: posthouse.ClassRate, After: 15 * time.Minute},
	"90010": {Class: posthouse.ClassRate, After: 15 * time.Minute},
	"90011": {Class: posthouse.ClassRate, After: 15 * time.Minute},
	"90012": {Class: posthouse.ClassRate, After: 15 * time.Minute},
	"90013": {Class: posthouse.ClassRate, After: 15 * time.Minute},
	"90014": {Class: posthouse.ClassRate, After: 15 * time.Minute},
	"90017": {Class: posthouse.ClassRate, After: 15 * time.Minute},

	"88":    {Class: posthouse.ClassAuth}, // without a sub-code
	"40001": {Class: posthouse.ClassAuth},
	"40014": {Class: posthouse.ClassAuth},
	"41001": {Class: posthouse.ClassAuth},
	"42001": {Class: posthouse.ClassAuth},

	"40013": {Class: posthouse.ClassAccount}, // keys, permissions, addresses, quota
	"40056": {Class: posthouse.ClassAccount},
	"40089": {Class: posthouse.ClassAccount},
	"41028": {Class: posthouse.ClassAccount},
	"41030": {Class: posthouse.ClassAccount},
	"41044": {Class: posthouse.ClassAccount},
	"50003": {Class: posthouse.ClassAccount},
	"50005": {Class: posthouse.ClassAccount},
	"60020": {Class: posthouse.ClassAccount},
	"90020": {Class: posthouse.ClassAccount}, // the month's calls are used up

	"33012": {Class: posthouse.ClassRecipient},
	"40003": {Class: posthouse.ClassRecipient},
	"40031": {Class: posthouse.ClassRecipient}, // of several: at least one of them
	"50002": {Class: posthouse.ClassRecipient},
	"60121": {Class: posthouse.ClassRecipient},

	"34016": {Class: posthouse.ClassContent},
	"40048": {Class: posthouse.ClassContent},
	"40067": {Class: posthouse.ClassContent},
	"41049": {Class: posthouse.ClassContent},
	"41101": {Class: posthouse.ClassContent},
	"45002": {Class: posthouse.ClassContent},
	"45003": {Class: posthouse.ClassContent},
	"45004": {Class: posthouse.ClassContent},
	"45007": {Class: posthouse.ClassContent},
	"45008": {Class: posthouse.ClassContent},

	"40008":  {Class: posthouse.ClassRequest},
	"40035":  {Class: posthouse.ClassRequest},
	"40038":  {Class: posthouse.ClassRequest},
	"43004":  {Class: posthouse.ClassRequest},
	"43005":  {Class: posthouse.ClassRequest},
	"44004":  {Class: posthouse.ClassRequest},
	"400002": {Class: posthouse.ClassRequest},
}

// Work describes the driver for work notifications.
func Work() channel.Type {
	return channel.Type{
		Name:  "dingtalk_work",
		Title: "DingTalk work notification", TitleZH: "钉钉工作通知",
		Doc:      "Sends work notifications and interactive cards of an enterprise's application, and asks DingTalk later whom the notifications reached.",
		DocZH:    "以企业内部应用的名义发送工作通知和互动卡片，工作通知稍后向钉钉查询送达结果。",
		Fields:   workFields(),
		MaxBatch: workBatch,
		Shares: func(c posthouse.Content, address string) bool {
			return address != "" && c.Kind() != posthouse.TemplateContent
		},
		Addresses:    channel.AddressUser,
		OwnAddresses: true,
		Callbacks:    true,
		Presser:      channel.SamePresser,
		Receipts:     func(c channel.Config) bool { return c.Duration("receipt_after") > 0 },
		Timeout:      10 * time.Second,
		Limits:       []posthouse.Limit{{Max: workPerMinute, Per: posthouse.Duration(time.Minute)}},
		Check:        checkWork,
		Content:      workContent,
		Open:         openWork,
	}
}

func workFields() []channel.Field {
	cards := channel.Group{Label: "Interactive cards", LabelZH: "互动卡片"}
	return []channel.Field{{
		Name: "agent_id", Kind: channel.KindString, Required: true, Account: true, Label: "AgentId", LabelZH: "AgentId",
		Help: "The application's AgentId, a number.", HelpZH: "应用的 AgentId，数字。",
	}, {
		Name: "app_key", Kind: channel.KindString, Required: true, Account: true, Label: "AppKey (Client ID)", LabelZH: "AppKey（Client ID）",
	}, {
		Name: "app_secret", Kind: channel.KindSecret, Required: true, Account: true, Label: "AppSecret (Client Secret)", LabelZH: "AppSecret（Client Secret）",
	}, {
		Name: "format", Kind: channel.KindChoice, Default: "text", Choices: channel.TextOrMarkdown(), Label: "Format", LabelZH: "消息格式",
	}, {
		Name: "time_line", Kind: channel.KindBool, Label: "Add a line with the time", LabelZH: "末尾附加时间",
		Help:   "DingTalk shows an employee the same content once a day only (code 143106). The line makes repeated reminders differ.",
		HelpZH: "钉钉对同一员工一天内只显示一次相同内容（错误码 143106）。附加时间后，重复提醒的内容不再相同。",
	}, {
		Name: "receipt_after", Kind: channel.KindDuration, Default: 2 * time.Minute, Label: "Ask for receipts after", LabelZH: "多久后查询送达结果",
		Help:   "How long after a send DingTalk is asked whom it reached; each question counts as an API call of the month. 0s: never ask.",
		HelpZH: "发送后多久查询送达结果，每次查询计入当月 API 调用次数；0s 表示不查询。",
	}, {
		Name: "token_from", Group: channel.OwnInstallation(), Kind: channel.KindChoice, Default: "gettoken", Choices: []channel.Choice{
			{Value: "gettoken", Label: "The older interface, at URL", LabelZH: "旧版接口（gettoken）"},
			{Value: "oauth2", Label: "The newer interface, at API URL", LabelZH: "新版接口（oauth2）"},
		}, Label: "Access token from", LabelZH: "获取 access_token 的接口",
		Help:   "gettoken is called at URL, oauth2 at API URL.",
		HelpZH: "旧版接口使用“接口地址”，新版接口使用“新版接口地址”。",
	}, {
		Name: "url", Group: channel.OwnInstallation(), Kind: channel.KindURL, Default: "https://oapi.dingtalk.com", Label: "URL", LabelZH: "接口地址",
		Help: "For a private installation or a proxy.", HelpZH: "专有部署或代理时修改。",
	}, {
		Name: "api_url", Group: channel.OwnInstallation(), Kind: channel.KindURL, Default: "https://api.dingtalk.com", Label: "API URL", LabelZH: "新版接口地址",
		Help: "Where the newer interface is.", HelpZH: "新版接口所在地址。",
	}, {
		Name: "robot_code", Group: cards, Kind: channel.KindString, Account: true, Label: "Robot code", LabelZH: "机器人编码（robotCode）",
		Help: "Of the robot that brings interactive cards. Defaults to the AppKey, as robots of an enterprise's own applications have it.", HelpZH: "发送互动卡片的机器人；默认取 AppKey，企业内部应用的机器人即是如此。",
	}, {
		Name: "callback_route_key", Group: cards, Kind: channel.KindString, Account: true, Label: "Callback route key", LabelZH: "卡片回调 callbackRouteKey",
		Help:   "The callbackRouteKey under which this channel's callback address is registered at DingTalk. Without one no button of a card is told.",
		HelpZH: "本渠道的回调地址在钉钉注册时所用的 callbackRouteKey；不填则卡片按钮不会回调。",
	}, {
		Name: "callback_secret", Group: cards, Kind: channel.KindSecret, Account: true, Label: "Callback secret", LabelZH: "卡片回调 apiSecret",
		Help:   "The apiSecret of that registration. It signs what is pressed; without one nothing is taken.",
		HelpZH: "注册回调地址时填写的 apiSecret，用于校验签名；不填则不接收回调。",
	}}
}

func checkWork(c channel.Config) []posthouse.Problem {
	if c.String("callback_route_key") != "" && c.String("callback_secret") == "" {
		return []posthouse.Problem{{Path: "callback_secret", Message: "is required with callback_route_key: it signs what is pressed on cards"}}
	}
	if _, err := strconv.ParseInt(c.String("agent_id"), 10, 64); err != nil && c.Has("agent_id") {
		return []posthouse.Problem{{Path: "agent_id", Message: "is not a number; give the application's AgentId"}}
	}
	return nil
}

type work struct {
	client   *channel.Client
	url, api *url.URL
	header   http.Header
	agent    json.Number
	markdown bool
	timeLine bool
	await    time.Duration
	codes    map[string]posthouse.Class
	access   *access.Access

	robot, routeKey, callbackSecret string // of cards
}

func openWork(c channel.Config, env channel.Env) (channel.Driver, error) {
	target, err := url.Parse(c.String("url"))
	if err != nil {
		return nil, err
	}
	api, err := url.Parse(c.String("api_url"))
	if err != nil {
		return nil, err
	}
	w := &work{
		url: target, api: api, robot: cmp.Or(c.String("robot_code"), c.String("app_key")), routeKey: c.String("callback_route_key"), callbackSecret: c.String("callback_secret"), header: http.Header{"Content-Type": {"application/json"}}, agent: json.Number(c.String("agent_id")),
		markdown: c.String("format") == "markdown", timeLine: c.Bool("time_line"), await: c.Duration("receipt_after"),
		codes: env.Codes,
	}
	w.client = channel.NewClient(env, channel.ClientOptions{Secrets: nonEmpty(c.String("app_secret"), w.callbackSecret)})
	tokens, err := newTokenSource(c, w.client)
	by := []string{c.String("url"), c.String("api_url"), c.String("token_from"), c.String("app_secret")}
	w.access = access.New(env, strings.Join([]string{env.Tenant, env.Channel, c.String("app_key")}, "/"), "dingtalk "+c.String("url"), by, tokens.fetch)
	return w, err
}

// Close closes the idle connections.
func (w *work) Close() error { return w.client.Close() }

// Send makes one call for one delivery.
func (w *work) Send(ctx context.Context, out channel.Outgoing) channel.Result {
	return w.SendBatch(ctx, []channel.Outgoing{out})[0]
}

// SendBatch makes one call for all, and one for each card.
func (w *work) SendBatch(ctx context.Context, outs []channel.Outgoing) []channel.Result {
	if outs[0].Content.Kind() == posthouse.TemplateContent {
		results := make([]channel.Result, len(outs))
		for i := range outs {
			results[i] = w.sendCard(ctx, outs[i])
		}
		return results
	}
	message := errcode.Encoded(w.message(outs[0].Content, time.Now()))
	if len(message) > workBytes {
		return slices.Repeat([]channel.Result{{
			Class: posthouse.ClassContent, Code: codeTooLong,
			Error: "the message has " + strconv.Itoa(len(message)) + " bytes as JSON; DingTalk allows " + strconv.Itoa(workBytes),
		}}, len(outs))
	}
	return batch.Halving(outs, noAddress(), func(to []channel.Outgoing) channel.Result {
		body := errcode.Encoded(workCall{Agent: w.agent, Users: strings.Join(batch.Addresses(to), ","), Message: message})
		reply, v, a := w.call(ctx, "/topapi/message/corpconversation/asyncsend_v2", batch.WithKeys(w.header, to), body)
		if reply == nil {
			return v.failed
		}
		if v.Ref = string(a.Task); v.Class == posthouse.ClassOK && v.Ref == "" {
			v.Class, v.Message = posthouse.ClassUnknown, "DingTalk's answer names no task_id, so it may have accepted"
		}
		result := reply.Result(v.Verdict)
		if v.Class == posthouse.ClassOK {
			result.Await = w.await
		}
		return result
	})
}

// workCall is the body of a call.
type workCall struct {
	Agent   json.Number     `json:"agent_id"`
	Users   string          `json:"userid_list"`
	Message json.RawMessage `json:"msg"`
}

// message is the body's msg.
func (w *work) message(c posthouse.Content, now time.Time) any {
	line := ""
	if w.timeLine {
		line = now.In(beijing).Format("2006-01-02 15:04")
	}
	if w.markdown {
		c.Text = strings.Join(nonEmpty(c.Text, line), "\n\n")
		return map[string]any{"msgtype": "markdown", "markdown": robotMarkdown{heading(c), markdown(c)}}
	}
	c.Text = strings.Join(nonEmpty(c.Text, line), "\n")
	return map[string]any{"msgtype": "text", "text": robotText{plainText(c)}}
}

// call posts with an access token. Without one there is no reply, and v says why.
func (w *work) call(ctx context.Context, path string, header http.Header, body []byte) (reply *channel.Reply, v outcome, a answer) {
	err := w.access.Call(ctx, func(token string) access.Answer {
		u := below(w.url, path)
		u.RawQuery = url.Values{"access_token": {token}}.Encode()
		r := w.client.Do(ctx, channel.Request{URL: u, Header: header, Body: body})
		r.Response = strings.ReplaceAll(r.Response, token, channel.Mask)
		v.Verdict, a = workCodes.read(&r, w.codes)
		v.Message = strings.ReplaceAll(v.Message, token, channel.Mask)
		reply = &r
		switch {
		case v.Class != posthouse.ClassAuth:
			return access.Fine
		case a.Code == "":
			return access.Refused
		}
		return access.Again
	})
	if err != nil {
		return nil, outcome{failed: access.Without(err, w.client)}, answer{}
	}
	return reply, v, a
}

// outcome is a verdict, or the result of a call that was not made.
type outcome struct {
	channel.Verdict
	failed channel.Result
}

// Test fetches an access token and sends nothing.
func (w *work) Test(ctx context.Context) channel.Result { return w.access.Test(ctx, w.client) }
