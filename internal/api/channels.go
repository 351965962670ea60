package api

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/quiet"
	"github.com/posthouse/posthouse/internal/web"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/wire"
)

// Channels keeps the configured channels and runs them. What it returns has its secrets masked;
// a masked secret that is put back stays as it was.
type Channels interface {
	stored
	operated
}

type stored interface {
	List(ctx context.Context, tenant, cursor string, limit int) (list []posthouse.Channel, next string, err error)
	Get(ctx context.Context, tenant, name string) (posthouse.Channel, error)
	Put(ctx context.Context, tenant string, ch posthouse.Channel) (stored posthouse.Channel, created bool, err error)
	// Rehearse is the channel as Put would store it.
	Rehearse(ctx context.Context, tenant string, ch posthouse.Channel) (posthouse.Channel, error)
	Delete(ctx context.Context, tenant, name string) error
}

type operated interface {
	Pause(ctx context.Context, tenant, name, reason string, until time.Time) error
	Resume(ctx context.Context, tenant, name string) error
	// Test checks the provider; without a recipient by the driver's own check, where it has one. Of out, what
	// the message is and whom it is for counts. Unless it may go to anybody, it goes only to an address that the channel lists
	// for tests. What is returned with the result is the message as it was sent.
	Test(ctx context.Context, tenant, name string, out channel.Outgoing, by work.Caller, anybody bool) (channel.Outgoing, channel.Result, error)
	// MayTest refuses recipients whom the channel does not list for tests.
	MayTest(ctx context.Context, tenant, name string, to []posthouse.Recipient) error
	// Fit says what the provider would cut or refuse of a content, as far as its driver knows.
	Fit(ctx context.Context, tenant, name string, content posthouse.Content) ([]posthouse.Problem, error)
	// Types lists the drivers there are.
	Types() []channel.Type
}

// Tally counts the deliveries of a pulled channel without looking at them.
type Tally interface {
	Tally(ctx context.Context, tenant, channel string) (work.Tally, error)
}

// channels is the resource of configured channels, and of the drivers they are made of.
type channels struct {
	Channels
	counts  Tally
	rosters Rosters
	tenants Tenants
}

var (
	channelBody = web.BodyOf[posthouse.Channel]().Loose()
	testBody    = web.BodyOf[wire.ChannelTest]().Optional()
	reasonBody  = web.BodyOf[wire.Reason]().Optional()
)

func (ch channels) routes() []web.Route {
	return web.Tagged("channels",
		web.Get("/v1/channels", reads, "List channels, secrets masked.", ch.list).Paged().Sighted(),
		web.Get("/v1/channels/{name}", reads, "One channel, secrets masked, with its state as ETag.", ch.show).OfChannel("name"),
		web.Put("/v1/channels/{name}", admin, "Create a channel or replace it. A masked secret stays as it was.", channelBody, ch.put).Query("dry_run").Answers(http.StatusOK, http.StatusCreated).OfChannel("name").Guarded(),
		web.Delete("/v1/channels/{name}", admin, "Delete a channel that has nothing open.", ch.remove).OfChannel("name"),
		web.Post("/v1/channels/{name}/pause", admin, "Stop its sending, for a time or until it is resumed.", pauseBody, ch.pause).OfChannel("name"),
		web.Act("/v1/channels/{name}/resume", admin, "Let it send again, refused accounts too. With If-Match only where it is as it was read: not where somebody has paused it anew since.", ch.resume).OfChannel("name").Guarded(),
		web.Post("/v1/channels/{name}/test", admin, "Check the provider, or send a test to one recipient.", testBody, ch.test).OfChannel("name"),
		web.Get("/v1/channels/{name}/tally", reads, "How many deliveries of a pulled channel wait, are handed out and are done.", ch.tally).OfChannel("name"),
		web.Get("/v1/drivers", reads, "The drivers there are, with their settings.", ch.drivers),
	)
}

func (ch channels) list(c *web.Call) (wire.Page[posthouse.Channel], error) {
	sight := c.Sight()
	return paged(c, func(cursor string, limit int) ([]posthouse.Channel, string, error) {
		list, next, err := ch.List(c.Context(), c.Tenant(), cursor, limit)
		return slices.DeleteFunc(list, func(ch posthouse.Channel) bool { return !sight.Channel(ch.Name) }), next, err
	})
}

func (ch channels) get(c *web.Call) (posthouse.Channel, error) {
	return ch.Get(c.Context(), c.Tenant(), c.PathValue("name"))
}

// show is get with the tag that a later put may name.
func (ch channels) show(c *web.Call) (posthouse.Channel, error) {
	found, err := ch.get(c)
	c.Tag(found.Tag())
	return found, err
}

