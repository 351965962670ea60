package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/cli/shell"
	"github.com/posthouse/posthouse/internal/config"
	"github.com/posthouse/posthouse/internal/lockfile"
	"github.com/posthouse/posthouse/internal/secret"
	"github.com/posthouse/posthouse/internal/store"
	"github.com/posthouse/posthouse/internal/store/sqldb"
)

// kept is what a backup holds, as it is printed.
type kept struct {
	File     string    `json:"file"`
	Bytes    int64     `json:"bytes"`
	At       time.Time `json:"at,omitzero"` // when a server last worked on what it holds
	Schema   int64     `json:"schema"`
	Messages int       `json:"messages"`
	Key      string    `json:"key,omitempty"` // of the keyring that the database knows
}

// restored is what a restore did, as it is printed.
type restored struct {
	kept
	Epoch int64 `json:"epoch"`
	Held  int   `json:"held"`
	heldToo
	Aside string `json:"aside,omitempty"`
}

func backupCommand(sh *shell.Shell) *cobra.Command {
	var to string
	cmd := &cobra.Command{
		Use: "backup", Short: "Copy an SQLite database into a file, while a server works on it",
		Long: `Copy an SQLite database into a file, as it is at one moment, while a server works on it. The file
is read back whole, with every index, before it gets its name, and one that is already there is not
touched. Keep the keyring too, in another place. PostgreSQL and MariaDB have tools of their own for it.`,
		Example: "  posthouse backup --to /backup/posthouse-2026-10-01.db",
		Args:    shell.Takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if to == "" {
				return shell.Usagef("--to is missing: name the file to write, such as --to posthouse-2026-10-01.db")
			}
			return withStore(sh, cmd, looks, func(ctx context.Context, sh *shell.Shell, s *store.Store) error { return runBackup(ctx, sh, s, to) })
		},
	}
	cmd.Flags().StringVar(&to, "to", "", "the `FILE` to write")
	config.AddFlags(cmd.Flags(), "dsn", "log_level", "log_format")
	return cmd
}

func runBackup(ctx context.Context, sh *shell.Shell, s *store.Store, to string) error {
	if s.DB.SharedClock() {
		return shell.Hint(shell.Usagef("backup copies an SQLite file, and this is %s", sqldb.TitleOf(s.DB.Database()+":")),
			"pg_dump, pg_basebackup and mariadb-dump do it there: see the guide of backups")
	}
	done, err := newBackup(ctx, s, to)
	if err != nil {
		return err
	}
	return sh.Show(done, func() {
		sh.Printf("%s: %s\n", to, done.told(sh))
		sh.Notef("  → written, read back and found whole; keep the keyring in another place\n")
	})
}

// told is what a backup holds, for people.
func (k kept) told(sh *shell.Shell) string {
	text := sh.Text("%d messages, %d bytes", k.Messages, k.Bytes)
	if !k.At.IsZero() {
		text += sh.Text(", as of %s", k.At.Local().Format(time.DateTime))
	}
	if k.Key != "" {
		text += sh.Text(", sealed with the key %s", k.Key)
	}
	return text
}

// newBackup makes a copy beside its place, looks at all of it, and then gives it its name, so that no half of one ever has it.
func newBackup(ctx context.Context, s *store.Store, path string) (done kept, err error) {
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return done, shell.Usagef("--to: %s is already there: name another file", path)
	}
	part, err := copied(ctx, s, path)
	if err != nil {
		return done, err
	}
	if done, err = wholeBackup(ctx, part); err == nil {
		err = os.Rename(part, path)
	}
	if err != nil {
		removeSQLite(part)
		return done, err
	}
	done.File = path
	return done, syncDir(filepath.Dir(path))
}

// copied is a copy of a database in a file of its own, for its owner alone, beside a place.
func copied(ctx context.Context, s *store.Store, place string) (path string, err error) {
	part, err := os.CreateTemp(filepath.Dir(place), "."+filepath.Base(place)+".part-*")
	if err != nil {
		return "", shell.Usagef("the copy cannot be written: %w", err)
	}
	if err = errors.Join(s.DB.Backup(ctx, part), part.Close()); err != nil {
		removeSQLite(part.Name())
	}
	return part.Name(), err
}

