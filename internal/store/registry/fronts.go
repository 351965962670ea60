package registry

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/page"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

// Fronts are the addresses at which senders of other makers hand in messages, with what came there last.
type Fronts struct{ db *sqldb.DB }

const frontColumns = "tenant, name, kind, settings, created_at, updated_at, last_at"

var (
	frontsTable     = sqldb.NewTable("posthouse_fronts", "tenant", "name", "kind", "token", "settings", "created_at#", "updated_at#", "last_at#")
	frontCallsTable = sqldb.NewTable("posthouse_front_calls", "tenant", "front", "id", "at#", "outcome", "reason", "messages", "size#", "shown", "body")
)

// keptCalls is how many of the calls at a front are kept.
const keptCalls = 10

func readFront(scan sqldb.Scanner) (f posthouse.Front, err error) {
	var settings string
	var created, updated, last int64
	if err = scan(&f.Tenant, &f.Name, &f.Kind, &settings, &created, &updated, &last); err == nil {
		err = json.Unmarshal([]byte(settings), &f.FrontSettings)
	}
	f.CreatedAt, f.UpdatedAt, f.LastAt = sqldb.TimeOf(created), sqldb.TimeOf(updated), sqldb.TimeOf(last)
	return f, err
}

// PutFront stores a front, or replaces the settings of one. A new one has the token of the hash; one that is there keeps its own, and its
// kind.
func (s Fronts) PutFront(ctx context.Context, now time.Time, f posthouse.Front, hash string) (stored posthouse.Front, created bool, err error) {
	settings, err := json.Marshal(f.FrontSettings)
	if err != nil {
		return f, false, err
	}
	err = s.db.Change(ctx, now, "store a front", func(t *sqldb.Tx) error {
		if err := t.Serialize(); err != nil {
			return err
		}
		at, err := t.Now()
		if err != nil {
			return err
		}
		before, found, err := sqldb.First(t.Query, readFront, "SELECT "+frontColumns+" FROM posthouse_fronts WHERE tenant = ? AND name = ?", f.Tenant, f.Name)
		if err != nil {
			return err
		}
		stored, created = f, !found
		stored.CreatedAt, stored.UpdatedAt, stored.LastAt = sqldb.TimeOf(at), sqldb.TimeOf(at), time.Time{}
		if !found {
			return t.Insert(frontsTable, [][]any{{f.Tenant, f.Name, f.Kind, hash, string(settings), at, at, int64(0)}})
		}
		if before.Kind != f.Kind {
			return posthouse.Errorf(posthouse.CodeConflict, "the front %q is of the kind %s: delete it, or name the new one otherwise", f.Name, before.Kind)
		}
		stored.CreatedAt, stored.LastAt = before.CreatedAt, before.LastAt
		_, err = t.Exec("UPDATE posthouse_fronts SET settings = ?, updated_at = ? WHERE tenant = ? AND name = ?", string(settings), at, f.Tenant, f.Name)
		return err
	})
	return stored, created, err
}

// SetFrontToken gives a front another token: what has the old one is refused.
func (s Fronts) SetFrontToken(ctx context.Context, now time.Time, tenant, name, hash string) error {
	return s.db.Change(ctx, now, "change the token of a front", func(t *sqldb.Tx) error {
		at, err := t.Now()
		if err != nil {
			return err
		}
		n, err := t.Exec("UPDATE posthouse_fronts SET token = ?, updated_at = ? WHERE tenant = ? AND name = ?", hash, at, tenant, name)
		if err == nil && n == 0 {
			err = noFront(name)
		}
		return err
	})
}

// FrontByToken finds the front whose token has a hash; false says that there is none.
func (s Fronts) FrontByToken(ctx context.Context, hash string) (posthouse.Front, bool, error) {
	f, found, err := sqldb.First(s.db.Reads(ctx), readFront, "SELECT "+frontColumns+" FROM posthouse_fronts WHERE token = ?", hash)
	return f, found, s.db.Coded(err, "look for a front")
}

