package dingtalk

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/channel/internal/batch"
	"github.com/posthouse/posthouse/channel/internal/errcode"
)

// The limits of a custom robot: 20 posts a minute, then 10 minutes in which it posts nothing, and 50
// people in one post. The length of a post is not documented; this is what the group messages of
// applications may have.
const (
	robotPerMinute = 18 // of 20, since windows of theirs and ours are not the same
	// late is how much later a call may reach DingTalk than it was permitted. All that go late in one window and all that go at once
	// in the next would be within one of DingTalk's.
	late          = time.Second
	robotParked   = 10 * time.Minute
	robotMentions = 50
	robotBytes    = 15000
)

// robotCodes are those of the page on custom robots, of the global list, and three that are seen in the
// field: 130101, 300001, 300005.
var robotCodes = codes{
	// DingTalk says of these that it is busy, or that its system or the sending failed; the global list
	// advises to try again later. It promises of none that nothing was posted, so the policy decides,
	// within the time in which a repeated msgUuid is recognised.
	"-1":     {Class: posthouse.ClassUnknown},
	"500":    {Class: posthouse.ClassUnknown},
	"34015":  {Class: posthouse.ClassUnknown},
	"400001": {Class: posthouse.ClassUnknown},

	// What goes beyond a limit is not posted.
	"410100": {Class: posthouse.ClassRate, After: robotParked},
	"130101": {Class: posthouse.ClassRate, After: robotParked},
	"90002":  {Class: posthouse.ClassRate, After: time.Second},
	"90018":  {Class: posthouse.ClassRate, After: time.Second},

	"90020":  {Class: posthouse.ClassAccount}, // the month's calls are used up
	"90030":  {Class: posthouse.ClassAccount}, // the month's webhook calls are
	"300001": {Class: posthouse.ClassAccount}, // no such token
	"300005": {Class: posthouse.ClassAccount},
	"310000": {Class: posthouse.ClassAccount}, // signature, time or address; keywords are told apart below
	"400013": {Class: posthouse.ClassAccount}, // the group is gone
	"400101": {Class: posthouse.ClassAccount},
	"400102": {Class: posthouse.ClassAccount}, // the robot is stopped
	"400106": {Class: posthouse.ClassAccount},

	"430101": {Class: posthouse.ClassContent}, // link, text, picture, content
	"430102": {Class: posthouse.ClassContent},
	"430103": {Class: posthouse.ClassContent},
	"430104": {Class: posthouse.ClassContent},

	"40035":  {Class: posthouse.ClassRequest},
	"43004":  {Class: posthouse.ClassRequest},
	"400105": {Class: posthouse.ClassRequest},
}

// Robot describes the driver for a custom robot.
func Robot() channel.Type {
	return channel.Type{
		Name:  "dingtalk_robot",
		Title: "DingTalk robot", TitleZH: "钉钉群机器人",
		Doc:               "Posts to a group through a custom robot, and mentions the recipients.",
		DocZH:             "通过自定义机器人向钉钉群发送消息，并 @ 收件人。",
		Fields:            robotFields(),
		MaxBatch:          robotMentions,
		BatchSize:         func(c channel.Config) int { return c.Int("mentions") },
		IdempotencyWindow: robotWindow,
		Timeout:           10 * time.Second,
		AccountLimits:     []posthouse.Limit{{Max: robotPerMinute, Per: posthouse.Duration(time.Minute + late)}},
		Address:           robotAddress,
		Open:              openRobot,
	}
}

