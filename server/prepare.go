package server

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/internal/secret"
	"github.com/posthouse/posthouse/internal/store"
	"github.com/posthouse/posthouse/internal/store/registry"
	"github.com/posthouse/posthouse/internal/store/schema"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/wire"
)

// openStore opens the database and brings its schema up.
func (s *Server) openStore(ctx context.Context) (err error) {
	used := sqldb.HasWorkedOn(s.o.DSN) // before this start leaves its own traces
	if s.store, err = store.Open(ctx, store.Options{DSN: s.o.DSN, Log: s.o.Log, MustExist: s.o.MustExist, Sole: true}); err != nil {
		return err
	}
	s.closing.add(s.store.Close)
	if err := refuseDamage(ctx, s.store.DB, s.o.Log); err != nil {
		return err
	}
	s.hush()
	if used {
		if err := refuseSubstitute(ctx, s.store, s.o.StateDir); err != nil {
			return err
		}
	}
	have, want, err := s.store.Schema.Schema(ctx)
	if err != nil {
		return fmt.Errorf("read the schema's version: %w", err)
	}
	if err := s.store.Schema.Suits(ctx); err != nil {
		return err
	}
	s.knows = want
	switch {
	case have > want:
		s.o.Log.Warn("a newer posthouse has upgraded the database, and it works with this one", "schema", have, "this", want)
		if err := s.store.Schema.RefuseDrift(ctx); err != nil {
			return err
		}
	case have < want && s.o.NoMigrate:
		return fmt.Errorf("the database's schema has version %d, this binary wants %d: run posthouse migrate", have, want)
	case have < want:
		steps, err := s.store.Schema.Migrate(ctx)
		if err != nil {
			return fmt.Errorf("bring the schema from version %d to %d: %w", have, want, err)
		}
		s.o.Log.Info("schema brought up", "from", have, "to", want, "steps", steps)
	default:
		if err := s.store.Schema.RefuseDrift(ctx); err != nil {
			return err
		}
	}
	return partition(ctx, s.store, &s.o)
}

// outgrown says in what way the database was upgraded for newer programs than this one.
func (s *Server) outgrown(ctx context.Context) (string, error) {
	err := s.store.Schema.Suits(ctx)
	var old *schema.TooOld
	if errors.As(err, &old) {
		return old.Error(), nil
	}
	return "", err
}

// refuseSubstitute does not begin a new installation in an SQLite file that stands in the place of another: a server has worked under its
// name and has noted in the folder what it saw, and on this file none has ever worked.
func refuseSubstitute(ctx context.Context, st *store.Store, folder string) error {
	marks := schema.Marks(folder)
	if len(marks) == 0 {
		return nil
	}
	have, _, err := st.Schema.Schema(ctx)
	if err == nil && have > 0 {
		var worked bool
		if _, worked, err = st.Tides.Watermark(ctx); worked {
			return nil
		}
	}
	if err != nil {
		return fmt.Errorf("find out whether a server has worked on the database's file: %w", err)
	}
	return fmt.Errorf("no server has ever worked on this SQLite file, but one has worked on the file that stood here before (%s): nothing is begun anew in its place. "+
		"Put the file back, or restore a backup; to begin a new installation, move the .lock and .mark files away too, or choose another folder", strings.Join(marks, ", "))
}

// retention is how long settled deliveries are kept.
func (o *Options) retention() work.Retention {
	return work.RetentionOf(cmp.Or(o.Keep, engine.DefaultKeep), o.KeepSent)
}

// shortestKeep is after how long a settled delivery may be gone, negative for never.
func (o *Options) shortestKeep() time.Duration {
	keep := o.retention()
	if shortest := min(keep.Sent, keep.Other); shortest != work.Forever {
		return shortest
	}
	return -1
}

// partition has the partitions ready before the first message is stored. Only a stranger with the name of one ends the start:
// else rows lie where they are deleted one by one, and the pruner tries again.
func partition(ctx context.Context, st *store.Store, o *Options) error {
	err := st.Upkeep.Partition(ctx, o.retention())
	if errors.Is(err, schema.ErrStranger) {
		return err
	}
	if err != nil {
		o.Log.Warn("partitions cannot be made or dropped now", "error", err)
	}
	return nil
}

