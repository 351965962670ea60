package apns

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/channel/internal/access"
	"github.com/posthouse/posthouse/channel/internal/batch"
	"github.com/posthouse/posthouse/channel/internal/errcode"
	"github.com/posthouse/posthouse/channel/internal/push"
)

// tokenLasts is how long a token that we sign is used. Apple refuses one that is older than an hour, and a connection whose tokens change
// more often than every 20 minutes: so all processes use one.
const tokenLasts = 45 * time.Minute

// silent is what a configuration says for no sound.
const silent = "none"

type driver struct {
	client *channel.Client
	access *access.Access
	to     *url.URL
	codes  map[string]posthouse.Class
	topic  string
	sound  string
	ttl    time.Duration
}

func open(c channel.Config, env channel.Env) (channel.Driver, error) {
	if err := posthouse.Invalid("the apns driver cannot be opened", check(c)); err != nil {
		return nil, err
	}
	usual := map[string]string{production: "https://api.push.apple.com", development: "https://api.sandbox.push.apple.com"}
	to, err := push.Place(cmp.Or(c.String("url"), usual[c.String("environment")]), "3", "device")
	if err != nil {
		return nil, err
	}
	key, err := push.NewKey(c.String("key_id"), push.ES256, c.String("key"))
	if err != nil {
		return nil, err
	}
	team := c.String("team_id")
	name := "apns/" + team + "/" + key.ID
	return &driver{
		client: channel.NewClient(env, channel.ClientOptions{Secrets: []string{c.String("key")}, HTTP2: true}),
		access: access.New(env, name, to.Host, []string{to.String(), c.String("key")}, func(context.Context) (string, time.Duration, error) {
			token, err := key.Sign(map[string]any{"iss": team, "iat": time.Now().Unix()})
			return token, tokenLasts, err
		}),
		to: to, codes: env.Codes, topic: c.String("topic"), sound: c.String("sound"), ttl: c.Duration("ttl"),
	}, nil
}

// Close closes the connections.
func (d *driver) Close() error { return d.client.Close() }

// Send pushes to one device.
func (d *driver) Send(ctx context.Context, out channel.Outgoing) (result channel.Result) {
	if out.Recipient.Address == "" {
		return channel.Result{Class: posthouse.ClassRecipient, Code: push.CodeNoAddress, Error: "the recipient has no device token: give the user an address on this channel"}
	}
	body, err := d.notification(&out)
	if err != nil {
		return channel.Result{Class: posthouse.ClassContent, Code: channel.CodeRequest, Error: d.client.Redactor().Line(err.Error(), 512)}
	}
	if len(body) > most {
		return channel.Result{Class: posthouse.ClassContent, Code: "PayloadTooLarge", Error: "the notification has " + strconv.Itoa(len(body)) + " bytes: Apple takes 4096"}
	}
	err = d.access.Call(ctx, func(token string) access.Answer {
		reply := d.client.Do(ctx, channel.Request{URL: d.to.JoinPath(out.Recipient.Address), Header: d.header(&out, token), Body: body, Hide: []string{token}})
		var answer access.Answer
		result, answer = d.read(&reply, time.Now())
		return answer
	})
	if err != nil {
		return access.Without(err, d.client)
	}
	return result
}

// header are Apple's headers.
func (d *driver) header(out *channel.Outgoing, token string) http.Header {
	priority := "10"
	if out.Priority == posthouse.Low {
		priority = "5" // at a time that is good for the battery
	}
	expires := "0"
	if d.ttl > 0 {
		expires = strconv.FormatInt(time.Now().Add(d.ttl).Unix(), 10)
	}
	return batch.WithKeys(http.Header{
		"Content-Type": {"application/json"}, "Authorization": {"bearer " + token}, "Apns-Topic": {d.topic}, "Apns-Push-Type": {"alert"},
		"Apns-Priority": {priority}, "Apns-Expiration": {expires},
	}, []channel.Outgoing{*out})
}

// notification is Apple's dictionary, with the payload's members beside it.
func (d *driver) notification(out *channel.Outgoing) ([]byte, error) {
	members := map[string]json.RawMessage{}
	if len(out.Payload) > 0 {
		if err := json.Unmarshal(out.Payload, &members); err != nil {
			return nil, errors.New("the payload is no JSON object: its members are the app's data")
		}
		if members["aps"] != nil {
			return nil, errors.New("the payload's aps is a name that Apple keeps for itself: choose another")
		}
	}
	alert := map[string]string{"body": out.Content.Text}
	if out.Content.Title != "" {
		alert["title"] = out.Content.Title
	}
	aps := map[string]any{"alert": alert}
	if d.sound != silent {
		aps["sound"] = d.sound
	}
	members["aps"] = errcode.Encoded(aps)
	return errcode.Encoded(members), nil
}
