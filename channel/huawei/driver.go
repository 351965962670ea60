package huawei

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/channel/internal/access"
	"github.com/posthouse/posthouse/channel/internal/batch"
	"github.com/posthouse/posthouse/channel/internal/clock"
	"github.com/posthouse/posthouse/channel/internal/errcode"
	"github.com/posthouse/posthouse/channel/internal/push"
)

// audience is whom the assertion is for, and lasts how long Huawei takes one.
const (
	audience = "https://oauth-login.cloud.huawei.com/oauth2/v3/token"
	lasts    = time.Hour
)

// codes are Huawei's. A code says that nothing was accepted, but for partly.
var codes = errcode.Table{
	"80100001": {Class: posthouse.ClassRequest},
	"80100003": {Class: posthouse.ClassContent},
	"80100004": {Class: posthouse.ClassRequest},
	"80100016": {Class: posthouse.ClassContent}, // words that are not allowed
	"80200001": {Class: posthouse.ClassAuth},
	expired:    {Class: posthouse.ClassAuth},
	"80300002": {Class: posthouse.ClassAccount},
	allIllegal: {Class: posthouse.ClassRecipient},
	"80300008": {Class: posthouse.ClassContent}, // too large
	"80300010": {Class: posthouse.ClassRequest}, // too many devices
	"80300011": {Class: posthouse.ClassAccount}, // no right to this priority
	"80300013": {Class: posthouse.ClassRate, After: time.Minute},
	"80600003": {Class: posthouse.ClassTransient},
	"81000001": {Class: posthouse.ClassUnknown}, // an error of its own: it does not say that nothing was accepted
}

const (
	accepted   = "80000000"
	partly     = "80100000" // some of the tokens are illegal, and the answer names them
	allIllegal = "80300007"
	expired    = "80200003"
)

type driver struct {
	client  *channel.Client
	access  *access.Access
	to      *url.URL
	codes   map[string]posthouse.Class
	options map[string]any
	about   string // the category
}

func open(c channel.Config, env channel.Env) (channel.Driver, error) {
	if err := posthouse.Invalid("the huawei driver cannot be opened", check(c)); err != nil {
		return nil, err
	}
	account, err := push.ReadAccount(c.String("service_account"))
	if err != nil {
		return nil, err
	}
	key, err := push.NewKey(account.HuaweiKeyID, push.PS256, account.Key)
	if err != nil {
		return nil, err
	}
	to, err := push.Place(c.String("url"), "v3", account.Project, "messages:send")
	if err != nil {
		return nil, err
	}
	d := &driver{
		client: channel.NewClient(env, channel.ClientOptions{Secrets: []string{c.String("service_account"), account.Key}}),
		to:     to, codes: env.Codes, about: c.String("category"),
		options: map[string]any{"ttl": int(c.Duration("ttl") / time.Second)},
	}
	if c.Bool("test") {
		d.options["testMessage"] = true
	}
	// The assertion itself is the token: all processes use one, so that what a log shows of it is one thing.
	d.access = access.New(env, "huawei/"+account.SubAccount, to.Host, []string{to.String(), account.Key}, func(context.Context) (string, time.Duration, error) {
		now := time.Now()
		token, err := key.Sign(map[string]any{"iss": account.SubAccount, "aud": audience, "iat": now.Unix(), "exp": now.Add(lasts).Unix()})
		return token, lasts, err
	})
	return d, nil
}

// Close closes the idle connections.
func (d *driver) Close() error { return d.client.Close() }

// Send pushes to one device.
func (d *driver) Send(ctx context.Context, out channel.Outgoing) channel.Result {
	return d.SendBatch(ctx, []channel.Outgoing{out})[0]
}

// SendBatch pushes the same to many devices.
func (d *driver) SendBatch(ctx context.Context, outs []channel.Outgoing) []channel.Result {
	nowhere := channel.Result{Class: posthouse.ClassRecipient, Code: push.CodeNoAddress, Error: "the recipient has no push token: give the user an address on this channel"}
	return batch.All(outs, nowhere, func(to []channel.Outgoing) []channel.Result { return d.deliver(ctx, to) })
}

