package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/archive"
	"github.com/posthouse/posthouse/internal/cli/shell"
	"github.com/posthouse/posthouse/internal/config"
	"github.com/posthouse/posthouse/internal/route"
	"github.com/posthouse/posthouse/internal/store"
	"github.com/posthouse/posthouse/internal/store/reading"
)

// archiving is what an archive is asked to hold.
type archiving struct {
	after, before, to, tenant string
}

func archiveCommand(sh *shell.Shell) *cobra.Command {
	var f archiving
	cmd := &cobra.Command{
		Use: "archive", Short: "Write settled messages with their history to a file, before they are deleted",
		Long: `Write the settled messages of a time, with their deliveries and events, from the database to a file.
The file is compressed NDJSON: zcat and jq read it. It is read back before it gets its name, and an
archive that is already there is not touched. The command asks no server, can run beside one, and
deletes nothing: the server does that, when --keep is over. With the server's keyring it is signed, so
that proofs can be made of it.`,
		Example: `  posthouse archive --before 2026-10-01 --to 2026-q3.ndjson.gz
  posthouse archive --after 2026-10-01 --before 2026-11-01 --to 2026-10.ndjson.gz
  posthouse archive check 2026-*.ndjson.gz
  posthouse archive proof 2026-q3.ndjson.gz 01JB2Z6N8Q4T7V0X3Y5W9A0000 --output proof.json`,
		Args: shell.Takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			asked, err := f.read(sh)
			if err != nil {
				return err
			}
			sign, err := signing(sh, cmd)
			if err != nil {
				return err
			}
			return withLog(sh, cmd, func(ctx context.Context, s *store.Store) error { return runArchive(ctx, sh, s, asked, f.to, sign) })
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.before, "before", "", "messages that settled before this `TIME`: \"2026-10-01 08:30\", or 30d ago")
	flags.StringVar(&f.after, "after", "", "only messages that settled at this `TIME` or later: so that one archive goes on where the last ended")
	flags.StringVar(&f.to, "to", "", "the `FILE` to write, such as 2026-q3.ndjson.gz")
	flags.StringVar(&f.tenant, "tenant", "", "the messages of one `TENANT` only")
	config.AddFlags(flags, "dsn", "read_dsn", "read_max_lag", "keyring_file", "log_level", "log_format")
	cmd.AddCommand(archiveCheck(sh), archiveProof(sh))
	return cmd
}

func (f *archiving) read(sh *shell.Shell) (asked archive.Range, err error) {
	switch {
	case f.before == "":
		return asked, shell.Usagef(`--before is missing: say until when, such as --before 30d or --before 2026-10-01`)
	case f.to == "":
		return asked, shell.Usagef("--to is missing: name the file to write, such as --to 2026-q3.ndjson.gz")
	}
	asked.Tenant = f.tenant
	if asked.Before, err = sh.Past("--before", f.before); err != nil {
		return asked, err
	}
	if asked.After, err = sh.Past("--after", f.after); err != nil {
		return asked, err
	}
	now := time.Now()
	switch {
	case asked.Before.After(now):
		return asked, shell.Usagef("--before %s is still to come: what settles until then would be missing", f.before)
	case !asked.After.Before(asked.Before):
		return asked, shell.Usagef("--after %s is not before --before %s", f.after, f.before)
	}
	asked.Before, asked.After = asked.Before.UTC(), asked.After.UTC()
	return asked, nil
}

// archived is what an archive is told to hold, as it is printed.
type archived struct {
	File string `json:"file"`
	archive.Range
	archive.Totals
	Bytes int64    `json:"bytes"`
	Left  []string `json:"left"`
}

func runArchive(ctx context.Context, sh *shell.Shell, s *store.Store, asked archive.Range, path string, sign signs) error {
	done, size, err := toFile(path, func(to io.Writer) (archive.Written, error) {
		return archive.Write(to, archive.Source{Messages: storedOf(ctx, s), Events: counted(sh, eventsOf(ctx, s, "")), Sign: sign}, asked)
	})
	if err != nil {
		return err
	}
	out := archived{File: path, Range: asked, Totals: done.Totals, Bytes: size, Left: append([]string{}, done.Left...)}
	err = sh.Show(out, func() {
		sh.Printf("%s: %s, %d bytes\n", path, counts(sh, done.Totals), size)
		sh.Notef("  → written, read back and found whole\n")
		if sign == nil {
			sh.Notef("  → not signed, as there is no keyring: no proof can be made of it\n")
		}
	})
	if err == nil && len(done.Left) > 0 {
		err = shell.Hint(fmt.Errorf("%d messages that settled within this time are not in the archive, such as %s", len(done.Left), done.Left[0]),
			"they changed meanwhile, or are not stored whole: write the archive once more, and if they stay out, run posthouse verify")
	}
	return err
}

func counts(sh *shell.Shell, t archive.Totals) string {
	return sh.Text("%d messages, %d deliveries, %d events", t.Messages, t.Deliveries, t.Events)
}

// storedAtOnce is of how many messages the notifications are looked up together.
const storedAtOnce = 500

