// Package digests is the console's pages of digests: which messages become one, and what was gathered by that. What follows from what is
// package digest's.
package digests

import (
	"cmp"
	"embed"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/console/difference"
	"github.com/posthouse/posthouse/internal/console/host"
	"github.com/posthouse/posthouse/internal/web"
)

//go:embed pages
var files embed.FS

// Pages are the pages of digests.
func Pages() host.Pages {
	return host.Pages{
		Files: files, Words: texts(),
		Routes: []host.Route{
			host.Looks("digests", "digests.read", showAll),
			host.Acts("digests", "digests.put", store),
			host.Looks("digests/{name}", "digests.read", showOne),
			host.Acts("digests/{name}", "digests.put", store),
			host.Looks("collections/{id}", "digests.read", show),
			{Method: http.MethodPost, Path: "collections/{id}/leave", Use: web.Use{Scope: posthouse.ScopeSend, Action: "digests.leave"}, Serve: leave},
		},
	}
}

// list is what the page of digests shows.
type list struct {
	Digests []posthouse.Digest
	State   string
	States  []posthouse.CollectionState
	Items   []posthouse.Collection
	Older   string
	New     form
}

// OfState is the word of the state that the list is of, empty for all.
func (l list) OfState() string {
	if slices.Contains(l.States, posthouse.CollectionState(l.State)) {
		return "gathered_" + l.State
	}
	return ""
}

// form is a digest as it was typed.
type form struct {
	posthouse.Digest
	WindowText, MaxText string
	Tag                 string // of the version that it is to replace
	Meanwhile           []difference.Change
	Problems            []posthouse.Problem
}

func showAll(v *host.Visit) error {
	return draw(v, http.StatusOK, form{WindowText: "10m", MaxText: "100"})
}

func draw(v *host.Visit, status int, f form) error {
	l := list{State: v.Query("state"), States: posthouse.CollectionStates(), New: f}
	var err error
	if l.Digests, err = v.API.Digests.List(v.Ctx()); err != nil {
		return err
	}
	page, err := v.API.Collections.List(v.Ctx(), posthouse.CollectionState(l.State), client.Filter{Cursor: v.Query("cursor"), Limit: 50})
	if err != nil {
		return err
	}
	if l.Items = page.Items; page.Next != "" {
		l.Older = "?state=" + l.State + "&cursor=" + page.Next
	}
	return v.Draw(status, "digests", "digests", l)
}

// sheet is what the page of a digest shows.
type sheet struct {
	posthouse.Digest
	Open, Last []posthouse.Collection // that gather now, and that left
	More       bool                   // there are more collections than were looked through
	Form       form
}

const (
	// mostLooked is how many collections are looked through for those of one digest, and mostLast how many that left are shown.
	// mostOpen is how many that gather now are.
	mostLooked, mostLast, mostOpen = 200, 20, 50
)

func showOne(v *host.Visit) error { return drawOne(v, http.StatusOK, nil) }

// drawOne shows a digest, with the form as it was sent or, without one, of what is stored.
func drawOne(v *host.Visit, status int, f *form) error {
	var s sheet
	var err error
	if s.Digest, err = v.API.Digests.Get(v.Ctx(), v.R.PathValue("name"), 0); err != nil {
		return err
	}
	var more bool
	if s.Open, s.More, err = ofDigest(v, s.Name, posthouse.CollectionWaiting); err != nil {
		return err
	}
	if len(s.Open) > mostOpen {
		s.Open, s.More = s.Open[:mostOpen], true
	}
	if s.Last, more, err = ofDigest(v, s.Name, ""); err != nil {
		return err
	}
	s.Last = slices.DeleteFunc(s.Last, func(c posthouse.Collection) bool { return c.State == posthouse.CollectionWaiting })
	s.More = s.More || more
	if len(s.Last) > mostLast {
		s.Last, s.More = s.Last[:mostLast], true
	}
	s.Form = form{Digest: s.Digest, MaxText: strconv.Itoa(s.Max), Tag: s.Digest.Tag()}
	if s.Window > 0 {
		s.Form.WindowText = s.Window.String()
	}
	if f != nil {
		if s.Form = *f; status == http.StatusConflict {
			s.Form.Tag = s.Digest.Tag()
			if s.Form.Meanwhile, err = difference.JSON(said(s.Digest), said(f.Digest)); err != nil {
				return err
			}
		}
	}
	return v.Draw(status, "digest", "digest", s)
}

