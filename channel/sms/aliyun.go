package sms

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/channel/internal/batch"
	"github.com/posthouse/posthouse/channel/internal/errcode"
)

const aliyunVersion = "2017-05-25" // of both interfaces

// aliyunGateway asks Aliyun. Parameters stand in the query, as its own SDK sends them.
type aliyunGateway struct {
	client      *channel.Client
	url, calls  *url.URL
	signer      acs3
	sign        string
	extend      string
	shown       string // the number that calls
	own         map[string]posthouse.Class
	keepAnswers bool
}

func newAliyun(c channel.Config, env channel.Env, client *channel.Client, at *url.URL) (*aliyunGateway, error) {
	calls, err := root(c.String("voice_url"))
	return &aliyunGateway{
		client: client, url: at, calls: calls, signer: acs3{c.String("access_key"), c.String("secret")}, sign: c.String("sign"),
		extend: c.String("extend_code"), shown: c.String("voice_number"), own: env.Codes, keepAnswers: env.KeepAnswers,
	}, err
}

// outID is what Aliyun tells with a report: our key of the first number's delivery, behind a plus sign for numbers of elsewhere, which the
// report names without one.
func outID(to *channel.Outgoing) string {
	if foreign(to.Recipient.Address) {
		return "+" + to.IdemKey
	}
	return to.IdemKey
}

// numberFor is a number as Aliyun takes it: of mainland China without its country's code, and of elsewhere with it, without a plus; behind
// 00 where it would read like one of mainland China.
func numberFor(address string) string {
	number := strings.TrimPrefix(strings.TrimPrefix(address, mainland), "+")
	if foreign(address) && len(number) == 11 && number[0] == '1' {
		return "00" + number
	}
	return number
}

func (g *aliyunGateway) send(ctx context.Context, to []channel.Outgoing, t text) []channel.Result {
	template := string(errcode.Encoded(t.params))
	return batch.Halving(to, channel.Result{}, func(some []channel.Outgoing) channel.Result {
		numbers := make([]string, len(some))
		for i := range some {
			numbers[i] = numberFor(some[i].Recipient.Address)
		}
		ask := map[string]string{
			"PhoneNumbers": strings.Join(numbers, ","), "SignName": g.sign, "TemplateCode": t.template, "TemplateParam": template, "OutId": outID(&some[0]),
		}
		if len(t.params) == 0 {
			delete(ask, "TemplateParam")
		}
		if g.extend != "" {
			ask["SmsUpExtendCode"] = g.extend
		}
		reply, v := g.ask(ctx, g.url, "SendSms", ask, some)
		if len(some) > 1 && v.Code == overLimit { // of one of them, whom Aliyun does not name
			v.Class = posthouse.ClassRecipient
		}
		return reply.Result(v)
	})
}

// spoken is how the templates that are read aloud begin; other media are files that were uploaded to be played.
const spoken = "TTS_"

func (g *aliyunGateway) call(ctx context.Context, to channel.Outgoing, template string, params map[string]string) channel.Result {
	ask := map[string]string{"CalledNumber": numberFor(to.Recipient.Address), "OutId": outID(&to)}
	if g.shown != "" {
		ask["CalledShowNumber"] = g.shown
	}
	action := "SingleCallByVoice"
	if strings.HasPrefix(template, spoken) {
		action = "SingleCallByTts"
		ask["TtsCode"] = template
		if len(params) > 0 {
			ask["TtsParam"] = string(errcode.Encoded(params))
		}
	} else {
		ask["VoiceCode"] = template
	}
	reply, v := g.ask(ctx, g.calls, action, ask, []channel.Outgoing{to})
	return reply.Result(v)
}

// ask makes one signed call.
func (g *aliyunGateway) ask(ctx context.Context, at *url.URL, action string, params map[string]string, to []channel.Outgoing) (*channel.Reply, channel.Verdict) {
	target := *at
	target.RawQuery = escaped(params)
	now := time.Now()
	header := g.signer.header(http.MethodPost, &target, action, aliyunVersion, rand.Text(), now)
	header.Set("Accept", "application/json")
	reply := g.client.Do(ctx, channel.Request{URL: &target, Header: batch.WithKeys(header, to)})
	return &reply, g.read(&reply, now)
}

