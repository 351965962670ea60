package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/draft"
	"github.com/posthouse/posthouse/internal/secret"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
)

// Sealer encrypts what only its own place may decrypt, which aad names. A keyring does.
type Sealer interface {
	Seal(plain, aad string) (string, error)
	Open(text, aad string) (string, error)
}

// forgetAfter is how long the content of a sensitive message is kept where its draft does not say.
const forgetAfter = 24 * time.Hour

// secrets is what is sealed of a message.
type secrets struct {
	Content posthouse.Content `json:"content"`
	Payload json.RawMessage   `json:"payload,omitempty"`
}

// seal takes the content out of a sensitive message. Its deadline is then no later than when it is forgotten.
func (e *Engine) seal(d *posthouse.Draft, m *posthouse.Message, now time.Time, p *draft.Problems) (*work.Sealed, error) {
	if !d.Sensitive {
		return nil, nil
	}
	if e.o.Sealer == nil {
		p.Add("sensitive", "is not possible here: the server has no keyring to seal contents with")
		return nil, nil
	}
	forget := wholeMicros(now.Add(cmp.Or(d.ForgetAfter.Std(), forgetAfter)))
	if !forget.After(m.NotBefore) {
		p.Add("forget_after", "is over before not_before: the content would be forgotten before it may be sent")
		return nil, nil
	}
	if m.Deadline.IsZero() || m.Deadline.After(forget) {
		m.Deadline = forget
	}
	plain, err := json.Marshal(secrets{m.Content, m.Payload})
	if err != nil {
		return nil, err
	}
	body, err := e.o.Sealer.Seal(string(plain), secret.MessagePlace(m.Tenant, m.ID))
	if err != nil {
		return nil, err
	}
	m.Sensitive, m.Content, m.Payload = true, posthouse.Content{}, nil
	return &work.Sealed{Message: m.ID, Tenant: m.Tenant, Body: body, ForgetAt: forget}, nil
}

// unseal puts the contents back into claimed deliveries of sensitive messages. One that can not be opened is
// unreadable from then on; an error is the database's.
func (e *Engine) unseal(ctx context.Context, items []work.Item) error {
	ids := map[string][]string{} // by tenant
	for _, item := range items {
		if m := item.Message; m != nil && m.Sensitive && m.Unreadable == "" {
			ids[m.Tenant] = append(ids[m.Tenant], m.ID)
		}
	}
	opened := map[string]*posthouse.Message{}
	for tenant, messages := range ids {
		bodies, err := e.o.Store.Sealed(ctx, tenant, messages)
		if err != nil {
			return err
		}
		for i := range items {
			m := items[i].Message
			if m == nil || !m.Sensitive || m.Unreadable != "" || m.Tenant != tenant {
				continue
			}
			if opened[m.ID] == nil {
				opened[m.ID] = e.openSealed(*m, bodies[m.ID])
			}
			items[i].Message = opened[m.ID]
		}
	}
	return nil
}

// openSealed is a message with its content.
func (e *Engine) openSealed(m posthouse.Message, body string) *posthouse.Message {
	switch {
	case body == "":
		m.Unreadable = "its content is forgotten"
		return &m
	case e.o.Sealer == nil:
		m.Unreadable = "its content is sealed, and this process has no keyring"
		return &m
	}
	plain, err := e.o.Sealer.Open(body, secret.MessagePlace(m.Tenant, m.ID))
	var s secrets
	if err == nil {
		err = json.Unmarshal([]byte(plain), &s)
	}
	if err != nil {
		m.Unreadable = "its content can not be opened with this keyring"
		return &m
	}
	m.Content, m.Payload = s.Content, s.Payload
	return &m
}