// Front reads one front of a tenant.
func (s Fronts) Front(ctx context.Context, tenant, name string) (posthouse.Front, error) {
	f, found, err := sqldb.First(s.db.Reads(ctx), readFront, "SELECT "+frontColumns+" FROM posthouse_fronts WHERE tenant = ? AND name = ?", tenant, name)
	if err == nil && !found {
		return f, noFront(name)
	}
	return f, s.db.Coded(err, "read a front")
}

// Fronts lists the fronts of a tenant by name.
func (s Fronts) Fronts(ctx context.Context, tenant, cursor string, limit int) (list []posthouse.Front, next string, err error) {
	after, err := page.Key("fronts", cursor)
	if err != nil {
		return nil, "", err
	}
	size := page.Size(limit)
	list, err = sqldb.All(s.db.Reads(ctx), readFront, "SELECT "+frontColumns+" FROM posthouse_fronts WHERE tenant = ? AND name > ? ORDER BY name LIMIT ?", tenant, after, size+1)
	list, next = page.Cut(list, size, "fronts", func(f posthouse.Front) string { return f.Name })
	return list, next, s.db.Coded(err, "list the fronts")
}

// QuietFronts lists the fronts of all tenants that were made before a time and at which nothing came since.
func (s Fronts) QuietFronts(ctx context.Context, since time.Time) ([]posthouse.Front, error) {
	list, err := sqldb.All(s.db.Reads(ctx), readFront, "SELECT "+frontColumns+" FROM posthouse_fronts WHERE created_at < ? AND last_at < ? ORDER BY tenant, name",
		since.UnixMicro(), since.UnixMicro())
	return list, s.db.Coded(err, "list the fronts at which nothing comes")
}

// AllFronts lists the fronts of all tenants.
func (s Fronts) AllFronts(ctx context.Context) ([]posthouse.Front, error) {
	list, err := sqldb.All(s.db.Reads(ctx), readFront, "SELECT "+frontColumns+" FROM posthouse_fronts ORDER BY tenant, name")
	return list, s.db.Coded(err, "list all fronts")
}

// DeleteFront deletes a front with what is kept of its calls.
func (s Fronts) DeleteFront(ctx context.Context, now time.Time, tenant, name string) error {
	return s.db.Change(ctx, now, "delete a front", func(t *sqldb.Tx) error {
		n, err := t.Exec("DELETE FROM posthouse_fronts WHERE tenant = ? AND name = ?", tenant, name)
		if err == nil && n == 0 {
			return noFront(name)
		}
		if err == nil {
			_, err = t.Exec("DELETE FROM posthouse_front_calls WHERE tenant = ? AND front = ?", tenant, name)
		}
		return err
	})
}

// AddFrontCalls keeps what came at one front, the oldest first, and deletes what is no longer among the last.
func (s Fronts) AddFrontCalls(ctx context.Context, now time.Time, tenant, front string, list []work.FrontCall) error {
	list = list[max(0, len(list)-keptCalls):]
	rows := make([][]any, len(list))
	for i, c := range list {
		messages, err := json.Marshal(append([]string{}, c.Messages...))
		if err != nil {
			return err
		}
		rows[i] = []any{tenant, front, c.ID, c.At.UnixMicro(), string(c.Outcome), c.Reason, string(messages), int64(c.Size), c.Shown, c.Body}
	}
	return s.db.Change(ctx, now, "keep what came at a front", func(t *sqldb.Tx) error {
		n, err := t.Exec("UPDATE posthouse_fronts SET last_at = ? WHERE tenant = ? AND name = ?", list[len(list)-1].At.UnixMicro(), tenant, front)
		if err != nil || n == 0 { // it was deleted meanwhile
			return err
		}
		if err := t.Insert(frontCallsTable, rows); err != nil {
			return err
		}
		last, found, err := sqldb.First(t.Query, sqldb.Word, "SELECT id FROM posthouse_front_calls WHERE tenant = ? AND front = ? ORDER BY id DESC LIMIT 1 OFFSET ?", tenant, front, keptCalls-1)
		if err == nil && found {
			_, err = t.Exec("DELETE FROM posthouse_front_calls WHERE tenant = ? AND front = ? AND id < ?", tenant, front, last)
		}
		return err
	})
}

