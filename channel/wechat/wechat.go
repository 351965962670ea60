package wechat

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/channel/internal/access"
	"github.com/posthouse/posthouse/channel/internal/errcode"
	"github.com/posthouse/posthouse/channel/internal/signed"
)

// The limits of WeChat: 100,000 template messages a day, or as the account's console says; and how long it recognises a
// repeated client_msg_id.
const (
	perDay     = 100_000
	recognised = 10 * time.Minute
	maxOpenID  = 64
)

// Our own codes, beside those of package channel.
const (
	codeNoAddress  = "NO_ADDRESS"  // the recipient has no openid
	codeNoTemplate = "NO_TEMPLATE" // neither the message nor the channel names a template of WeChat's
)

// Template describes the driver for template messages.
func Template() channel.Type {
	return channel.Type{
		Name:  "wechat",
		Title: "WeChat template message", TitleZH: "微信模板消息",
		Doc:          "Sends template messages of a WeChat service account to its followers.",
		DocZH:        "以微信服务号的名义向关注者发送模板消息。",
		Fields:       fields(),
		MaxBatch:     1,
		Window:       recognised,
		OwnAddresses: true,
		Callbacks:    true,
		Receipts:     signed.Has,
		Timeout:      10 * time.Second,
		Limits:       []posthouse.Limit{{Max: perDay, Per: posthouse.Duration(24 * time.Hour)}},
		Address:      address,
		Addresses:    channel.AddressOpenID,
		Content:      contents,
		Parameters:   parameters,
		Takes:        takes,
		Check:        signed.Check,
		Open: func(c channel.Config, env channel.Env) (channel.Driver, error) {
			return open(c, env, "/cgi-bin/message/template/send", true)
		},
	}
}

// Subscribe describes the driver for subscription notices.
func Subscribe() channel.Type {
	return channel.Type{
		Name:  "wechat_subscribe",
		Title: "WeChat subscription notice", TitleZH: "微信订阅通知",
		Doc:          "Sends subscription notices of a WeChat service account to those who have asked for them.",
		DocZH:        "以微信服务号的名义向已订阅的用户发送订阅通知。",
		Fields:       fields(),
		MaxBatch:     1,
		OwnAddresses: true,
		Callbacks:    true,
		Receipts:     signed.Has,
		Timeout:      10 * time.Second,
		Address:      address,
		Addresses:    channel.AddressOpenID,
		Content:      contents,
		Parameters:   parameters,
		Takes:        takes,
		Check:        signed.Check,
		Open: func(c channel.Config, env channel.Env) (channel.Driver, error) {
			return open(c, env, "/cgi-bin/message/subscribe/bizsend", false)
		},
	}
}

func fields() []channel.Field {
	return append([]channel.Field{{
		Name: "app_id", Kind: channel.KindString, Required: true, Account: true, Label: "AppID", LabelZH: "AppID",
	}, {
		Name: "secret", Kind: channel.KindSecret, Required: true, Account: true, Label: "AppSecret", LabelZH: "AppSecret",
	}, {
		Name: "template_id", Kind: channel.KindString, Label: "Template ID", LabelZH: "模板 ID",
		Help:   "Of messages whose template names none (external_template_id).",
		HelpZH: "用于模板未指定 external_template_id 的消息。",
	}, {
		Name: "link", Kind: channel.KindURL, Label: "Link", LabelZH: "跳转链接",
		Help: "Where a message leads that names no url of its own.", HelpZH: "消息未指定 url 时的跳转地址。",
	}, {
		Name: "url", Group: channel.OwnInstallation(), Kind: channel.KindURL, Default: "https://api.weixin.qq.com", Label: "URL", LabelZH: "接口地址",
		Help: "For a proxy, or another region's address.", HelpZH: "使用代理或其他接入域名时修改。",
	}}, signed.Fields()...)
}

