package api

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/feed"
	"github.com/posthouse/posthouse/internal/hook"
	"github.com/posthouse/posthouse/internal/web"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/wire"
)

// Subscriptions keeps who is told of what happens.
type Subscriptions interface {
	AddSubscription(ctx context.Context, now time.Time, sub work.Subscription) (work.Subscription, error)
	Subscriptions(ctx context.Context, tenant string) ([]work.Subscription, error)
	EditSubscription(ctx context.Context, now time.Time, tenant, id string, edit func(*work.Subscription) error) (work.Subscription, error)
	DeleteSubscription(ctx context.Context, now time.Time, tenant, id string) error
	DeadLetters(ctx context.Context, tenant, id string, max int) ([]work.DeadLetter, error)
}

// Events is the feed, and what tells subscribers of it.
type Events struct {
	feed.Follower
	Poster *feed.Poster
}

// Ending is closed when the server stops.
func (e Events) Ending() <-chan struct{} {
	if e.Log == nil {
		return nil // of a server that only describes itself
	}
	return e.Log.Closed()
}

// subscriptions is the resource of those who are told.
type subscriptions struct {
	store  Subscriptions
	events Events
}

// Bounds of a subscription.
const (
	maxSubscribed = 100 // of a tenant
	maxURL        = 2048
	maxTold       = 500 // events in one call
	maxDead       = 1000
)

var (
	subscriptionBody = web.BodyOf[wire.NewSubscription]()
	rotateSecretBody = web.BodyOf[wire.RotateSecret]().Optional()
	replayEventsBody = web.BodyOf[wire.ReplayEvents]()
)

func (s subscriptions) routes() []web.Route {
	return web.Tagged("subscriptions",
		web.Get("/v1/subscriptions", reads, "List who is told of what happens to deliveries, and how far each has come.", s.list).Paged(),
		web.Post("/v1/subscriptions", admin, "Have an address told of what happens to deliveries; the signing secret is shown this once.", subscriptionBody, s.create).Answers(http.StatusCreated),
		web.Get("/v1/subscriptions/{id}", reads, "One of them.", s.get),
		web.Delete("/v1/subscriptions/{id}", admin, "Tell it no more.", s.remove),
		web.Post("/v1/subscriptions/{id}/rotate", admin, "Sign with a new secret too, and let the old one end after an overlap; the new one is shown this once.", rotateSecretBody, s.rotate),
		web.Do("/v1/subscriptions/{id}/pause", admin, "Tell it nothing until it is resumed; what happens meanwhile waits.", s.pause),
		web.Do("/v1/subscriptions/{id}/resume", admin, "Go on where it was paused, and try again at once.", s.resume),
		web.Act("/v1/subscriptions/{id}/test", admin, "Post a signed test to the address, at once.", s.test),
		web.Post("/v1/subscriptions/{id}/replay", admin, "Tell it again what happened since a time or behind an event.", replayEventsBody, s.replay),
		web.Get("/v1/subscriptions/{id}/dead-letters", reads, "What it did not take at the end of all tries, newest first.", s.dead),
	)
}

func (s subscriptions) list(c *web.Call) (wire.Page[wire.Subscription], error) {
	list, err := s.store.Subscriptions(c.Context(), c.Tenant()) // at most maxSubscribed
	if err != nil {
		return wire.Page[wire.Subscription]{}, err
	}
	return paged(c, func(cursor string, limit int) (items []wire.Subscription, next string, err error) {
		part, next, err := shortPart(list, func(sub *work.Subscription) string { return sub.ID }, cursor, limit)
		for i := range part {
			one, wrong := s.shown(c.Context(), &part[i], err)
			items, err = append(items, one), wrong
		}
		return items, next, err
	})
}

