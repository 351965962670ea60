package web

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/wire"
)

// Audit keeps who changed what. store.Audit satisfies it.
type Audit interface {
	// AddAudit adds a line that is kept for so long, 0 for good.
	AddAudit(ctx context.Context, now time.Time, e wire.AuditEntry, keep time.Duration) error
}

// NoteHeader is where a caller says why it changes something.
const NoteHeader = "X-Posthouse-Note"

// DefaultAuditKeep is how long the audit log is kept by default.
const DefaultAuditKeep = 400 * 24 * time.Hour

const (
	maxNote   = 255      // characters
	maxDetail = 64 << 10 // bytes
)

// change is what a handler says of what it did.
type change struct {
	Request any `json:"request,omitempty"`
	Before  any `json:"before,omitempty"`
	After   any `json:"after,omitempty"`

	target   string
	affected int
	none     bool
}

// Asked tells the audit log what was asked for: of a decision about many, its filter.
func (c *Call) Asked(request any, affected int) {
	c.change.Request, c.change.affected = request, affected
}

// Affected tells the audit log how many things changed.
func (c *Call) Affected(n int) { c.change.affected = n }

// Changed tells the audit log how a thing was before, nil for not at all, and after. Both must be without secrets.
func (c *Call) Changed(before, after any) { c.change.Before, c.change.After = before, after }

// Unchanged tells the audit log that nothing was done, such as by a trial.
func (c *Call) Unchanged() { c.change.none = true }

// Named tells the audit log which thing was changed, where the path does not.
func (c *Call) Named(target string) { c.change.target = target }

// Audited has a route's use written to the audit log although its scope is not admin.
func (r Route) Audited() Route {
	r.audited = true
	return r
}

// Witnessed is Audited, and keeps the answer back where the line cannot be written.
func (r Route) Witnessed() Route {
	r.witnessed = true
	return r.Audited()
}

// Audits reports whether a route's use is written to the audit log: what changes configuration, keys or tenants, or
// decides about deliveries.
func (r Route) Audits() bool {
	return r.audited || r.Scope == posthouse.ScopeAdmin && r.Method != http.MethodGet
}

// Action is a route's name in the audit log and in the limits of keys, such as channels.put or deliveries.replay.
func (r Route) Action() string {
	last := r.Path[strings.LastIndexByte(r.Path, '/')+1:]
	switch {
	case r.Method == http.MethodGet:
		last = "read"
	case r.Method == http.MethodPut:
		last = "put"
	case r.Method == http.MethodPatch:
		last = "change"
	case r.Method == http.MethodDelete:
		last = "delete"
	case last == r.Tag:
		last = "create"
	}
	return r.Tag + "." + last
}

// NoteOf is what a caller says of why it changes something, and what is wrong with it, empty for nothing.
func NoteOf(h http.Header) (note, problem string) {
	note = h.Get(NoteHeader)
	switch n := utf8.RuneCountInString(note); {
	case note == "":
	case !utf8.ValidString(note) || unkept(note) != "":
		problem = "is no text that every database keeps"
	case n > maxNote:
		problem = fmt.Sprintf("has %d characters: at most %d are allowed", n, maxNote)
	}
	return note, problem
}

// noteOf is what the caller says of why.
func (c *Call) noteOf() string {
	note, problem := NoteOf(c.Header)
	if problem != "" {
		c.Refuse("header."+NoteHeader, "%s", problem)
	}
	return note
}

// Book writes the audit log. The zero value writes nothing.
type Book struct {
	// Store keeps the lines. Defaults to none.
	Store Audit
	// Keep is how long. Defaults to DefaultAuditKeep; negative keeps all.
	Keep time.Duration
	// Log defaults to slog.Default().
	Log *slog.Logger
}

// Write adds a line with the details of a change. It was made all the same when that fails, so the failure is logged
// loudly.
func (b Book) Write(ctx context.Context, e wire.AuditEntry, detail any) { _ = b.add(ctx, e, detail) }

// add is Write that says whether the line is there.
func (b Book) add(ctx context.Context, e wire.AuditEntry, detail any) error {
	if b.Store == nil {
		return nil
	}
	now := time.Now()
	e.ID, e.At = posthouse.NewID(), now.UTC()
	if text, err := json.Marshal(detail); err == nil && len(text) > maxDetail {
		e.Detail = fmt.Appendf(nil, `{"left_out":"%d bytes"}`, len(text))
	} else if err == nil && string(text) != "{}" && string(text) != "null" {
		e.Detail = text
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	err := b.Store.AddAudit(ctx, now, e, max(cmp.Or(b.Keep, DefaultAuditKeep), 0))
	if err != nil {
		cmp.Or(b.Log, slog.Default()).Error("a change could not be written to the audit log", "action", e.Action, "target", e.Target, "key", e.Key, "tenant", e.Tenant, "error", err)
	}
	return err
}

// record writes what was done to the audit log.
func (d *door) record(r Route, c *Call, note string) error {
	if c.change.none {
		return nil
	}
	err := d.Audit.add(c.Context(), wire.AuditEntry{
		Tenant: c.Tenant(), Key: c.Key.ID, KeyName: c.Key.Name, Source: AddressOf(c.Request), Action: r.Action(),
		Target: cmp.Or(c.change.target, c.PathValue("name"), c.PathValue("id")), Note: note, Affected: c.change.affected,
	}, c.change)
	if err != nil && r.witnessed {
		return posthouse.Errorf(posthouse.CodeUnavailable, "the audit log cannot be written, and without it nothing is shown: %w", err)
	}
	return nil
}