// address is an openid.
func address(_ channel.Config, text string) (string, error) {
	if len(text) > maxOpenID || strings.ContainsFunc(text, func(r rune) bool { return !strings.ContainsRune(openIDLetters, r) }) {
		return "", errors.New("is no openid: want up to 64 letters, digits, - and _")
	}
	if len(text) >= shortestNumber && strings.Trim(text, "0123456789") == "" { // a list of people has both columns
		return "", errors.New("is no openid but a number, as of a phone")
	}
	return text, nil
}

// shortestNumber is from how many digits on a text is taken for a number: an openid of 28 has letters in all but one of 10^20.
const shortestNumber = 7

const openIDLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"

// contents are those of a template of WeChat's: parameters from a payload, a text as the parameter content, or the whole call.
func contents(_ channel.Config, c posthouse.Content) []posthouse.Problem {
	if c.Kind() != posthouse.TemplateContent {
		return channel.Sends(c, posthouse.TextContent)
	}
	if _, err := callOf(c.Extra); err != nil {
		return []posthouse.Problem{{Path: "content.extra", Message: err.Error()}}
	}
	return nil
}

type driver struct {
	client   *channel.Client
	url      *url.URL
	path     string
	header   http.Header
	template string
	link     string
	repeats  bool // whether WeChat recognises a repeated call
	codes    map[string]posthouse.Class
	access   *access.Access
	lock     *signed.Lock
}

func open(c channel.Config, env channel.Env, path string, repeats bool) (channel.Driver, error) {
	target, err := url.Parse(c.String("url"))
	if err != nil {
		return nil, err
	}
	lock, err := signed.Of(c, c.String("app_id"))
	if err != nil {
		return nil, err
	}
	d := &driver{
		url: target, path: path, header: http.Header{"Content-Type": {"application/json"}}, repeats: repeats,
		template: c.String("template_id"), link: c.String("link"), codes: env.Codes, lock: lock,
		client: channel.NewClient(env, channel.ClientOptions{Secrets: []string{c.String("secret")}}),
	}
	// The stable token: fetching it takes no token away from the account's other programs.
	ask := channel.Request{URL: d.below("/cgi-bin/stable_token", nil), Header: d.header, Body: errcode.Encoded(map[string]string{
		"grant_type": "client_credential", "appid": c.String("app_id"), "secret": c.String("secret"),
	})}
	d.access = access.New(env, strings.Join([]string{env.Tenant, env.Channel, c.String("app_id")}, "/"), "wechat "+c.String("url"), []string{c.String("url"), c.String("secret")}, func(ctx context.Context) (string, time.Duration, error) {
		reply := d.client.Do(ctx, ask)
		v, token, lasts := readToken(&reply)
		return access.Fetched(&reply, v, token, lasts)
	})
	return d, nil
}

// readToken reads the answer of the token's interface, which names no code on success.
func readToken(r *channel.Reply) (v channel.Verdict, token string, lasts time.Duration) {
	var a struct {
		Token string `json:"access_token"`
		Lasts int    `json:"expires_in"` // seconds
	}
	if r.OK() && !r.Cut && json.Unmarshal(r.Body, &a) == nil && a.Token != "" {
		return channel.Verdict{Class: posthouse.ClassOK}, a.Token, time.Duration(a.Lasts) * time.Second
	}
	v, _ = tokenCodes.Read(r, "WeChat", nil, &a)
	untilMidnight(&v, time.Now())
	return v, "", 0
}

// below is a path of WeChat's interface.
func (d *driver) below(path string, query url.Values) *url.URL {
	u := *d.url
	u.Path, u.RawPath, u.RawQuery = strings.TrimSuffix(d.url.Path, "/")+path, "", query.Encode()
	return &u
}

// Close closes the idle connections.
func (d *driver) Close() error { return d.client.Close() }

// Test fetches an access token and sends nothing.
func (d *driver) Test(ctx context.Context) channel.Result { return d.access.Test(ctx, d.client) }

