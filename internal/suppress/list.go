package suppress

import (
	"context"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/draft"
	"github.com/posthouse/posthouse/internal/phone"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/wire"
)

// Store keeps suppressions.
type Store interface {
	Suppress(ctx context.Context, now time.Time, list []posthouse.Suppression) error
	Unsuppress(ctx context.Context, now time.Time, tenant, channel string, addresses []string, source posthouse.SuppressionSource) (int64, error)
	Suppressions(ctx context.Context, tenant string, of work.SuppressionsOf, cursor string, limit int) (list []posthouse.Suppression, next string, err error)
	PruneSuppressions(ctx context.Context, now time.Time, most int) (int, error)
}

// Channels are the channels that are open.
type Channels interface {
	Channel(tenant, name string) *state.Channel
	Names(tenant string) []string
}

// List is the suppressions as people and providers change them.
type List struct {
	store    Store
	channels Channels
}

// New is a list in a store.
func New(s Store, c Channels) *List { return &List{s, c} }

// MaxReason bounds a reason, in characters.
const MaxReason = 255

// Add stores a suppression of one address. Every problem of it is named at once.
func (l *List) Add(ctx context.Context, tenant string, in wire.SuppressionDraft) ([]posthouse.Suppression, error) {
	p := &draft.Problems{}
	l.check(tenant, in.Channel, in.Reason, in.Until, p)
	forms := l.forms(tenant, in.Channel, shown(in.Address, p), p)
	if err := posthouse.Invalid("the suppression cannot be stored", p.List); err != nil {
		return nil, err
	}
	one := posthouse.Suppression{Tenant: tenant, Channel: in.Channel, Reason: in.Reason, Source: posthouse.SuppressedByPerson, Until: in.Until}
	if err := l.store.Suppress(ctx, time.Now(), each(one, forms)); err != nil {
		return nil, err
	}
	list, _, err := l.store.Suppressions(ctx, tenant, work.SuppressionsOf{Addresses: forms}, "", 0)
	return slices.DeleteFunc(list, func(s posthouse.Suppression) bool { return s.Channel != in.Channel }), err
}

// each is a suppression of several addresses.
func each(of posthouse.Suppression, addresses []string) []posthouse.Suppression {
	list := make([]posthouse.Suppression, len(addresses))
	for i, address := range addresses {
		list[i] = of
		list[i].Address = address
	}
	return list
}

// check says what is wrong with what holds for one or for a whole file.
func (l *List) check(tenant, name, reason string, until time.Time, p *draft.Problems) {
	if name != "" && l.channels.Channel(tenant, name) == nil {
		p.Add("channel", "there is no channel %.80q, or it is not open; %s", name, channel.OneOf("channels", name, l.channels.Names(tenant)))
	}
	p.Word("reason", reason, utf8.UTFMax*MaxReason)
	if n := utf8.RuneCountInString(reason); n > MaxReason {
		p.Add("reason", "has %d characters: at most %d are allowed", n, MaxReason)
	}
	p.Time("until", until)
	if !until.IsZero() && !until.After(time.Now()) {
		p.Add("until", "is %s, which has passed", until.Format(time.RFC3339))
	}
}

// shown is an address without the marks that a number has as it comes from a phone's contacts, and refuses another one with such, which a page
// shows as what it is not. What is stored already can be looked up and removed, and what providers tell counts as they tell it.
func shown(address string, p *draft.Problems) string {
	odd := draft.UnseenIn(strings.TrimSpace(address))
	if _, err := Plain(address); odd == "" || err != nil { // the latter is said where it is written
		return address
	}
	if _, err := phone.Parse(address, phone.Home); err != nil {
		p.Add("address", "%s", odd)
		return address
	}
	return strings.Map(func(r rune) rune {
		if draft.Unseen(r) {
			return -1
		}
		return r
	}, address)
}

