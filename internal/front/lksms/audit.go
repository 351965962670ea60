package lksms

import (
	"net/http"

	"github.com/posthouse/posthouse/internal/web"
	"github.com/posthouse/posthouse/wire"
)

// change is what a handler says of what it did, for the audit log.
type change struct {
	Before any `json:"before,omitempty"`
	After  any `json:"after,omitempty"`

	target   string
	affected int
	none     bool
}

// changed tells the audit log which thing was changed, how it was before, nil for not at all, and after.
func (c *call) changed(target string, before, after any) {
	c.change = change{Before: before, After: after, target: target, affected: 1}
}

// checkNote refuses a note that cannot be kept before anything is done.
func (c *call) checkNote(r route) error {
	if _, problem := web.NoteOf(c.Header); problem != "" && r.audits() {
		return refuse(http.StatusBadRequest, "the header %s %s", web.NoteHeader, problem)
	}
	return nil
}

// record writes a change to the audit log.
func (d *door) record(c *call, r route) {
	if !r.audits() || c.change.none {
		return
	}
	note, _ := web.NoteOf(c.Header)
	e := wire.AuditEntry{
		Tenant: c.who.tenant, Key: c.who.key.ID, KeyName: c.who.key.Name, Source: web.AddressOf(c.Request), Action: r.action,
		Target: c.change.target, Note: note, Affected: c.change.affected,
	}
	if c.who.shared {
		e.KeyName = "the shared pair"
	}
	d.Audit.Write(c.Context(), e, c.change)
}
