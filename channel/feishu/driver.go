package feishu

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/channel/internal/access"
	"github.com/posthouse/posthouse/channel/internal/batch"
	"github.com/posthouse/posthouse/channel/internal/errcode"
	"github.com/posthouse/posthouse/channel/internal/files"
)

// codeNoAddress is our own code of a delivery whose recipient has no id.
const codeNoAddress = "NO_ADDRESS"

type driver struct {
	client     *channel.Client
	access     *access.Access
	one, many  *url.URL
	root       string
	codes      map[string]posthouse.Class
	format     posthouse.ContentType
	together   int
	encryptKey string
	library    *files.Library
	uploads
}

func open(c channel.Config, env channel.Env) (channel.Driver, error) {
	if err := posthouse.Invalid("the feishu driver cannot be opened", check(c)); err != nil {
		return nil, err
	}
	one, err := place(c.String("url"), "/open-apis/im/v1/messages")
	if err != nil {
		return nil, err
	}
	many, err := place(c.String("url"), "/open-apis/message/v4/batch_send/")
	if err != nil {
		return nil, err
	}
	login, err := place(c.String("url"), "/open-apis/auth/v3/tenant_access_token/internal")
	if err != nil {
		return nil, err
	}
	d := &driver{
		client: channel.NewClient(env, channel.ClientOptions{Secrets: []string{c.String("app_secret"), c.String("encrypt_key")}}),
		root:   c.String("url"), one: one, many: many, codes: env.Codes, format: posthouse.ContentType(c.String("format")), together: c.Int("batch"), encryptKey: c.String("encrypt_key"),
	}
	if d.images, err = place(c.String("url"), "/open-apis/im/v1/images"); err != nil {
		return nil, err
	}
	if d.files, err = place(c.String("url"), "/open-apis/im/v1/files"); err != nil {
		return nil, err
	}
	d.library = files.New(env, "feishu/"+c.String("app_id")+" "+c.String("url"), mediaRules(), d.upload)
	body := errcode.Encoded(map[string]string{"app_id": c.String("app_id"), "app_secret": c.String("app_secret")})
	by := []string{login.String(), c.String("app_secret")}
	d.access = access.New(env, "feishu/"+c.String("app_id"), "feishu "+c.String("app_id"), by, func(ctx context.Context) (string, time.Duration, error) {
		reply := d.client.Do(ctx, channel.Request{URL: login, Header: inJSON(), Body: body})
		said, v := d.verdict(&reply)
		return access.Fetched(&reply, v, said.Token, max(time.Minute, time.Duration(min(said.Lasts, 24*60*60))*time.Second))
	})
	return d, nil
}

// Close closes the idle connections.
func (d *driver) Close() error { return errors.Join(d.client.Close(), d.library.Close()) }

// Test fetches an access token and sends nothing.
func (d *driver) Test(ctx context.Context) channel.Result { return d.access.Test(ctx, d.client) }

// Send tells one person or chat.
func (d *driver) Send(ctx context.Context, out channel.Outgoing) channel.Result {
	if out.Recipient.Address == "" {
		return nowhere()
	}
	return d.anew(ctx, []channel.Outgoing{out}, d.sendOne)[0]
}

// place is a path of an interface whose root is at a URL.
func place(root, path string) (*url.URL, error) {
	u, err := url.Parse(root)
	if err == nil {
		u.Path, u.RawPath, u.RawQuery = strings.TrimSuffix(u.Path, "/")+path, "", ""
	}
	return u, err
}

func nowhere() channel.Result {
	return channel.Result{Class: posthouse.ClassRecipient, Code: codeNoAddress, Error: "the recipient has no id at Feishu: give the user an address on this channel"}
}

// SendBatch tells many the same: people in one call of the batch interface, where the channel wants that, and others one by one.
func (d *driver) SendBatch(ctx context.Context, outs []channel.Outgoing) []channel.Result {
	return batch.All(outs, nowhere(), func(to []channel.Outgoing) []channel.Result {
		if d.together > 1 && len(to) > 1 && !slices.ContainsFunc(to, func(o channel.Outgoing) bool { return !together(o.Content, o.Recipient.Address) }) {
			return d.anew(ctx, to, d.sendMany)
		}
		results := make([]channel.Result, len(to))
		for i := range to {
			results[i] = d.anew(ctx, to[i:i+1], d.sendOne)[0]
		}
		return results
	})
}

// message is a content in Feishu's form, and the key of the file in it. stale is one that Feishu has refused.
func (d *driver) message(ctx context.Context, c posthouse.Content, stale string) (m message, key string, err error) {
	kind := kindOf(c, d.format)
	if kind.HasMedia() && len(c.Media) > 0 {
		if key = c.Media[0].ID; key == "" {
			if key, err = d.library.ID(ctx, kind, c.Media[0], stale); err != nil {
				return m, "", err
			}
		}
		c.Media = []posthouse.Media{{ID: key}}
	}
	if m, err = made(c, kind); err != nil {
		err = files.Bad("content.extra: %v", err)
	}
	return m, key, err
}

// anew makes a call by send, and once more where Feishu has forgotten the file in it, which is uploaded anew: nobody was told then. send
// returns the key of the file, and is told of one that is stale.
func (d *driver) anew(ctx context.Context, to []channel.Outgoing, send func(ctx context.Context, to []channel.Outgoing, stale string) ([]channel.Result, string)) []channel.Result {
	results, key := send(ctx, to, "")
	if c := to[0].Content; forgotten(results[0].Code) && len(c.Media) > 0 && c.Media[0].ID == "" {
		results, _ = send(ctx, to, key)
	}
	return results
}

