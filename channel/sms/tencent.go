package sms

import (
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/channel/internal/batch"
	"github.com/posthouse/posthouse/channel/internal/errcode"
)

const (
	tencentVersion = "2021-01-11"
	tencentService = "sms" // in the scope of the signature, whatever host is called
)

// tencentGateway asks Tencent Cloud.
type tencentGateway struct {
	client                    *channel.Client
	url                       *url.URL
	signer                    tc3
	app, sign, extend, sender string
	region                    string
	order                     []string
	own                       map[string]posthouse.Class
	keepAnswers               bool
}

func newTencent(c channel.Config, env channel.Env, client *channel.Client, at *url.URL) *tencentGateway {
	return &tencentGateway{
		client: client, url: at, signer: tc3{c.String("access_key"), c.String("secret"), tencentService}, app: c.String("app_id"), sign: c.String("sign"),
		extend: c.String("extend_code"), sender: c.String("sender_id"), region: c.String("cloud_region"), order: c.List("parameters"), own: env.Codes,
		keepAnswers: env.KeepAnswers,
	}
}

// tencentAsk is the body of SendSms.
type tencentAsk struct {
	Numbers  []string `json:"PhoneNumberSet"`
	App      string   `json:"SmsSdkAppId"`
	Template string   `json:"TemplateId"`
	Sign     string   `json:"SignName,omitempty"`
	Params   []string `json:"TemplateParamSet,omitempty"`
	Extend   string   `json:"ExtendCode,omitempty"`
	Session  string   `json:"SessionContext,omitempty"`
	Sender   string   `json:"SenderId,omitempty"`
}

// tencentAnswer is what it answers: an error of the whole call, or a status a number.
type tencentAnswer struct {
	Response *struct {
		Error *struct{ Code, Message string }
		Set   []tencentStatus `json:"SendStatusSet"`
	}
}

type tencentStatus struct {
	Serial  string `json:"SerialNo"`
	Number  string `json:"PhoneNumber"`
	Code    string
	Message string
}

func (g *tencentGateway) send(ctx context.Context, to []channel.Outgoing, t text) []channel.Result {
	params, err := inOrder(t.params, g.order)
	if err != nil {
		return slices.Repeat([]channel.Result{{Class: posthouse.ClassContent, Code: channel.CodeRequest, Error: g.client.Redactor().Line(err.Error(), 512)}}, len(to))
	}
	ask := tencentAsk{Numbers: batch.Addresses(to), App: g.app, Template: t.template, Sign: g.sign, Params: params, Extend: g.extend, Session: to[0].IdemKey}
	if foreign(to[0].Recipient.Address) {
		ask.Sender = g.sender
	}
	body, now := errcode.Encoded(ask), time.Now()
	header := g.signer.header(g.url, body, now)
	header.Set("X-Tc-Action", "SendSms")
	header.Set("X-Tc-Version", tencentVersion)
	header.Set("X-Tc-Region", g.region)
	reply := g.client.Do(ctx, channel.Request{URL: g.url, Header: batch.WithKeys(header, to), Body: body})
	return g.results(&reply, to, now)
}

func (g *tencentGateway) results(r *channel.Reply, to []channel.Outgoing, now time.Time) []channel.Result {
	all := func(v channel.Verdict) []channel.Result { return slices.Repeat([]channel.Result{r.Result(v)}, len(to)) }
	var a tencentAnswer
	whole := r.Status != 0 && r.Err == nil && !r.Cut && json.Unmarshal(r.Body, &a) == nil && a.Response != nil
	switch {
	case whole && a.Response.Error != nil:
		return all(failure("Tencent", tencentCodes, r, a.Response.Error.Code, a.Response.Error.Message, g.own, now))
	case !r.OK():
		return all(errcode.Ended(r, g.own))
	}
	results := all(channel.Verdict{Class: posthouse.ClassUnknown, Message: "Tencent's answer does not say what became of this number, so it may have accepted"})
	if !whole {
		return results
	}
	for i := range to {
		at := slices.IndexFunc(a.Response.Set, func(s tencentStatus) bool { return s.Number == to[i].Recipient.Address })
		if at < 0 {
			continue
		}
		switch s := a.Response.Set[at]; s.Code {
		case tencentOK:
			results[i] = r.Result(channel.Verdict{Class: posthouse.ClassOK, Code: s.Code, Ref: s.Serial})
		case "":
		default:
			results[i] = r.Result(failure("Tencent", tencentCodes, r, s.Code, s.Message, g.own, now))
		}
	}
	return results
}

func (g *tencentGateway) call(context.Context, channel.Outgoing, string, map[string]string) channel.Result {
	return channel.Result{Class: posthouse.ClassContent, Code: codeNoTemplate, Error: "only Aliyun calls"}
}

// tencentReport is one member of what Tencent posts: a report, or a reply.
type tencentReport struct {
	Nation  string `json:"nationcode"`
	Number  string `json:"mobile"`
	Status  string `json:"report_status"`
	Code    string `json:"errmsg"`
	Message string `json:"description"`
	Serial  string `json:"sid"`

	Text *string `json:"text"` // of a reply
	Time int64   `json:"time"`
}

func (g *tencentGateway) receive(body []byte) (channel.Heard, error) {
	list, err := reports[tencentReport](body)
	if err != nil {
		return channel.Heard{}, err
	}
	heard := channel.Heard{Kind: "report", Answer: `{"result":0,"errmsg":"OK"}`, Once: once(body)}
	for i := range list {
		r := &list[i]
		switch {
		case r.Text != nil && r.Serial == "":
			heard.Kind = "reply"
			replied(&heard, r.Nation+r.Number, "+", *r.Text, "", moment(r.Time))
		case r.Serial != "" && (r.Status == "SUCCESS" || r.Status == "FAIL"):
			receipt := channel.Receipt{Known: true, Delivered: r.Status == "SUCCESS"}
			if !receipt.Delivered {
				receipt.Code, receipt.Error = r.Code, "Tencent did not deliver it: "+said(r.Code, r.Message)
			}
			heard.Reports = append(heard.Reports, channel.Report{Ref: r.Serial, Receipt: receipt})
		default:
			return channel.Heard{}, errNoReport
		}
	}
	return heard, nil
}

// moment is a time in seconds since 1970; zero for none.
func moment(seconds int64) time.Time {
	if seconds <= 0 {
		return time.Time{}
	}
	return time.Unix(seconds, 0).UTC()
}
