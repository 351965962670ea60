package web

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/wire"
)

// Audit keeps who changed what. *store.Store satisfies it.
type Audit interface {
	// AddAudit adds a line that is kept for so long, 0 for good.
	AddAudit(ctx context.Context, now time.Time, e wire.AuditEntry, keep time.Duration) error
}

// NoteHeader is where a caller says why it changes something.
const NoteHeader = "X-Posthouse-Note"

// DefaultAuditKeep is how long the audit log is kept where nobody says otherwise.
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

// Audits reports whether a route's use is written to the audit log: what changes configuration, keys or tenants, or
// decides about deliveries.
func (r Route) Audits() bool {
	return r.audited || r.Scope == posthouse.ScopeAdmin && r.Method != http.MethodGet
}

// action is a route's name in the audit log, such as channels.put or deliveries.replay.
func (r Route) action() string {
	last := r.Path[strings.LastIndexByte(r.Path, '/')+1:]
	switch {
	case r.Method == http.MethodPut:
		last = "put"
	case r.Method == http.MethodDelete:
		last = "delete"
	case last == r.Tag:
		last = "create"
	}
	return r.Tag + "." + last
}

// noteOf is what the caller says of why.
func (c *Call) noteOf() string {
	note := c.Header.Get(NoteHeader)
	switch {
	case note == "":
	case !utf8.ValidString(note) || unkept(note) != "":
		c.Refuse("header."+NoteHeader, "is no text that every database keeps")
	case utf8.RuneCountInString(note) > maxNote:
		c.Refuse("header."+NoteHeader, "has %d characters: at most %d are allowed", utf8.RuneCountInString(note), maxNote)
	}
	return note
}

// record writes what was done to the audit log. It is done all the same when that fails, so the failure is logged loudly.
func (d *door) record(r Route, c *Call, note string) {
	if d.Audit == nil || c.change.none {
		return
	}
	e := wire.AuditEntry{
		ID: posthouse.NewID(), Tenant: c.Tenant(), At: time.Now().UTC(), Key: c.Key.ID, KeyName: c.Key.Name, Source: AddressOf(c.Request), Action: r.action(),
		Target: cmp.Or(c.change.target, c.PathValue("name"), c.PathValue("id")), Note: note, Affected: c.change.affected,
	}
	if detail, err := json.Marshal(c.change); err == nil && string(detail) != "{}" && len(detail) <= maxDetail {
		e.Detail = detail
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.Context()), 10*time.Second)
	defer cancel()
	if err := d.Audit.AddAudit(ctx, time.Now(), e, max(d.AuditKeep, 0)); err != nil {
		d.Log.Error("a change could not be written to the audit log", "action", e.Action, "target", e.Target, "key", e.Key, "tenant", e.Tenant, "error", err)
	}
}
