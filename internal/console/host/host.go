// Package host is what the console and a group of its pages hand to each other: one way the group's addresses, templates and
// texts, the other way the visit of a browser. It is no page, and not the frame that pages are drawn in: that is the console's.
package host

import (
	"context"
	"io"
	"io/fs"
	"net/http"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/console/words"
	"github.com/posthouse/posthouse/internal/web"
)

// Pages are a group of pages that belong together.
type Pages struct {
	Routes []Route
	// Files has a template for each page, pages/NAME.html, and in pages/parts what several of them draw. Names of pages and parts
	// are of the whole console.
	Files fs.FS
	// Words are their texts, by names that are of the whole console.
	Words map[string]words.Word
}

// Route is an address below that of a tenant.
type Route struct {
	Method, Path string
	// Use is what the person's role must reach. The API judges again what is asked of it.
	Use   web.Use
	Serve func(*Visit) error
}

// Looks is a page for all who may read.
func Looks(path, action string, serve func(*Visit) error) Route {
	return Route{http.MethodGet, path, web.Use{Scope: posthouse.ScopeRead, Action: action}, serve}
}

// Acts is a form of those who may do an action of scope admin.
func Acts(path, action string, serve func(*Visit) error) Route {
	return Route{http.MethodPost, path, web.Use{Scope: posthouse.ScopeAdmin, Action: action}, serve}
}

// Visit is one request of a browser on its way through.
type Visit struct {
	Frame
	W   http.ResponseWriter
	R   *http.Request
	API *client.Client
	// Zone is the server's, and Local the visitor's.
	Zone, Local *time.Location
}

// Show draws a page of status 200.
func (v *Visit) Show(name, title string, data any) error {
	return v.Draw(http.StatusOK, name, title, data)
}

// Frame is the console around a page.
type Frame interface {
	// Ctx is for calls of the API on behalf of the person, Noted for those that carry the note of the form.
	Ctx() context.Context
	Noted() context.Context
	// Form is a value of the form that was posted, Query one of the address, both without spaces around.
	Form(name string) string
	Query(name string) string
	// Say is a text in the person's language.
	Say(word string) string
	// At is the address of a page of the tenant.
	At(parts ...string) string
	// Draw writes a page; its title is a word, that of the menu's entry where there is one.
	Draw(status int, name, title string, data any) error
	// GoTo leads on after a form was taken.
	GoTo(address string) error
	// Save answers with a CSV that goes out as it is written.
	Save(name string, write func(io.Writer) error) error
}
