package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
)

// keyringMark is the row of meta that only the database's own keyring opens.
const keyringMark = "keyring"

// KeyringMark reads the text by which the database knows its keyring, empty where it knows none yet.
func (s *Store) KeyringMark(ctx context.Context) (string, error) {
	mark, _, err := first(s.reads(ctx), word, "SELECT value FROM posthouse_meta WHERE name = '"+keyringMark+"'")
	return mark, s.toError(err, "read the keyring's mark")
}

// MarkKeyring lets decide say what the mark is from now, given the one that stands. Processes that start at one moment
// do this one after the other. An error of decide changes nothing.
func (s *Store) MarkKeyring(ctx context.Context, now time.Time, decide func(mark string) (string, error)) error {
	return s.change(ctx, now, "mark the keyring", func(t *tx) error {
		if err := t.serialize(); err != nil {
			return err
		}
		old, found, err := first(t.query, word, "SELECT value FROM posthouse_meta WHERE name = '"+keyringMark+"'")
		if err != nil {
			return err
		}
		mark, err := decide(old)
		switch {
		case err != nil || found && mark == old:
			return err
		case found:
			_, err = t.exec("UPDATE posthouse_meta SET value = ? WHERE name = '"+keyringMark+"'", mark)
		default:
			_, err = t.exec("INSERT INTO posthouse_meta (name, value) VALUES ('"+keyringMark+"', ?)", mark)
		}
		return err
	})
}

// AddFirstKey stores a key where the database has none that is not revoked. Of several processes that start at one
// moment, one does.
func (s *Store) AddFirstKey(ctx context.Context, now time.Time, key posthouse.Key, hash string) (added bool, err error) {
	err = s.change(ctx, now, "store the first key", func(t *tx) error {
		added = false
		if err := t.serialize(); err != nil {
			return err
		}
		_, found, err := first(t.query, word, "SELECT id FROM posthouse_api_keys WHERE revoked_at = 0 LIMIT 1")
		if err != nil || found {
			return err
		}
		at, err := t.now()
		if err != nil {
			return err
		}
		added = true
		return t.addKey(key, hash, at)
	})
	return added, err
}

// sealedStart is as much of a sealed text as names its key: the form, an id of up to 32 characters and a colon.
const sealedStart = 48

// SealedStarts lists the first characters of all sealed contents, which name their keys.
func (s *Store) SealedStarts(ctx context.Context) ([]string, error) {
	list, err := all(s.reads(ctx), word, fmt.Sprintf("SELECT SUBSTR(body, 1, %d) FROM posthouse_sealed", sealedStart))
	return list, s.toError(err, "look for the keys of sealed contents")
}

// SealedOtherwise lists sealed contents that do not begin with a text, those that follow a message's id.
func (s *Store) SealedOtherwise(ctx context.Context, start, after string, max int) ([]work.Sealed, error) {
	list, err := all(s.reads(ctx), func(scan scanner) (v work.Sealed, err error) { return v, scan(&v.Message, &v.Tenant, &v.Body) },
		fmt.Sprintf("SELECT message, tenant, body FROM posthouse_sealed WHERE message > ? AND SUBSTR(body, 1, %d) <> ? ORDER BY message LIMIT %d", len(start), max), after, start)
	return list, s.toError(err, "look for contents sealed with an old key")
}

// Reseal replaces the body of a sealed content by the same sealed anew, unless it is gone or was replaced meanwhile.
func (s *Store) Reseal(ctx context.Context, now time.Time, old work.Sealed, body string) error {
	return s.change(ctx, now, "seal a content anew", func(t *tx) error {
		_, err := t.exec("UPDATE posthouse_sealed SET body = ? WHERE message = ? AND body = ?", body, old.Message, old.Body)
		return err
	})
}

// ResealChannel replaces the config of a channel by the same with its secrets sealed anew, unless it has changed
// meanwhile. Its version stays, since nothing has changed that another process would have to know.
func (s *Store) ResealChannel(ctx context.Context, now time.Time, ch posthouse.Channel) error {
	config, err := json.Marshal(ch.Config)
	if err != nil {
		return fmt.Errorf("write the config of channel %s: %w", ch.Name, err)
	}
	return s.change(ctx, now, "seal a channel's secrets anew", func(t *tx) error {
		_, err := t.exec("UPDATE posthouse_channels SET config = ? WHERE tenant = ? AND name = ? AND version = ? AND created_at = ?",
			string(config), ch.Tenant, ch.Name, ch.Version, micros(ch.CreatedAt))
		return err
	})
}
