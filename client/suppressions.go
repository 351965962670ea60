package client

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/wire"
)

// Suppressions are the addresses to which nothing is sent.
type Suppressions struct{ api *caller }

// Add stores a suppression. Nothing starts for its address once this has answered.
func (c Suppressions) Add(ctx context.Context, draft wire.SuppressionDraft) (wire.SuppressionsAdded, error) {
	return send[wire.SuppressionsAdded](ctx, c.api, http.MethodPost, path("suppressions"), draft)
}

// List lists suppressions by address: of a channel, and of an address, where they are given. Of the filter, Cursor and Limit count.
func (c Suppressions) List(ctx context.Context, channel, address string, f Filter) (wire.Page[posthouse.Suppression], error) {
	q := Filter{Cursor: f.Cursor, Limit: f.Limit}.query()
	setGiven(q, map[string]string{"channel": channel, "address": address})
	return get[wire.Page[posthouse.Suppression]](ctx, c.api, path("suppressions"), q)
}

// Delete deletes the suppression of an address in a channel, or the one in all channels where that is empty.
func (c Suppressions) Delete(ctx context.Context, channel, address string) error {
	q := url.Values{"address": {address}}
	setGiven(q, map[string]string{"channel": channel})
	_, err := c.api.do(ctx, request{method: http.MethodDelete, path: path("suppressions"), query: q})
	return err
}

// Import sends a file of addresses as body is read, one time: after an error the same file may be sent again, and stores the
// same. Of the part, what says how the file is read counts; of the draft, all but the address, for records that do not say it.
func (c Suppressions) Import(ctx context.Context, p Part, draft wire.SuppressionDraft, body io.Reader) (wire.SuppressionImport, error) {
	return c.take(ctx, importOf(p, draft), body)
}

// TryImport says what Import would store and refuse of a file, and stores nothing.
func (c Suppressions) TryImport(ctx context.Context, p Part, draft wire.SuppressionDraft, body io.Reader) (wire.SuppressionImport, error) {
	q := importOf(p, draft)
	q.Set("dry_run", "true")
	return c.take(ctx, q, body)
}

func (c Suppressions) take(ctx context.Context, q url.Values, body io.Reader) (wire.SuppressionImport, error) {
	return uploaded[wire.SuppressionImport](ctx, c.api, request{method: http.MethodPost, path: path("suppressions", "import"), query: q, kind: "application/octet-stream"}, body)
}

// importOf says how a file is read, and what its records do not say.
func importOf(p Part, draft wire.SuppressionDraft) url.Values {
	q := Part{Format: p.Format, Delimiter: p.Delimiter, Columns: p.Columns, Address: p.Address, Encoding: p.Encoding}.query()
	setGiven(q, map[string]string{"channel": draft.Channel, "reason": draft.Reason})
	if !draft.Until.IsZero() {
		q.Set("until", draft.Until.Format(time.RFC3339Nano))
	}
	return q
}

func setGiven(q url.Values, given map[string]string) {
	for name, value := range given {
		if value != "" {
			q.Set(name, value)
		}
	}
}
