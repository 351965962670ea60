package console

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"runtime/debug"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/console/form"
	"github.com/posthouse/posthouse/internal/people"
	"github.com/posthouse/posthouse/internal/web"
)

// visit is one request of a browser on its way through.
type visit struct {
	*console
	w      http.ResponseWriter
	r      *http.Request
	person people.Visitor
	key    posthouse.Key // what the person may do in the tenant
	tenant string        // empty outside of tenants
	zh     bool
	asOf   *asOf          // how old what is shown is
	whole  io.ReadCloser  // the body, without the bound of forms
	local  *time.Location // that the browser keeps, nil for the server's
	// channelsRead are the channels of the tenant, nil before they are asked for.
	channelsRead *[]posthouse.Channel
	// undecided says that the page which answers a form shows no more than what is wrong with it, or what it would do.
	undecided bool
	// spoken is the page that answers a form with a secret, nil for none.
	spoken *answerPage
	// filled is the form that was refused, nil for none: errors call its fields as it does.
	filled *form.Form
}

// door is a line of the table of what stands outside of tenants.
type door struct {
	method, path string
	// in says that a person must be signed in.
	in    bool
	serve func(*visit) error
}

// route is a line of the table of a tenant's pages.
type route struct {
	method, path string
	// use is what the person's role must reach. The API judges again what is asked of it.
	use   web.Use
	serve func(*visit) error
}

// open serves what stands outside of tenants.
func (c *console) open(d door) http.Handler {
	return c.visited(func(v *visit) error {
		if d.in {
			if err := v.enter(); err != nil {
				return err
			}
			if done, err := v.shown(); done || err != nil {
				return err
			}
		}
		if err := readForm(v.r); err != nil {
			return err
		}
		if d.in {
			return c.once(v, d.serve)
		}
		return d.serve(v)
	})
}

// closed serves a page of a tenant. A tenant in which the person has no role is answered as one that is not there.
func (c *console) closed(r route) http.Handler {
	return c.visited(func(v *visit) error {
		if err := v.enter(); err != nil {
			return err
		}
		tenant := v.r.PathValue("tenant")
		key, ok := people.KeyOf(v.person.Person, tenant)
		if !ok {
			return nowhere(v)
		}
		v.tenant, v.key = tenant, key
		if web.Permit(key, r.use) != nil {
			return lacksRole{needs: leastFor(r.use), has: v.person.Roles[tenant]}
		}
		if !streamed(r) {
			if err := readForm(v.r); err != nil {
				return err
			}
		}
		if done, err := v.shown(); done || err != nil {
			return err
		}
		return c.once(v, r.serve)
	})
}

// maxForm bounds a form, in bytes.
const maxForm = 1 << 20

// errLong is of a form that is longer than maxForm.
var errLong = errors.New("the form is too long")

// heldBody is a body with its bounds.
type heldBody struct {
	io.Reader
	io.Closer
}

// streamed reports whether the file of a form is read as it comes, however long it is.
func streamed(r route) bool {
	return r.path == "campaigns/{name}/members" || r.path == "campaigns/{name}/preview"
}

// readForm reads a form. One that is too long, or that there is no room for now, is an error: its values would be empty. Where a file is too
// long, that is wrong with its field.
func readForm(r *http.Request) error {
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	err := r.ParseForm()
	if kind == "multipart/form-data" {
		err = r.ParseMultipartForm(maxForm)
	}
	var most *http.MaxBytesError
	var busy *web.Fault
	switch {
	case errors.As(err, &most) && kind == "multipart/form-data":
		return posthouse.Invalid("nothing was stored", problemAt("file", "is longer than 1 MB: import it in parts, or by the command line"))
	case errors.As(err, &most):
		return errLong
	case errors.As(err, &busy):
		return busy
	}
	return nil
}

