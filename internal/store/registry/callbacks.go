package registry

import (
	"context"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

// Callbacks are the addresses at which providers call us.
type Callbacks struct{ db *sqldb.DB }

var callbacksTable = sqldb.NewTable("posthouse_callbacks", "address", "tenant", "channel", "account?", "created_at#")

func readCallback(scan sqldb.Scanner) (c work.CallbackAddress, err error) {
	var created int64
	err = scan(&c.Address, &c.Tenant, &c.Channel, &c.Account, &created)
	c.CreatedAt = sqldb.TimeOf(created)
	return c, err
}

// AddCallback stores a new address, of which a channel or an account of it has at most most.
func (s Callbacks) AddCallback(ctx context.Context, now time.Time, c work.CallbackAddress, most int) (work.CallbackAddress, error) {
	err := s.db.Change(ctx, now, "store a callback address", func(t *sqldb.Tx) error {
		if err := t.Serialize(); err != nil {
			return err
		}
		at, err := t.Now()
		if err != nil {
			return err
		}
		n, _, err := sqldb.First(t.Query, sqldb.Number, "SELECT COUNT(*) FROM posthouse_callbacks WHERE tenant = ? AND channel = ? AND account = ?", c.Tenant, c.Channel, c.Account)
		if err == nil && n >= int64(most) {
			err = posthouse.Errorf(posthouse.CodeConflict, "there are %d callback addresses: delete one that the provider uses no more", n)
		}
		if err != nil {
			return err
		}
		c.CreatedAt = sqldb.TimeOf(at)
		return t.Insert(callbacksTable, [][]any{{c.Address, c.Tenant, c.Channel, c.Account, at}})
	})
	return c, err
}

// Callbacks lists the addresses of a channel and its accounts, the oldest first.
func (s Callbacks) Callbacks(ctx context.Context, tenant, channel string) ([]work.CallbackAddress, error) {
	list, err := sqldb.All(s.db.Reads(ctx), readCallback, "SELECT "+callbacksTable.List+" FROM posthouse_callbacks WHERE tenant = ? AND channel = ? ORDER BY account, created_at, address", tenant, channel)
	return list, s.db.Coded(err, "list callback addresses")
}

// Callback finds whose an address is; an error of code not_found says that it is nobody's.
func (s Callbacks) Callback(ctx context.Context, address string) (work.CallbackAddress, error) {
	c, found, err := sqldb.First(s.db.Reads(ctx), readCallback, "SELECT "+callbacksTable.List+" FROM posthouse_callbacks WHERE address = ?", address)
	if err == nil && !found {
		return c, noCallback(address)
	}
	return c, s.db.Coded(err, "look for a callback address")
}

// DeleteCallback removes an address of a channel.
func (s Callbacks) DeleteCallback(ctx context.Context, now time.Time, tenant, channel, address string) error {
	return s.db.Change(ctx, now, "delete a callback address", func(t *sqldb.Tx) error {
		n, err := t.Exec("DELETE FROM posthouse_callbacks WHERE address = ? AND tenant = ? AND channel = ?", address, tenant, channel)
		if err == nil && n == 0 {
			err = noCallback(address)
		}
		return err
	})
}

func noCallback(address string) error {
	return posthouse.Errorf(posthouse.CodeNotFound, "there is no callback address %.80q", address)
}