// storedOf walks over what is stored.
func storedOf(ctx context.Context, s *store.Store) iter.Seq2[archive.Stored, error] {
	return func(yield func(archive.Stored, error) bool) {
		var some []archive.Stored
		flush := func() error {
			if err := withNotifications(ctx, s, some); err != nil {
				return err
			}
			for i := range some {
				if !yield(some[i], nil) {
					return io.EOF
				}
			}
			some = some[:0]
			return nil
		}
		err := s.History.Holdings(ctx, func(h reading.Holding) error {
			some = append(some, archive.Stored{ID: h.ID, Message: h.Message, Recipients: h.Recipients, Deliveries: h.Deliveries})
			if len(some) < storedAtOnce {
				return nil
			}
			return flush()
		})
		if err == nil {
			err = flush()
		}
		if err != nil && !errors.Is(err, io.EOF) {
			yield(archive.Stored{}, err)
		}
	}
}

// withNotifications adds to messages the notifications that their deliveries belong to, as far as they are kept. One that cannot be read is
// left out: posthouse verify tells of it.
func withNotifications(ctx context.Context, s *store.Store, some []archive.Stored) error {
	asked := map[string][]string{} // by the tenant
	for i := range some {
		for _, d := range some[i].Deliveries {
			if d.Notification != "" {
				asked[d.Tenant] = append(asked[d.Tenant], d.Notification)
			}
		}
	}
	found := map[string]posthouse.Notification{}
	for tenant, ids := range asked {
		slices.Sort(ids)
		list, err := s.Plans.NotificationsOf(ctx, tenant, slices.Compact(ids))
		if err != nil {
			return err
		}
		for _, p := range list {
			if n, err := route.Read(p); err == nil {
				found[p.ID] = n
			}
		}
	}
	for i := range some {
		for _, d := range some[i].Deliveries {
			if n, is := found[d.Notification]; is && n.Tenant == d.Tenant && !slices.ContainsFunc(some[i].Notifications, func(o posthouse.Notification) bool { return o.ID == n.ID }) {
				some[i].Notifications = append(some[i].Notifications, n)
			}
		}
	}
	return nil
}

// toFile writes an archive beside the file's place, reads it back, and then gives it its name, so that no half of one ever has it.
func toFile(path string, write func(io.Writer) (archive.Written, error)) (done archive.Written, size int64, err error) {
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return done, 0, shell.Usagef("--to: %s is already there: name another file", path)
	}
	part, err := os.OpenFile(path+".part", os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600) // #nosec G304 -- the operator's own file
	if err != nil {
		return done, 0, shell.Usagef("--to: %w", err)
	}
	defer func() {
		err = errors.Join(err, part.Close())
		if err != nil {
			_ = os.Remove(part.Name()) // what is left of it is of no use
		}
	}()
	if done, err = write(part); err != nil {
		return done, 0, err
	}
	if err = part.Sync(); err != nil {
		return done, 0, err
	}
	if size, err = readBack(part, done.Totals); err != nil {
		return done, 0, err
	}
	if err = os.Rename(part.Name(), path); err != nil {
		return done, 0, err
	}
	return done, size, syncDir(filepath.Dir(path))
}

func readBack(file *os.File, wrote archive.Totals) (size int64, err error) {
	if size, err = file.Seek(0, io.SeekEnd); err != nil {
		return 0, err
	}
	if _, err = file.Seek(0, io.SeekStart); err != nil {
		return 0, err
	}
	_, found, err := archive.Read(file, func(*archive.Record) error { return nil })
	if err == nil && found != wrote {
		err = fmt.Errorf("%s were written, and %s can be read", counts(&shell.Shell{}, wrote), counts(&shell.Shell{}, found)) // an error is in English until it is printed
	}
	if err != nil {
		return 0, fmt.Errorf("what was written cannot be read back: %w", err)
	}
	return size, nil
}

// syncDir makes a new name last.
func syncDir(path string) error {
	if runtime.GOOS == "windows" { // which has no sync of a folder, and refuses one
		return nil
	}
	dir, err := os.Open(path) // #nosec G304 -- where the operator's own file is
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

func archiveCheck(sh *shell.Shell) *cobra.Command {
	return &cobra.Command{
		Use: "check FILE...", Short: "Read archives, and tell whether they are whole and unchanged",
		Example: "  posthouse archive check 2026-*.ndjson.gz",
		Args:    shell.Some("FILE"),
		RunE: func(_ *cobra.Command, files []string) error {
			var list []archived
			var wrong []string
			for _, path := range files {
				one, err := checked(path)
				if err != nil {
					wrong = append(wrong, fmt.Sprintf("%s: %s", path, err))
					continue
				}
				list = append(list, one)
			}
			err := sh.Show(list, func() {
				for _, a := range list {
					sh.Printf("%s: %s, settled %s\n", a.File, counts(sh, a.Totals), span(sh, a.Range))
				}
			})
			if err == nil && len(wrong) > 0 {
				err = errors.New(strings.Join(wrong, "\n"))
			}
			return err
		},
	}
}

func span(sh *shell.Shell, r archive.Range) string {
	if r.After.IsZero() {
		return sh.Text("before %s", sh.At(r.Before))
	}
	return sh.Text("from %s and before %s", sh.At(r.After), sh.At(r.Before))
}

func checked(path string) (a archived, err error) {
	file, err := os.Open(path) // #nosec G304 -- the operator's own file
	if err != nil {
		var wrong *fs.PathError
		if errors.As(err, &wrong) {
			err = wrong.Err
		}
		return a, err
	}
	defer file.Close() //nolint:errcheck // it was only read
	info, err := file.Stat()
	if err != nil {
		return a, err
	}
	a = archived{File: path, Bytes: info.Size(), Left: []string{}}
	a.Range, a.Totals, err = archive.Read(file, func(*archive.Record) error { return nil })
	return a, err
}
