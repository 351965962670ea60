package web

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
)

// handler serves one route.
func (d *door) handler(r Route) http.Handler {
	if r.plain != nil {
		return guarded(r.plain)
	}
	return guarded(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		began := time.Now()
		c := &Call{Request: req, maxBody: d.MaxBody, bodies: d.Bodies, Writer: w, Status: r.status[0]}
		defer c.free()
		out, err := d.run(r, c)
		if err == nil {
			err = send(w, c.Status, out)
		}
		status := c.Status
		if err != nil {
			status = d.answerError(c, err)
			d.refused.note(d.Log, began, r, c, status)
		}
		if d.Log.Enabled(req.Context(), slog.LevelDebug) {
			d.Log.Debug("request", "id", RequestID(req.Context()), "method", req.Method, "path", req.URL.Path, "status", status, "took", time.Since(began),
				"tenant", c.Key.Tenant, "key", c.Key.ID, "from", AddressOf(req))
		}
	}))
}

// guarded sets what every answer carries.
func guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h["X-Content-Type-Options"] = []string{"nosniff"}
		h["Cache-Control"] = []string{"no-store"}
		h["Content-Security-Policy"] = []string{"default-src 'none'; frame-ancestors 'none'"}
		h["Referrer-Policy"] = []string{"no-referrer"}
		next.ServeHTTP(w, r)
	})
}

// run lets a request in and handles it. A panic is an error like others.
func (d *door) run(r Route, c *Call) (out any, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	if err := d.admit(r, c); err != nil {
		return nil, err
	}
	if err := c.checkPath(); err != nil {
		return nil, err
	}
	c.readQuery(r.Params)
	c.readOnly(r)
	note := ""
	if r.Audits() {
		note = c.noteOf()
	}
	if r.in == nil && r.Method != http.MethodGet && r.Method != "" && len(c.problems) > 0 {
		return nil, c.Wrong() // what changes something looks first; others find more
	}
	out, err = d.serve(r, c)
	if err == nil && len(c.problems) > 0 {
		if r.Audits() {
			d.Log.Error("a request was refused after it had been carried out: this is a fault of the program", "method", r.Method, "path", r.Path)
		}
		err = c.Wrong()
	}
	if err == nil && r.Audits() {
		err = d.record(r, c, note)
	}
	if r.in == nil && err != nil {
		err = Renamed(err, map[string]string{"cursor": "query.cursor"}) // the store does not know where it comes from
	}
	return out, err
}

// admit finds out who asks, and whether that key reaches this.
func (d *door) admit(r Route, c *Call) (err error) {
	if r.Scope == "" {
		return d.greet(r, c)
	}
	if c.Key, err = d.Gate.enter(c.Request); err != nil {
		return err
	}
	c.again = func() error {
		_, err := d.Gate.enter(c.Request)
		return err
	}
	if d.Rates != nil && !acting(c.Context()) { // a page makes several requests: the quota is of the tenant's programs
		if err := d.Rates.Request(c.Context(), c.Key); err != nil {
			return err
		}
	}
	if err := r.admits(c); err != nil {
		return err
	}
	return nil
}

// greet finds out who asks for what needs no key, where that may be told more with one. Where keys cannot be looked up everybody is a stranger.
func (d *door) greet(r Route, c *Call) error {
	if !r.greets || c.Header.Get("Authorization") == "" && !acting(c.Context()) {
		return nil
	}
	key, err := d.Gate.enter(c.Request)
	if err == nil {
		c.Key = key
	} else if status := statusOf(err); status == http.StatusUnauthorized || status == http.StatusTooManyRequests {
		return err
	}
	return nil
}

// admits says why a key does not reach this. An agent's reaches what is its own.
func (r Route) admits(c *Call) error {
	if c.Key.Scope == posthouse.ScopeAgent && (r.Scope == posthouse.ScopeAgent || r.Own) {
		if id := c.PathValue("id"); id != c.Key.Agent {
			return posthouse.Errorf(posthouse.CodeForbidden, "the key is the agent %s's, not the agent %.80s's", c.Key.Agent, id)
		}
		return nil
	}
	if err := Permit(c.Key, r.use()); err != nil {
		return err
	}
	if name := c.PathValue(r.channel); r.channel != "" && !SightOf(c.Key).Channel(name) {
		return forbidden("the key is for the channels %s, not for %.80q", strings.Join(c.Key.Channels, ", "), name)
	}
	return nil
}

// answerError writes an error and logs what the caller is not told.
func (d *door) answerError(c *Call, err error) int {
	p, after := problemOf(c.Context(), err)
	c.refused = p.Code
	h := c.Writer.Header()
	h.Del("Idempotent-Replay")
	h.Del("ETag")
	if after > 0 {
		h.Set("Retry-After", strconv.Itoa(after))
	}
	if p.Status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", "Bearer")
		if isCalendar(c.Request) {
			h.Add("WWW-Authenticate", `Basic realm="Posthouse", charset="UTF-8"`)
		}
	}
	if p.Status >= http.StatusInternalServerError && c.Context().Err() == nil && !isNoted(err) {
		d.Log.Error("request failed", "method", c.Method, "path", c.URL.Path, "tenant", c.Key.Tenant, "code", p.Code, "id", p.ID, "error", causeOf(err))
	}
	if sendErr := send(c.Writer, p.Status, problemAnswer(p)); sendErr != nil {
		d.Log.Error("an error could not be written", "error", sendErr)
	}
	return p.Status
}

// causeOf is an error's text with the cause that its answer leaves out.
func causeOf(err error) string {
	var coded *posthouse.Error
	if errors.As(err, &coded) && coded.Cause != nil {
		return coded.Error() + ": " + coded.Cause.Error()
	}
	return err.Error()
}

// Refuse answers a request with an error before any route has it.
func Refuse(w http.ResponseWriter, r *http.Request, err error) {
	guarded(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p, after := problemOf(r.Context(), err)
		if after > 0 {
			w.Header().Set("Retry-After", strconv.Itoa(after))
		}
		_ = send(w, p.Status, problemAnswer(p)) // a caller that has left is no error of ours
	})).ServeHTTP(w, r)
}
