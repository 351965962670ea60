// Package notifications is the console's pages of routes and notifications: whether somebody was told, by which steps, and what is to come; and the
// steps of each route. What follows from what is package route's.
package notifications

import (
	"cmp"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/console/difference"
	"github.com/posthouse/posthouse/internal/console/host"
	"github.com/posthouse/posthouse/internal/route"
	"github.com/posthouse/posthouse/internal/web"
	"github.com/posthouse/posthouse/wire"
)

//go:embed pages
var files embed.FS

// Pages are the pages of routes and notifications.
func Pages() host.Pages {
	sends := func(path, action string, serve func(*host.Visit) error) host.Route {
		return host.Route{Method: http.MethodPost, Path: path, Use: web.Use{Scope: posthouse.ScopeSend, Action: action}, Serve: serve}
	}
	return host.Pages{
		Files: files, Words: texts(),
		Routes: []host.Route{
			host.Looks("notifications", "routes.read", showAll),
			host.Looks("notifications/{id}", "routes.read", show),
			sends("notifications/{id}/ack", "routes.ack", acknowledge),
			sends("notifications/{id}/revoke-links", "routes.revoke-links", revokeLinks),
			sends("notifications/{id}/end", "routes.end", end),
			sends("notifications/{id}/resume", "routes.resume", resume),
			host.Looks("routes", "routes.read", showRoutes),
			host.Acts("routes", "routes.put", store),
			host.Looks("routes/{name}", "routes.read", showRoute),
			host.Acts("routes/{name}", "routes.put", store),
			host.Looks("routes/{name}/preview", "routes.preview", showPreview),
			{Method: http.MethodPost, Path: "routes/{name}/preview", Use: web.Use{Scope: posthouse.ScopeRead, Action: "routes.preview"}, Serve: look},
		},
	}
}

// shownStates are those that the list is narrowed to. What needs a person stands first.
func shownStates() []posthouse.NotificationState {
	rest := slices.DeleteFunc(posthouse.NotificationStates(), func(s posthouse.NotificationState) bool { return s == posthouse.NotificationNotTold })
	return append([]posthouse.NotificationState{posthouse.NotificationNotTold}, rest...)
}

// list is what the page of notifications shows.
type list struct {
	State, Person, Route, Kind, Ref, Since, By string
	States                                     []posthouse.NotificationState
	Periods                                    []choice
	// Active are what narrows it, each with the page without it.
	Active []choice
	// Held says that those alone are listed that a new epoch holds, AnyHeld that there are some.
	Held, AnyHeld bool
	Items         []shown
	Older         string
	Query         url.Values
	// Unknown says that the directory has no user of the person's id or name.
	Unknown bool
}

// OfState is the word of what the list is narrowed to.
func (l list) OfState() string {
	switch {
	case slices.Contains(l.States, posthouse.NotificationState(l.State)):
		return "told_" + l.State
	case l.Held:
		return "told_held"
	}
	return ""
}

// choice is a value that a list can be narrowed to, or is.
type choice struct {
	Name, Word, Link string
	Current          bool
}

// shown is a notification of the list, and where a person and a time are asked for, what the person knew.
type shown struct {
	posthouse.Notification
	Answer string
}

// With is the page with a value in its query, without it where the value is empty.
func (l list) With(name, value string) string {
	q := url.Values{}
	for k := range l.Query {
		if one := l.Query.Get(k); k != name && k != "cursor" && one != "" {
			q.Set(k, one)
		}
	}
	if value != "" {
		q.Set(name, value)
	}
	return "?" + q.Encode()
}

// periods are how far back the list may go, as its address has them, with their words.
func periods() [][2]string {
	return [][2]string{{"1h", "told_hour"}, {"24h", "told_day"}, {"168h", "told_week"}}
}

// momentOf reads a moment, or a time of the day: the last one of it that has come.
func momentOf(text string, now time.Time) (time.Time, error) {
	clock, err := time.Parse("15:04", text)
	if err != nil {
		return time.ParseInLocation("2006-01-02T15:04", text, now.Location())
	}
	at := time.Date(now.Year(), now.Month(), now.Day(), clock.Hour(), clock.Minute(), 0, 0, now.Location())
	if at.After(now) {
		at = at.AddDate(0, 0, -1)
	}
	return at, nil
}

