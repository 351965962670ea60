package registry

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/page"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

// Channels are the configured channels.
type Channels struct {
	db   *sqldb.DB
	open func(t *sqldb.Tx, tenant, channel string) (int64, error)
}

const channelColumns = "tenant, name, driver, config, settings, paused, pause_reason, paused_until, version, created_at, updated_at, fleet"

// PutChannel stores a channel and returns it as it stands: created, or changed with its
// version one higher. Whether it is paused stays as it was. The caller has sealed the secrets
// in Config.
func (s Channels) PutChannel(ctx context.Context, now time.Time, ch posthouse.Channel) (posthouse.Channel, bool, error) {
	config, err := json.Marshal(ch.Config)
	if err != nil {
		return ch, false, fmt.Errorf("write the config of channel %s: %w", ch.Name, err)
	}
	settings, err := json.Marshal(ch.ChannelSettings)
	if err != nil {
		return ch, false, fmt.Errorf("write the settings of channel %s: %w", ch.Name, err)
	}
	created := false
	err = s.db.Change(ctx, now, "store a channel", func(t *sqldb.Tx) error {
		if err := t.Serialize(); err != nil {
			return err
		}
		at, err := t.Now()
		if err != nil {
			return err
		}
		old, found, err := ChannelOf(t.Query, ch.Tenant, ch.Name)
		if err != nil {
			return err
		}
		was := old.Channel
		created = !found
		if err := work.OnlyOf(ctx).Check("channel", ch.Name, tagOf(was, found)); err != nil {
			return err
		}
		ch.Paused, ch.PauseReason, ch.PausedUntil, ch.Version, ch.UpdatedAt = was.Paused, was.PauseReason, was.PausedUntil, was.Version+1, sqldb.TimeOf(at)
		if created {
			ch.CreatedAt = ch.UpdatedAt
			_, err = t.Exec("INSERT INTO posthouse_channels ("+channelColumns+") VALUES ("+sqldb.Marks(12)+")",
				ch.Tenant, ch.Name, ch.Driver, string(config), string(settings), 0, "", 0, 1, at, at, 0)
			return err
		}
		ch.CreatedAt = was.CreatedAt
		_, err = t.Exec("UPDATE posthouse_channels SET driver = ?, config = ?, settings = ?, version = version + 1, updated_at = ? WHERE tenant = ? AND name = ?",
			ch.Driver, string(config), string(settings), at, ch.Tenant, ch.Name)
		if err != nil || was.Driver == ch.Driver && sameConfig(was.Config, config) {
			return err
		}
		// A refusal of the old config does not count; how fast the provider may be called does.
		_, err = t.Exec("DELETE FROM posthouse_gates WHERE tenant = ? AND channel = ? AND class <> ?", ch.Tenant, ch.Name, string(posthouse.ClassRate))
		return err
	})
	return ch, created, err
}

// sameConfig reports whether a config is written as the stored one is. Secrets that are stored anew are sealed anew, and differ.
func sameConfig(was map[string]any, now []byte) bool {
	text, err := json.Marshal(was)
	return err == nil && bytes.Equal(text, now)
}

// ChannelOf reads the row of a channel.
func ChannelOf(from sqldb.Lookup, tenant, name string) (row work.ChannelRow, found bool, err error) {
	return sqldb.First(from, readChannel, "SELECT "+channelColumns+" FROM posthouse_channels WHERE tenant = ? AND name = ?", tenant, name)
}