func (d *driver) deliver(ctx context.Context, to []channel.Outgoing) []channel.Result {
	body, err := d.body(to)
	if err != nil {
		return slices.Repeat([]channel.Result{{Class: posthouse.ClassContent, Code: channel.CodeRequest, Error: d.client.Redactor().Line(err.Error(), 512)}}, len(to))
	}
	var results []channel.Result
	err = d.access.Call(ctx, func(token string) access.Answer {
		header := http.Header{"Content-Type": {"application/json"}, "Authorization": {"Bearer " + token}, "Push-Type": {"0"}}
		reply := d.client.Do(ctx, channel.Request{URL: d.to, Header: batch.WithKeys(header, to), Body: body, Hide: []string{token}})
		var answer access.Answer
		results, answer = d.read(&reply, to, time.Now())
		return answer
	})
	if err != nil {
		return slices.Repeat([]channel.Result{access.Without(err, d.client)}, len(to))
	}
	return results
}

// body is the call. The payload's members are what the app gets when the notification is tapped.
func (d *driver) body(to []channel.Outgoing) ([]byte, error) {
	click := map[string]any{"actionType": 0}
	if len(to[0].Payload) > 0 {
		var data map[string]json.RawMessage
		if err := json.Unmarshal(to[0].Payload, &data); err != nil {
			return nil, errors.New("the payload is no JSON object: its members are the app's data")
		}
		if len(data) > 0 {
			click["data"] = data
		}
	}
	return errcode.Encoded(map[string]any{
		"payload": map[string]any{"notification": map[string]any{
			"category": d.about, "title": to[0].Content.Title, "body": to[0].Content.Text, "clickAction": click,
		}},
		"target":      map[string]any{"token": batch.Addresses(to)},
		"pushOptions": d.options,
	}), nil
}

// read finds out what became of each, and whether our token is good.
func (d *driver) read(r *channel.Reply, to []channel.Outgoing, now time.Time) ([]channel.Result, access.Answer) {
	all := func(v channel.Verdict) []channel.Result { return slices.Repeat([]channel.Result{r.Result(v)}, len(to)) }
	var said struct {
		Code    errcode.Value `json:"code"`
		Message string        `json:"msg"`
		ID      string        `json:"requestId"`
	}
	if r.Err != nil || r.Status == 0 || r.Cut || json.Unmarshal(r.Body, &said) != nil || said.Code == "" {
		if r.OK() {
			return all(channel.Verdict{Class: posthouse.ClassUnknown, Message: "Huawei's answer could not be read, so it may have accepted"}), access.Fine
		}
		return all(errcode.Ended(r, d.codes)), access.Fine
	}
	ok := channel.Verdict{Class: posthouse.ClassOK, Code: accepted, Ref: said.ID}
	switch code := string(said.Code); code {
	case accepted:
		return all(ok), access.Fine
	case partly:
		return d.some(r, to, ok, said.Message), access.Fine
	case expired:
		if why := clock.Off(r, now); why != "" {
			return all(channel.Verdict{Class: posthouse.ClassLocal, Code: clock.Code, Message: "Huawei refuses the time of our token: " + why}), access.Fine
		}
		return all(codes.RefusedBy(r, "Huawei", code, said.Message, d.codes)), access.Again
	case "80200001":
		return all(codes.RefusedBy(r, "Huawei", code, said.Message, d.codes)), access.Again
	default:
		return all(codes.RefusedBy(r, "Huawei", code, said.Message, d.codes)), access.Fine
	}
}

// some tells those apart whose token is illegal from those that were accepted. Where the answer names nobody, nobody knows.
func (d *driver) some(r *channel.Reply, to []channel.Outgoing, ok channel.Verdict, message string) []channel.Result {
	var said struct {
		Failed  int      `json:"failure"`
		Illegal []string `json:"illegal_tokens"`
	}
	if json.Unmarshal([]byte(message), &said) != nil || len(said.Illegal) == 0 || said.Failed > len(said.Illegal) {
		unknown := channel.Verdict{Class: posthouse.ClassUnknown, Code: partly, Message: "Huawei accepted some of the devices' tokens, and its answer does not say which"}
		return slices.Repeat([]channel.Result{r.Result(unknown)}, len(to))
	}
	results := make([]channel.Result, len(to))
	for i := range to {
		v := ok
		if slices.Contains(said.Illegal, to[i].Recipient.Address) {
			v = channel.Verdict{Class: posthouse.ClassRecipient, Code: partly, Message: "the device's token is not valid"}
		}
		results[i] = r.Result(v)
	}
	return results
}
