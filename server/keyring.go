package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/posthouse/posthouse/internal/secret"
	"github.com/posthouse/posthouse/internal/store/sqldb"
)

// openKeyring opens the keyring and refuses one that is not the database's: what a stranger seals no other process
// could open, and what others sealed would be unreadable here.
func (s *Server) openKeyring(ctx context.Context) error {
	mark, err := s.store.Keys.KeyringMark(ctx)
	if err != nil {
		return err
	}
	if s.keyring, err = loadKeyring(s.o, mark != ""); err != nil {
		return err
	}
	return s.store.Keys.MarkKeyring(ctx, time.Now(), func(mark string) (string, error) { return markOf(s.o, s.keyring, mark) })
}

// loadKeyring reads the keyring from its text or its file. The file is made where it is missing, for a database that
// knows no keyring yet: beside an SQLite file, which has but one process, or on request.
func loadKeyring(o Options, known bool) (*secret.Keyring, error) {
	if o.Keyring != "" {
		return secret.Parse(o.Keyring)
	}
	ring, err := secret.Load(o.KeyringFile)
	if !errors.Is(err, os.ErrNotExist) {
		return ring, err
	}
	_, file := sqldb.SQLiteFile(o.DSN)
	switch {
	case known && !o.AdoptKeyring:
		return nil, fmt.Errorf("there is no keyring %s, and the database's secrets are encrypted with one: put a copy of it there, or give its keys in POSTHOUSE_KEYRING; "+
			"if it is lost, create_keyring with adopt_keyring starts with a new one, and each secret has to be typed in again", o.KeyringFile)
	case !file && !o.CreateKeyring:
		return nil, fmt.Errorf("there is no keyring %s: all processes of this database need the same one. Copy that of another process there, or let one process make it with create_keyring", o.KeyringFile)
	}
	ring, err = secret.Create(o.KeyringFile)
	if errors.Is(err, os.ErrExist) { // another process that starts at the same moment made it
		return secret.Load(o.KeyringFile)
	}
	return ring, err
}

// markOf says what the database's mark is from now, given the one that stands: sealed with the newest key, so that a
// process without that key is a stranger too.
func markOf(o Options, ring *secret.Keyring, mark string) (string, error) {
	if mark != "" {
		err := ring.Knows(mark)
		switch {
		case err == nil && ring.Current(mark):
			return mark, nil
		case err != nil && !o.AdoptKeyring:
			return "", fmt.Errorf("the keyring is not this database's: %w; it has the keys %s. Start with the keyring of the other processes, "+
				"or, if that one is lost, with adopt_keyring: each secret has to be typed in again", err, strings.Join(ring.IDs(), ", "))
		case err != nil:
			o.Log.Warn("the database takes this keyring for its own: what another one sealed stays unreadable", "error", err)
		}
	}
	return ring.Mark()
}
