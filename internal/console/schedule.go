package console

import (
	"errors"
	"net/http"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/fronttext"
	"github.com/posthouse/posthouse/internal/web"
	"github.com/posthouse/posthouse/wire"
)

// timetable is what the form of a schedule shows.
type timetable struct {
	ID, Via, To, Template, Title, Text, Cron, Zone, Missed string
	List, Database, Query                                  string // the people of a campaign

	Channels  []posthouse.Channel
	Routes    []posthouse.Route
	Templates []posthouse.Template
	Campaigns []string       // that are never started: a schedule may start others like them
	Preview   *wire.Reminder // what would be stored, with its next slots
	Problems  []posthouse.Problem
}

// Undecided says that a schedule which is shown is not stored.
func (timetable) Undecided() bool { return true }

// byRoute begins the value of Via where it names a route.
const byRoute = "route:"

// byCampaign begins it where it names a campaign that others are made like.
const byCampaign = "campaign:"

// schedules is what a role must reach to store schedules.
func schedules() web.Use { return web.Use{Scope: posthouse.ScopeSend, Action: "reminders.put"} }

// showTimetable shows an empty form, or what the schedule that is asked for says.
func showTimetable(v *visit) error {
	t := timetable{Cron: "0 9 * * 1-5", Zone: zoneFor(v).String(), Missed: string(posthouse.MissedCollapse)}
	id := v.query("id")
	if id == "" {
		return v.timetable(http.StatusOK, t)
	}
	r, err := v.call().Reminders.Get(v.ctx(), id)
	if err != nil {
		return err
	}
	t = timetable{ID: id, Via: r.Draft.Channel, To: strings.Join(fronttext.OfRecipients(r.Draft.To), "\n"), Template: r.Draft.Template, Missed: string(r.Missed)}
	if r.Draft.Route != "" {
		t.Via = byRoute + r.Draft.Route
	}
	if c := r.Draft.Content; c != nil {
		t.Title, t.Text = c.Title, c.Text
	}
	if c := r.Campaign; c != nil {
		t.Via, t.List = byCampaign+c.Like, c.Audience
		if c.Query != nil {
			t.Database, t.Query = c.Query.Database, c.Query.Query
		}
	}
	if r.Repeat != nil {
		t.Cron, t.Zone = r.Repeat.Cron, r.Repeat.TimeZone
	}
	return v.timetable(http.StatusOK, t)
}

// Entitled is the title of the form.
func (t timetable) Entitled(f frame) string { return f.T("schedule_new") }

// timetable draws the form with what there is to choose from.
func (v *visit) timetable(status int, t timetable) (err error) {
	if t.Channels, err = v.call().Channels.List(v.ctx()); err != nil {
		return err
	}
	if t.Routes, err = v.call().Routes.List(v.ctx()); err != nil {
		return err
	}
	if t.Templates, err = v.call().Templates.List(v.ctx()); err != nil {
		return err
	}
	if t.Campaigns, err = v.patterns(strings.TrimPrefix(t.Via, byCampaign)); err != nil {
		return err
	}
	return v.draw(status, "schedule", "reminders", t)
}

// patterns are the names of campaigns that others are made like: of those made last, the ones that have not begun, and one that was chosen before.
func (v *visit) patterns(chosen string) (list []string, err error) {
	if !v.may(posthouse.ScopeSend, "campaigns.create") {
		return nil, nil
	}
	page, err := v.call().Campaigns.List(v.ctx(), "", client.Filter{Limit: 1000})
	for _, c := range page.Items {
		if c.Name == chosen || c.State == posthouse.CampaignDraft || c.State == posthouse.CampaignReady {
			list = append(list, c.Name)
		}
	}
	return list, err
}

