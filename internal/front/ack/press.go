package ack

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/secret"
	"github.com/posthouse/posthouse/internal/work"
)

// keyMark begins the keys of buttons by which notifications are acknowledged.
const keyMark = "ack."

// asKey keeps the key of a button from serving as a link: whoever follows what is pressed sees it.
const asKey = "acknowledgement by a button"

// Key is what the button of a card tells back: bound to one person and one notification, as a link is.
func (l *Links) Key(tenant, notification, user string) (string, error) {
	token, err := secret.SealToken(l.Sealer, asKey, &claim{tenant, notification, user, time.Now().Add(Valid).Unix()})
	return keyMark + token, err
}

var errVoid = posthouse.Errorf(posthouse.CodeNotFound, "the button acknowledges nothing any more")

// Directory knows users, also by how a provider names them.
type Directory interface {
	// UsersAt are users who have one of some names as an address on any channel, or nearly so: the caller compares.
	UsersAt(ctx context.Context, tenant string, names []string) ([]posthouse.User, error)
	// User is one user; an error of code not_found where there is none.
	User(ctx context.Context, tenant, id string) (posthouse.User, error)
}

// Pressed acknowledges a notification where an event of a verified callback has the key of its button. One that has no such key is
// passed over; a key that is void is an error of code not_found.
//
// By whom is the person whom the provider names, as a user of the directory where that is known. What was sent to one person's own address is
// acknowledged by that person alone: the press of another one is refused with an error of code forbidden. What is for any of several, or was
// sent to a group, is acknowledged by whoever presses it. Where the provider names people in another way than the address does, the name that
// it gave is kept, and nobody is said to be somebody. over reports that what the card tells of is over: the press counts all the same.
func (l *Links) Pressed(ctx context.Context, tenant string, e *posthouse.FeedEvent) (over bool, err error) {
	key := e.Callback.Key
	for _, name := range slices.Sorted(maps.Keys(e.Callback.Fields)) {
		if !strings.HasPrefix(key, keyMark) {
			key = e.Callback.Fields[name]
		}
	}
	token, is := strings.CutPrefix(key, keyMark)
	if !is {
		return false, nil
	}
	log := l.Log.With("tenant", tenant, "channel", e.Channel, "address", e.Callback.Address)
	var c claim
	if !secret.OpenToken(l.Sealer, asKey, token, &c) || c.Tenant != tenant || time.Now().Unix() > c.Until {
		log.Warn("a button was pressed whose key acknowledges nothing, or no more")
		return false, errVoid
	}
	n, err := l.Book.Get(ctx, work.Viewer{Tenant: tenant, Sight: work.SeeAll()}, c.Notification)
	if err != nil { // not_found where it was pruned
		return false, err
	}
	if c.revoked(&n) {
		log.Warn("a button was pressed whose key was revoked: it acknowledges nothing", "notification", n.ID)
		return false, errVoid
	}
	by, stands, err := l.presser(ctx, &n, c.User, e)
	if err != nil {
		return false, err
	}
	if stands == channel.PresserOther && len(n.To) == 1 {
		log.Warn("a card was pressed by another person than it was sent to: it acknowledges nothing", "notification", n.ID, "sent_to", c.User, "pressed_by", by)
		return false, posthouse.Errorf(posthouse.CodeForbidden, "the card was sent to somebody else")
	}
	evidence := map[string]string{"channel": e.Channel, "address": e.Callback.Address, "event": e.Callback.Event, "at": e.Callback.At.UTC().Format(time.RFC3339)}
	if by != c.User {
		evidence["sent_to"] = c.User
	}
	return !n.ResolvedAt.IsZero() || n.State == posthouse.NotificationNotTold, l.acknowledge(ctx, c.Tenant, c.Notification, by, posthouse.AckCard, evidence)
}

// presser is who pressed a card that was sent to a person or a group, and how the presser stands to the one it was sent to.
func (l *Links) presser(ctx context.Context, n *posthouse.Notification, sentTo string, e *posthouse.FeedEvent) (by string, stands channel.Presser, err error) {
	if e.Callback.Address == "" { // the provider names nobody
		return sentTo, channel.PresserUnknown, nil
	}
	if e.User != "" && e.User == sentTo {
		return sentTo, channel.PresserSame, nil
	}
	compare := func(address string) channel.Presser { return channel.PresserUnknown }
	if l.Presser != nil {
		compare = func(address string) channel.Presser { return l.Presser(n.Tenant, e.Channel, address, e.Callback) }
	}
	for i := range n.Deliveries {
		d := &n.Deliveries[i]
		if d.Channel != e.Channel || d.User != sentTo {
			continue
		}
		sent, err := l.delivery(ctx, n.Tenant, d.ID)
		if err != nil {
			return "", "", err
		}
		if sent == nil {
			continue
		}
		switch how := compare(cmp.Or(sent.Address, sent.User)); how {
		case channel.PresserSame:
			return sentTo, how, nil
		case channel.PresserMember:
			stands = how
		case channel.PresserOther:
			stands = cmp.Or(stands, how)
		}
	}
	users, err := l.users(ctx, n.Tenant, e, compare)
	if len(users) == 0 && e.User != "" {
		users = []string{e.User}
	}
	switch {
	case err != nil:
		return "", "", err
	case slices.Contains(users, sentTo):
		return sentTo, channel.PresserSame, nil
	case len(users) == 1: // known, and another one
		return users[0], cmp.Or(stands, channel.PresserOther), nil
	}
	return e.Callback.Address, stands, nil
}

// users are those of the directory whose address on an event's channel is that of whoever pressed.
func (l *Links) users(ctx context.Context, tenant string, e *posthouse.FeedEvent, compare func(string) channel.Presser) (ids []string, err error) {
	if l.Directory == nil {
		return nil, nil
	}
	names := []string{e.Callback.Address}
	for _, field := range []string{"user_id", "union_id"} { // Feishu's other names of a person
		if name := e.Callback.Fields[field]; name != "" {
			names = append(names, name)
		}
	}
	found, err := l.Directory.UsersAt(ctx, tenant, names)
	for i := range found {
		if address := found[i].Addresses[e.Channel]; address != "" && compare(address) == channel.PresserSame {
			ids = append(ids, found[i].ID)
		}
	}
	return ids, err
}
