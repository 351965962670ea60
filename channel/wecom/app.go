package wecom

import (
	"context"
	"errors"
	"fmt"
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
	"github.com/posthouse/posthouse/channel/internal/files"
	"github.com/posthouse/posthouse/channel/internal/signed"
)

// The limits of an application's messages: 1000 members in a call; and, of a corporation and one interface, 10,000
// calls a minute and 150,000 an hour, here with room left for the corporation's other programs.
const (
	appBatch     = 1000
	appPerMinute = 9000
	appPerHour   = 140_000
	// A member gets 30 a minute and 1,000 an hour of one application; what is beyond is dropped without a word.
	memberPerMinute = 25
	memberPerHour   = 900
	maxUserID       = 64
	everyone        = "@all"
)

// The most and the usual time for which WeCom recognises a repeated message.
const (
	longestCheck = 4 * time.Hour
	usualCheck   = 30 * time.Minute
)

// App describes the driver for messages of an application.
func App() channel.Type {
	return channel.Type{
		Name:  "wecom",
		Title: "WeCom application", TitleZH: "企业微信应用消息",
		Doc:               "Sends messages of an enterprise's application to members, departments and tags.",
		DocZH:             "以企业微信自建应用的名义向成员、部门或标签发送消息。",
		Fields:            appFields(),
		MaxBatch:          appBatch,
		BatchSize:         func(c channel.Config) int { return c.Int("batch") },
		Shares:            shares,
		Everyone:          wholeCompany,
		IdempotencyWindow: appWindow,
		Timeout:           10 * time.Second,
		Limits: []posthouse.Limit{
			{Max: appPerMinute, Per: posthouse.Duration(time.Minute)}, {Max: appPerHour, Per: posthouse.Duration(time.Hour)},
		},
		RecipientLimits: []posthouse.Limit{
			{Max: memberPerMinute, Per: posthouse.Duration(time.Minute + late)}, {Max: memberPerHour, Per: posthouse.Duration(time.Hour + late)},
		},
		Callbacks: true,
		Presser:   presser,
		Check:     checkApp,
		Addresses: channel.AddressUser,
		Address:   appAddress,
		Content:   appContent,
		Open:      openApp,
	}
}

func appFields() []channel.Field {
	sending := channel.Group{Label: "More of sending", LabelZH: "更多发送选项"}
	return append([]channel.Field{{
		Name: "corp_id", Kind: channel.KindString, Required: true, Label: "Corp ID", LabelZH: "企业 ID（corpid）",
	}, {
		Name: "agent_id", Kind: channel.KindInt, Required: true, Account: true, Min: 1, Max: 1 << 31, Label: "AgentId", LabelZH: "应用 AgentId",
	}, {
		Name: "secret", Kind: channel.KindSecret, Required: true, Account: true, Label: "Secret", LabelZH: "应用 Secret",
	}, {
		Name: "format", Kind: channel.KindChoice, Default: "text", Choices: channel.TextOrMarkdown(), Label: "Format", LabelZH: "默认消息格式",
		Help:   "Of contents that name no type. Markdown is shown by the WeCom client only, not by WeChat.",
		HelpZH: "用于未指明 type 的内容。Markdown 只在企业微信客户端显示，微信插件中不显示。",
	}, {
		Name: "batch", Group: sending, Kind: channel.KindInt, Default: appBatch, Min: 1, Max: appBatch, Label: "Recipients in one call", LabelZH: "每次调用的收件人数",
		Help:   "With 1 WeCom can recognise a repeated message, as the next field says.",
		HelpZH: "设为 1 时企业微信才能识别重复消息，见下一项。",
	}, {
		Name: "duplicate_check", Group: sending, Kind: channel.KindDuration, Label: "Recognise repeated messages for", LabelZH: "重复消息检查时长",
		Help:   "Up to 4h; 0s: not at all. WeCom then also swallows a second message that says the same to the same member within that time.",
		HelpZH: "最长 4h，0s 为关闭。开启后，在该时间内发给同一成员的相同内容也会被企业微信吞掉。",
	}, {
		Name: "everyone", Group: sending, Kind: channel.KindBool, Label: "Allow @all", LabelZH: "允许 @all",
		Help:   "Whether @all may be a recipient: all members who see the application. The sender needs the grant mention_all as well.",
		HelpZH: "是否允许以 @all（应用可见范围内的全部成员）为收件人；发送者还需要 mention_all 授权。",
	}, {
		Name: "safe", Group: sending, Kind: channel.KindBool, Label: "Confidential", LabelZH: "保密消息",
		Help: "Members cannot forward the message, and see their name on it.", HelpZH: "成员不能转发，并显示水印。",
	}, {
		Name: "url", Group: channel.OwnInstallation(), Kind: channel.KindURL, Default: "https://qyapi.weixin.qq.com", Label: "URL", LabelZH: "接口地址",
		Help: "For a private installation or a proxy.", HelpZH: "私有部署或代理时修改。",
	}}, signed.Fields()...)
}

