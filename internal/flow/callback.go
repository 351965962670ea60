package flow

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/workflow"
)

// CallbackOptions makes a Callback. URL is required.
type CallbackOptions struct {
	// URL is asked with POST.
	URL string
	// Secret is sent in the header X-Posthouse-Secret. Defaults to none.
	Secret string
	// Network decides which addresses may be dialled. The zero value allows public ones only.
	Network channel.Network
	// Timeout bounds one question. Defaults to 5s.
	Timeout time.Duration
}

// Callback is a Resolver that asks the caller's own system over HTTP. It posts
//
//	{"tenant": "default", "task": "1001", "purpose": "node_done", "nodes": ["8882"], "roles": ["planner"], "users": ["u9"]}
//
// and reads {"users": [{"user": "u1", "address": "13800000000"}]}: all who are to be told, those of users too.
// An address is optional. Vacant roles may be named in "vacant".
type Callback struct {
	client *channel.Client
	url    *url.URL
	secret string
}

// SecretHeader holds the callback's secret.
const SecretHeader = "X-Posthouse-Secret" //nolint:gosec // its name

const (
	callbackTimeout = 5 * time.Second
	maxAnswer       = 1 << 20 // bytes
)

// NewCallback makes a Callback.
func NewCallback(o CallbackOptions) (*Callback, error) {
	u, err := url.Parse(o.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("the resolver's URL is %.100q: want one such as https://bpm.example.com/recipients", o.URL)
	}
	if o.Timeout <= 0 {
		o.Timeout = callbackTimeout
	}
	secrets := []string{}
	if o.Secret != "" {
		secrets = append(secrets, o.Secret)
	}
	env := channel.Env{Network: o.Network}
	return &Callback{url: u, secret: o.Secret, client: channel.NewClient(env, channel.ClientOptions{Timeout: o.Timeout, MaxBody: maxAnswer, Secrets: secrets})}, nil
}

type callbackQuestion struct {
	Tenant  string   `json:"tenant"`
	Task    string   `json:"task"`
	Purpose string   `json:"purpose"`
	Nodes   []string `json:"nodes"`
	Roles   []string `json:"roles"`
	Users   []string `json:"users"`
}

type callbackAnswer struct {
	Users []struct {
		User    string `json:"user"`
		Address string `json:"address"`
	} `json:"users"`
	Vacant []string `json:"vacant"`
}

// Resolve asks. What is no answer of the form above is an error: then nobody is told until it is asked again.
func (c *Callback) Resolve(ctx context.Context, q workflow.Question) (workflow.Audience, error) {
	header := http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json"}}
	if c.secret != "" {
		header.Set(SecretHeader, c.secret)
	}
	body := canonical(callbackQuestion{q.Tenant, q.Task, q.Purpose, listed(q.Nodes), listed(q.Roles), listed(q.Users)})
	reply := c.client.Do(ctx, channel.Request{URL: c.url, Header: header, Body: body})
	var answer callbackAnswer
	switch {
	case reply.Err != nil:
		return workflow.Audience{}, unanswered(fmt.Errorf("%s: %w", reply.Code, reply.Err))
	case !reply.OK():
		return workflow.Audience{}, unanswered(fmt.Errorf("it answered HTTP %d", reply.Status))
	case reply.Cut:
		return workflow.Audience{}, unanswered(fmt.Errorf("its answer has more than %d bytes", maxAnswer))
	}
	if err := json.Unmarshal(reply.Body, &answer); err != nil {
		return workflow.Audience{}, unanswered(fmt.Errorf("its answer cannot be read: %w", err))
	}
	if answer.Users == nil || len(answer.Users) > maxAudience {
		return workflow.Audience{}, unanswered(fmt.Errorf("its answer has %d users: want a list of at most %d", len(answer.Users), maxAudience))
	}
	out := workflow.Audience{Vacant: answer.Vacant}
	for _, u := range answer.Users {
		if u.User == "" && u.Address == "" {
			return workflow.Audience{}, unanswered(fmt.Errorf("its answer names somebody without a user and an address"))
		}
		out.To = append(out.To, posthouse.Recipient{User: u.User, Address: u.Address})
	}
	return out, nil
}

// unanswered is the error of a question that passes: the same event asks it again.
func unanswered(why error) error {
	return &posthouse.Error{Code: posthouse.CodeUnavailable, Message: "the workflow's resolver did not say who is to be told: try again", Cause: why}
}

// listed is a list that JSON shows as one when it is empty.
func listed(names []string) []string {
	if names == nil {
		return []string{}
	}
	return names
}
