package server

import (
	"cmp"
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/content"
	"github.com/posthouse/posthouse/internal/digest"
	"github.com/posthouse/posthouse/internal/front/ack"
	"github.com/posthouse/posthouse/internal/front/preferences"
	"github.com/posthouse/posthouse/internal/intake"
	"github.com/posthouse/posthouse/internal/metrics"
	quiethours "github.com/posthouse/posthouse/internal/quiet"
	"github.com/posthouse/posthouse/internal/route"
	"github.com/posthouse/posthouse/internal/suppress"
	"github.com/posthouse/posthouse/internal/work"
)

// openRouter makes what follows routes.
func (s *Server) openRouter(context.Context) error {
	s.store.SetNotified(digest.Both{Others: route.Law{}})
	s.store.SetGathering(digest.Law{})
	s.gatherer = &digest.Composer{Digests: s.store.Digests, Messages: s.store.Messages, Plans: s.store.Plans, Zone: s.zone, Log: s.o.Log}
	s.gatherer.Trial = taking{s}
	s.gatherer.Own, s.gatherer.Alone, s.gatherer.Read = s.kindsOfTheirOwn, s.leftAlone, s.asRead
	s.collections = digest.Book{Store: s.store.Plans}
	s.router = &route.Router{Intake: taking{s}, Routes: s.store.Routes, Directory: s.store.Users, Plans: s.store.Plans, Contents: unsealing{s}, Log: s.o.Log, Location: s.zone, Quiet: s.leftAlone, Choices: s.choices,
		Language: s.languageOf, Template: func(ctx context.Context, tenant, name string) (posthouse.Template, error) {
			return s.store.Templates.Template(ctx, tenant, name, 0)
		}}
	s.told = route.Book{Store: s.store.Plans, Delivery: s.store.Messages.Delivery, Epoch: func() int64 { return s.engine.Epoch() }, Acknowledged: metrics.NewNotifications(s.o.Registry).Acknowledged}
	s.acks = &ack.Links{Sealer: s.keyring, PublicURL: strings.TrimRight(s.o.PublicURL, "/"), Book: s.told, Deliveries: s.store.Messages, Sent: s.store.Receipts, Meant: s.store.Answers, Fetched: s.fetched, Directory: s.store.Users, Messages: s.store.Messages, Presser: s.presser, Zone: s.zone, Log: s.o.Log}
	s.router.Foresee = func() route.Foresight { return s.engine.Foresight() }
	s.router.Receipts = func(tenant, name string) (come, known bool) {
		ch := s.engine.Routes.Channel(tenant, name)
		return ch != nil && (ch.Opened.Receipts || ch.Opened.Pull), ch != nil
	}
	s.router.Answers = func(tenant, name string) (come, known bool) {
		ch := s.engine.Routes.Channel(tenant, name)
		return ch != nil && (ch.Opened.Answers || ch.Opened.Pull), ch != nil
	}
	s.router.Calendar = func(ctx context.Context, tenant, name string) (bool, error) {
		_, there, err := s.store.Rosters.Roster(ctx, tenant, name)
		return there, err
	}
	s.router.DayOff = s.quiet.DayOff
	s.router.Calls = func(tenant, name string) bool {
		ch := s.engine.Routes.Channel(tenant, name)
		return ch != nil && ch.Opened.Calls
	}
	s.acks.Read, s.acks.Channel = s.asRead, s.called
	s.router.Key, s.router.Code = s.acks.Key, ack.Code
	s.choosing = &preferences.Links{
		Desk: &preferences.Desk{Store: s.store.Preferences, Directory: s.store.Users, Tenants: s.store.Tenants, Choices: s.choices, Channels: func(tenant string) []string { return s.engine.Routes.Names(tenant) },
			Settings: func(ctx context.Context, tenant, cursor string, limit int) ([]posthouse.Channel, string, error) {
				return s.channels.List(ctx, tenant, cursor, limit)
			}, Zone: s.zone.String},
		Sealer: s.keyring, PublicURL: s.acks.PublicURL, Log: s.o.Log, Audit: s.book(),
	}
	if s.o.PublicURL != "" {
		s.router.Link, s.router.PreferencesLink = s.acks.Link, s.choosing.Link
	}
	return nil
}

// openAcks puts the pages behind links beside the API: those by which notifications are acknowledged, and preferences chosen.
func (s *Server) openAcks() {
	both := http.NewServeMux()
	both.Handle("/", s.handler)
	both.Handle(ack.Path, s.acks)
	both.Handle(preferences.Path, s.choosing)
	s.handler = both
}

// taking is the intake, which is made after the router that it asks.
type taking struct{ s *Server }