// shown is a subscription without its secrets, and how far it is behind.
func (s subscriptions) shown(ctx context.Context, sub *work.Subscription, err error) (wire.Subscription, error) {
	if err != nil {
		return wire.Subscription{}, err
	}
	out := wire.Subscription{
		ID: sub.ID, URL: sub.URL, Description: sub.Description, Channels: sub.Channels, Kinds: sub.Kinds, Refs: sub.Refs, States: sub.States, Types: sub.Types, Batch: max(sub.Batch, 1),
		State: sub.State, Reason: sub.Reason, Failures: sub.Failures, LastError: sub.LastError, LastToldAt: sub.ToldAt, Told: sub.Told, Dead: sub.Dead, CreatedAt: sub.CreatedAt,
	}
	if why := s.events.Poster.Warn(sub.URL); why != "" {
		out.Warnings = []string{"url: " + why}
	}
	if sub.Failures > 0 {
		out.NextTryAt = sub.NextAt
	}
	behind, err := s.events.Log.Behind(ctx, sub.At)
	if !behind.IsZero() {
		out.Lag = posthouse.Duration(max(time.Since(behind), 0).Truncate(time.Millisecond))
	}
	return out, err
}

func (s subscriptions) find(c *web.Call) (work.Subscription, error) {
	list, err := s.store.Subscriptions(c.Context(), c.Tenant())
	if err != nil {
		return work.Subscription{}, err
	}
	at := slices.IndexFunc(list, func(sub work.Subscription) bool { return sub.ID == c.PathValue("id") })
	if at < 0 {
		return work.Subscription{}, posthouse.Errorf(posthouse.CodeNotFound, "there is no subscription %.80q", c.PathValue("id"))
	}
	return list[at], nil
}

func (s subscriptions) get(c *web.Call) (wire.Subscription, error) {
	sub, err := s.find(c)
	return s.shown(c.Context(), &sub, err)
}

func (s subscriptions) create(c *web.Call, in wire.NewSubscription) (out wire.SubscriptionWithSecret, err error) {
	checkSubscription(c, &in)
	if err := c.Wrong(); err != nil {
		return out, err
	}
	there, err := s.store.Subscriptions(c.Context(), c.Tenant())
	if err == nil && len(there) >= maxSubscribed {
		err = posthouse.Errorf(posthouse.CodeConflict, "there are %d subscriptions: no more are allowed", len(there))
	}
	if err != nil {
		return out, err
	}
	from, since, err := s.events.Begin(c.Context(), in.Behind, in.Since)
	if err != nil {
		return out, err
	}
	sub := work.Subscription{ID: posthouse.NewID(), Tenant: c.Tenant(), State: work.SubscriptionActive, At: from, Target: work.Target{
		URL: in.URL, Description: in.Description, Channels: in.Channels, Kinds: in.Kinds, Refs: in.Refs, States: in.States, Types: in.Types, Batch: in.Batch,
	}}
	out.Secret, out.Since = hook.NewSecret(), since
	if sub.Secrets, err = (feed.Secrets{{Key: out.Secret}}).Seal(s.events.Poster.Sealer, sub.ID); err != nil {
		return out, err
	}
	c.Named(sub.ID)
	c.Changed(nil, sub.Target)
	sub, err = s.store.AddSubscription(c.Context(), time.Now(), sub)
	out.Subscription, err = s.shown(c.Context(), &sub, err)
	return out, err
}

func checkSubscription(c *web.Call, in *wire.NewSubscription) {
	to, err := url.Parse(in.URL)
	if err != nil || to.Scheme != "http" && to.Scheme != "https" || to.Hostname() == "" || to.User != nil || len(in.URL) > maxURL {
		c.RefuseNew("url", "is no URL of http or https with a host, without a password, of at most %d bytes", maxURL)
	}
	c.CheckWord("description", in.Description, 255)
	for name, list := range map[string][]string{"channels": in.Channels, "kinds": in.Kinds, "refs": in.Refs, "types": in.Types} {
		if len(list) > maxLimits {
			c.RefuseNew(name, "has %d entries: at most %d are allowed", len(list), maxLimits)
		}
		for i, word := range list {
			c.CheckWord(fmt.Sprintf("%s[%d]", name, i), word, 255)
		}
	}
	for i, state := range in.States {
		if !slices.Contains(posthouse.States(), state) {
			c.RefuseNew(fmt.Sprintf("states[%d]", i), "is %.40q: there is no such state", state)
		}
	}
	for i, typ := range in.Types {
		if problem := feed.CheckType(typ); problem != "" {
			c.RefuseNew(fmt.Sprintf("types[%d]", i), "%s", problem)
		}
	}
	if in.Batch < 0 || in.Batch > maxTold {
		c.RefuseNew("batch", "is %d: want 1 to %d", in.Batch, maxTold)
	}
	checkFrom(c, in.Behind, in.Since)
}