// unsealGroup is unseal for a group of one message that is about to be sent. What the database does not let be opened
// is handed to the recorder: what comes back is then empty.
func (e *Engine) unsealGroup(r *route, group []work.Item, leaseEnd time.Time) []work.Item {
	if m := group[0].Message; m == nil || !m.Sensitive {
		return group
	}
	ctx, cancel := context.WithDeadline(e.sendCtx, leaseEnd)
	defer cancel()
	err := e.unseal(ctx, group)
	if err == nil {
		return group
	}
	e.log.Warn("a sealed content can not be read: its deliveries are given back", "channel", r.Key.Channel, "message", group[0].Delivery.Message, "error", err)
	for _, item := range group {
		e.recorder.add(done{route: r, item: item, verdict: verdictRelease, reason: state.ReasonDatabase, result: channel.Result{After: rereadAfter}})
	}
	return nil
}

// hush drops the excerpts of what went to a provider and came back, and what it said, where they may hold a sensitive
// content. The codes stay.
func hush(group []work.Item, results []channel.Result) {
	if !group[0].Message.Sensitive {
		return
	}
	for i := range results {
		results[i].Request, results[i].Response, results[i].Error = "", "", state.Hidden(results[i].Error)
	}
}

// hushReports drops what agents say in their own words of sensitive messages, and of those that nobody can say of
// whether they are, such as one that is deleted by now: what they call an error, and the request, which has that and
// whatever else they sent along. Most reports have no such words, and their messages are not looked up.
func (e *Engine) hushReports(ctx context.Context, list []work.Report) {
	type message struct{ tenant, id string }
	said := map[message]bool{} // it may be kept
	for i := range list {
		r := &list[i]
		if wordless(r) {
			continue
		}
		of := message{r.Tenant, posthouse.MessageID(r.Delivery)}
		if _, known := said[of]; !known {
			m, _, err := e.o.Store.Message(ctx, of.tenant, of.id)
			said[of] = err == nil && !m.Sensitive
		}
		if !said[of] {
			r.Error, r.Request = state.Hidden(r.Error), ""
		}
	}
}

// wordless reports whether a report has nothing in its agent's own words: its request is made of the fields that are
// kept anyway, as one of the front doors writes them down.
func wordless(r *work.Report) bool {
	if r.Error != "" {
		return false
	}
	fields, _ := json.Marshal(r.AgentReport) // texts, a number and a flag: can not fail
	return r.Request == "" || r.Request == string(fields) || r.Request == SentRequest(r.Delivery, r.Agent)
}

// SentRequest is what the log keeps of a request to the SMS front door that says that a text was sent. The body itself
// may quote the text, in fields that have no use.
func SentRequest(task, app string) string {
	request, _ := json.Marshal(struct {
		Task   string `json:"task_id"`
		App    string `json:"app_id"`
		Status int    `json:"status"`
	}{task, app, 2}) // texts and a number: can not fail
	return string(request)
}

// hushReceipts drops what a provider wrote besides its answer about sensitive messages, and about those that nobody can
// say of whether they are.
func (e *Engine) hushReceipts(group []work.Awaited, list []channel.Receipt) {
	said := map[string]bool{} // by message: it may be kept
	for i := range list {
		if list[i].Response+list[i].Error == "" {
			continue
		}
		id := posthouse.MessageID(group[i].Delivery)
		if _, known := said[id]; !known {
			m, _, err := e.o.Store.Message(e.bg, group[i].Tenant, id)
			said[id] = err == nil && !m.Sensitive
		}
		if !said[id] {
			list[i].Response, list[i].Error = "", state.Hidden(list[i].Error)
		}
	}
}

// forgetEvery is the time between two looks for contents whose time has come; forgetBatch bounds one transaction.
const (
	forgetEvery = 10 * time.Second
	forgetBatch = 1000
)

// forget deletes sealed contents whose time has come.
func (e *Engine) forget(ctx context.Context) {
	for e.pause(spread(forgetEvery)) {
		for n := forgetBatch; n == forgetBatch && !e.isStopping(); {
			var err error
			if n, err = e.o.Store.Forget(ctx, time.Now(), forgetBatch); err != nil {
				e.log.Warn("sealed contents can not be deleted now", "error", err)
			} else if n > 0 {
				e.log.Info("sealed contents deleted", "messages", n)
			}
		}
	}
}
