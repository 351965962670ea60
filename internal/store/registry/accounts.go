package registry

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/page"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

// Accounts are those that a channel sends by.
type Accounts struct{ db *sqldb.DB }

var accountsTable = sqldb.NewTable("posthouse_accounts",
	"tenant", "channel", "name", "config", "settings", "paused#", "pause_reason", "paused_until#", "version#", "created_at#", "updated_at#")

// PutAccounts stores accounts of one channel, all or none, and returns them as they stand: created, or changed with their
// version one higher. Whether one is paused stays as it was. What a provider refused of an account is forgotten: its
// credentials may be others now. The caller has sealed the secrets in Config.
func (s Accounts) PutAccounts(ctx context.Context, now time.Time, tenant, channel string, list []posthouse.Account) (stored []posthouse.Account, created int, err error) {
	err = s.change(ctx, now, "store accounts", tenant, channel, func(t *sqldb.Tx, at int64) error {
		names := make([]string, len(list))
		for i := range list {
			names[i] = list[i].Name
		}
		known, err := knownAccounts(t, tenant, channel, names)
		if err != nil {
			return err
		}
		created = 0
		stored = make([]posthouse.Account, len(list))
		rows := make([][]any, len(list))
		for i, a := range list {
			was, found := known[a.Name]
			if err := work.OnlyOf(ctx).Check("account", a.Name, tagOf(was, found)); err != nil {
				return err
			}
			if !found {
				created++
				was.CreatedAt = sqldb.TimeOf(at)
			}
			a.Tenant, a.Channel, a.Version, a.CreatedAt, a.UpdatedAt = tenant, channel, was.Version+1, was.CreatedAt, sqldb.TimeOf(at)
			a.Paused, a.PauseReason, a.PausedUntil = was.Paused, was.PauseReason, was.PausedUntil
			if rows[i], err = accountValues(&a); err != nil {
				return err
			}
			stored[i] = a
		}
		if err := t.Put(accountsTable, 3, rows); err != nil {
			return err
		}
		return dropGates(t, tenant, channel, names, " AND class <> ?", string(posthouse.ClassRate)) // a new secret is tried no faster
	})
	return stored, created, err
}

// change is a change of a channel's accounts, by which other processes see that something has changed. The channel's row is
// locked by it.
func (s Accounts) change(ctx context.Context, now time.Time, what, tenant, channel string, change func(t *sqldb.Tx, at int64) error) error {
	return s.db.Change(ctx, now, what, func(t *sqldb.Tx) error {
		at, err := t.Now()
		if err != nil {
			return err
		}
		n, err := t.Exec("UPDATE posthouse_channels SET fleet = fleet + 1 WHERE tenant = ? AND name = ?", tenant, channel)
		if err == nil && n == 0 {
			return noChannel(channel)
		}
		if err != nil {
			return err
		}
		return change(t, at)
	})
}

// dropGates lets accounts send again, those whose gates are so where that is said.
func dropGates(t *sqldb.Tx, tenant, channel string, accounts []string, so string, more ...any) error {
	for part := range sqldb.Parts(accounts, 500) {
		clause, args := t.DB.In("account", part)
		if _, err := t.Exec("DELETE FROM posthouse_gates WHERE "+clause+" AND tenant = ? AND channel = ?"+so, slices.Concat(args, []any{tenant, channel}, more)...); err != nil {
			return err
		}
	}
	return nil
}

func knownAccounts(t *sqldb.Tx, tenant, channel string, names []string) (map[string]posthouse.Account, error) {
	known := map[string]posthouse.Account{}
	for part := range sqldb.Parts(names, 500) {
		clause, args := t.DB.In("name", part)
		list, err := sqldb.All(t.Query, readAccount, "SELECT "+accountsTable.List+" FROM posthouse_accounts WHERE "+clause+" AND tenant = ? AND channel = ?", append(args, tenant, channel)...)
		if err != nil {
			return nil, err
		}
		for _, row := range list {
			known[row.Account.Name] = row.Account
		}
	}
	return known, nil
}

func accountValues(a *posthouse.Account) ([]any, error) {
	config, err := json.Marshal(a.Config)
	if err != nil {
		return nil, fmt.Errorf("write the config of account %s: %w", a.Name, err)
	}
	settings, err := json.Marshal(a.AccountSettings)
	if err != nil {
		return nil, fmt.Errorf("write the settings of account %s: %w", a.Name, err)
	}
	return []any{
		a.Tenant, a.Channel, a.Name, string(config), string(settings), sqldb.Flag(a.Paused), a.PauseReason, sqldb.Micros(a.PausedUntil),
		a.Version, sqldb.Micros(a.CreatedAt), sqldb.Micros(a.UpdatedAt),
	}, nil
}

// readAccount reads the columns of accountsTable. An unreadable row is an Err in it, not an error of the list.
func readAccount(scan sqldb.Scanner) (work.AccountRow, error) {
	row, _, err := readSized(scan)
	return row, err
}

// readSized is readAccount, with how many bytes were read.
func readSized(scan sqldb.Scanner) (row work.AccountRow, size int, err error) {
	var config, settings string
	var paused, until, created, updated int64
	a := &row.Account
	if err := scan(&a.Tenant, &a.Channel, &a.Name, &config, &settings, &paused, &a.PauseReason, &until, &a.Version, &created, &updated); err != nil {
		return row, 0, err
	}
	size = len(config) + len(settings)
	a.Paused, a.PausedUntil, a.CreatedAt, a.UpdatedAt = paused != 0, sqldb.TimeOf(until), sqldb.TimeOf(created), sqldb.TimeOf(updated)
	if err := json.Unmarshal([]byte(config), &a.Config); err != nil {
		row.Err = fmt.Errorf("the config of account %s cannot be read: %w", a.Name, err)
		return row, size, nil
	}
	strict := json.NewDecoder(bytes.NewReader([]byte(settings)))
	strict.DisallowUnknownFields()
	if err := strict.Decode(&a.AccountSettings); err != nil {
		row.Err = fmt.Errorf("the settings of account %s cannot be read (written by a newer version?): %w", a.Name, err)
	}
	return row, size, nil
}