func showAll(v *host.Visit) error {
	l := list{
		State: v.Query("state"), Person: v.Query("person"), Route: v.Query("route"), Kind: v.Query("kind"), Ref: v.Query("ref"), Since: v.Query("since"), By: v.Query("by"),
		States: shownStates(), Query: v.R.URL.Query(), Held: v.Query("held") == "true",
	}
	f := client.Filter{Held: l.Held, Person: l.Person, Route: l.Route, Kind: l.Kind, Ref: l.Ref, Cursor: v.Query("cursor"), Limit: 50}
	now := time.Now()
	by := now
	var wrong []posthouse.Problem
	if l.Since != "" {
		back, err := time.ParseDuration(l.Since)
		if f.Since = now.Add(-back); err != nil || back < 0 {
			wrong = append(wrong, posthouse.Problem{Path: "since", Message: fmt.Sprintf("is %.40q: want a duration such as 24h", l.Since)})
		}
	}
	if l.By != "" {
		at, err := momentOf(l.By, now.In(v.Zone))
		if err != nil {
			wrong = append(wrong, posthouse.Problem{Path: "by", Message: fmt.Sprintf("is %.40q: want a time such as 2026-10-01T08:30", l.By)})
		} else if at.After(now) {
			wrong = append(wrong, posthouse.Problem{Path: "by", Message: fmt.Sprintf("is %.40q, which lies ahead: want a time that has come, such as 2026-10-01T08:30", l.By)})
		}
		if err == nil {
			l.By = at.Format("2006-01-02T15:04") // of a time of the day the form has the day too
		}
		if l.Person != "" {
			by, f.Until = at, at.Add(time.Millisecond) // what came at that moment is asked about too
		}
	}
	if err := posthouse.Invalid("the list cannot be shown", wrong); err != nil {
		return err
	}
	if f.Person != "" {
		if found, err := v.API.Users.Find(v.Ctx(), f.Person, route.MostCalled); err == nil {
			id, known, err := route.Whose(f.Person, found.Items)
			if err != nil {
				return err
			}
			f.Person, l.Unknown = id, !known
		}
	}
	page, err := v.API.Notifications.List(v.Ctx(), posthouse.NotificationState(l.State), f)
	if err != nil {
		return err
	}
	held, err := v.API.Notifications.List(v.Ctx(), "", client.Filter{Held: true, Limit: 1})
	if err != nil {
		return err
	}
	l.AnyHeld = len(held.Items) > 0 || l.Held
	for i := range page.Items {
		one := shown{Notification: page.Items[i]}
		if l.Person != "" {
			one.Answer = route.Knew(&one.Notification, f.Person, by, func(t time.Time) string { return t.In(v.Zone).Format("2006-01-02 15:04:05") })
		}
		l.Items = append(l.Items, one)
	}
	if page.Next != "" {
		l.Older = l.With("cursor", page.Next)
	}
	for _, p := range periods() {
		l.Periods = append(l.Periods, choice{Word: v.Say(p[1]), Link: l.With("since", p[0]), Current: l.Since == p[0]})
	}
	for _, one := range [][3]string{
		{"told_person", "person", l.Person}, {"told_by_time", "by", strings.Replace(l.By, "T", " ", 1)}, {"route", "route", l.Route}, {"kind", "kind", l.Kind}, {"told_ref", "ref", l.Ref},
	} {
		if one[2] != "" {
			l.Active = append(l.Active, choice{Name: v.Say(one[0]), Word: one[2], Link: l.With(one[1], "")})
		}
	}
	return v.Show("notifications", "notifications", l)
}

// namesOf lists the people of a notification.
func namesOf(v *host.Visit, n posthouse.Notification) string {
	if len(n.To) == 0 {
		return v.Say("told_route_names")
	}
	var names []string
	for _, to := range n.To {
		names = append(names, cmp.Or(to.User, to.Address))
	}
	return strings.Join(names, ", ")
}

// sheet is what the page of a notification shows.
type sheet struct {
	posthouse.Notification
	Whom string
	// Person is the one whom it means, empty where it means several.
	Person string
	// Lines are its steps with what they sent, the last first.
	Lines []line
}

// line is one step that has come.
type line struct {
	posthouse.NotificationStep
	Sent []posthouse.NotificationDelivery
	// Took is how long after the message it came.
	Took time.Duration
}

func show(v *host.Visit) error {
	n, err := v.API.Notifications.Get(v.Ctx(), v.R.PathValue("id"))
	if err != nil {
		return err
	}
	s := sheet{Notification: n, Whom: namesOf(v, n)}
	if len(n.To) == 1 {
		s.Person = cmp.Or(n.To[0].User, n.To[0].Address)
	}
	for _, step := range n.Steps {
		l := line{NotificationStep: step, Took: step.At.Sub(n.CreatedAt).Round(time.Second)}
		for _, d := range n.Deliveries {
			if d.Step == step.Step && d.Round == step.Round {
				l.Sent = append(l.Sent, d)
			}
		}
		s.Lines = append(s.Lines, l)
	}
	return v.Show("notification", "notification", s)
}

func acknowledge(v *host.Visit) error {
	ack := wire.Ack{By: v.Form("by")}
	if note := v.Form("note"); note != "" {
		ack.Evidence, _ = json.Marshal(map[string]string{"note": note}) // a text: cannot fail
	}
	if _, err := v.API.Notifications.Acknowledge(v.Noted(), v.R.PathValue("id"), ack); err != nil {
		return err
	}
	return v.GoTo(v.At("notifications", v.R.PathValue("id")) + "?said=changed_said")
}

