package sms

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/channel/internal/batch"
	"github.com/posthouse/posthouse/channel/internal/errcode"
)

// Our own codes, beside those of package channel.
const (
	codeNoAddress  = "NO_ADDRESS"  // the recipient has no number
	codeNoTemplate = "NO_TEMPLATE" // neither the message nor the channel names a template
)

// awaited is how long a report is waited for: the providers keep what no phone has taken for a day or two.
const awaited = 72 * time.Hour

// gateway is a provider: what it is asked, and how its answers are read.
type gateway interface {
	// send makes one call for numbers that are all of mainland China, or all of elsewhere, and have one text.
	send(ctx context.Context, to []channel.Outgoing, t text) []channel.Result
	// call reads a text aloud to one number.
	call(ctx context.Context, to channel.Outgoing, template string, params map[string]string) channel.Result
	receive(body []byte) (channel.Heard, error)
}

// text is what the provider fills a template with.
type text struct {
	template string
	params   map[string]string
}

type driver struct {
	gateway  gateway
	client   *channel.Client
	sign     string
	template string
	receipts bool
}

func open(c channel.Config, env channel.Env) (channel.Driver, error) {
	if err := posthouse.Invalid("the sms driver cannot be opened", check(c)); err != nil {
		return nil, err
	}
	at, err := home(c)
	if err != nil {
		return nil, err
	}
	d := &driver{
		sign: c.String("sign"), template: c.String("template_id"), receipts: c.Bool("receipts"),
		client: channel.NewClient(env, channel.ClientOptions{Secrets: []string{c.String("secret")}}),
	}
	if c.String("provider") == tencent {
		d.gateway = newTencent(c, env, d.client, at)
		return d, nil
	}
	d.gateway, err = newAliyun(c, env, d.client, at)
	return d, err
}

// Close closes the idle connections.
func (d *driver) Close() error { return d.client.Close() }

// Send tells one number.
func (d *driver) Send(ctx context.Context, out channel.Outgoing) channel.Result {
	return d.SendBatch(ctx, []channel.Outgoing{out})[0]
}

// SendBatch tells many numbers the same: in one call those of mainland China, and in another those of elsewhere, since the providers
// refuse a call that mixes them.
func (d *driver) SendBatch(ctx context.Context, outs []channel.Outgoing) []channel.Result {
	nowhere := channel.Result{Class: posthouse.ClassRecipient, Code: codeNoAddress, Error: "the recipient has no phone number: give the user an address on this channel"}
	return batch.All(outs, nowhere, func(to []channel.Outgoing) []channel.Result {
		results := d.deliver(ctx, to)
		for i := range results {
			if results[i].Class == posthouse.ClassOK && d.receipts {
				results[i].Await = awaited
			}
		}
		return results
	})
}

func (d *driver) deliver(ctx context.Context, to []channel.Outgoing) []channel.Result {
	params, err := parametersOf(&to[0])
	if err != nil {
		return d.refused(to, channel.CodeRequest, err.Error())
	}
	results := make([]channel.Result, len(to))
	t := text{cmp.Or(to[0].TemplateID, d.template), params}
	if c := to[0].Content; c.Kind() == posthouse.VoiceContent {
		if len(c.Media) != 1 || c.Media[0].ID == "" {
			return d.refused(to, codeNoTemplate, "the call names no template: want its id as the content's media")
		}
		return d.call(ctx, to, c.Media[0].ID, params)
	}
	if strings.HasPrefix(t.template, spoken) { // no id of Tencent's does
		return d.call(ctx, to, t.template, params)
	}
	if t.template == "" {
		return d.refused(to, codeNoTemplate, "no template of the provider's is named: give the template an external_template_id, or the channel a template_id")
	}
	for _, abroad := range []bool{false, true} {
		var at []int
		var some []channel.Outgoing
		for i := range to {
			if foreign(to[i].Recipient.Address) == abroad {
				at, some = append(at, i), append(some, to[i])
			}
		}
		if len(some) == 0 {
			continue
		}
		for i, r := range d.gateway.send(ctx, some, t) {
			results[at[i]] = r
		}
	}
	return results
}

// call calls each number.
func (d *driver) call(ctx context.Context, to []channel.Outgoing, template string, params map[string]string) []channel.Result {
	results := make([]channel.Result, len(to))
	for i := range to {
		results[i] = d.gateway.call(ctx, to[i], template, params)
	}
	return results
}

// refused is a message that is not sent, since it cannot be.
func (d *driver) refused(to []channel.Outgoing, code, why string) []channel.Result {
	return slices.Repeat([]channel.Result{{Class: posthouse.ClassContent, Code: code, Error: d.client.Redactor().Line(why, 512)}}, len(to))
}

const mainland = "+86"

// foreign reports whether a number in E.164 is of elsewhere than mainland China.
func foreign(number string) bool { return !strings.HasPrefix(number, mainland) }

// parametersOf are the members of a payload: a number as it is written, lists and objects as JSON. Without any, the text is the parameter
// content, which is Tencent's first.
func parametersOf(out *channel.Outgoing) (map[string]string, error) {
	params := map[string]string{}
	if len(out.Payload) > 0 {
		var members map[string]json.RawMessage
		if err := json.Unmarshal(out.Payload, &members); err != nil {
			return nil, errNoPayload
		}
		for name, raw := range members {
			var v errcode.Value
			if err := v.UnmarshalJSON(raw); err != nil {
				return nil, err
			}
			params[name] = string(v)
		}
	}
	if len(params) == 0 && out.Content.Text != "" {
		params[textParameter] = out.Content.Text
	}
	return params, nil
}

// textParameter is what a text is where a message has no payload.
const textParameter = "content"

// inOrder are parameters as the list that Tencent takes.
func inOrder(params map[string]string, names []string) ([]string, error) {
	if text, alone := params[textParameter]; alone && len(params) == 1 && len(names) < 2 {
		return []string{text}, nil
	}
	if len(names) == 0 {
		for i := range params {
			if n, err := strconv.Atoi(i); err != nil || n < 1 || n > len(params) || strconv.Itoa(n) != i {
				return nil, fmt.Errorf("the parameter %.40q has no place: name the payload's members 1, 2 and so on, or list their names in the channel's setting parameters", i)
			}
		}
		for i := range len(params) {
			names = append(names, strconv.Itoa(i+1))
		}
	}
	list := make([]string, len(names))
	for i, name := range names {
		value, given := params[name]
		if !given {
			return nil, fmt.Errorf("the payload has no %.40q, which is the template's parameter {%d}", name, i+1)
		}
		list[i] = value
	}
	return list, nil
}

// Receive reads the provider's reports and its users' replies. Neither is signed: the channel's address is the secret.
func (d *driver) Receive(c channel.Callback) (channel.Heard, error) {
	if c.Method != "POST" {
		return channel.Heard{}, fmt.Errorf("%w: a report is posted", channel.ErrForged)
	}
	heard, err := d.gateway.receive(c.Body)
	if err != nil {
		return channel.Heard{}, fmt.Errorf("%w: %w", channel.ErrForged, err)
	}
	return heard, nil
}

// Track answers nothing: the provider says by itself what became of a message, or never.
func (d *driver) Track(_ context.Context, _ string, to []posthouse.Recipient) ([]channel.Receipt, error) {
	return make([]channel.Receipt, len(to)), nil
}