// said is a digest without what is not a person's to say.
func said(d posthouse.Digest) posthouse.Digest {
	d.Tenant, d.Version, d.CreatedAt = "", 0, time.Time{}
	return d
}

// ofDigest are the collections of a digest in a state among the newest; more says that there are others behind those.
func ofDigest(v *host.Visit, name string, state posthouse.CollectionState) (list []posthouse.Collection, more bool, err error) {
	page, err := v.API.Collections.List(v.Ctx(), state, client.Filter{Limit: mostLooked})
	for _, c := range page.Items {
		if c.Digest == name {
			list = append(list, c)
		}
	}
	return list, page.Next != "", err
}

// store stores a digest, of the page of one under its name.
func store(v *host.Visit) error {
	f := form{Tag: v.Form("tag"), WindowText: strings.TrimSpace(v.Form("window")), MaxText: strings.TrimSpace(v.Form("max")), Digest: posthouse.Digest{
		Name: cmp.Or(v.R.PathValue("name"), v.Form("name")), Cron: v.Form("cron"), TimeZone: v.Form("time_zone"), By: v.Form("by"), Template: v.Form("template"), Line: v.Form("line"),
		Note: v.Form("for"), Always: v.Form("always") != "",
	}}
	if f.Name == "" {
		f.Problems = append(f.Problems, posthouse.Problem{Path: "name", Message: "is required"})
	}
	if f.WindowText != "" {
		if err := f.Window.UnmarshalText([]byte(f.WindowText)); err != nil {
			f.Problems = append(f.Problems, posthouse.Problem{Path: "window", Message: err.Error()})
		}
	}
	if f.MaxText != "" {
		var err error
		if f.Max, err = strconv.Atoi(f.MaxText); err != nil {
			f.Problems = append(f.Problems, posthouse.Problem{Path: "max", Message: "must be a whole number"})
		}
	}
	if len(f.Problems) == 0 {
		ctx, changes := v.Noted(), v.R.PathValue("name") != ""
		if changes {
			ctx = client.IfMatch(ctx, cmp.Or(f.Tag, "none"))
		}
		_, err := v.API.Digests.Put(ctx, f.Digest)
		if err == nil {
			return v.GoTo(v.At("digests", f.Name) + "?said=stored")
		}
		if changes && posthouse.CodeOf(err) == posthouse.CodeChanged {
			err := drawOne(v, http.StatusConflict, &f)
			if posthouse.CodeOf(err) == posthouse.CodeNotFound {
				f.Problems = []posthouse.Problem{{Path: "name", Message: v.Say("deleted_since")}}
				return draw(v, http.StatusConflict, f)
			}
			return err
		}
		var coded *posthouse.Error
		if !errors.As(err, &coded) || coded.Code != posthouse.CodeInvalid {
			return err
		}
		f.Problems = coded.Problems
	}
	if v.R.PathValue("name") != "" {
		return drawOne(v, http.StatusUnprocessableEntity, &f)
	}
	return draw(v, http.StatusUnprocessableEntity, f)
}

func show(v *host.Visit) error {
	c, err := v.API.Collections.Get(v.Ctx(), v.R.PathValue("id"))
	if err != nil {
		return err
	}
	return v.Show("collection", "collection", c)
}

func leave(v *host.Visit) error {
	if _, err := v.API.Collections.Leave(v.Noted(), v.R.PathValue("id")); err != nil {
		return err
	}
	return v.GoTo(v.At("collections", v.R.PathValue("id")) + "?said=changed_said")
}