// appWindow is how long WeCom recognises a repeated message: never where calls are shared, since a repeated one may have
// other members then.
func appWindow(c channel.Config) time.Duration {
	if c.Int("batch") > 1 {
		return 0
	}
	return c.Duration("duplicate_check")
}

func checkApp(c channel.Config) []posthouse.Problem {
	problems := signed.Check(c)
	if d := c.Duration("duplicate_check"); d < 0 || d > longestCheck || d > 0 && d < time.Second {
		problems = append(problems, posthouse.Problem{Path: "duplicate_check", Message: fmt.Sprintf("is %s: want 0s, or 1s to %s", posthouse.Duration(d), posthouse.Duration(longestCheck))})
	}
	return problems
}

// The prefixes of addresses that are not a member's.
const (
	party = "party:"
	tag   = "tag:"
)

// isMember reports whether an address is that of one member. A department, a tag and @all may hold a member who is named beside
// them and would get one message where there are two.
func isMember(address string) bool {
	return address != "" && address != everyone && !strings.HasPrefix(address, party) && !strings.HasPrefix(address, tag)
}

// shares reports whether a delivery may share a call: not one of a card that the driver names, since what is pressed on it is known
// by the message that it names.
func shares(c posthouse.Content, address string) bool {
	return isMember(address) && (c.Kind() != posthouse.TemplateContent || !unnamed(cardMembers(c.Extra)))
}

// rootParty is the department that has all the others below it: WeCom gives it this number in each corporation.
const rootParty = party + "1"

// presser is channel.Type's: a department, a tag and @all are groups.
func presser(address string, e *posthouse.CallbackEvent) channel.Presser {
	if address != "" && !isMember(address) {
		return channel.PresserMember
	}
	return channel.SamePresser(address, e)
}

// wholeCompany says that the root department is everybody too.
func wholeCompany(_ channel.Config, out channel.Outgoing) string {
	if out.Recipient.Address == rootParty {
		return "address"
	}
	return ""
}

// appAddress is a member's id, party: or tag: and its number, or @all. All in small letters, as WeCom itself writes the ids of members:
// they have no case.
func appAddress(c channel.Config, text string) (string, error) {
	if text = strings.ToLower(text); channel.IsEverybody(text) {
		text = everyone
	}
	for _, prefix := range []string{party, tag} {
		if id, is := strings.CutPrefix(text, prefix); is {
			n, err := strconv.ParseUint(id, 10, 32)
			if err != nil {
				return "", fmt.Errorf("is %q: want %s and a number", text, prefix)
			}
			return prefix + strconv.FormatUint(n, 10), nil
		}
	}
	switch {
	case text == everyone && !c.Bool("everyone"):
		return "", errors.New("is @all: the channel's setting everyone does not allow it")
	case text == everyone:
	case len(text) > maxUserID:
		return "", fmt.Errorf("has %d bytes: a user id of WeCom's has at most %d", len(text), maxUserID)
	case strings.ContainsAny(text, "| \t\r\n"):
		return "", errors.New("holds a space or a |: that is no user id of WeCom's")
	}
	return text, nil
}