// readChannel reads the columns of channelColumns. An unreadable row is an Err in it, not an
// error of the list.
func readChannel(scan sqldb.Scanner) (work.ChannelRow, error) {
	var row work.ChannelRow
	var config, settings string
	var paused, until, created, updated int64
	ch := &row.Channel
	if err := scan(&ch.Tenant, &ch.Name, &ch.Driver, &config, &settings, &paused, &ch.PauseReason, &until, &ch.Version, &created, &updated, &row.Fleet); err != nil {
		return row, err
	}
	ch.Paused, ch.PausedUntil, ch.CreatedAt, ch.UpdatedAt = paused != 0, sqldb.TimeOf(until), sqldb.TimeOf(created), sqldb.TimeOf(updated)
	if err := json.Unmarshal([]byte(config), &ch.Config); err != nil {
		row.Err = fmt.Errorf("the config of channel %s cannot be read: %w", ch.Name, err)
		return row, nil
	}
	strict := json.NewDecoder(bytes.NewReader([]byte(settings)))
	strict.DisallowUnknownFields()
	if err := strict.Decode(&ch.ChannelSettings); err != nil {
		row.Err = fmt.Errorf("the settings of channel %s cannot be read (written by a newer version?): %w", ch.Name, err)
	}
	return row, nil
}

// Channel reads one channel; an error of code not_found says that there is none, one of code
// conflict that its row cannot be read.
func (s Channels) Channel(ctx context.Context, tenant, name string) (posthouse.Channel, error) {
	row, found, err := ChannelOf(s.db.Reads(ctx), tenant, name)
	if err != nil {
		return posthouse.Channel{}, s.db.Coded(err, "read a channel")
	}
	if !found {
		return posthouse.Channel{}, noChannel(name)
	}
	if row.Err != nil {
		return row.Channel, posthouse.Errorf(posthouse.CodeConflict, "%w", row.Err)
	}
	return row.Channel, nil
}

func noChannel(name string) error {
	return posthouse.Errorf(posthouse.CodeNotFound, "there is no channel %q", name)
}

// Channels lists a tenant's channels by name; an empty tenant means all tenants.
func (s Channels) Channels(ctx context.Context, tenant string) ([]work.ChannelRow, error) {
	where, args := ofTenant(tenant)
	list, err := sqldb.All(s.db.Reads(ctx), readChannel, "SELECT "+channelColumns+" FROM posthouse_channels"+where+" ORDER BY tenant, name", args...)
	return list, s.db.Coded(err, "list the channels")
}

// ChannelPage lists a part of a tenant's channels by name.
func (s Channels) ChannelPage(ctx context.Context, tenant, cursor string, limit int) (list []work.ChannelRow, next string, err error) {
	after, err := page.Key("channels", cursor)
	if err != nil {
		return nil, "", err
	}
	size := page.Size(limit)
	list, err = sqldb.All(s.db.Reads(ctx), readChannel, "SELECT "+channelColumns+" FROM posthouse_channels WHERE tenant = ? AND name > ? ORDER BY name LIMIT ?", tenant, after, size+1)
	list, next = page.Cut(list, size, "channels", func(row work.ChannelRow) string { return row.Channel.Name })
	return list, next, s.db.Coded(err, "list the channels")
}

// ofTenant is the condition of lists that the engine reads for all tenants.
func ofTenant(tenant string) (where string, args []any) {
	if tenant == "" {
		return "", nil
	}
	return " WHERE tenant = ?", []any{tenant}
}

// ChannelsVersion changes whenever any channel or account does: a cheap look for other processes.
func (s Channels) ChannelsVersion(ctx context.Context) (int64, error) {
	v, _, err := sqldb.First(s.db.Reads(ctx), func(scan sqldb.Scanner) (int64, error) {
		var n, sum, fleet, latest int64
		err := scan(&n, &sum, &fleet, &latest)
		h := fnv.New64a()
		fmt.Fprint(h, n, " ", sum, " ", fleet, " ", latest)
		return int64(h.Sum64()), err
	}, "SELECT COUNT(*), COALESCE(SUM(version), 0), COALESCE(SUM(fleet), 0), COALESCE(MAX(updated_at), 0) FROM posthouse_channels")
	return v, s.db.Coded(err, "look at the channels")
}