// sendOne tells one, whom Feishu recognises for an hour by the delivery's key.
func (d *driver) sendOne(ctx context.Context, outs []channel.Outgoing, stale string) (results []channel.Result, key string) {
	out := outs[0]
	m, key, err := d.message(ctx, out.Content, stale)
	if err != nil {
		return []channel.Result{files.FailedBy(err, d.client)}, key
	}
	to := *d.one
	to.RawQuery = url.Values{"receive_id_type": {idKind(out.Recipient.Address)}}.Encode()
	body := errcode.Encoded(map[string]string{"receive_id": out.Recipient.Address, "msg_type": m.kind, "content": string(m.content), "uuid": uuidOf(out.IdemKey)})
	err = d.call(ctx, &to, batch.WithKeys(inJSON(), outs), body, func(reply *channel.Reply) string {
		said, v := d.verdict(reply)
		v.Ref = said.Data.ID
		results = []channel.Result{reply.Result(v)}
		return said.code()
	})
	if err != nil {
		return []channel.Result{access.Without(err, d.client)}, key
	}
	return results, key
}

func inJSON() http.Header { return http.Header{"Content-Type": {"application/json; charset=utf-8"}} }

// longestUUID is how many characters Feishu takes for what it knows a message by.
const longestUUID = 50

// uuidOf is the delivery's key as Feishu takes it: its end, which differs, where it is longer.
func uuidOf(key string) string { return key[max(0, len(key)-longestUUID):] }

// sendMany tells many people in one call. Feishu takes them for later, and names those whom it does not know.
func (d *driver) sendMany(ctx context.Context, to []channel.Outgoing, stale string) (results []channel.Result, key string) {
	m, key, err := d.message(ctx, to[0].Content, stale)
	if err != nil {
		return slices.Repeat([]channel.Result{files.FailedBy(err, d.client)}, len(to)), key
	}
	in := map[string]any{"msg_type": m.kind}
	if m.kind == "interactive" {
		in["card"] = m.content
	} else {
		in["content"] = m.content
	}
	for kind, name := range map[string]string{"open_id": "open_ids", "user_id": "user_ids", "union_id": "union_ids"} {
		var ids []string
		for i := range to {
			if idKind(to[i].Recipient.Address) == kind {
				ids = append(ids, to[i].Recipient.Address)
			}
		}
		if len(ids) > 0 {
			in[name] = ids
		}
	}
	err = d.call(ctx, d.many, batch.WithKeys(inJSON(), to), errcode.Encoded(in), func(reply *channel.Reply) string {
		said, v := d.verdict(reply)
		v.Ref = said.Data.ID
		results = make([]channel.Result, len(to))
		unknown := slices.Concat(said.Data.NoOpen, said.Data.NoUser, said.Data.NoUnion)
		for i := range to {
			results[i] = reply.Result(v)
			if v.Class == posthouse.ClassOK && slices.Contains(unknown, to[i].Recipient.Address) {
				results[i] = reply.Result(channel.Verdict{Class: posthouse.ClassRecipient, Code: said.code(), Message: "Feishu does not know the recipient, or the application may not reach them"})
			}
		}
		return said.code()
	})
	if err != nil {
		return slices.Repeat([]channel.Result{access.Without(err, d.client)}, len(to)), key
	}
	return batch.Shared(to, results), key
}

// call calls with a token, and once more with a new one where Feishu refused the first.
func (d *driver) call(ctx context.Context, to *url.URL, header http.Header, body []byte, read func(*channel.Reply) (code string)) error {
	return d.callBy(ctx, http.MethodPost, to, header, body, read)
}

// callBy is call by another method.
func (d *driver) callBy(ctx context.Context, method string, to *url.URL, header http.Header, body []byte, read func(*channel.Reply) (code string)) error {
	return d.access.Call(ctx, func(token string) access.Answer {
		header := header.Clone()
		header.Set("Authorization", "Bearer "+token)
		reply := d.client.Do(ctx, channel.Request{Method: method, URL: to, Header: header, Body: body, Hide: []string{token}})
		if code := read(&reply); codes[code].Class == posthouse.ClassAuth {
			return access.Again
		}
		return access.Fine
	})
}

// answer is Feishu's.
type answer struct {
	Code    errcode.Value `json:"code"`
	Message string        `json:"msg"`
	Token   string        `json:"tenant_access_token"`
	Lasts   int64         `json:"expire"`
	Data    struct {
		ID      string   `json:"message_id"`
		Image   string   `json:"image_key"`
		File    string   `json:"file_key"`
		NoOpen  []string `json:"invalid_open_ids"`
		NoUser  []string `json:"invalid_user_ids"`
		NoUnion []string `json:"invalid_union_ids"`
	} `json:"data"`
}

func (a *answer) code() string { return string(a.Code) }

// verdict reads a reply.
func (d *driver) verdict(r *channel.Reply) (said answer, v channel.Verdict) {
	whole := r.Status != 0 && r.Err == nil && !r.Cut && json.Unmarshal(r.Body, &said) == nil
	switch code := said.code(); {
	case whole && code == "0" && r.OK():
		return said, channel.Verdict{Class: posthouse.ClassOK, Code: code}
	case whole && code != "" && code != "0":
		v = codes.RefusedBy(r, "Feishu", code, said.Message, d.codes)
		if code == "230001" && v.Class == posthouse.ClassRequest && strings.Contains(said.Message, "receive_id") {
			v.Class = posthouse.ClassRecipient
		}
		if wait := waitOf(r); wait > 0 && v.Class == posthouse.ClassRate {
			v.After = wait
		}
		return said, v
	case !r.OK():
		v = errcode.Ended(r, d.codes)
		v.After = waitOf(r)
		return said, v
	}
	return said, channel.Verdict{Class: posthouse.ClassUnknown, Message: "Feishu's answer could not be read, so it may have accepted"}
}