func readFrontCall(scan sqldb.Scanner) (c work.FrontCall, err error) {
	var at, size int64
	var messages string
	if err = scan(&c.ID, &at, &c.Outcome, &c.Reason, &messages, &size, &c.Shown, &c.Body); err == nil {
		err = json.Unmarshal([]byte(messages), &c.Messages)
	}
	c.At, c.Size = sqldb.TimeOf(at), int(size)
	return c, err
}

const frontCallColumns = "id, at, outcome, reason, messages, size, shown, body"

// FrontCalls lists what came last at a front, the newest first.
func (s Fronts) FrontCalls(ctx context.Context, tenant, front string) ([]work.FrontCall, error) {
	list, err := sqldb.All(s.db.Reads(ctx), readFrontCall, "SELECT "+frontCallColumns+" FROM posthouse_front_calls WHERE tenant = ? AND front = ? ORDER BY id DESC LIMIT ?", tenant, front, keptCalls)
	return list, s.db.Coded(err, "list what came at a front")
}

// FrontCall reads one of them.
func (s Fronts) FrontCall(ctx context.Context, tenant, front, id string) (work.FrontCall, error) {
	c, found, err := sqldb.First(s.db.Reads(ctx), readFrontCall, "SELECT "+frontCallColumns+" FROM posthouse_front_calls WHERE tenant = ? AND front = ? AND id = ?", tenant, front, id)
	if err == nil && !found {
		return c, posthouse.Errorf(posthouse.CodeNotFound, "there is no call %.80q at the front %.80q: the last %d are kept", id, front, keptCalls)
	}
	return c, s.db.Coded(err, "read what came at a front")
}

// sealedStart is as much of a sealed text as names its key: the form, an id of up to 32 characters and a colon.
const sealedStart = 48

// SealedStarts lists the first characters of the bodies of all calls at fronts, which name their keys.
func (s Fronts) SealedStarts(ctx context.Context) ([]string, error) {
	list, err := sqldb.All(s.db.Reads(ctx), sqldb.Word, fmt.Sprintf("SELECT SUBSTR(body, 1, %d) FROM posthouse_front_calls", sealedStart))
	return list, s.db.Coded(err, "look for the keys of what came at fronts")
}

// SealedCalls lists calls at all fronts whose bodies do not begin with a text, those that follow a call's id.
func (s Fronts) SealedCalls(ctx context.Context, start, after string, most int) ([]work.FrontCall, error) {
	list, err := sqldb.All(s.db.Reads(ctx), func(scan sqldb.Scanner) (c work.FrontCall, err error) {
		return c, scan(&c.Tenant, &c.Front, &c.ID, &c.Body)
	},
		fmt.Sprintf("SELECT tenant, front, id, body FROM posthouse_front_calls WHERE id > ? AND SUBSTR(body, 1, %d) <> ? ORDER BY id LIMIT %d", len(start), most), after, start)
	return list, s.db.Coded(err, "look for calls at fronts sealed with an old key")
}

// ResealCall replaces the body of a call by the same sealed anew, unless the call is gone.
func (s Fronts) ResealCall(ctx context.Context, now time.Time, old work.FrontCall, body string) error {
	return s.db.Change(ctx, now, "seal what came at a front anew", func(t *sqldb.Tx) error {
		_, err := t.Exec("UPDATE posthouse_front_calls SET body = ? WHERE tenant = ? AND front = ? AND id = ? AND body = ?", body, old.Tenant, old.Front, old.ID, old.Body)
		return err
	})
}

func noFront(name string) error {
	return posthouse.Errorf(posthouse.CodeNotFound, "there is no front %.80q", name)
}
