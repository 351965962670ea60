package api

import (
	"net/http"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
)

func (a *api) channels(c *call) (answer, error) {
	list, err := a.Channels.List(c.Context(), c.key.Tenant)
	if err != nil {
		return answer{}, err
	}
	return pageOf(list, "")
}

func (a *api) channel(c *call) (answer, error) {
	ch, err := a.Channels.Get(c.Context(), c.key.Tenant, c.PathValue("name"))
	if err != nil {
		return answer{}, err
	}
	return ok(ch)
}

var channelReader = bodyOf[posthouse.Channel]()

// putChannel takes a channel as it is read, so that one can be read, changed and put back. What
// the server keeps of it (version, times, whether it is paused) is not looked at.
func (a *api) putChannel(c *call) (answer, error) {
	ch, err := loose(c, channelReader)
	if err != nil {
		return answer{}, err
	}
	c.sameName(&ch.Name, ch.Tenant)
	if ch.Driver == "" && !c.concerns("driver") {
		c.refuse("driver", "is required: one of %s", words(a.driverNames()))
	}
	if err := c.wrong(); err != nil {
		return answer{}, err
	}
	stored, created, err := a.Channels.Put(c.Context(), c.key.Tenant, ch)
	if err != nil {
		return answer{}, err
	}
	if created {
		return answer{status: http.StatusCreated, body: stored}, nil
	}
	return ok(stored)
}

// sameName takes a thing's name from the path; one in the body must be the same.
func (c *call) sameName(name *string, tenant string) {
	inPath := c.PathValue("name")
	if *name != "" && *name != inPath {
		c.refuse("name", "is %.80q, but the path says %.80q", *name, inPath)
	}
	if tenant != "" && tenant != c.key.Tenant {
		c.refuse("tenant", "is not the key's: leave it out")
	}
	*name = inPath
}

func (a *api) deleteChannel(c *call) (answer, error) {
	return none(a.Channels.Delete(c.Context(), c.key.Tenant, c.PathValue("name")))
}

type pauseBody struct {
	Reason string `json:"reason,omitempty" doc:"Shown with the channel and by explain."`
}

var pauseReader = bodyOf[pauseBody]()

func (a *api) pauseChannel(c *call) (answer, error) {
	in, err := optional(c, pauseReader)
	if err != nil {
		return answer{}, err
	}
	if checkWord(c, "reason", in.Reason, 255); c.wrong() != nil {
		return answer{}, c.wrong()
	}
	if err := a.Channels.Pause(c.Context(), c.key.Tenant, c.PathValue("name"), in.Reason); err != nil {
		return answer{}, err
	}
	return a.channel(c)
}

func (a *api) resumeChannel(c *call) (answer, error) {
	if err := a.Channels.Resume(c.Context(), c.key.Tenant, c.PathValue("name")); err != nil {
		return answer{}, err
	}
	return a.channel(c)
}

// testBody is a message that is really sent and not queued.
type testBody struct {
	To      posthouse.Recipient `json:"to,omitzero" doc:"Without it the driver only checks that its provider can be reached, where it can."`
	Content posthouse.Content   `json:"content,omitzero" doc:"Defaults to a short text that says it is a test."`
}

// testView says how the provider answered.
type testView struct {
	OK       bool            `json:"ok"`
	Class    posthouse.Class `json:"class"`
	Code     string          `json:"code,omitempty"`
	Error    string          `json:"error,omitempty"`
	Ref      string          `json:"provider_ref,omitempty"`
	Request  string          `json:"request,omitempty" doc:"Redacted."`
	Response string          `json:"response,omitempty" doc:"Redacted."`
}

var testReader = bodyOf[testBody]()

func (a *api) testChannel(c *call) (answer, error) {
	in, err := optional(c, testReader)
	if err != nil {
		return answer{}, err
	}
	if in.Content == (posthouse.Content{}) {
		in.Content = posthouse.Content{Title: "Posthouse", Text: "This is a test of this channel. 这是一条渠道测试消息。"}
	}
	r, err := a.Channels.Test(c.Context(), c.key.Tenant, c.PathValue("name"), channel.Outgoing{Recipient: in.To, Content: in.Content})
	if err != nil {
		return answer{}, err
	}
	return ok(testViewOf(r))
}

func testViewOf(r channel.Result) testView {
	return testView{r.Class == posthouse.ClassOK, r.Class, r.Code, r.Error, r.Ref, r.Request, r.Response}
}

// driverView describes a kind of channel: what a form needs.
type driverView struct {
	Name    string      `json:"name"`
	Title   string      `json:"title"`
	TitleZH string      `json:"title_zh"`
	Doc     string      `json:"doc"`
	DocZH   string      `json:"doc_zh"`
	Fields  []fieldView `json:"fields"`
}

type fieldView struct {
	Name     string       `json:"name"`
	Label    string       `json:"label"`
	LabelZH  string       `json:"label_zh"`
	Help     string       `json:"help,omitempty"`
	HelpZH   string       `json:"help_zh,omitempty"`
	Kind     channel.Kind `json:"kind"`
	Required bool         `json:"required"`
	Secret   bool         `json:"secret" doc:"Encrypted at rest and never shown."`
	Default  any          `json:"default,omitempty"`
	Choices  []string     `json:"choices,omitempty"`
	Min      int          `json:"min,omitempty"`
	Max      int          `json:"max,omitempty"`
}

func (a *api) listDrivers(*call) (answer, error) {
	views := make([]driverView, len(a.drivers))
	for i, t := range a.drivers {
		views[i] = driverView{t.Name, t.Title, t.TitleZH, t.Doc, t.DocZH, []fieldView{}}
		for _, f := range t.Fields {
			views[i].Fields = append(views[i].Fields, fieldView{
				f.Name, f.Label, f.LabelZH, f.Help, f.HelpZH, f.Kind, f.Required, f.Secret(), shownDefault(f.Default), f.Choices, f.Min, f.Max,
			})
		}
	}
	return pageOf(views, "")
}

// shownDefault writes durations as they are read.
func shownDefault(v any) any {
	if d, ok := v.(time.Duration); ok {
		return posthouse.Duration(d).String()
	}
	return v
}

func (a *api) driverNames() []string {
	names := make([]string, len(a.drivers))
	for i, t := range a.drivers {
		names[i] = t.Name
	}
	return names
}