// Account reads one account; an error of code not_found says that there is none, one of code conflict that its row cannot be read.
func (s Accounts) Account(ctx context.Context, tenant, channel, name string) (posthouse.Account, error) {
	row, found, err := sqldb.First(s.db.Reads(ctx), readAccount, "SELECT "+accountsTable.List+" FROM posthouse_accounts WHERE tenant = ? AND channel = ? AND name = ?", tenant, channel, name)
	switch {
	case err != nil:
		return posthouse.Account{}, s.db.Coded(err, "read an account")
	case !found:
		return posthouse.Account{}, noAccount(channel, name)
	case row.Err != nil:
		return row.Account, posthouse.Errorf(posthouse.CodeConflict, "%w", row.Err)
	}
	return row.Account, nil
}

func noAccount(channel, name string) error {
	return posthouse.Errorf(posthouse.CodeNotFound, "the channel %q has no account %q", channel, name)
}

// pageBytes bounds what is read for a page, but for its last account.
const pageBytes = 1 << 20

// Accounts lists a channel's accounts by name, a page at a time, and returns the next page's cursor. A page may be shorter
// than its limit where the accounts are large.
func (s Accounts) Accounts(ctx context.Context, tenant, channel, cursor string, limit int) ([]work.AccountRow, string, error) {
	after, err := page.Key("accounts", cursor)
	if err != nil {
		return nil, "", err
	}
	size := page.Size(limit)
	bytes, enough := 0, errors.New("the page is full")
	var list []work.AccountRow
	err = s.db.Look(ctx, "SELECT "+accountsTable.List+" FROM posthouse_accounts WHERE tenant = ? AND channel = ? AND name > ? ORDER BY name LIMIT ?",
		[]any{tenant, channel, after, size + 1}, func(scan sqldb.Scanner) error {
			row, n, err := readSized(scan)
			if err != nil {
				return err
			}
			if list = append(list, row); bytes > pageBytes {
				size = len(list) - 1
				return enough
			}
			bytes += n
			return nil
		})
	if err != nil && !errors.Is(err, enough) {
		return nil, "", s.db.Coded(err, "list the accounts")
	}
	list, next := page.Cut(list, size, "accounts", func(row work.AccountRow) string { return row.Account.Name })
	return list, next, nil
}

// DeleteAccount deletes an account and what its provider refused of it. What is pinned to it waits for one of its name.
func (s Accounts) DeleteAccount(ctx context.Context, now time.Time, tenant, channel, name string) error {
	return s.change(ctx, now, "delete an account", tenant, channel, func(t *sqldb.Tx, _ int64) error {
		n, err := t.Exec("DELETE FROM posthouse_accounts WHERE tenant = ? AND channel = ? AND name = ?", tenant, channel, name)
		if err == nil && n == 0 {
			return noAccount(channel, name)
		}
		if err != nil {
			return err
		}
		if _, err := t.Exec("DELETE FROM posthouse_callbacks WHERE tenant = ? AND channel = ? AND account = ?", tenant, channel, name); err != nil {
			return err
		}
		return dropGates(t, tenant, channel, []string{name}, "")
	})
}

// PauseAccount stops or resumes the starts of an account; a zero until is when a person resumes it. One that is resumed is
// no longer refused either. It does so where the account is still as work.OnlyOf says.
func (s Accounts) PauseAccount(ctx context.Context, now time.Time, tenant, channel, name string, paused bool, reason string, until time.Time) error {
	if !paused {
		reason, until = "", time.Time{}
	}
	return s.change(ctx, now, "pause an account", tenant, channel, func(t *sqldb.Tx, at int64) error {
		if only := work.OnlyOf(ctx); !only.Any() {
			known, err := knownAccounts(t, tenant, channel, []string{name})
			if err != nil {
				return err
			}
			was, found := known[name]
			if err := only.Check("account", name, tagOf(was, found)); err != nil {
				return err
			}
		}
		n, err := t.Exec("UPDATE posthouse_accounts SET paused = ?, pause_reason = ?, paused_until = ?, version = version + 1, updated_at = ? WHERE tenant = ? AND channel = ? AND name = ?",
			sqldb.Flag(paused), reason, sqldb.Micros(until), at, tenant, channel, name)
		if err == nil && n == 0 {
			return noAccount(channel, name)
		}
		if err != nil || paused {
			return err
		}
		return dropGates(t, tenant, channel, []string{name}, "")
	})
}

// ResealAccount replaces the config of an account by the same with its secrets sealed anew, unless it has changed
// meanwhile. Nothing has changed that another process would have to know.
func (s Accounts) ResealAccount(ctx context.Context, now time.Time, a posthouse.Account) error {
	config, err := json.Marshal(a.Config)
	if err != nil {
		return fmt.Errorf("write the config of account %s: %w", a.Name, err)
	}
	return s.db.Change(ctx, now, "seal an account's secrets anew", func(t *sqldb.Tx) error {
		_, err := t.Exec("UPDATE posthouse_accounts SET config = ? WHERE tenant = ? AND channel = ? AND name = ? AND version = ? AND created_at = ?",
			string(config), a.Tenant, a.Channel, a.Name, a.Version, sqldb.Micros(a.CreatedAt))
		return err
	})
}
