package local

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/cli/shell"
	"github.com/posthouse/posthouse/internal/config"
	"github.com/posthouse/posthouse/internal/store"
	"github.com/posthouse/posthouse/internal/store/schema"
	"github.com/posthouse/posthouse/internal/store/sqldb"
)

func migrateCommand(sh *shell.Shell) *cobra.Command {
	cmd := &cobra.Command{
		Use: "migrate", Short: "Bring the database's schema up to this binary's version",
		Long: `Bring the database's schema up to this binary's version. serve does it too, unless --no-migrate says no.
Run it once before many processes start on one database.`,
		Args: shell.Takes(),
		RunE: func(cmd *cobra.Command, _ []string) error { return withStore(sh, cmd, makes, runMigrate) },
	}
	config.AddFlags(cmd.Flags(), "dsn", "create", "log_level", "log_format")
	cmd.AddCommand(migrateStatus(sh), migrateViews(sh), migrateDown(sh), newEpoch(sh))
	return cmd
}

func migrateStatus(sh *shell.Shell) *cobra.Command {
	cmd := &cobra.Command{
		Use: "status", Short: "Say which version the schema has; exit 1 where it is not this binary's", Args: shell.Takes(),
		RunE: func(cmd *cobra.Command, _ []string) error { return withStore(sh, cmd, looks, runMigrateStatus) },
	}
	config.AddFlags(cmd.Flags(), "dsn", "log_level", "log_format")
	return cmd
}

func newEpoch(sh *shell.Shell) *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use: "new-epoch", Short: "After a database was restored, promoted or cloned: hold what may have been sent since",
		Long: `Run it on a database that is a copy: restored from a backup, promoted from a replica, or cloned.
Deliveries that may have been sent since the copy was made become unknown and wait for a person
(posthouse resolve), so that nobody is told twice. Processes that still run from before send
nothing more; restart them.`,
		Args: shell.Takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !yes {
				return shell.Hint(shell.Usagef("new-epoch holds every open delivery that is due or was tried, as unknown; nothing was changed"),
					"say --yes if this database is a restored, promoted or cloned one")
			}
			return withStore(sh, cmd, changes, runNewEpoch)
		},
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "do it")
	config.AddFlags(cmd.Flags(), "dsn", "log_level", "log_format")
	return cmd
}

// access is what a command does to the database: looks at it, changes it, or makes it where it is not there.
type access int

const (
	looks access = iota
	changes
	makes
)

// withStore opens the database for a command that works on it without a server.
func withStore(sh *shell.Shell, cmd *cobra.Command, to access, do func(context.Context, *shell.Shell, *store.Store) error) (err error) {
	c, err := sh.Settings(cmd)
	if err != nil {
		return err
	}
	s, err := store.Open(cmd.Context(), store.Options{
		DSN: c.Server.DSN, Log: c.Logger(sh.Err, sh.ErrTerminal), ReadOnly: to == looks, MustExist: to != makes || c.Server.MustExist,
	})
	if err != nil {
		return noFile(err, c.Server.MustExist)
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	return do(cmd.Context(), sh, s)
}

// noFile says of an SQLite file that is not there what makes it. Any but the default one has to be asked for.
func noFile(err error, asked bool) error {
	var missing *sqldb.NoFile
	switch {
	case !errors.As(err, &missing), missing.Trace != "":
		return err
	case asked:
		return shell.Hint(err, "if dsn has no slip in it, and no file was moved away: posthouse migrate --create makes it, or posthouse serve --create")
	}
	return shell.Hint(err, "posthouse migrate makes it, or posthouse serve")
}

func runMigrate(ctx context.Context, sh *shell.Shell, s *store.Store) error {
	have, want, err := s.Schema.Schema(ctx)
	if err != nil {
		return fmt.Errorf("read the schema's version: %w", err)
	}
	if err := suits(ctx, s); err != nil {
		return err
	}
	steps, err := s.Schema.Migrate(ctx)
	if err != nil && have < want {
		return fmt.Errorf("bring the schema from version %d to %d: %w", have, want, err)
	}
	if err != nil {
		return err
	}
	return sh.Show(map[string]any{"database": s.DB.Database(), "from": have, "to": want, "steps": steps}, func() {
		switch {
		case have > want:
			sh.Printf("the schema has version %d, newer than this binary's %d, and works with it: nothing to do\n", have, want)
			return
		case steps == 0:
			sh.Printf("the schema has version %d already: nothing to do\n", want)
			return
		}
		sh.Printf("brought the %s schema from version %d to %d\n", s.DB.Database(), have, want)
	})
}

// suits refuses a database that was made for newer binaries than this one.
func suits(ctx context.Context, s *store.Store) error {
	err := s.Schema.Suits(ctx)
	var old *schema.TooOld
	if errors.As(err, &old) {
		return shell.Hint(fmt.Errorf("the schema has version %d, newer than this binary's %d, and works with version %d or later", old.Have, old.Want, old.With), "use a newer posthouse")
	}
	return err
}

func runMigrateStatus(ctx context.Context, sh *shell.Shell, s *store.Store) error {
	have, want, err := s.Schema.Schema(ctx)
	if err != nil {
		return fmt.Errorf("read the schema's version: %w", err)
	}
	err = sh.Show(map[string]any{"database": s.DB.Database(), "have": have, "want": want, "current": have == want}, func() {
		sh.Printf("the %s schema has version %d, this binary wants %d\n", s.DB.Database(), have, want)
	})
	if err != nil {
		return err
	}
	return currentSchema(ctx, s)
}

// currentSchema refuses a database that is not of this binary's version, or not what that says.
func currentSchema(ctx context.Context, s *store.Store) error {
	have, want, err := s.Schema.Schema(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("read the schema's version: %w", err)
	case have > want:
		if err := suits(ctx, s); err != nil {
			return err
		}
	case have < want:
		return shell.Hint(fmt.Errorf("the schema has version %d, older than this binary's %d", have, want), "posthouse migrate brings it up")
	}
	return s.Schema.RefuseDrift(ctx)
}

func runNewEpoch(ctx context.Context, sh *shell.Shell, s *store.Store) error {
	if err := currentSchema(ctx, s); err != nil {
		return err
	}
	held, err := s.Epochs.BumpEpoch(ctx, time.Now())
	if err != nil {
		return fmt.Errorf("begin a new epoch: %w", err)
	}
	epoch, err := s.Epochs.Epoch(ctx)
	if err != nil {
		return err
	}
	if err := noted(ctx, s, posthouse.DefaultTenant, "deliveries.new_epoch", strconv.FormatInt(epoch, 10), held); err != nil {
		return err
	}
	done := restored{Epoch: epoch, Held: held}
	if err := done.count(ctx, s); err != nil {
		return err
	}
	return sh.Show(map[string]any{"epoch": epoch, "held": held, "held_notifications": done.Notifications, "held_reminders": done.Reminders}, func() {
		sh.Printf("epoch %d begins; %d deliveries are held as unknown\n", epoch, held)
		if held > 0 {
			sh.Printf("  → posthouse status --state unknown lists them, posthouse resolve closes each\n")
		}
		done.say(sh)
	})
}