func (t taking) Accept(ctx context.Context, req intake.Request) (intake.Answer, error) {
	return t.s.engine.Intake.Accept(ctx, req)
}

func (t taking) Refused(ctx context.Context, tenant string, d posthouse.Draft) (why, err error) {
	return t.s.engine.Intake.Refused(ctx, tenant, d)
}

func (t taking) People(ctx context.Context, tenant string, to []posthouse.Recipient, now time.Time) ([]posthouse.Recipient, []posthouse.Problem, error) {
	return t.s.engine.Intake.People(ctx, tenant, to, now)
}

// unsealing are the contents of the engine, which is made after the router.
type unsealing struct{ s *Server }

func (u unsealing) Unseal(ctx context.Context, items []work.Item) error {
	return u.s.engine.Contents.Unseal(ctx, items)
}

// fetched is a sender's number as a channel keeps it that agents fetch from.
func (s *Server) fetched(tenant, name, sender string) (number string, is bool) {
	ch := s.engine.Routes.Channel(tenant, name)
	if ch == nil || !ch.Opened.Pull {
		return "", false
	}
	if ch.Opened.Address == nil {
		return sender, true
	}
	number, err := ch.Opened.Address(sender)
	return number, err == nil
}

// presser is how whoever an event names stands to an address of a channel.
func (s *Server) presser(tenant, name, address string, e *posthouse.CallbackEvent) channel.Presser {
	if ch := s.engine.Routes.Channel(tenant, name); ch != nil && ch.Opened.Presser != nil {
		return ch.Opened.Presser(address, e)
	}
	return channel.PresserUnknown
}

// leftAlone is until when a person is left alone on a channel, zero for not.
func (s *Server) leftAlone(ctx context.Context, tenant, name, kind string, to posthouse.Recipient, deadline, now time.Time) (time.Time, error) {
	ch := s.engine.Routes.Channel(tenant, name)
	if ch == nil || !s.quiet.Any(tenant, ch.Settings.Quiet) {
		return time.Time{}, nil
	}
	ends, err := s.quiet.Until(ctx, tenant, ch.Settings.Quiet, now, []quiethours.Whom{{
		Kind: kind, User: to.User, Address: to.Address, Local: ch.Settings.Location, Deadline: deadline,
	}})
	if err != nil || len(ends) == 0 {
		return time.Time{}, err
	}
	return ends[0], nil
}

// kindsOfTheirOwn are those of some kinds for which a channel, its tenant or a recipient has other rules than for messages of no kind.
func (s *Server) kindsOfTheirOwn(ctx context.Context, tenant, name string, to posthouse.Recipient, kinds []string) (own []string, err error) {
	wishes := []suppress.Wish{{User: to.User, Channel: name}}
	for _, kind := range kinds {
		wishes = append(wishes, suppress.Wish{User: to.User, Channel: name, Kind: kind})
	}
	refused, err := s.choices.Refused(ctx, tenant, wishes)
	if err != nil {
		return nil, err
	}
	ch := s.engine.Routes.Channel(tenant, name)
	for i, kind := range kinds {
		_, without := refused[0]
		_, with := refused[i+1]
		if with != without || ch != nil && (ch.Settings.Exempt(kind) || s.quiet.Tell(tenant, ch.Settings.Quiet, ch.Settings.Tiers.Caps, kind)) {
			own = append(own, kind)
		}
	}
	return own, nil
}

// asRead is a message as a recipient reads it, in a language of its template. Where that cannot be filled any more it is as it was accepted.
func (s *Server) asRead(ctx context.Context, m *posthouse.Message, to posthouse.Recipient) (*posthouse.Message, error) {
	items := []work.Item{{Message: m, Delivery: posthouse.Delivery{Message: m.ID, Tenant: m.Tenant, Recipient: to}}}
	if err := s.engine.Contents.Localize(ctx, items); err != nil || items[0].Language == "" {
		return m, err
	}
	fresh, wrong, err := s.engine.Contents.Fresh(ctx, m, items[0].Language, time.Now())
	if err != nil || wrong != "" {
		return m, err
	}
	return fresh, nil
}

// called is what people call a channel.
func (s *Server) called(tenant, name string) string {
	if ch := s.engine.Routes.Channel(tenant, name); ch != nil {
		return cmp.Or(ch.Stored.Title, name)
	}
	return name
}

// languageOf is the language of the text that a user gets of a template.
func (s *Server) languageOf(ctx context.Context, t posthouse.Template, user string) (string, error) {
	own, general, err := s.store.Contents.Languages(ctx, t.Tenant, []string{user})
	if err != nil {
		return "", err
	}
	return cmp.Or(content.Choose(t, own[user], general), t.Language), nil
}
