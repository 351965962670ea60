// Package notifications is the console's pages of routes and notifications: whether somebody was told, by which steps, and what is to come; and the
// steps of each route. What follows from what is package route's.
package notifications

import (
	"cmp"
	"embed"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/console/host"
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
			host.Looks("routes", "routes.read", showRoutes),
			host.Acts("routes", "routes.put", store),
			host.Looks("routes/{name}", "routes.read", showRoute),
			host.Acts("routes/{name}", "routes.put", store),
			host.Acts("routes/{name}/delete", "routes.delete", remove),
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
	State  string
	States []posthouse.NotificationState
	Items  []posthouse.Notification
	Older  string
}

func showAll(v *host.Visit) error {
	l := list{State: v.Query("state"), States: shownStates()}
	page, err := v.API.Notifications.List(v.Ctx(), posthouse.NotificationState(l.State), client.Filter{Cursor: v.Query("cursor"), Limit: 50})
	if err != nil {
		return err
	}
	if l.Items = page.Items; page.Next != "" {
		l.Older = "?state=" + l.State + "&cursor=" + page.Next
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

// routes is what the page of all routes shows.
type routes struct {
	Routes []posthouse.Route
	New    form
}

// form is a route as somebody typed it.
type form struct {
	Name, Text string
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
	return v.Show("route", "route", oneOf(r, form{Name: r.Name, Text: text}))
}

// textOf is a route as a person changes it.
func textOf(r posthouse.Route) (string, error) {
	r.Tenant, r.Name, r.Version, r.CreatedAt, r.Warnings = "", "", 0, time.Time{}, nil
	text, err := json.MarshalIndent(r, "", "  ")
	return string(text), err
}

func store(v *host.Visit) error {
	f := form{Name: cmp.Or(v.R.PathValue("name"), v.Form("name")), Text: v.Form("text")}
	r, problems, err := web.BodyOf[posthouse.Route]().Read([]byte(f.Text))
	switch f.Problems = problems; {
	case err != nil:
		f.Problems = []posthouse.Problem{{Path: "text", Message: err.Error()}}
	case len(problems) == 0:
		r.Name = f.Name
		_, err = v.API.Routes.Put(v.Noted(), r)
		if err == nil {
			return v.GoTo(v.At("routes", f.Name) + "?said=stored")
		}
		var coded *posthouse.Error
		if !errors.As(err, &coded) || coded.Code != posthouse.CodeInvalid {
			return err
		}
		f.Problems = coded.Problems
	}
	if v.R.PathValue("name") == "" {
		return drawRoutes(v, http.StatusUnprocessableEntity, f)
	}
	stored, err := v.API.Routes.Get(v.Ctx(), f.Name, 0)
	if err != nil {
		return err
	}
	return v.Draw(http.StatusUnprocessableEntity, "route", "route", oneOf(stored, f))
}

func remove(v *host.Visit) error {
	if err := v.API.Routes.Delete(v.Noted(), v.R.PathValue("name")); err != nil {
		return err
	}
	return v.GoTo(v.At("routes") + "?said=route_deleted_said")
}