func appContent(c channel.Config, content posthouse.Content) []posthouse.Problem {
	problems := channel.Sends(content, posthouse.ContentTypes()...)
	problems = append(problems, mentionless(content, "cannot be sent: a message of an application goes to members, not to a group")...)
	kind := kindOf(content, posthouse.ContentType(c.String("format")))
	problems = append(append(problems, checkFile(content, kind, mediaRules().Most[kind])...), checkExtra(content, kind)...)
	return append(problems, checkWords(content, kind, ofApp())...)
}

type app struct {
	client   *channel.Client
	url      *url.URL
	header   http.Header
	agent    int
	format   posthouse.ContentType
	check    time.Duration
	safe     bool
	codes    map[string]posthouse.Class
	access   *access.Access
	library  *files.Library
	patience patience
	lock     *signed.Lock
}

func openApp(c channel.Config, env channel.Env) (channel.Driver, error) {
	target, err := url.Parse(c.String("url"))
	if err != nil {
		return nil, err
	}
	lock, err := signed.Of(c, c.String("corp_id"))
	if err != nil {
		return nil, err
	}
	a := &app{
		url: target, lock: lock, header: http.Header{"Content-Type": {"application/json"}}, agent: c.Int("agent_id"),
		format: posthouse.ContentType(c.String("format")), check: c.Duration("duplicate_check"), safe: c.Bool("safe"), codes: env.Codes,
		client: channel.NewClient(env, channel.ClientOptions{Secrets: []string{c.String("secret")}}),
	}
	name := strings.Join([]string{env.Tenant, env.Channel, c.String("corp_id"), strconv.Itoa(c.Int("agent_id"))}, "/")
	a.library = files.New(env, name, mediaRules(), a.upload)
	query := url.Values{"corpid": {c.String("corp_id")}, "corpsecret": {c.String("secret")}}
	a.access = access.New(env, name, "wecom "+c.String("url")+" "+c.String("corp_id"), []string{c.String("url"), c.String("secret")}, func(ctx context.Context) (string, time.Duration, error) {
		reply := a.client.Do(ctx, channel.Request{Method: http.MethodGet, URL: below(a.url, "/cgi-bin/gettoken", query)})
		v, answer := read(&reply, sendCodes, nil)
		return access.Fetched(&reply, v, answer.Token, time.Duration(answer.Lasts)*time.Second)
	})
	return a, nil
}

// below is a path of an interface whose root is at a URL.
func below(root *url.URL, path string, query url.Values) *url.URL {
	u := *root
	u.Path, u.RawPath, u.RawQuery = strings.TrimSuffix(root.Path, "/")+path, "", query.Encode()
	return &u
}

// Close closes the idle connections.
func (a *app) Close() error { return errors.Join(a.client.Close(), a.library.Close()) }

// Test fetches an access token and sends nothing.
func (a *app) Test(ctx context.Context) channel.Result { return a.access.Test(ctx, a.client) }

// Fit says whether a message would be too long.
func (a *app) Fit(c posthouse.Content) []posthouse.Problem {
	problems := checkWords(c, kindOf(c, a.format), ofApp())
	for i := range problems {
		problems[i].Path = strings.TrimPrefix(problems[i].Path, "content.")
	}
	return problems
}

// Send makes one call for one delivery.
func (a *app) Send(ctx context.Context, out channel.Outgoing) channel.Result {
	return a.SendBatch(ctx, []channel.Outgoing{out})[0]
}

// SendBatch makes one call for all.
func (a *app) SendBatch(ctx context.Context, outs []channel.Outgoing) []channel.Result {
	return batch.All(outs, noAddress(), func(to []channel.Outgoing) []channel.Result {
		results, stale := a.tell(ctx, to, "")
		if stale != "" { // nobody was told: the file is uploaded anew
			results, _ = a.tell(ctx, to, stale)
		}
		return results
	})
}

