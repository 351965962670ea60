package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/wire"
)

// Messages are what was handed in, each with its deliveries.
type Messages struct{ api *caller }

// Sent is the answer to Send: committed, one Accepted for each draft.
type Sent struct {
	Accepted []posthouse.Accepted
	// Replayed says that the Idempotency-Key was known: this is the first answer again.
	Replayed bool
}

// Send hands in one or many messages, up to 1000, all or none. It carries an Idempotency-Key of
// its own, so a lost answer is asked for again and nobody is told twice.
func (c Messages) Send(ctx context.Context, drafts ...posthouse.Draft) (Sent, error) {
	return c.SendOnce(ctx, posthouse.NewID(), drafts...)
}

// SendOnce is Send with the caller's own Idempotency-Key, up to 255 bytes: a program that
// starts again can repeat it with the same key and the same drafts for days.
func (c Messages) SendOnce(ctx context.Context, key string, drafts ...posthouse.Draft) (Sent, error) {
	if err := checkKey(key); err != nil {
		return Sent{}, err
	}
	r, err := withBody(http.MethodPost, path("messages"), map[string][]posthouse.Draft{"messages": drafts})
	if err != nil {
		return Sent{}, err
	}
	r.key = key
	body, answer, err := callReply[wire.Sent](ctx, c.api, r)
	return Sent{Accepted: body.Messages, Replayed: answer.header.Get("Idempotent-Replay") == "true"}, err
}

// Check says what would be wrong with messages, up to 1000, and hands none of them in.
func (c Messages) Check(ctx context.Context, drafts ...posthouse.Draft) error {
	r, err := withBody(http.MethodPost, path("messages"), map[string][]posthouse.Draft{"messages": drafts})
	if err != nil {
		return err
	}
	r.query = url.Values{"dry_run": {"true"}}
	_, err = c.api.do(ctx, r)
	return err
}

// SendJSON hands in a body as it is: one message, or {"messages": […]}. An empty key makes one.
func (c Messages) SendJSON(ctx context.Context, key string, body []byte) (Sent, error) {
	if key == "" {
		key = posthouse.NewID()
	}
	if err := checkKey(key); err != nil {
		return Sent{}, err
	}
	answer, err := c.api.do(ctx, request{method: http.MethodPost, path: path("messages"), key: key, kind: "application/json", body: body})
	if err != nil {
		return Sent{}, err
	}
	var out wire.Sent
	if err := json.Unmarshal(answer.body, &out); err != nil {
		return Sent{}, fmt.Errorf("the answer to a send is not what the API promises: %w", err)
	}
	if out.Messages == nil && out.Accepted != nil {
		out.Messages = []posthouse.Accepted{*out.Accepted}
	}
	return Sent{Accepted: out.Messages, Replayed: answer.header.Get("Idempotent-Replay") == "true"}, nil
}

// checkKey refuses an Idempotency-Key that no request can carry, so that nothing is sent without it.
func checkKey(key string) error {
	if key != "" && len(key) <= 255 && !strings.ContainsFunc(key, func(r rune) bool { return r < ' ' || r > '~' }) {
		return nil
	}
	return posthouse.Invalid("the request cannot be made", []posthouse.Problem{
		{Path: "header.Idempotency-Key", Message: fmt.Sprintf("has %d bytes: want 1 to 255 of printable ASCII", len(key))},
	})
}

// Get reads a message with the first page of its deliveries.
func (c Messages) Get(ctx context.Context, id string) (wire.Message, error) {
	return c.Page(ctx, id, "", 0)
}

// Wait is Get once no delivery of the message waits or is being sent, or after a time of at most a minute.
func (c Messages) Wait(ctx context.Context, id string, most time.Duration) (wire.Message, error) {
	return get[wire.Message](ctx, c.api, path("messages", id), url.Values{"wait": {posthouse.Duration(most).String()}})
}

// Page is Get with a later page of deliveries. A limit of 0 means the server's, 50.
func (c Messages) Page(ctx context.Context, id, cursor string, limit int) (wire.Message, error) {
	return get[wire.Message](ctx, c.api, path("messages", id), Filter{Cursor: cursor, Limit: limit}.query())
}

// List lists messages, newest first.
func (c Messages) List(ctx context.Context, f Filter) (wire.Page[wire.Message], error) {
	return get[wire.Page[wire.Message]](ctx, c.api, path("messages"), f.query())
}

// Reveal reads the hidden content of a sensitive message. The reason stands in the audit log, with the caller.
func (c Messages) Reveal(ctx context.Context, id, reason string) (wire.Revealed, error) {
	return send[wire.Revealed](ctx, c.api, http.MethodPost, path("messages", id, "reveal"), wire.Reveal{Reason: reason})
}

// Cancel withdraws what is still open of a message.
func (c Messages) Cancel(ctx context.Context, id string) (wire.Cancelled, error) {
	return send[wire.Cancelled](ctx, c.api, http.MethodPost, path("messages", id, "cancel"), nil)
}

// CancelRef withdraws what is still open of all messages of a kind and ref.
func (c Messages) CancelRef(ctx context.Context, kind, ref string) (wire.Cancelled, error) {
	return send[wire.Cancelled](ctx, c.api, http.MethodPost, path("messages", "cancel"), wire.Ref{Kind: kind, Ref: ref})
}

// Recall cancels what has not started of a message, and asks the providers to take back what was sent: one request's share of it. The same
// call goes on with what remains.
func (c Messages) Recall(ctx context.Context, id string) (wire.Recalled, error) {
	return send[wire.Recalled](ctx, c.api, http.MethodPost, path("messages", id, "recall"), nil)
}

// Filter selects messages or deliveries. Empty fields select all.
type Filter struct {
	Channel string
	Kind    string
	Ref     string
	User    string
	Account string // that sent it, or that it is pinned to
	States  []posthouse.State
	// Reason is why a delivery is in its state. KnownAs is the address that it goes to, or what its provider calls it. These and
	// Priority are of lists of deliveries alone.
	Reason, KnownAs string
	Priority        posthouse.Priority
	// Person is the user or the address of somebody whom a notification means, told, or was acknowledged by, and Route the one that it follows. They
	// are of lists of notifications alone.
	Person, Route string
	// Held lists only what a new epoch holds. It is of lists of notifications alone.
	Held bool
	// Since and Until bound when the message was handed in: from Since, before Until.
	Since, Until time.Time
	// Cursor is Next of the page before, Limit the length of a page, 1 to 1000. Defaults to 50.
	Cursor string
	Limit  int
}
