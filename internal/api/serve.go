package api

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/posthouse/posthouse"
)

// handler serves one route.
func (a *api) handler(r route) http.Handler {
	if r.plain != nil {
		return a.guarded(r.plain(a))
	}
	return a.guarded(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		began := time.Now()
		c := &call{Request: req, maxBody: a.MaxBody, writer: w}
		out, err := a.run(r, c)
		if err == nil {
			err = out.send(w)
		}
		status := out.status
		if err != nil {
			status = a.answerError(c, err)
		}
		if a.Log.Enabled(req.Context(), slog.LevelDebug) {
			a.Log.Debug("request", "method", req.Method, "path", req.URL.Path, "status", status, "took", time.Since(began),
				"tenant", c.key.Tenant, "key", c.key.ID, "from", AddressOf(req))
		}
	}))
}

// guarded sets what every answer carries.
func (a *api) guarded(next http.Handler) http.Handler {
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
func (a *api) run(r route, c *call) (out answer, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	if r.scope != "" {
		if c.key, err = a.gate.enter(c.Request); err != nil {
			return answer{}, err
		}
		if err := r.admits(c); err != nil {
			return answer{}, err
		}
	}
	if err := c.checkPath(); err != nil {
		return answer{}, err
	}
	c.readQuery(r.query)
	if r.in == nil && r.method != http.MethodGet && len(c.problems) > 0 {
		return answer{}, c.wrong() // what changes something looks first; others find more
	}
	out, err = r.serve(a, c)
	if err == nil && len(c.problems) > 0 {
		err = c.wrong()
	}
	if r.in == nil && err != nil {
		err = renamed(err, map[string]string{"cursor": "query.cursor"}) // the store does not know where it comes from
	}
	return out, err
}

// admits says why a key does not reach this. An agent's reaches what is its own.
func (r route) admits(c *call) error {
	if c.key.Scope == posthouse.ScopeAgent && (r.scope == posthouse.ScopeAgent || r.own) {
		if id := c.PathValue("id"); id != c.key.Agent {
			return posthouse.Errorf(posthouse.CodeForbidden, "the key is the agent %s's, not the agent %.80s's", c.key.Agent, id)
		}
		return nil
	}
	if !c.key.Scope.Allows(r.scope) {
		return posthouse.Errorf(posthouse.CodeForbidden, "the key's scope is %s: this needs %s", c.key.Scope, r.scope)
	}
	return nil
}

// answerError writes an error and logs what the caller is not told.
func (a *api) answerError(c *call, err error) int {
	p, after := problemOf(err)
	if after > 0 {
		c.writer.Header().Set("Retry-After", strconv.Itoa(after))
	}
	if p.Status == http.StatusUnauthorized {
		c.writer.Header().Set("WWW-Authenticate", "Bearer")
	}
	if p.Status >= http.StatusInternalServerError && c.Context().Err() == nil {
		a.Log.Error("request failed", "method", c.Method, "path", c.URL.Path, "tenant", c.key.Tenant, "code", p.Code, "id", p.ID, "error", causeOf(err))
	}
	if sendErr := problemAnswer(p).send(c.writer); sendErr != nil {
		a.Log.Error("an error could not be written", "error", sendErr)
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