// forms are those under which an address is suppressed: as its channel writes it, folded. For all channels it is the form in which each of
// them is asked for, and those of channels that write it in a way of their own.
func (l *List) forms(tenant, channel, address string, p *draft.Problems) []string {
	list := l.written(tenant, channel, address, p)
	if channel == "" && len(list) > 0 {
		plain, _ := Plain(address)
		all := everywhere(plain)
		for _, form := range list {
			if form = Everywhere(form); !slices.Contains(all, form) {
				all = append(all, form)
			}
		}
		return all
	}
	for i := range list {
		list[i] = Fold(list[i])
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// written are all the ways in which the channel, or the tenant's channels, keep an address. One that none of these takes is
// kept as it is for all channels, and refused for one.
func (l *List) written(tenant, channel, address string, p *draft.Problems) []string {
	plain, err := Plain(address)
	if err != nil {
		p.Add("address", "%v", err)
		return nil
	}
	names := []string{channel}
	if channel == "" {
		names = l.channels.Names(tenant)
	}
	var list []string
	for _, name := range names {
		ch := l.channels.Channel(tenant, name)
		if ch == nil {
			continue
		}
		form := plain
		if ch.Opened.Address != nil {
			if form, err = ch.Opened.Address(plain); err != nil {
				if channel != "" {
					p.Add("address", "%v", err)
				}
				continue
			}
		}
		list = append(list, form)
	}
	if len(list) == 0 {
		list = []string{plain}
	}
	return list
}

// Remove deletes the suppression of an address in a channel, or the one in all channels where that is empty.
func (l *List) Remove(ctx context.Context, tenant, channel, address string) error {
	p := &draft.Problems{}
	forms := l.lookedFor(tenant, channel, address, p)
	if err := posthouse.Invalid("no suppression can be removed", p.List); err != nil {
		return err
	}
	n, err := l.store.Unsuppress(ctx, time.Now(), tenant, channel, forms, "")
	if err == nil && n == 0 {
		where := "all channels"
		if channel != "" {
			where = "the channel " + channel
		}
		err = posthouse.Errorf(posthouse.CodeNotFound, "there is no suppression of %.80q in %s", address, where)
	}
	return err
}

// lookedFor are the forms in which an address may be stored: as its channels write it, folded, and as it was given. The channel need
// not be open.
func (l *List) lookedFor(tenant, channel, address string, p *draft.Problems) []string {
	plain, err := Plain(address)
	if err != nil {
		p.Add("query.address", "%v", err)
		return nil
	}
	list := append(l.written(tenant, channel, address, &draft.Problems{}), plain)
	for _, form := range list[:len(list):len(list)] {
		list = append(append(list, Fold(form)), everywhere(form)...)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// Forms are the forms in which an address may stand with deliveries: those of its channels, and of a number those that a channel keeps which
// takes numbers as they are given.
func (l *List) Forms(tenant, channel, address string) []string {
	list := l.lookedFor(tenant, channel, address, &draft.Problems{})
	n, err := phone.Parse(address, phone.Home)
	if err != nil {
		return list
	}
	list = append(list, n.E164, strings.TrimPrefix(n.E164, "+"))
	if strings.HasPrefix(n.E164, "+86") { // what is dialled in another country may be somebody else's at home
		list = append(list, n.National)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// Find lists suppressions by address: all, those of a channel, or those of one address.
func (l *List) Find(ctx context.Context, tenant, channel, address, cursor string, limit int) ([]posthouse.Suppression, string, error) {
	of := work.SuppressionsOf{Channel: channel}
	if address != "" {
		p := &draft.Problems{}
		l.lookedFor(tenant, "", address, p)
		if err := posthouse.Invalid("nothing can be looked up", p.List); err != nil {
			return nil, "", err
		}
		of.Addresses = l.Forms(tenant, "", address)
	}
	return l.store.Suppressions(ctx, tenant, of, cursor, limit)
}

// Hear writes what a provider has told of who wants to be reached on a channel, in the form in which the channel keeps the
// address. A person's own suppression stays when its address opts in again.
func (l *List) Hear(ctx context.Context, tenant, channel string, told []channel.Consent) error {
	for _, c := range told {
		p := &draft.Problems{}
		forms := l.lookedFor(tenant, channel, c.Address, p)
		if len(p.List) > 0 {
			continue // no address that anything is sent to
		}
		var err error
		if c.In {
			_, err = l.store.Unsuppress(ctx, time.Now(), tenant, channel, forms, posthouse.SuppressedByCallback)
		} else {
			one := posthouse.Suppression{Tenant: tenant, Channel: channel, Reason: c.Reason, Source: posthouse.SuppressedByCallback}
			err = l.store.Suppress(ctx, time.Now(), each(one, l.forms(tenant, channel, c.Address, p)))
		}
		if err != nil {
			return err
		}
	}
	return nil
}
