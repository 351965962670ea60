package ack

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/secret"
)

// keyMark begins the keys of buttons by which notifications are acknowledged.
const keyMark = "ack."

// asKey keeps the key of a button from serving as a link: whoever follows what is pressed sees it.
const asKey = "acknowledgement by a button"

// Key is what the button of a card tells back: bound to one person and one notification, as a link is.
func (l *Links) Key(tenant, notification, user string) (string, error) {
	token, err := secret.SealToken(l.Sealer, asKey, claim{tenant, notification, user, time.Now().Add(Valid).Unix()})
	return keyMark + token, err
}

// Pressed acknowledges a notification where an event of a verified callback has the key of its button. It names the user who pressed the
// button, or the message's recipient where the event does not tell the user. It passes over a key that is old, and one that is none.
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
	var c claim
	if !secret.OpenToken(l.Sealer, asKey, token, &c) || c.Tenant != tenant || time.Now().Unix() > c.Until {
		l.Log.Warn("a button was pressed whose key acknowledges nothing, or no more", "tenant", tenant, "channel", e.Channel, "address", e.Callback.Address)
		return nil
	}
	by := c.User
	if e.User != "" {
		by = e.User
	}
	evidence := map[string]string{"channel": e.Channel, "address": e.Callback.Address, "event": e.Callback.Event, "at": e.Callback.At.UTC().Format(time.RFC3339)}
	return l.acknowledge(ctx, c.Tenant, c.Notification, by, posthouse.AckCard, evidence)
}
