// Package webhook is the driver that calls somebody's own endpoint, signed as Standard Webhooks
// (standardwebhooks.com) describes it. The URL is the channel's, or each recipient's address where the channel says so.
//
// It only sends. To verify what arrives, a receiver uses any library of Standard Webhooks.
package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/hook"
)

// Type describes the driver.
func Type() channel.Type {
	return channel.Type{
		Name:  "webhook",
		Title: "Webhook", TitleZH: "Webhook",
		Doc:     "Posts each message as signed JSON to an endpoint, as Standard Webhooks describes it.",
		DocZH:   "按 Standard Webhooks 规范签名，把每条消息以 JSON 推送到指定地址。",
		Fields:  fields(),
		Window:  channel.Forever, // webhook-id is the same over all attempts
		Timeout: 20 * time.Second,
		Limits:  []posthouse.Limit{{Max: 10, Per: posthouse.Duration(time.Second)}},
		Check:   check,
		Address: address,
		Open:    open,

		RecipientURLs: true,
	}
}

func fields() []channel.Field {
	rare := channel.Group{Label: "Change of secrets, type and headers", LabelZH: "密钥更换、类型与请求头"}
	return []channel.Field{{
		Name: "url", Kind: channel.KindURL, Label: "URL", LabelZH: "推送地址",
		Help:   "Leave it out where recipients' addresses are URLs: the channel's egress.recipient_urls and egress.hosts then say which.",
		HelpZH: "收件人地址为 URL 时留空，并用渠道的 egress.recipient_urls 和 egress.hosts 指明允许推送到哪里。",
	}, {
		Name: "secret", Kind: channel.KindSecret, Required: true, Label: "Signing secret", LabelZH: "签名密钥",
		Help:   "whsec_ and 24 to 64 random bytes in Base64.",
		HelpZH: "whsec_ 加上 24 至 64 个随机字节的 Base64。",
	}, {
		Name: "old_secrets", Group: rare, Kind: channel.KindSecrets, Label: "Old signing secrets", LabelZH: "旧签名密钥",
		Help:   "Still signed with while receivers change over to the new secret. The names are yours.",
		HelpZH: "更换密钥期间仍同时用旧密钥签名，直到接收方全部切换。名称自定。",
	}, {
		Name: "type", Group: rare, Kind: channel.KindString, Default: "message", Label: "Event type", LabelZH: "事件类型",
		Help: "The type in the body.", HelpZH: "请求体中的 type。",
	}, {
		Name: "headers", Group: rare, Kind: channel.KindSecrets, Label: "More headers", LabelZH: "附加请求头",
		Help: "Stored encrypted and never shown again.", HelpZH: "加密保存，不再显示。",
	}}
}

func check(c channel.Config) []posthouse.Problem {
	var problems []posthouse.Problem
	add := func(path, message string) {
		problems = append(problems, posthouse.Problem{Path: path, Message: message})
	}
	if _, err := hook.ParseSecret(c.String("secret")); err != nil {
		add("secret", err.Error())
	}
	for _, name := range slices.Sorted(maps.Keys(c.Map("old_secrets"))) {
		if _, err := hook.ParseSecret(c.Map("old_secrets")[name]); err != nil {
			add("old_secrets."+name, err.Error())
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Map("headers"))) {
		if !channel.ValidHeader(name, c.Map("headers")[name]) {
			add("headers."+name, "this cannot be sent as a header: a name is one word of letters, digits and dashes, a value is one line")
		}
	}
	return problems
}

func open(c channel.Config, env channel.Env) (channel.Driver, error) {
	if err := posthouse.Invalid("the webhook driver cannot be opened", check(c)); err != nil {
		return nil, err
	}
	d := &driver{event: c.String("type"), header: http.Header{"Content-Type": {"application/json"}}, codes: env.Codes}
	old, headers := c.Map("old_secrets"), c.Map("headers")
	secrets := []string{c.String("secret")}
	for _, name := range slices.Sorted(maps.Keys(old)) {
		secrets = append(secrets, old[name])
	}
	for _, s := range secrets {
		key, err := hook.ParseSecret(s)
		if err != nil {
			return nil, err
		}
		d.keys = append(d.keys, key)
	}
	for name, value := range headers {
		d.header.Set(name, value)
		secrets = append(secrets, value)
	}
	if c.Has("url") {
		u, err := url.Parse(c.String("url"))
		if err != nil {
			return nil, err
		}
		d.url = u
	} else if !env.Egress.RecipientURLs() {
		return nil, errors.New("there is no url, and the channel's egress does not allow recipients' addresses to be URLs")
	}
	d.client = channel.NewClient(env, channel.ClientOptions{Secrets: secrets, MaxBody: 4 << 10})
	return d, nil
}