// DeleteChannel deletes a channel without open deliveries and without a campaign that has begun and goes on, its accounts, its gates and its counts.
func (s Channels) DeleteChannel(ctx context.Context, now time.Time, tenant, name string) error {
	return s.db.Change(ctx, now, "delete a channel", func(t *sqldb.Tx) error {
		open, err := s.open(t, tenant, name)
		if err != nil {
			return err
		}
		if open > 0 {
			return posthouse.Errorf(posthouse.CodeConflict, "channel %q has %d open deliveries: cancel them or wait until they are settled", name, open)
		}
		campaign, sends, err := sqldb.First(t.Query, sqldb.Word, "SELECT name FROM posthouse_campaigns WHERE tenant = ? AND channel = ? AND state IN (?, ?, ?) ORDER BY name LIMIT 1",
			tenant, name, string(posthouse.CampaignScheduled), string(posthouse.CampaignRunning), string(posthouse.CampaignPaused))
		if err != nil {
			return err
		}
		if sends {
			return posthouse.Errorf(posthouse.CodeConflict, "the campaign %s sends by the channel %s and has not ended: cancel it, or wait until it is done", campaign, name)
		}
		n, err := t.Exec("DELETE FROM posthouse_channels WHERE tenant = ? AND name = ?", tenant, name)
		if err == nil && n == 0 {
			return noChannel(name)
		}
		for _, table := range []string{"posthouse_accounts", "posthouse_gates", "posthouse_tallies", "posthouse_callbacks"} {
			if err == nil {
				_, err = t.Exec("DELETE FROM "+table+" WHERE tenant = ? AND channel = ?", tenant, name)
			}
		}
		return err
	})
}

// PauseChannel stops or resumes the starts of a channel, until a time where one is given, where it is still as work.OnlyOf says.
func (s Channels) PauseChannel(ctx context.Context, now time.Time, tenant, name string, paused bool, reason string, until time.Time) error {
	if !paused {
		reason, until = "", time.Time{}
	}
	return s.db.Change(ctx, now, "pause a channel", func(t *sqldb.Tx) error {
		if err := onlyAs(ctx, t, tenant, name); err != nil {
			return err
		}
		at, err := t.Now()
		if err != nil {
			return err
		}
		n, err := t.Exec("UPDATE posthouse_channels SET paused = ?, pause_reason = ?, paused_until = ?, version = version + 1, updated_at = ? WHERE tenant = ? AND name = ?",
			sqldb.Flag(paused), reason, sqldb.Micros(until), at, tenant, name)
		if err == nil && n == 0 {
			return noChannel(name)
		}
		return err
	})
}

// onlyAs is an error where a channel is not in the state that the write is for. Until the transaction ends nobody else changes it then.
func onlyAs(ctx context.Context, t *sqldb.Tx, tenant, name string) error {
	only := work.OnlyOf(ctx)
	if only.Any() {
		return nil
	}
	if err := t.Serialize(); err != nil {
		return err
	}
	row, found, err := ChannelOf(t.Query, tenant, name)
	if err != nil {
		return err
	}
	return only.Check("channel", name, tagOf(row.Channel, found))
}

// ResealChannel replaces the config of a channel by the same with its secrets sealed anew, unless it has changed
// meanwhile. Its version stays, since nothing has changed that another process would have to know.
func (s Channels) ResealChannel(ctx context.Context, now time.Time, ch posthouse.Channel) error {
	config, err := json.Marshal(ch.Config)
	if err != nil {
		return fmt.Errorf("write the config of channel %s: %w", ch.Name, err)
	}
	return s.db.Change(ctx, now, "seal a channel's secrets anew", func(t *sqldb.Tx) error {
		_, err := t.Exec("UPDATE posthouse_channels SET config = ? WHERE tenant = ? AND name = ? AND version = ? AND created_at = ?",
			string(config), ch.Tenant, ch.Name, ch.Version, sqldb.Micros(ch.CreatedAt))
		return err
	})
}