// Send tells one follower.
func (d *driver) Send(ctx context.Context, out channel.Outgoing) channel.Result {
	if out.Recipient.Address == "" {
		return channel.Result{
			Class: posthouse.ClassRecipient, Code: codeNoAddress,
			Error: "the recipient has no openid: give the user an address on this channel",
		}
	}
	call, err := d.call(&out)
	if err != nil {
		return channel.Result{Class: posthouse.ClassContent, Code: channel.CodeRequest, Error: d.client.Redactor().Line(err.Error(), 512)}
	}
	if call.Template == "" {
		return channel.Result{
			Class: posthouse.ClassContent, Code: codeNoTemplate,
			Error: "no template of WeChat's is named: give the template an external_template_id, or the channel a template_id",
		}
	}
	return d.post(ctx, errcode.Encoded(call))
}

// post makes the call with an access token, which may be fetched anew and the call made once more.
func (d *driver) post(ctx context.Context, body []byte) (result channel.Result) {
	err := d.access.Call(ctx, func(token string) access.Answer {
		reply := d.client.Do(ctx, channel.Request{URL: d.below(d.path, url.Values{"access_token": {token}}), Header: d.header, Body: body})
		reply.Response = strings.ReplaceAll(reply.Response, token, channel.Mask)
		var a struct {
			ID errcode.Value `json:"msgid"`
		}
		v, code := sendCodes.Read(&reply, "WeChat", d.codes, &a)
		v.Message, v.Ref = strings.ReplaceAll(v.Message, token, channel.Mask), string(a.ID)
		untilMidnight(&v, time.Now())
		result = reply.Result(v)
		if d.lock != nil {
			result.Await = awaited
		}
		switch {
		case v.Class != posthouse.ClassAuth:
			return access.Fine
		case code == "":
			return access.Refused
		}
		return access.Again
	})
	if err != nil {
		return access.Without(err, d.client)
	}
	return result
}

// call is the body of a call.
type call struct {
	To       string           `json:"touser"`
	Template string           `json:"template_id"`
	URL      string           `json:"url,omitempty"`
	Page     string           `json:"page,omitempty"`
	Mini     json.RawMessage  `json:"miniprogram,omitempty"`
	ID       string           `json:"client_msg_id,omitempty"`
	Data     map[string]value `json:"data"`
}

type value struct {
	Value string `json:"value"`
}

// callOf reads the call that a content of type template is: WeChat's own form without its recipient.
func callOf(extra json.RawMessage) (call, error) {
	var c call
	if len(extra) == 0 {
		return c, nil
	}
	if err := json.Unmarshal(extra, &c); err != nil {
		return c, fmt.Errorf("is not a call of WeChat's: %w", err)
	}
	c.To, c.ID = "", ""
	return c, nil
}

// call makes the call of a delivery: its content's own, or the parameters that its payload has, or its text as the
// parameter content.
func (d *driver) call(out *channel.Outgoing) (call, error) {
	c, err := callOf(out.Content.Extra)
	if err != nil {
		return c, err
	}
	if c.Data == nil {
		if c.Data, err = data(out.Payload); err != nil {
			return c, err
		}
	}
	if len(c.Data) == 0 && out.Content.Text != "" {
		c.Data["content"] = value{out.Content.Text}
	}
	c.To = out.Recipient.Address
	if d.repeats {
		c.ID = out.IdemKey
	}
	for _, id := range []string{out.TemplateID, d.template} {
		if c.Template == "" {
			c.Template = id
		}
	}
	if c.URL == "" && c.Page == "" {
		c.URL = d.link
	}
	return c, nil
}

// data are the members of a payload as parameters: a number as it is written, lists and objects as JSON.
func data(payload json.RawMessage) (map[string]value, error) {
	params := map[string]value{}
	if len(payload) == 0 {
		return params, nil
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(payload, &members); err != nil {
		return nil, errors.New("the payload is not a JSON object, so it has no parameters")
	}
	for name, raw := range members {
		var v errcode.Value
		if err := v.UnmarshalJSON(raw); err != nil {
			return nil, err
		}
		params[name] = value{string(v)}
	}
	return params, nil
}
