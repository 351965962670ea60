package store

import (
	"context"
	"strings"
	"time"

	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

var answerableTable = sqldb.NewTable("posthouse_answerable", "tenant", "channel", "address", "delivery", "until_at#")

// answerableFor is how long an answer by text message finds what it means. A link is valid as long.
const answerableFor = 7 * 24 * time.Hour

// answerable are the rows of those deliveries of an entry that may be answered by text message: a notification's, to a number in E.164.
func answerable(e *work.Entry, now int64) (rows [][]any) {
	for i := range e.Deliveries {
		d := &e.Deliveries[i]
		if d.Notification != "" && d.State.Open() && strings.HasPrefix(d.Address, "+") && len(d.Address) <= mostNumber {
			rows = append(rows, []any{d.Tenant, d.Channel, d.Address, d.ID, max(now, sqldb.Micros(d.NotBefore)) + answerableFor.Microseconds()})
		}
	}
	return rows
}

// mostNumber is the longest number in E.164, with its plus sign.
const mostNumber = 16

// Answerable are the deliveries of notifications that were made for an address on a channel within the last week, the newest first.
func (s Receipts) Answerable(ctx context.Context, tenant, channel, address string, most int) ([]string, error) {
	list, err := sqldb.All(s.db.Reads(ctx), sqldb.Word, "SELECT delivery FROM posthouse_answerable WHERE tenant = ? AND channel = ? AND address = ? ORDER BY delivery DESC LIMIT ?",
		tenant, channel, address, most)
	return list, s.db.Coded(err, "look for what an answer means")
}
