package client

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/posthouse/posthouse/wire"
)

// Audit is the log of who changed what.
type Audit struct{ api *caller }

// AuditFilter selects lines of the audit log. The zero value is all of them.
type AuditFilter struct {
	// Key is the id of the API key that was shown, Action such as channels.put, Target what was changed.
	Key, Action, Target string
	Since, Until        time.Time
	// Cursor is where the page before ended; Limit is 1 to 1000. Both are List's alone.
	Cursor string
	Limit  int
}

func (f AuditFilter) query() url.Values {
	q := Filter{Since: f.Since, Until: f.Until, Cursor: f.Cursor, Limit: f.Limit}.query()
	for name, value := range map[string]string{"key": f.Key, "action": f.Action, "target": f.Target} {
		if value != "" {
			q.Set(name, value)
		}
	}
	return q
}

// List lists lines, newest first.
func (c Audit) List(ctx context.Context, f AuditFilter) (wire.Page[wire.AuditEntry], error) {
	return get[wire.Page[wire.AuditEntry]](ctx, c.api, path("audit"), f.query())
}

// Export writes all lines that the filter selects to w as they come, newest first: in the format ndjson, or csv without
// formulas. After an error, w has a part.
func (c Audit) Export(ctx context.Context, w io.Writer, format string, f AuditFilter) error {
	f.Cursor, f.Limit = "", 0
	q := f.query()
	q.Set("format", format)
	return c.api.stream(ctx, request{method: http.MethodGet, path: path("audit", "export"), query: q}, w)
}