type driver struct {
	client *channel.Client
	url    *url.URL // nil: each recipient's address is one
	keys   [][]byte
	event  string
	header http.Header
	codes  map[string]posthouse.Class
}

// event is the body. Data holds what a receiver needs to know the message by and to show it.
type event struct {
	Type      string    `json:"type"`
	Timestamp time.Time `json:"timestamp"`
	Data      content   `json:"data"`
}

type content struct {
	Message  string          `json:"message"`
	Delivery string          `json:"delivery"`
	Channel  string          `json:"channel"`
	Kind     string          `json:"kind,omitempty"`
	Ref      string          `json:"ref,omitempty"`
	User     string          `json:"user,omitempty"`
	Address  string          `json:"address,omitempty"` // where the URL is the channel's
	Title    string          `json:"title,omitempty"`
	Text     string          `json:"text,omitempty"`
	Payload  json.RawMessage `json:"payload,omitempty"`
}

// Close closes the idle connections.
func (d *driver) Close() error { return d.client.Close() }

// Send posts one delivery.
func (d *driver) Send(ctx context.Context, out channel.Outgoing) channel.Result {
	request, refused := d.request(out, time.Now())
	if refused.Class != "" {
		refused.Error = d.client.Redactor().Line(refused.Error, 512)
		return refused
	}
	reply := d.client.Do(ctx, request)
	return reply.Result(d.verdict(&reply))
}

// request signs one delivery, or says in a Result with a class why it cannot be sent.
func (d *driver) request(out channel.Outgoing, now time.Time) (channel.Request, channel.Result) {
	refuse := func(class posthouse.Class, err error) (channel.Request, channel.Result) {
		return channel.Request{}, channel.Result{Class: class, Code: channel.CodeRequest, Error: err.Error()}
	}
	target, address := d.url, out.Recipient.Address
	if target == nil {
		var err error
		if target, err = endpoint(address); err != nil {
			return refuse(posthouse.ClassRecipient, err)
		}
		address = ""
	}
	body, err := json.Marshal(event{Type: d.event, Timestamp: now.UTC(), Data: content{
		Message: out.Message, Delivery: out.Delivery, Channel: out.Channel, Kind: out.Kind, Ref: out.Ref,
		User: out.Recipient.User, Address: address, Title: out.Content.Title, Text: out.Content.Text,
		Payload: out.Payload,
	}})
	if err != nil {
		return refuse(posthouse.ClassContent, err)
	}
	header := maps.Clone(d.header)
	header[hook.HeaderID] = []string{out.IdemKey}
	header[hook.HeaderTimestamp] = []string{hook.Timestamp(now)}
	header[hook.HeaderSignature] = []string{hook.Sign(d.keys, out.IdemKey, now, body)}
	return channel.Request{URL: target, Header: header, Body: body}, channel.Result{}
}

// verdict reads the status; the body says nothing, so an answer longer than what is read is fine.
func (d *driver) verdict(r *channel.Reply) channel.Verdict {
	v := channel.Verdict{Class: r.Class()}
	if d.url == nil {
		v.Class = ofRecipient(r, v.Class)
	}
	if class, listed := r.ClassIn(d.codes); listed {
		v.Class = class
	}
	return v
}

// ofRecipient is the class where the endpoint is the recipient's own: what it refuses is a matter
// of this recipient and must not stop the channel for the others.
func ofRecipient(r *channel.Reply, class posthouse.Class) posthouse.Class {
	switch {
	case r.Status == http.StatusGone, r.Code == channel.CodeBlocked:
		return posthouse.ClassRecipient
	case r.Code == channel.CodeLocal:
		return class // our machine's fault is nobody's
	case class.Blocks():
		return posthouse.ClassTransient
	}
	return class
}