// storeTimetable shows when a schedule would come, and stores it when that is confirmed.
func storeTimetable(v *visit) error {
	t := timetable{
		ID: v.form("id"), Via: v.form("via"), To: v.form("to"), Template: v.form("template"), Title: v.form("title"), Text: v.form("text"),
		List: v.form("list"), Database: v.form("database"), Query: v.form("query"),
		Cron: v.form("cron"), Zone: v.form("time_zone"), Missed: v.form("missed"),
	}
	if v.form("step") == "back" {
		return v.timetable(http.StatusOK, t)
	}
	if t.ID == "" {
		t.Problems = []posthouse.Problem{{Path: "id", Message: "is required"}}
		return v.timetable(http.StatusUnprocessableEntity, t)
	}
	var base posthouse.Reminder
	switch before, err := v.call().Reminders.Get(v.ctx(), t.ID); {
	case err == nil && before.State == posthouse.ReminderOpen:
		base = before.Reminder // the form has not all that a reminder says
	case err != nil && posthouse.CodeOf(err) != posthouse.CodeNotFound:
		return err
	}
	r := t.over(base)
	if v.form("step") != "store" {
		preview, err := v.call().Reminders.Try(v.ctx(), r)
		if err != nil {
			return v.refuseTimetable(t, err)
		}
		t.Preview = &preview
		return v.timetable(http.StatusOK, t)
	}
	if _, err := v.call().Reminders.Put(v.ctx(), t.ID, r); err != nil {
		return v.refuseTimetable(t, err)
	}
	return v.goTo(v.at("reminders", t.ID) + "?said=stored")
}

// refuseTimetable shows a form again with what the API finds wrong with it.
func (v *visit) refuseTimetable(t timetable, err error) error {
	var coded *posthouse.Error
	if !errors.As(err, &coded) || coded.Code != posthouse.CodeInvalid {
		return err
	}
	t.Problems = coded.Problems
	return v.timetable(http.StatusUnprocessableEntity, t)
}

// over is the reminder that a form describes, with what it does not show as it was.
func (t timetable) over(base posthouse.Reminder) posthouse.Reminder {
	d := base.Draft
	d.Channel, d.Route, d.Template, d.Content, d.DedupKey = t.Via, "", t.Template, nil, ""
	if name, found := strings.CutPrefix(t.Via, byRoute); found {
		d.Channel, d.Route = "", name
	}
	if t.Title != "" || t.Text != "" {
		d.Content = &posthouse.Content{Title: t.Title, Text: t.Text}
	}
	var starts *posthouse.ScheduledCampaign
	if name, found := strings.CutPrefix(t.Via, byCampaign); found {
		starts = t.starts(name, base.Campaign)
		d = posthouse.Draft{Kind: d.Kind, Ref: d.Ref, Template: t.Template, Content: d.Content}
	}
	d.To = fronttext.Recipients(strings.FieldsFunc(t.To, func(r rune) bool { return r == '\n' || r == '\r' }))
	repeat := posthouse.Repeat{}
	if base.Repeat != nil {
		repeat = *base.Repeat
	}
	repeat.Every, repeat.Daily, repeat.Cron, repeat.TimeZone = 0, nil, t.Cron, t.Zone
	return posthouse.Reminder{Draft: d, Campaign: starts, Repeat: &repeat, Missed: posthouse.Missed(t.Missed)}
}

// starts is the campaign that a form describes, with what it does not show as it was.
func (t timetable) starts(like string, base *posthouse.ScheduledCampaign) *posthouse.ScheduledCampaign {
	var c posthouse.ScheduledCampaign
	if base != nil {
		c = *base
	}
	var q posthouse.ScheduledQuery
	if c.Query != nil {
		q = *c.Query
	}
	q.Database, q.Query = t.Database, t.Query
	c.Like, c.Audience, c.Query = like, t.List, nil
	if t.Database != "" || t.Query != "" {
		c.Query = &q
	}
	return &c
}

// pauseReminder and resumeReminder are decided over the state that was shown.
func pauseReminder(v *visit) error  { return v.setPaused(true) }
func resumeReminder(v *visit) error { return v.setPaused(false) }

func (v *visit) setPaused(paused bool) error {
	id, reminders := v.r.PathValue("id"), v.call().Reminders
	r, err := reminders.Get(v.ctx(), id)
	if err != nil {
		return err
	}
	if v.form("state") != standing(r) {
		return posthouse.Errorf(posthouse.CodeConflict, "the reminder is %s now", v.stateIn("reminder_", standing(r)))
	}
	act, said := reminders.Pause, "reminder_paused_said"
	if !paused {
		act, said = reminders.Resume, "reminder_resumed_said"
	}
	if _, err := act(withNote(v.ctx(), v.form("note")), id); err != nil {
		return err
	}
	return v.goTo(v.at("reminders", id) + "?said=" + said)
}

// standing is how a reminder stands, in a word.
func standing(r wire.Reminder) string {
	if r.Paused {
		return "paused"
	}
	return string(r.State)
}