// removeSQLite removes what is left of a file that is of no use, with what SQLite has made beside it.
func removeSQLite(path string) {
	for _, ending := range []string{"", "-wal", "-shm"} {
		_ = os.Remove(path + ending)
	}
}

// wholeBackup looks at all of a copy: its structure, its schema, and how far it has come.
func wholeBackup(ctx context.Context, path string) (kept, error) {
	s, err := store.Open(ctx, store.Options{DSN: "sqlite:" + path, ReadOnly: true, MustExist: true})
	if err != nil {
		return kept{}, err
	}
	k, err := lookOver(ctx, s, path)
	return k, errors.Join(err, s.Close())
}

func lookOver(ctx context.Context, s *store.Store, path string) (k kept, err error) {
	k.File = path
	sound, err := s.DB.Sound(ctx, 0)
	if err != nil {
		return k, err
	}
	if len(sound.Problems) > 0 {
		return k, fmt.Errorf("%s is damaged: %s", path, strings.Join(sound.Problems, "; "))
	}
	have, _, err := s.Schema.Schema(ctx)
	switch {
	case err != nil:
		return k, err
	case have == 0:
		return k, fmt.Errorf("%s is no Posthouse database", path)
	}
	if err := suits(ctx, s); err != nil {
		return k, err
	}
	if err := s.Schema.RefuseDrift(ctx); err != nil {
		return k, err
	}
	k.Schema = have
	w, _, err := s.Tides.Watermark(ctx)
	if err != nil {
		return k, err
	}
	if w.At.Year() > 1970 { // one that has just been made is no time
		k.At = w.At
	}
	mark, err := s.Keys.KeyringMark(ctx)
	if err != nil {
		return k, err
	}
	k.Key = secret.KeyOf(mark)
	counts, err := s.History.MessageCounts(ctx)
	if err != nil {
		return k, err
	}
	for _, n := range counts {
		k.Messages += n
	}
	info, err := os.Stat(path)
	if err == nil {
		k.Bytes = info.Size()
	}
	return k, err
}

func restoreCommand(sh *shell.Shell) *cobra.Command {
	var replace bool
	cmd := &cobra.Command{
		Use: "restore FILE", Short: "Put a backup in the place of the SQLite database, and begin a new epoch",
		Long: `Put a backup in the place of the SQLite database that --dsn names, while no server works on it. The
backup is looked at first, brought up to this binary's version, and begins a new epoch, as posthouse
migrate new-epoch does: what may have been sent since it was made becomes unknown and waits for a person.
The backup itself is left as it is. What stands in the place is moved aside with --replace, never deleted.`,
		Example: "  posthouse restore /backup/posthouse-2026-10-01.db --replace",
		Args:    shell.Takes("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := sh.Settings(cmd)
			if err != nil {
				return err
			}
			if _, ok := sqldb.SQLiteFile(c.Server.DSN); !ok {
				return shell.Hint(shell.Usagef("restore puts back an SQLite file, and --dsn names %s", cmp.Or(sqldb.TitleOf(c.Server.DSN), "no database we know")),
					"psql -1 -v ON_ERROR_STOP=1 and mariadb do it there, into an empty database; then run posthouse migrate new-epoch")
			}
			return runRestore(cmd.Context(), sh, c, args[0], replace)
		},
	}
	cmd.Flags().BoolVar(&replace, "replace", false, "move what stands in the place aside")
	config.AddFlags(cmd.Flags(), "dsn", "log_level", "log_format")
	return cmd
}