// read finds out what an answer means. The gateway answers with other statuses than 200 in the same form.
func (g *aliyunGateway) read(r *channel.Reply, now time.Time) channel.Verdict {
	var a struct {
		Code    string
		Message string
		BizID   string `json:"BizId"`
		CallID  string `json:"CallId"`
	}
	whole := r.Status != 0 && r.Err == nil && !r.Cut && json.Unmarshal(r.Body, &a) == nil && a.Code != ""
	switch {
	case whole && a.Code == aliyunOK && r.OK():
		return channel.Verdict{Class: posthouse.ClassOK, Code: a.Code, Ref: cmp.Or(a.BizID, a.CallID)}
	case whole && a.Code != aliyunOK:
		return failure("Aliyun", aliyunCodes, r, a.Code, a.Message, g.own, now)
	case !r.OK():
		return errcode.Ended(r, g.own)
	}
	return channel.Verdict{Class: posthouse.ClassUnknown, Message: "Aliyun's answer could not be read, so it may have accepted"}
}

// aliyunReport is one member of what Aliyun posts: a report of a message or a call, or a reply.
type aliyunReport struct {
	Number  string        `json:"phone_number"`
	Success *bool         `json:"success"`
	Code    string        `json:"err_code"`
	Message string        `json:"err_msg"`
	Ref     string        `json:"biz_id"`
	OutID   string        `json:"out_id"`
	Parts   errcode.Value `json:"sms_size"`

	Content  *string       `json:"content"` // of a reply
	Written  string        `json:"send_time"`
	Sequence errcode.Value `json:"sequence_id"`

	Call   string        `json:"call_id"` // of a call
	Status errcode.Value `json:"status_code"`
	Said   string        `json:"status_msg"`
	Callee string        `json:"callee"`
	Keys   string        `json:"dtmf"`
	Within string        `json:"status_time"` // of a call that goes on
}

// answered is the status of a call that was taken.
const answered = "200000"

func (g *aliyunGateway) receive(body []byte) (channel.Heard, error) {
	list, err := reports[aliyunReport](body)
	if err != nil {
		return channel.Heard{}, err
	}
	heard := channel.Heard{Kind: "report", Answer: `{"code":0,"msg":"ok"}`, Once: once(body)}
	for i := range list {
		r := &list[i]
		switch {
		case r.Content != nil:
			heard.Kind = "reply"
			replied(&heard, r.Number, r.OutID, *r.Content, string(r.Sequence), chinese(r.Written))
		case r.Call != "" && r.Within != "": // it goes on: it rings, was taken, or a key was pressed
			heard.Inbound = append(heard.Inbound, pressed(r)...)
		case r.Call != "":
			heard.Inbound = append(heard.Inbound, pressed(r)...)
			receipt := channel.Receipt{Known: true, Delivered: r.Status == answered}
			if !receipt.Delivered {
				receipt.Code, receipt.Error = string(r.Status), "Aliyun's call was not taken: "+r.Said
			}
			heard.Reports = append(heard.Reports, channel.Report{Ref: r.Call, Receipt: receipt})
		case r.Success != nil && r.Ref != "":
			receipt := channel.Receipt{Known: true, Delivered: *r.Success}
			if !receipt.Delivered {
				receipt.Code, receipt.Error = r.Code, "Aliyun did not deliver it: "+said(r.Code, r.Message)
			}
			if g.keepAnswers {
				receipt.Response = billed(string(r.Parts))
			}
			heard.Reports = append(heard.Reports, channel.Report{Ref: r.Ref, Address: numberOf(r.Number, r.OutID), Receipt: receipt})
		default:
			return channel.Heard{}, errNoReport
		}
	}
	return heard, nil
}

// pressed are the keys that the one who was called has pressed, where there are some. Our own id, which Aliyun echoes, says in which call.
func pressed(r *aliyunReport) []channel.Inbound {
	if r.Keys == "" || r.OutID == "" {
		return nil
	}
	in := channel.Inbound{Way: channel.InboundVoice, IdemKey: strings.TrimPrefix(r.OutID, "+"), Text: r.Keys, ID: r.Call, At: chinese(r.Within)}
	if r.Callee != "" {
		in.Address = numberOf(r.Callee, r.OutID)
	}
	return []channel.Inbound{in}
}

// chinese is a time as Aliyun writes it: of Beijing, without a zone. Zero for none.
func chinese(text string) time.Time {
	at, err := time.ParseInLocation(time.DateTime, text, beijing)
	if err != nil {
		return time.Time{}
	}
	return at.UTC()
}

var errNoReport = errors.New("its body is no list of reports")

// billed says what a message cost.
func billed(parts string) string {
	if parts == "" {
		return ""
	}
	return fmt.Sprintf("billed as %.8s parts", parts)
}