// checkFrom checks where to begin.
func checkFrom(c *web.Call, behind string, since time.Time) {
	if behind != "" && !since.IsZero() {
		c.RefuseNew("since", "does not go with behind")
	}
	if behind != "" {
		if _, err := posthouse.ParseFeedPosition(behind); err != nil {
			c.RefuseNew("behind", "%s", err)
		}
	}
}

func (s subscriptions) remove(c *web.Call) error {
	before, err := s.find(c)
	deletes(c, before.Target, err)
	return s.store.DeleteSubscription(c.Context(), time.Now(), c.Tenant(), c.PathValue("id"))
}

func (s subscriptions) edit(c *web.Call, edit func(*work.Subscription) error) error {
	_, err := s.store.EditSubscription(c.Context(), time.Now(), c.Tenant(), c.PathValue("id"), edit)
	return err
}

func (s subscriptions) rotate(c *web.Call, in wire.RotateSecret) (out wire.SubscriptionWithSecret, err error) {
	overlap := defaultOverlap
	if in.Overlap != nil {
		overlap = in.Overlap.Std()
	}
	if overlap < 0 || overlap > maxOverlap {
		c.Refuse("overlap", "is %s: want 0s to %s", posthouse.Duration(overlap), posthouse.Duration(maxOverlap))
		return out, c.Wrong()
	}
	out.Secret = hook.NewSecret()
	sub, err := s.store.EditSubscription(c.Context(), time.Now(), c.Tenant(), c.PathValue("id"), func(sub *work.Subscription) error {
		secrets, err := feed.OpenSecrets(s.events.Poster.Sealer, sub.Secrets, sub.ID)
		if err != nil { // no key of the keyring opens them: a new secret is the way on, and none signs beside it
			secrets = nil
		}
		sub.Secrets, err = secrets.Rotate(out.Secret, time.Now(), overlap).Seal(s.events.Poster.Sealer, sub.ID)
		return err
	})
	out.Subscription, err = s.shown(c.Context(), &sub, err)
	return out, err
}

func (s subscriptions) pause(c *web.Call) error {
	return s.edit(c, func(sub *work.Subscription) error {
		sub.State, sub.Reason = work.SubscriptionPaused, "by a person"
		return nil
	})
}

func (s subscriptions) resume(c *web.Call) error {
	return s.edit(c, func(sub *work.Subscription) error {
		sub.State, sub.Reason, sub.Failures, sub.NextAt = work.SubscriptionActive, "", 0, time.Time{}
		return nil
	})
}

func (s subscriptions) test(c *web.Call) (wire.SubscriptionTest, error) {
	sub, err := s.find(c)
	if err != nil {
		return wire.SubscriptionTest{}, err
	}
	problem := s.events.Poster.Test(c.Context(), &sub)
	return wire.SubscriptionTest{Taken: problem == "", Problem: problem}, nil
}

func (s subscriptions) replay(c *web.Call, in wire.ReplayEvents) (wire.Subscription, error) {
	if in.Behind == "" && in.Since.IsZero() {
		c.RefuseNew("since", "is required, or behind: from where to tell again")
	}
	checkFrom(c, in.Behind, in.Since)
	if err := c.Wrong(); err != nil {
		return wire.Subscription{}, err
	}
	from, err := s.events.Log.Position(c.Context(), in.Behind, in.Since)
	if err != nil {
		return wire.Subscription{}, err
	}
	sub, err := s.store.EditSubscription(c.Context(), time.Now(), c.Tenant(), c.PathValue("id"), func(sub *work.Subscription) error {
		sub.At, sub.Failures, sub.NextAt = from, 0, time.Time{}
		return nil
	})
	return s.shown(c.Context(), &sub, err)
}

func (s subscriptions) dead(c *web.Call) (wire.Page[wire.DeadLetter], error) {
	if _, err := s.find(c); err != nil {
		return wire.Page[wire.DeadLetter]{}, err
	}
	list, err := s.store.DeadLetters(c.Context(), c.Tenant(), c.PathValue("id"), maxDead)
	items := make([]wire.DeadLetter, len(list))
	for i, d := range list {
		items[i] = wire.DeadLetter{Event: d.At.String(), GivenUpAt: d.GivenUpAt, Tries: d.Tries, Error: d.Error}
	}
	return wholeOf(items, err)
}
