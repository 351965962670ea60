package registry

import (
	"context"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/sqldb"
)

// keyringMark is the row of meta that only the database's own keyring opens.
const keyringMark = "keyring"

// KeyringMark reads the text by which the database knows its keyring, empty where it knows none yet.
func (s Keys) KeyringMark(ctx context.Context) (string, error) {
	mark, _, err := sqldb.First(s.db.Reads(ctx), sqldb.Word, "SELECT value FROM posthouse_meta WHERE name = '"+keyringMark+"'")
	return mark, s.db.Coded(err, "read the keyring's mark")
}

// MarkKeyring lets decide say what the mark is from now, given the one that stands. Processes that start at one moment
// do this one after the other. An error of decide changes nothing.
func (s Keys) MarkKeyring(ctx context.Context, now time.Time, decide func(mark string) (string, error)) error {
	return s.db.Change(ctx, now, "mark the keyring", func(t *sqldb.Tx) error {
		if err := t.Serialize(); err != nil {
			return err
		}
		old, found, err := sqldb.First(t.Query, sqldb.Word, "SELECT value FROM posthouse_meta WHERE name = '"+keyringMark+"'")
		if err != nil {
			return err
		}
		mark, err := decide(old)
		switch {
		case err != nil || found && mark == old:
			return err
		case found:
			_, err = t.Exec("UPDATE posthouse_meta SET value = ? WHERE name = '"+keyringMark+"'", mark)
		default:
			_, err = t.Exec("INSERT INTO posthouse_meta (name, value) VALUES ('"+keyringMark+"', ?)", mark)
		}
		return err
	})
}

// AddFirstKey stores a key where the database has none that is not revoked. Of several processes that start at one
// moment, one does.
func (s Keys) AddFirstKey(ctx context.Context, now time.Time, key posthouse.Key, hash string) (added bool, err error) {
	err = s.db.Change(ctx, now, "store the first key", func(t *sqldb.Tx) error {
		added = false
		if err := t.Serialize(); err != nil {
			return err
		}
		_, found, err := sqldb.First(t.Query, sqldb.Word, "SELECT id FROM posthouse_api_keys WHERE revoked_at = 0 LIMIT 1")
		if err != nil || found {
			return err
		}
		at, err := t.Now()
		if err != nil {
			return err
		}
		added = true
		return addKey(t, key, hash, at)
	})
	return added, err
}