func revokeLinks(v *host.Visit) error {
	if _, err := v.API.Notifications.RevokeLinks(v.Noted(), v.R.PathValue("id")); err != nil {
		return err
	}
	return v.GoTo(v.At("notifications", v.R.PathValue("id")) + "?said=changed_said")
}

func end(v *host.Visit) error {
	if _, err := v.API.Notifications.End(v.Noted(), v.R.PathValue("id")); err != nil {
		return err
	}
	return v.GoTo(v.At("notifications", v.R.PathValue("id")) + "?said=changed_said")
}

func resume(v *host.Visit) error {
	if _, err := v.API.Notifications.Resume(v.Noted(), v.R.PathValue("id")); err != nil {
		return err
	}
	return v.GoTo(v.At("notifications", v.R.PathValue("id")) + "?said=changed_said")
}

// routes is what the page of all routes shows.
type routes struct {
	Routes []posthouse.Route
	New    form
}

// form is a route as somebody typed it.
type form struct {
	Name, Text string
	Tag        string // of the version that it is to replace
	Meanwhile  []difference.Change
	Problems   []posthouse.Problem
}

// example is what the form of a new route begins with.
const example = `{
  "steps": [
    {"channels": ["sms"], "until": "acknowledged", "within": "10m"},
    {"channels": ["voice"], "to": [{"roster": "night"}]}
  ]
}`

func showRoutes(v *host.Visit) error {
	return drawRoutes(v, http.StatusOK, form{Text: example})
}

func drawRoutes(v *host.Visit, status int, f form) error {
	all, err := v.API.Routes.List(v.Ctx())
	if err != nil {
		return err
	}
	return v.Draw(status, "routes", "routes", routes{all, f})
}

// one is what the page of a route shows.
type one struct {
	posthouse.Route
	Lines []stepLine
	Form  form
}

// stepLine is a step with its number.
type stepLine struct {
	N int
	posthouse.RouteStep
}

func oneOf(r posthouse.Route, f form) one {
	o := one{Route: r, Form: f}
	for i, s := range r.Steps {
		o.Lines = append(o.Lines, stepLine{i + 1, s})
	}
	return o
}

func showRoute(v *host.Visit) error {
	r, err := v.API.Routes.Get(v.Ctx(), v.R.PathValue("name"), 0)
	if err != nil {
		return err
	}
	text, err := textOf(r)
	if err != nil {
		return err
	}
	return v.Show("route", "route", oneOf(r, form{Name: r.Name, Text: text, Tag: r.Tag()}))
}

// textOf is a route as a person changes it.
func textOf(r posthouse.Route) (string, error) {
	text, err := json.MarshalIndent(said(r), "", "  ")
	return string(text), err
}

// said is a route without what is not a person's to say.
func said(r posthouse.Route) posthouse.Route {
	r.Tenant, r.Name, r.Version, r.CreatedAt, r.Warnings = "", "", 0, time.Time{}, nil
	return r
}

func store(v *host.Visit) error {
	f := form{Name: cmp.Or(v.R.PathValue("name"), v.Form("name")), Text: v.Form("text"), Tag: v.Form("tag")}
	ctx, changes, status := v.Noted(), v.R.PathValue("name") != "", http.StatusUnprocessableEntity
	if changes {
		ctx = client.IfMatch(ctx, cmp.Or(f.Tag, "none"))
	}
	r, problems, err := web.BodyOf[posthouse.Route]().Read([]byte(f.Text))
	switch f.Problems = problems; {
	case err != nil:
		f.Problems = []posthouse.Problem{{Path: "text", Message: err.Error()}}
	case len(problems) == 0:
		r.Name = f.Name
		_, err = v.API.Routes.Put(ctx, r)
		var coded *posthouse.Error
		switch {
		case err == nil:
			return v.GoTo(v.At("routes", f.Name) + "?said=stored")
		case changes && posthouse.CodeOf(err) == posthouse.CodeChanged:
			status = http.StatusConflict
		case errors.As(err, &coded) && coded.Code == posthouse.CodeInvalid:
			f.Problems = coded.Problems
		default:
			return err
		}
	}
	if !changes {
		return drawRoutes(v, status, f)
	}
	stored, err := v.API.Routes.Get(v.Ctx(), f.Name, 0)
	if status == http.StatusConflict {
		if posthouse.CodeOf(err) == posthouse.CodeNotFound {
			f.Problems = []posthouse.Problem{{Path: "name", Message: v.Say("deleted_since")}}
			return drawRoutes(v, status, f)
		}
		if err == nil {
			f.Tag = stored.Tag()
			f.Meanwhile, err = difference.JSON(said(stored), said(r))
		}
	}
	if err != nil {
		return err
	}
	return v.Draw(status, "route", "route", oneOf(stored, f))
}
