package ack

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/secret"
	"github.com/posthouse/posthouse/internal/work"
)

// keyMark begins the keys of buttons by which notifications are acknowledged.
const keyMark = "ack."

// pressedAs binds the key of a button to its purpose: whoever follows what is pressed sees it, and can make no link of it.
var pressedAs = secret.AAD("acknowledgement by a button")

// Key is what the button of a card tells back: bound to one person and one notification, as a link is.
func (l *Links) Key(tenant, notification, user string) (string, error) {
	text, err := json.Marshal(claim{tenant, notification, user, time.Now().Add(Valid).Unix()})
	if err != nil {
		return "", err
	}
	sealed, err := l.Sealer.Seal(string(text), pressedAs)
	return keyMark + base64.RawURLEncoding.EncodeToString([]byte(sealed)), err
}

// Pressed acknowledges by a button whose key a provider tells, by a callback that was verified. Whoever pressed it is named, where that
// is known, and else whom the message was for. A key that is old, or none, is passed over.
func (l *Links) Pressed(ctx context.Context, tenant string, e *posthouse.FeedEvent) error {
	key := e.Callback.Key
	for _, name := range slices.Sorted(maps.Keys(e.Callback.Fields)) {
		if !strings.HasPrefix(key, keyMark) {
			key = e.Callback.Fields[name]
		}
	}
	token, is := strings.CutPrefix(key, keyMark)
	if !is {
		return nil
	}
	c, ok := l.claimOf(token, pressedAs)
	if !ok || c.Tenant != tenant || time.Now().Unix() > c.Until {
		l.Log.Warn("a button was pressed whose key acknowledges nothing, or no more", "tenant", tenant, "channel", e.Channel, "address", e.Callback.Address)
		return nil
	}
	by := c.User
	if e.User != "" {
		by = e.User
	}
	evidence, err := json.Marshal(map[string]string{"channel": e.Channel, "address": e.Callback.Address, "event": e.Callback.Event, "at": e.Callback.At.UTC().Format(time.RFC3339)})
	if err != nil {
		return err
	}
	v := work.Viewer{Tenant: c.Tenant, Sight: work.SeeAll()}
	n, err := l.Book.Get(ctx, v, c.Notification)
	if err == nil && n.Ack == nil && n.Reason != "cancelled" {
		_, err = l.Book.Acknowledge(ctx, v, c.Notification, by, posthouse.AckCard, evidence)
	}
	if posthouse.CodeOf(err) == posthouse.CodeNotFound { // it was pruned
		return nil
	}
	return err
}