func runRestore(ctx context.Context, sh *shell.Shell, c config.Config, from string, replace bool) (err error) {
	place, err := sqldb.TakePlace(c.Server.DSN, time.Now())
	var held *lockfile.Held
	if errors.As(err, &held) {
		return shell.Hint(fmt.Errorf("a server works on the database: %s", cmp.Or(held.Holder, "it has just begun")), "stop it first")
	}
	if err != nil {
		return fmt.Errorf("keep servers off the database's place: %w", err)
	}
	defer func() { err = errors.Join(err, place.Leave()) }()
	if there := place.Stands(); len(there) > 0 && !replace {
		return shell.Hint(fmt.Errorf("%s is there already; nothing was changed", strings.Join(there, ", ")), "--replace moves it aside")
	}
	done, err := prepared(ctx, from, place.Path())
	if err != nil {
		return err
	}
	if done.Aside, err = place.Put(done.File, time.Now()); err != nil {
		removeSQLite(done.File)
		return err
	}
	done.File = place.Path()
	if err := syncDir(filepath.Dir(done.File)); err != nil {
		return err
	}
	return sh.Show(done, func() {
		sh.Printf("%s: %s\nepoch %d begins; %d deliveries are held as unknown\n", done.File, done.kept.told(sh), done.Epoch, done.Held)
		if done.Held > 0 {
			sh.Printf("  → posthouse status --state unknown lists them, posthouse resolve closes each\n")
		}
		done.say(sh)
		if done.Aside != "" {
			sh.Printf("  → what stood there is now %s\n", done.Aside)
		}
	})
}

// heldToo is what a new epoch holds beside deliveries: since the copy was taken people may have been told by it, and may have acknowledged.
type heldToo struct {
	// Notifications are held: no step of them begins.
	Notifications int `json:"held_notifications"`
	// Reminders are held whose slot had come.
	Reminders int `json:"held_reminders"`
}

// count counts those of all tenants that wait for a person to let them go on.
func (h *heldToo) count(ctx context.Context, s *store.Store) error {
	for _, of := range []struct {
		count func(ctx context.Context) (byTenant map[string]int, err error)
		into  *int
	}{{s.Plans.HeldNotifications, &h.Notifications}, {s.Plans.HeldReminders, &h.Reminders}} {
		tenants, err := of.count(ctx)
		if err != nil {
			return err
		}
		for _, n := range tenants {
			*of.into += n
		}
	}
	return nil
}

func (h *heldToo) say(sh *shell.Shell) {
	switch n := h.Notifications; {
	case n == 1:
		sh.Printf("  → 1 notification is held: look at posthouse notification list --held, then posthouse notification resume has it go on\n")
	case n > 1:
		sh.Printf("  → %d notifications are held: look at posthouse notification list --held, then posthouse notification resume has each go on, or all with --all\n", n)
	}
	switch n := h.Reminders; {
	case n == 1:
		sh.Printf("  → 1 reminder is held: look at posthouse remind list --held, then posthouse remind resume has it go on with its next moment\n")
	case n > 1:
		sh.Printf("  → %d reminders are held: look at posthouse remind list --held, then posthouse remind resume has each go on with its next moment, or all with --all\n", n)
	}
}

// prepared copies a backup beside the place where it is to stand, and begins a new epoch in the copy: no server can start on it before.
func prepared(ctx context.Context, from, place string) (done restored, err error) {
	source, err := store.Open(ctx, store.Options{DSN: "sqlite:" + from, ReadOnly: true, MustExist: true})
	if err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	part, err := copied(ctx, source, place)
	if err != nil {
		return done, err
	}
	defer func() {
		if err != nil {
			removeSQLite(part)
		}
	}()
	if done.kept, err = wholeBackup(ctx, part); err != nil {
		return done, err
	}
	s, err := store.Open(ctx, store.Options{DSN: "sqlite:" + part, MustExist: true})
	if err != nil {
		return done, err
	}
	err = begin(ctx, s, &done)
	return done, errors.Join(err, s.Close())
}

func begin(ctx context.Context, s *store.Store, done *restored) (err error) {
	if _, err = s.Schema.Migrate(ctx); err != nil {
		return err
	}
	list, _, err := s.Processes.Processes(ctx)
	for _, p := range list { // they worked on the file that was copied
		err = errors.Join(err, s.Processes.Leave(ctx, p.ID))
	}
	if err != nil {
		return err
	}
	if done.Held, err = s.Epochs.BumpEpoch(ctx, time.Now()); err != nil {
		return fmt.Errorf("begin a new epoch: %w", err)
	}
	if done.Epoch, err = s.Epochs.Epoch(ctx); err != nil {
		return err
	}
	if err := done.count(ctx, s); err != nil {
		return err
	}
	return noted(ctx, s, posthouse.DefaultTenant, "deliveries.new_epoch", strconv.FormatInt(done.Epoch, 10), done.Held)
}
