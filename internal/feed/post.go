package feed

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/hook"
	"github.com/posthouse/posthouse/internal/work"
)

// Poster posts events to subscribers, signed as Standard Webhooks describes it.
type Poster struct {
	Client  *channel.Client
	Sealer  Sealer
	network channel.Network
}

// Warn says why nothing will be posted to a URL as this server runs, empty for nothing that can be said now.
func (p *Poster) Warn(url string) string { return p.network.Warn(url) }

// NewPoster makes one that connects where a network allows.
func NewPoster(network channel.Network, sealer Sealer) *Poster {
	return &Poster{Sealer: sealer, network: network, Client: channel.NewClient(channel.Env{Network: network, Timeout: postTimeout}, channel.ClientOptions{MaxBody: 4 << 10})}
}

// postTimeout bounds one call (Standard Webhooks: 15 to 30 seconds).
const postTimeout = 20 * time.Second

// envelope is a body of Standard Webhooks.
type envelope struct {
	Type      string    `json:"type"`
	Timestamp time.Time `json:"timestamp"`
	Data      any       `json:"data"`
}

// typesOfMany are the types of a body with several events, by their sort.
var typesOfMany = map[string]string{
	posthouse.OfDelivery: "deliveries.changed", posthouse.OfCallback: "callbacks.told", posthouse.OfNotification: "notifications.changed", posthouse.OfBudget: "budgets.changed",
}

const typeTest = "posthouse.test"

// failure is why a subscriber did not take something.
type failure struct {
	text  string
	gone  bool          // it wants no more
	after time.Duration // it asked to wait so long
}

// events posts events of one sort, one alone or several as a list.
func (p *Poster) events(ctx context.Context, sub *work.Subscription, list []work.FeedEvent) *failure {
	first, last := &list[0], &list[len(list)-1]
	if len(list) == 1 && sub.Batch <= 1 {
		return p.post(ctx, sub, first.ID, envelope{first.Type(), first.At, first.FeedEvent})
	}
	events := make([]*posthouse.FeedEvent, len(list))
	for i := range list {
		events[i] = &list[i].FeedEvent
	}
	return p.post(ctx, sub, first.ID+"-"+last.ID, envelope{typesOfMany[sortOf(&first.FeedEvent)], last.At, events})
}

// Test posts a test, and says what is wrong with the answer.
func (p *Poster) Test(ctx context.Context, sub *work.Subscription) (problem string) {
	now := time.Now().UTC()
	f := p.post(ctx, sub, "test_"+posthouse.NewID(), envelope{typeTest, now, map[string]string{"subscription": sub.ID, "tenant": sub.Tenant}})
	if f != nil {
		return f.text
	}
	return ""
}

func (p *Poster) post(ctx context.Context, sub *work.Subscription, id string, e envelope) *failure {
	now := time.Now()
	request, err := p.request(sub, id, &e, now)
	if err != nil {
		return &failure{text: err.Error()}
	}
	reply := p.Client.Do(ctx, request)
	switch {
	case reply.OK() || reply.Status/100 == 2 && reply.Cut:
		return nil
	case reply.Status == 0 && reply.Err != nil:
		return &failure{text: said(&reply)}
	}
	seconds, _ := strconv.Atoi(reply.Header.Get("Retry-After")) // a date is passed over: the ladder knows a wait
	return &failure{
		text: said(&reply), gone: reply.Status == http.StatusGone,
		after: min(time.Duration(max(seconds, 0))*time.Second, longestWait),
	}
}

// said is what became of a call that failed, in a line. Neither the answer's body nor the address behind the subscriber's name
// is in it: whoever may make a subscription would read with it what stands in the house.
func said(reply *channel.Reply) string {
	r := reply.Result(channel.Verdict{Class: reply.Class()})
	return r.Code + ": " + r.Error
}

func (p *Poster) request(sub *work.Subscription, id string, e *envelope, now time.Time) (channel.Request, error) {
	secrets, err := OpenSecrets(p.Sealer, sub.Secrets, sub.ID)
	if err != nil {
		return channel.Request{}, err
	}
	keys, err := secrets.live(now)
	if err != nil {
		return channel.Request{}, err
	}
	to, err := url.Parse(sub.URL)
	if err != nil {
		return channel.Request{}, err
	}
	body, err := json.Marshal(e)
	return channel.Request{URL: to, Body: body, Header: http.Header{
		"Content-Type": {"application/json"}, hook.HeaderID: {id}, hook.HeaderTimestamp: {hook.Timestamp(now)}, hook.HeaderSignature: {hook.Sign(keys, id, now, body)},
	}}, err
}
