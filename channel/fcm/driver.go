package fcm

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/channel/internal/access"
	"github.com/posthouse/posthouse/channel/internal/batch"
	"github.com/posthouse/posthouse/channel/internal/errcode"
	"github.com/posthouse/posthouse/channel/internal/push"
)

type driver struct {
	client  *channel.Client
	access  *access.Access
	to      *url.URL
	codes   map[string]posthouse.Class
	channel string
	data    bool // nothing but data
	ttl     time.Duration
}

func open(c channel.Config, env channel.Env) (channel.Driver, error) {
	if err := posthouse.Invalid("the fcm driver cannot be opened", check(c)); err != nil {
		return nil, err
	}
	account, err := push.ReadAccount(c.String("service_account"))
	if err != nil {
		return nil, err
	}
	to, err := push.Place(c.String("url"), "v1", "projects", cmp.Or(c.String("project_id"), account.Project), "messages:send")
	if err != nil {
		return nil, err
	}
	d := &driver{
		client: channel.NewClient(env, channel.ClientOptions{Secrets: []string{c.String("service_account"), account.Key}}),
		to:     to, codes: env.Codes, channel: c.String("notification_channel"), data: c.Bool("data_only"), ttl: c.Duration("ttl"),
	}
	d.access, err = tokens(c, env, d.client, account)
	return d, err
}

// Close closes the idle connections.
func (d *driver) Close() error { return d.client.Close() }

// Test fetches an access token.
func (d *driver) Test(ctx context.Context) channel.Result { return d.access.Test(ctx, d.client) }

// Send pushes to one device.
func (d *driver) Send(ctx context.Context, out channel.Outgoing) (result channel.Result) {
	if out.Recipient.Address == "" {
		return channel.Result{Class: posthouse.ClassRecipient, Code: push.CodeNoAddress, Error: "the recipient has no registration token: give the user an address on this channel"}
	}
	message, err := d.message(&out)
	if err != nil {
		return channel.Result{Class: posthouse.ClassContent, Code: channel.CodeRequest, Error: d.client.Redactor().Line(err.Error(), 512)}
	}
	body := errcode.Encoded(map[string]any{"message": message})
	if n := len(body) - len(out.Recipient.Address); n > most+frame {
		return channel.Result{Class: posthouse.ClassContent, Code: "PAYLOAD_TOO_LARGE", Error: fmt.Sprintf("the message has %d bytes: Google takes %d of notification and data", n, most)}
	}
	err = d.access.Call(ctx, func(token string) access.Answer {
		header := http.Header{"Content-Type": {"application/json"}, "Authorization": {"Bearer " + token}}
		reply := d.client.Do(ctx, channel.Request{URL: d.to, Header: batch.WithKeys(header, []channel.Outgoing{out}), Body: body, Hide: []string{token}})
		var again access.Answer
		result, again = d.read(&reply)
		return again
	})
	if err != nil {
		return access.Without(err, d.client)
	}
	return result
}

// message is Google's Message. The data are texts, whatever they were in the payload.
func (d *driver) message(out *channel.Outgoing) (map[string]any, error) {
	data, err := push.Data(out.Payload)
	if err != nil {
		return nil, err
	}
	for name := range data {
		if reserved(name) {
			return nil, fmt.Errorf("the payload's %.80q is a name that Google keeps for itself: choose another", name)
		}
	}
	android := map[string]any{}
	m := map[string]any{"token": out.Recipient.Address, "android": android}
	if out.Priority == posthouse.High {
		android["priority"] = "HIGH"
	}
	if d.ttl > 0 {
		android["ttl"] = push.Seconds(d.ttl)
	}
	if d.data {
		data["title"], data["body"] = out.Content.Title, out.Content.Text
	} else {
		n := map[string]string{"body": out.Content.Text}
		if out.Content.Title != "" {
			n["title"] = out.Content.Title
		}
		m["notification"] = n
		if d.channel != "" {
			android["notification"] = map[string]string{"channel_id": d.channel}
		}
	}
	if len(data) > 0 {
		m["data"] = data
	}
	if len(android) == 0 {
		delete(m, "android")
	}
	return m, nil
}

// reserved reports whether the data may not have a member of a name.
func reserved(name string) bool {
	return name == "from" || name == "message_type" || strings.HasPrefix(name, "google.") || strings.HasPrefix(name, "gcm.")
}