func robotFields() []channel.Field {
	return []channel.Field{{
		Name: "access_token", Kind: channel.KindSecret, Required: true, Account: true, Label: "Access token", LabelZH: "access_token",
		Help:   "What follows access_token= in the robot's webhook address.",
		HelpZH: "机器人 Webhook 地址中 access_token= 之后的部分。",
	}, {
		Name: "secret", Kind: channel.KindSecret, Account: true, Label: "Signing secret", LabelZH: "加签密钥",
		Help:   "Begins with SEC. Empty for a robot that is secured by keywords or addresses.",
		HelpZH: "以 SEC 开头。机器人使用关键词或 IP 白名单时留空。",
	}, {
		Name: "keywords", Kind: channel.KindList, Label: "Keywords", LabelZH: "关键词",
		Help:   "The robot's keywords. A text with none of them gets the first one put in front.",
		HelpZH: "机器人设置的关键词。正文不含任何关键词时，自动在开头加上第一个。",
	}, {
		Name: "format", Kind: channel.KindChoice, Default: "text", Choices: channel.TextOrMarkdown(), Label: "Format", LabelZH: "消息格式",
	}, {
		Name: "mention", Kind: channel.KindChoice, Default: "recipients", Choices: []channel.Choice{
			{Value: "recipients", Label: "The recipients", LabelZH: "@ 收件人"},
			{Value: "all", Label: "Everybody in the group", LabelZH: "@ 所有人"},
			{Value: "none", Label: "Nobody", LabelZH: "不 @"},
		}, Label: "Mention", LabelZH: "提醒方式",
		Help:   "Of recipients, an address of 11 digits, or one that begins with +, is a phone number, any other a user id.",
		HelpZH: "@ 收件人时，11 位数字或以 + 开头的地址按手机号，其余按 userid。",
	}, {
		Name: "mentions", Kind: channel.KindInt, Default: 1, Min: 1, Max: robotMentions, Label: "Recipients in one post", LabelZH: "每条消息的收件人数",
		Help:   "Above 1 the recipients of a message share posts; DingTalk can then no longer recognise a repeated one.",
		HelpZH: "大于 1 时，同一消息的多个收件人合并为一条群消息；此时钉钉无法识别重复发送。",
	}, {
		Name: "idempotency_window", Kind: channel.KindDuration, Default: 10 * time.Minute, Label: "Idempotency window", LabelZH: "幂等有效期",
		Help:   "How long DingTalk recognises a repeated msgUuid. Its documents do not say how long: 10 minutes are our guess. 0s: do not rely on it.",
		HelpZH: "钉钉识别重复 msgUuid 的时长。官方文档没有说明，10 分钟是我们的估计值；0s 表示不依赖。",
	}, {
		Name: "url", Group: channel.OwnInstallation(), Kind: channel.KindURL, Default: "https://oapi.dingtalk.com/robot/send", Label: "URL", LabelZH: "接口地址",
		Help: "For a private installation or a proxy.", HelpZH: "专有部署或代理时修改。",
	}}
}

// robotWindow is 0 where posts are shared: a repeat may then have other recipients, and so another key.
func robotWindow(c channel.Config) time.Duration {
	if c.Int("mentions") > 1 {
		return 0
	}
	return c.Duration("idempotency_window")
}

// robotAddress is a user id, or a phone number in one form.
func robotAddress(_ channel.Config, text string) (string, error) {
	if channel.IsEverybody(text) {
		return everyone, nil
	}
	return batch.Phone(text), nil
}

// everyone is the address of all in a group: the call has a member of its own for them.
const everyone = "@all"

type robot struct {
	client   *channel.Client
	url      *url.URL
	header   http.Header
	query    url.Values
	secret   string
	keywords []string
	markdown bool
	mention  string
	codes    map[string]posthouse.Class
}

func openRobot(c channel.Config, env channel.Env) (channel.Driver, error) {
	target, err := url.Parse(c.String("url"))
	if err != nil {
		return nil, err
	}
	r := &robot{
		url: target, header: http.Header{"Content-Type": {"application/json; charset=utf-8"}}, query: target.Query(),
		secret: c.String("secret"), keywords: c.List("keywords"), markdown: c.String("format") == "markdown",
		mention: c.String("mention"), codes: env.Codes,
	}
	r.query.Set("access_token", c.String("access_token"))
	r.client = channel.NewClient(env, channel.ClientOptions{Secrets: nonEmpty(c.String("access_token"), r.secret)})
	return r, nil
}

// Close closes the idle connections.
func (r *robot) Close() error { return r.client.Close() }

// Send posts one delivery.
func (r *robot) Send(ctx context.Context, out channel.Outgoing) channel.Result {
	return r.SendBatch(ctx, []channel.Outgoing{out})[0]
}

// SendBatch makes one post for all. Sorted: who is mentioned by phone number comes first in it.
func (r *robot) SendBatch(ctx context.Context, outs []channel.Outgoing) []channel.Result {
	sorted := batch.PhonesFirst(outs)
	body := errcode.Encoded(r.post(sorted))
	result := channel.Result{
		Class: posthouse.ClassContent, Code: codeTooLong,
		Error: "the post has " + strconv.Itoa(len(body)) + " bytes; at most " + strconv.Itoa(robotBytes) + " are allowed",
	}
	if len(body) <= robotBytes {
		reply := r.client.Do(ctx, channel.Request{URL: r.signed(time.Now()), Header: batch.WithKeys(r.header, sorted), Body: body})
		result = reply.Result(r.verdict(&reply))
	}
	return slices.Repeat([]channel.Result{result}, len(outs))
}