// openTide refuses a database that went back since this process, or one before it in the same folder, saw it.
func (s *Server) openTide(ctx context.Context) error {
	s.tide = &tide{store: s.store.Tides, dir: s.o.StateDir, log: s.o.Log, hold: s.o.AfterPromotion == PromotionNewEpoch, newEpoch: s.newEpoch, beats: s.o.ReadDSN != "", handed: s.handedOver}
	return s.tide.begin(ctx, s.o.AcceptOlder)
}

// newEpoch begins one after a history. Of several processes that start at one moment, one does.
func (s *Server) newEpoch(ctx context.Context, history string) (held int, begun bool, err error) {
	err = s.store.DB.Alone(ctx, func(*sql.DB) error {
		now, _, err := s.store.Tides.Watermark(ctx)
		if err != nil || now.History != history {
			return err
		}
		begun = true
		held, err = s.store.Epochs.BumpEpoch(ctx, time.Now())
		return err
	})
	return held, begun, err
}

// startCheck bounds the look at the structure of an SQLite file at the start.
const startCheck = 2 * time.Second

// refuseDamage does not start on an SQLite file that is damaged: what is written into one may be lost with the rest.
func refuseDamage(ctx context.Context, db *sqldb.DB, log *slog.Logger) error {
	found, err := db.Sound(ctx, startCheck)
	switch {
	case err != nil:
		return fmt.Errorf("look at the structure of the database's file: %w", err)
	case len(found.Problems) > 0:
		return fmt.Errorf("the database's file is damaged: %s. Restore a backup; posthouse doctor --full names all that is wrong", strings.Join(found.Problems, "; "))
	case !found.Whole:
		log.Info("the database's file is large: only a part of its structure was looked at; posthouse doctor --full looks at all of it", "for", startCheck.String())
	}
	return nil
}

// hush lets the log say of a database that does not answer no more than is of use.
func (s *Server) hush() {
	a := &away{log: s.o.Log.Handler(), ping: s.store.DB.Ping}
	s.closing.add(a.end)
	s.o.Log = slog.New(quiet{s.o.Log.Handler(), a})
}

// prepareKey stores the given admin key, or makes the first one.
func (s *Server) prepareKey(ctx context.Context) error {
	if s.o.AdminKey != "" {
		id, text, ok := secret.ParseKey(s.o.AdminKey)
		if !ok {
			return errors.New("the API key given at start has not the form ph_<id>_<secret>: `posthouse key new` prints one")
		}
		added, err := addKey(ctx, s.store.Keys, id, text)
		if added {
			s.noteKey(ctx, firstKey(id, givenKey))
		}
		return err
	}
	id, text := secret.NewKey()
	added, err := s.store.Keys.AddFirstKey(ctx, time.Now(), firstKey(id, "first"), secret.HashKey(text))
	if err == nil && added {
		s.noteKey(ctx, firstKey(id, "first"))
		s.o.Announce(secret.FormatKey(id, text))
	}
	return err
}

// givenKey is the name of the key that was given at start.
const givenKey = "given at start"

// noteKey writes to the audit log that a start made a key.
func (s *Server) noteKey(ctx context.Context, key posthouse.Key) {
	key.CreatedAt = time.Now()
	s.book().Write(ctx, wire.AuditEntry{Tenant: key.Tenant, Source: atStart, Action: "keys.create", Target: key.ID}, map[string]any{"after": key})
}

// firstKey is a key for everything of the default tenant.
func firstKey(id, name string) posthouse.Key {
	return posthouse.Key{ID: id, Tenant: posthouse.DefaultTenant, Name: name, Scope: posthouse.ScopeAdmin}
}

// addKey stores the key that was given at start, unless it is there.
func addKey(ctx context.Context, db registry.Keys, id, text string) (added bool, err error) {
	if found, err := hasKey(ctx, db, id, text); found || err != nil {
		return false, err
	}
	err = db.AddKey(ctx, time.Now(), firstKey(id, givenKey), secret.HashKey(text))
	if err == nil {
		return true, nil
	}
	if found, _ := hasKey(ctx, db, id, text); found { // another process that starts at the same moment stored it
		return false, nil
	}
	return false, err
}

// hasKey reports whether the key is stored; it is an error if its id is that of another.
func hasKey(ctx context.Context, db registry.Keys, id, text string) (bool, error) {
	_, hash, found, err := db.KeyHash(ctx, id)
	if err == nil && found && !secret.Equal(hash, secret.HashKey(text)) {
		return false, fmt.Errorf("the API key given at start has the id %s of another key: use a fresh one", id)
	}
	return found && err == nil, err
}