// put takes a channel as it is read, so that one can be read, changed and put back. What
// the server keeps of it (version, times, whether it is paused) is not looked at.
func (ch channels) put(c *web.Call, in posthouse.Channel) (posthouse.Channel, error) {
	c.NameIn(&in.Name, in.Tenant)
	if in.Driver == "" && in.Preset == "" {
		c.RefuseNew("driver", "is required, or a preset: one of %s", web.Words(driverNames(ch.Types())))
	}
	calendars := calendarsOf(c, ch.rosters, c.Tenant())
	if r := in.Rate; r != nil && r.Hours != nil && r.Hours.Calendar != "" && !calendars(r.Hours.Calendar) {
		c.Refuse("rate.hours.calendar", "there is no roster %.80q: its days without anybody are the days off", r.Hours.Calendar)
	}
	wrong := quiet.Check("quiet_hours", in.QuietHours, calendars)
	for _, p := range wrong {
		if strings.HasSuffix(p.Path, ".calendar") { // the rest is found with all other settings
			c.Refuse(p.Path, "%s", p.Message)
		}
	}
	if len(wrong) == 0 && len(in.QuietHours) > 0 {
		of, err := ch.tenants.Tenant(c.Context(), c.Tenant())
		if err != nil && posthouse.CodeOf(err) != posthouse.CodeNotFound {
			return in, err
		}
		if who, covered := quiet.Covered(of.QuietHours, in.QuietHours); covered && who != "" {
			c.Refuse("quiet_hours", `leave no time to %.80q beside those of the tenant %s: nothing would ever be sent to them by the channel. Want an hour that neither has`, who, c.Tenant())
		} else if covered {
			c.Refuse("quiet_hours", `leave no time beside those of the tenant %s: nothing would ever be sent by the channel. Want an hour that neither has`, c.Tenant())
		}
	}
	rehearse := c.Truth("dry_run")
	if err := c.Wrong(); err != nil {
		return in, err
	}
	if rehearse {
		c.Unchanged()
		return ch.Rehearse(c.Context(), c.Tenant(), in)
	}
	before, _ := ch.Get(c.Context(), c.Tenant(), in.Name) // masked, as what is stored is
	stored, created, err := ch.Put(c.Context(), c.Tenant(), in)
	c.Tag(stored.Tag())
	c.Changed(before, stored)
	if created {
		c.Status = http.StatusCreated
		c.Changed(nil, stored)
	}
	return stored, err
}

func (ch channels) remove(c *web.Call) error {
	if before, err := ch.get(c); err == nil {
		c.Changed(before, nil)
	}
	return ch.Delete(c.Context(), c.Tenant(), c.PathValue("name"))
}

func (ch channels) pause(c *web.Call, in wire.Pause) (posthouse.Channel, error) {
	if err := checkPause(c, in); err != nil {
		return posthouse.Channel{}, err
	}
	c.Asked(in, 1)
	if err := ch.Pause(c.Context(), c.Tenant(), c.PathValue("name"), in.Reason, in.Until); err != nil {
		return posthouse.Channel{}, err
	}
	return ch.get(c)
}

func checkReason(c *web.Call, in wire.Reason) error {
	c.CheckWord("reason", in.Reason, 255)
	return c.Wrong()
}

func (ch channels) resume(c *web.Call) (posthouse.Channel, error) {
	if err := ch.Resume(c.Context(), c.Tenant(), c.PathValue("name")); err != nil {
		return posthouse.Channel{}, err
	}
	return ch.get(c)
}

func (ch channels) test(c *web.Call, in wire.ChannelTest) (wire.ChannelTested, error) {
	name := c.PathValue("name")
	return try(c, name, channel.Outgoing{Recipient: in.To, Content: testContent(in)}, func(out channel.Outgoing, anybody bool) (channel.Outgoing, channel.Result, error) {
		return ch.Test(c.Context(), c.Tenant(), name, out, c.Caller(), anybody)
	})
}

func testContent(in wire.ChannelTest) posthouse.Content {
	if in.Content.IsZero() {
		return posthouse.Content{Title: "Posthouse", Text: "This is a test of this channel. 这是一条渠道测试消息。"}
	}
	return in.Content
}

// tally counts a pulled channel's deliveries without looking at them.
func (ch channels) tally(c *web.Call) (wire.Tally, error) {
	of, err := ch.get(c)
	if err != nil {
		return wire.Tally{}, err
	}
	if !pulled(ch.Types(), of) {
		return wire.Tally{}, posthouse.Errorf(posthouse.CodeConflict, "nobody fetches from the channel %q: only pulled channels are counted", of.Name)
	}
	n, err := ch.counts.Tally(c.Context(), c.Tenant(), of.Name)
	return wire.Tally(n), err
}

func (ch channels) drivers(*web.Call) (wire.Page[wire.Driver], error) {
	views := make([]wire.Driver, 0, len(ch.Types()))
	for _, t := range ch.Types() {
		v := wire.Driver{Name: t.Name, Title: t.Title, TitleZH: t.TitleZH, Doc: t.Doc, DocZH: t.DocZH, RecipientURLs: t.RecipientURLs, Callbacks: t.Callbacks, Fields: []wire.Field{}}
		for _, f := range t.Fields {
			v.Fields = append(v.Fields, wire.Field{
				Name: f.Name, Label: f.Label, LabelZH: f.LabelZH, Help: f.Help, HelpZH: f.HelpZH, Kind: wire.FieldKind(f.Kind), Required: f.Required,
				Secret: f.Secret(), Account: f.Account, Default: shownDefault(f.Default), Choices: choicesOf(f), Min: f.Min, Max: f.Max,
				Group: f.Group.Label, GroupZH: f.Group.LabelZH,
			})
		}
		views = append(views, v)
	}
	return wholeOf(views, nil)
}

func choicesOf(f channel.Field) []wire.Choice {
	var list []wire.Choice
	for _, c := range f.Choices {
		list = append(list, wire.Choice(c))
	}
	return list
}

// shownDefault writes durations as they are read.
func shownDefault(v any) any {
	if d, ok := v.(time.Duration); ok {
		return posthouse.Duration(d).String()
	}
	return v
}

func driverNames(types []channel.Type) []string {
	names := make([]string, len(types))
	for i, t := range types {
		names[i] = t.Name
	}
	return names
}

// pulled reports whether agents fetch a channel's deliveries.
func pulled(types []channel.Type, ch posthouse.Channel) bool {
	for _, t := range types {
		if t.Name == ch.Driver {
			return t.Pulled(ch.ChannelSettings)
		}
	}
	return ch.Pull
}
