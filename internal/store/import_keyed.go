package store

import (
	"context"
	"time"

	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

// ImportKeyed is Import for messages that hold keys: each is stored with its key, and one whose key stands for another message is left
// out: taken has that one by the message's id. All are of one tenant. A rehearsal writes nothing.
func (s Imports) ImportKeyed(ctx context.Context, now time.Time, tenant string, list []work.Imported, rehearse bool) (stored int, taken map[string]string, err error) {
	err = s.change(ctx, now, "import messages with their keys", func(t *tx) error {
		fresh, err := unstored(t, importedMessages, list)
		if err != nil {
			return err
		}
		if fresh, taken, err = (importing{t}).unkeyed(tenant, fresh); err != nil || rehearse {
			stored = len(fresh)
			return err
		}
		b, err := importBundle(fresh)
		if err != nil {
			return err
		}
		b.Insert(dedupTable, keysOf(fresh))
		stored = len(fresh)
		return t.Run(b)
	})
	return stored, taken, err
}

// unkeyed leaves out those whose keys stand for others.
func (t importing) unkeyed(tenant string, list []work.Imported) (free []work.Imported, taken map[string]string, err error) {
	taken = map[string]string{}
	for _, i := range list {
		m := &i.Message
		if i.KeyUntil.IsZero() {
			free = append(free, i)
			continue
		}
		of, stands, err := sqldb.First(t.Query, sqldb.Word, "SELECT message_id FROM posthouse_dedup WHERE tenant = ? AND channel = ? AND dedup_key = ?", tenant, m.Channel, m.DedupKey)
		if err != nil {
			return nil, nil, err
		}
		if stands {
			taken[m.ID] = of
			continue
		}
		free = append(free, i)
	}
	return free, taken, nil
}

// keysOf are the rows of the keys that imported messages hold.
func keysOf(list []work.Imported) (rows [][]any) {
	for _, i := range list {
		if m := &i.Message; !i.KeyUntil.IsZero() {
			rows = append(rows, []any{m.Tenant, m.Channel, m.DedupKey, m.ID, sqldb.Micros(m.CreatedAt), sqldb.Micros(i.KeyUntil)})
		}
	}
	return rows
}
