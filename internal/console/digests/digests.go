// Package digests is the console's pages of digests: which messages become one, and what was gathered by that. What follows from what is
// package digest's.
package digests

import (
	"embed"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
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
			host.Acts("digests/{name}/delete", "digests.delete", remove),
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

// form is a digest as it was typed.
type form struct {
	posthouse.Digest
	WindowText, MaxText string
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

func store(v *host.Visit) error {
	f := form{WindowText: strings.TrimSpace(v.Form("window")), MaxText: strings.TrimSpace(v.Form("max")), Digest: posthouse.Digest{
		Name: v.Form("name"), Cron: v.Form("cron"), TimeZone: v.Form("time_zone"), By: v.Form("by"), Template: v.Form("template"), Line: v.Form("line"),
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
		_, err := v.API.Digests.Put(v.Noted(), f.Digest)
		if err == nil {
			return v.GoTo(v.At("digests") + "?said=stored")
		}
		var coded *posthouse.Error
		if !errors.As(err, &coded) || coded.Code != posthouse.CodeInvalid {
			return err
		}
		f.Problems = coded.Problems
	}
	return draw(v, http.StatusUnprocessableEntity, f)
}

func remove(v *host.Visit) error {
	if err := v.API.Digests.Delete(v.Noted(), v.R.PathValue("name")); err != nil {
		return err
	}
	return v.GoTo(v.At("digests") + "?said=digest_deleted")
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
	return v.GoTo(v.At("collections", v.R.PathValue("id")) + "?said=changed")
}