// signed is the URL of a call: HMAC-SHA256 of the time in milliseconds, a line break and the secret, with
// the secret as its key.
func (r *robot) signed(now time.Time) *url.URL {
	u, query := *r.url, r.query
	if r.secret != "" {
		stamp := strconv.FormatInt(now.UnixMilli(), 10)
		mac := hmac.New(sha256.New, []byte(r.secret))
		mac.Write([]byte(stamp + "\n" + r.secret))
		query = maps.Clone(r.query)
		query.Set("timestamp", stamp)
		query.Set("sign", base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	}
	u.RawQuery = query.Encode()
	return &u
}

// robotPost is the body of a call.
type robotPost struct {
	Type     string         `json:"msgtype"`
	Text     *robotText     `json:"text,omitempty"`
	Markdown *robotMarkdown `json:"markdown,omitempty"`
	At       robotAt        `json:"at"`
	UUID     string         `json:"msgUuid,omitempty"`
}

type robotText struct {
	Content string `json:"content"`
}

type robotMarkdown struct {
	Title string `json:"title"`
	Text  string `json:"text"`
}

type robotAt struct {
	Phones []string `json:"atMobiles,omitempty"`
	Users  []string `json:"atUserIds,omitempty"`
	All    bool     `json:"isAtAll"`
}

func (r *robot) post(outs []channel.Outgoing) robotPost {
	p := robotPost{At: r.at(outs), UUID: uuid(outs)}
	content := outs[0].Content
	content.Text = r.keyed(content)
	if !r.markdown {
		p.Type, p.Text = "text", &robotText{plainText(content)}
		return p
	}
	text := markdown(content)
	if names := p.At.names(); names != "" { // without it nobody is told
		text += "\n\n" + names
	}
	p.Type, p.Markdown = "markdown", &robotMarkdown{heading(content), text}
	return p
}

// keyed puts a keyword in front of a text that the robot would refuse.
func (r *robot) keyed(c posthouse.Content) string {
	has := func(word string) bool { return strings.Contains(c.Title, word) || strings.Contains(c.Text, word) }
	if len(r.keywords) == 0 || slices.ContainsFunc(r.keywords, has) {
		return c.Text
	}
	return r.keywords[0] + " " + c.Text
}

func (r *robot) at(outs []channel.Outgoing) robotAt {
	var at robotAt
	switch r.mention {
	case "all":
		at.All = true
	case "recipients":
		for _, address := range batch.Addresses(outs) {
			switch {
			case channel.IsEverybody(address):
				at.All = true
			case slices.Contains(at.Phones, address) || slices.Contains(at.Users, address):
			case batch.IsPhone(address):
				at.Phones = append(at.Phones, address)
			default:
				at.Users = append(at.Users, address)
			}
		}
	}
	return at
}

// names are the mentions as they stand in a text.
func (a robotAt) names() string {
	var b strings.Builder
	for _, name := range slices.Concat(a.Phones, a.Users) {
		b.WriteString("@" + oneLine(name) + " ")
	}
	return strings.TrimSpace(b.String())
}

// uuid is what DingTalk knows a repeated post by: the delivery's key, or what is the same for the same
// deliveries.
func uuid(outs []channel.Outgoing) string {
	if len(outs) == 1 {
		return outs[0].IdemKey
	}
	var keys []string
	for _, out := range outs {
		keys = append(keys, out.IdemKey)
	}
	slices.Sort(keys)
	sum := sha256.Sum256([]byte(strings.Join(keys, ",")))
	return hex.EncodeToString(sum[:16])
}

// verdict reads an answer. What the robot's security refuses is the robot's matter, but for a missing
// keyword, which is the text's.
func (r *robot) verdict(reply *channel.Reply) channel.Verdict {
	v, _ := robotCodes.read(reply, r.codes)
	if _, own := r.codes[v.Code]; v.Code == "310000" && !own && strings.Contains(strings.ToLower(v.Message), "keyword") {
		v.Class = posthouse.ClassContent
	}
	return v
}