// tell makes one call. stale is the id of a file that WeCom has refused; the one that is returned, that of the file that it
// has refused now.
func (a *app) tell(ctx context.Context, to []channel.Outgoing, stale string) (results []channel.Result, refused string) {
	message, file, err := a.message(ctx, to[0], stale)
	if err != nil {
		return slices.Repeat([]channel.Result{files.FailedBy(err, a.client)}, len(to)), ""
	}
	message.Users, message.Parties, message.Tags = parts(to)
	reply, v, answer, err := a.call(ctx, "/cgi-bin/message/send", nil, batch.WithKeys(a.header, to), withExtra(errcode.Encoded(message), to[0].Content, kindOf(to[0].Content, a.format)))
	if err != nil {
		return slices.Repeat([]channel.Result{access.Without(err, a.client)}, len(to)), ""
	}
	if again(to[0].Content, v) {
		refused = file
	}
	a.patience.wait(&v, time.Now())
	return a.results(to, reply, v, answer), refused
}

// results tells apart those whom an accepted call did not reach.
func (a *app) results(to []channel.Outgoing, reply *channel.Reply, v channel.Verdict, answer answer) []channel.Result {
	results := slices.Repeat([]channel.Result{reply.Result(v)}, len(to))
	if v.Class != posthouse.ClassOK {
		return results
	}
	for i := range to {
		if code, text := answer.missed(to[i].Recipient.Address); code != "" {
			results[i] = reply.Result(channel.Verdict{Class: posthouse.ClassRecipient, Code: code, Message: text})
		}
	}
	return batch.Shared(to, results)
}

// missed says whether a call that was accepted did not reach an address. WeCom answers with user ids in small letters.
func (a *answer) missed(address string) (code, text string) {
	in := func(list, id string) bool {
		for one := range strings.SplitSeq(list, "|") {
			if strings.EqualFold(one, id) {
				return true
			}
		}
		return false
	}
	if id, is := strings.CutPrefix(address, party); is {
		if in(a.Parties, id) {
			return codeInvalid, "WeCom does not know this department, or the application may not see it"
		}
		return "", ""
	}
	if id, is := strings.CutPrefix(address, tag); is {
		if in(a.Tags, id) {
			return codeInvalid, "WeCom does not know this tag, or the application may not see it"
		}
		return "", ""
	}
	switch {
	case in(a.Users, address):
		return codeInvalid, "WeCom does not know this user id, or the application may not see the member"
	case in(a.Unlicensed, address):
		return "701008", "the member has no licence for this interface"
	}
	return "", ""
}

// noAddress answers a delivery whose recipient WeCom cannot know.
func noAddress() channel.Result {
	return channel.Result{
		Class: posthouse.ClassRecipient, Code: codeNoAddress,
		Error: "the recipient has no WeCom user id: give the user an address on this channel",
	}
}

// call posts with an access token. Without one there is an error.
func (a *app) call(ctx context.Context, path string, query url.Values, header http.Header, body []byte) (reply *channel.Reply, v channel.Verdict, said answer, err error) {
	err = a.access.Call(ctx, func(token string) access.Answer {
		with := url.Values{"access_token": {token}}
		for name, values := range query {
			with[name] = values
		}
		r := a.client.Do(ctx, channel.Request{URL: below(a.url, path, with), Header: header, Body: body})
		r.Response = strings.ReplaceAll(r.Response, token, channel.Mask)
		v, said = read(&r, sendCodes, a.codes)
		v.Message = strings.ReplaceAll(v.Message, token, channel.Mask)
		reply = &r
		switch {
		case v.Class != posthouse.ClassAuth:
			return access.Fine
		case said.Code == "":
			return access.Refused
		}
		return access.Again
	})
	return reply, v, said, err
}