// visited makes a visit of a request and draws the page of what went wrong. A panic is an error like others.
func (c *console) visited(serve func(*visit) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v := &visit{console: c, w: w, r: r, zh: chinese(r), asOf: asOfVisit(w, r), whole: r.Body, local: zoneOf(r)}
		held := c.o.Bodies.Hold(web.AddressOf(r))
		defer held.Free()
		r.Body = heldBody{held.Reader(http.MaxBytesReader(w, r.Body, maxForm)), r.Body}
		err := func() (err error) {
			defer func() {
				if p := recover(); p == http.ErrAbortHandler { //nolint:errorlint // as net/http compares it
					panic(p)
				} else if p != nil {
					err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
				}
			}()
			return serve(v)
		}()
		if err != nil {
			v.fail(err)
		}
	})
}

// enter finds out whose session it is.
func (v *visit) enter() (err error) {
	v.person, err = v.o.Desk.Who(v.r.Context(), tokenOf(v.r))
	if err == nil {
		err = paced(v)
	}
	if err == nil && codesFirst(v) {
		err = errCodesFirst
	}
	return err
}

// ctx is for calls of the API on behalf of the person.
func (v *visit) ctx() context.Context {
	return actingFor(context.WithValue(v.r.Context(), asOfKey{}, v.asOf), v.key, v.r)
}

// call is the API.
func (v *visit) call() *client.Client { return v.api }

// may reports whether the person's role reaches something, so that pages offer just that.
func (v *visit) may(scope posthouse.Scope, action string) bool {
	return web.Permit(v.key, web.Use{Scope: scope, Action: action}) == nil
}

// at is the address of a page of the visit's tenant.
func (v *visit) at(parts ...string) string { return addressOf(v.tenant, parts...) }

func addressOf(tenant string, parts ...string) string {
	var b strings.Builder
	b.WriteString(Root + "t/" + url.PathEscape(tenant) + "/")
	for i, p := range parts {
		if i > 0 {
			b.WriteByte('/')
		}
		b.WriteString(url.PathEscape(p))
	}
	return b.String()
}

// goTo leads on after a form was taken.
func (v *visit) goTo(address string) error {
	v.needs.forget(v.tenant)
	if v.r.Header.Get("HX-Request") != "" { // a script would follow, and put the page into a part of this one
		v.w.Header().Set("HX-Redirect", address)
		v.w.Header().Set("Location", address)
		v.w.WriteHeader(http.StatusNoContent)
		return nil
	}
	http.Redirect(v.w, v.r, address, http.StatusSeeOther)
	return nil
}

// seenHeader says in which state a page has drawn the thing of which it asks for a part.
const seenHeader = "Posthouse-Seen"

// drawnIn has a browser that asks for a part of a page load the whole of it where its thing is in another state now: buttons stand outside
// of the part, and fit the state.
func (v *visit) drawnIn(state string) {
	if seen := v.r.Header.Get(seenHeader); seen != "" && seen != state {
		v.w.Header().Set("HX-Refresh", "true")
	}
}

// form is a value of the form that was posted.
func (v *visit) form(name string) string { return strings.TrimSpace(v.r.PostFormValue(name)) }

// has reports whether a form that was sent has a field, be it empty.
func (v *visit) has(name string) bool { return v.form(name) != "" || v.r.PostForm.Has(name) }

// query is a value of the address.
func (v *visit) query(name string) string { return strings.TrimSpace(v.r.URL.Query().Get(name)) }

// chinese follows the language that was chosen, and without one the browser's; Chinese where neither says anything.
func chinese(r *http.Request) bool {
	if c, err := r.Cookie(langCookie); err == nil {
		return c.Value != "en"
	}
	for _, word := range strings.Split(r.Header.Get("Accept-Language"), ",") {
		word = strings.ToLower(strings.TrimSpace(word))
		switch {
		case strings.HasPrefix(word, "zh"):
			return true
		case strings.HasPrefix(word, "en"):
			return false
		}
	}
	return true
}
