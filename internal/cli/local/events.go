package local

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/cli/shell"
	"github.com/posthouse/posthouse/internal/config"
	"github.com/posthouse/posthouse/internal/store"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/verify"
)

func eventsCommand(sh *shell.Shell) *cobra.Command {
	var tenant string
	cmd := &cobra.Command{
		Use: "events", Short: "Print the event log, one JSON object a line",
		Long: `Print the event log from the database, one JSON object a line, sorted by delivery and version:
what posthouse verify reads. It asks no server, and can run beside one.`,
		Example: `  posthouse events > events.jsonl
  posthouse events --dsn postgres://posthouse@db/posthouse | gzip > events.jsonl.gz`,
		Args: shell.Takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withLog(sh, cmd, func(ctx context.Context, s *store.Store) error { return printEvents(ctx, sh, s, tenant) })
		},
	}
	cmd.Flags().StringVar(&tenant, "tenant", "", "the events of one `TENANT` only")
	config.AddFlags(cmd.Flags(), "dsn", "read_dsn", "read_max_lag", "log_level", "log_format")
	return cmd
}

func printEvents(ctx context.Context, sh *shell.Shell, s *store.Store, tenant string) error {
	out := bufio.NewWriterSize(sh.Out, 256<<10)
	for e, err := range counted(sh, eventsOf(ctx, s, tenant)) {
		if err != nil {
			return err
		}
		if err := shell.WriteJSON(out, e, ""); err != nil {
			return fmt.Errorf("write the event log: %w", err)
		}
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write the event log: %w", err)
	}
	return nil
}

// withLog opens a database to read its event log. It makes none, and changes nothing.
func withLog(sh *shell.Shell, cmd *cobra.Command, do func(context.Context, *store.Store) error) (err error) {
	c, err := sh.Settings(cmd)
	if err != nil {
		return err
	}
	if path, ok := sqldb.SQLiteFile(c.Server.DSN); ok {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return shell.Hint(shell.Usagef("there is no file %s", path), "--dsn or POSTHOUSE_DSN names the database")
		}
	}
	s, err := store.Open(cmd.Context(), store.Options{DSN: c.Server.DSN, Log: c.Logger(sh.Err, sh.ErrTerminal), ReadOnly: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if have, _, err := s.Schema.Schema(cmd.Context()); err == nil && have == 0 {
		return shell.Hint(fmt.Errorf("this is no Posthouse database: none of its tables can be read (%s)", database(c.Server.DSN)),
			"--dsn or POSTHOUSE_DSN names the database")
	}
	if err := currentSchema(cmd.Context(), s); err != nil {
		return err
	}
	copied, err := shownBy(cmd.Context(), sh, c, s)
	if err != nil {
		return err
	}
	if copied != s {
		defer func() { err = errors.Join(err, copied.Close()) }()
	}
	return do(cmd.Context(), copied)
}

// eventsOf walks over the event log of a tenant, or of all.
func eventsOf(ctx context.Context, s *store.Store, tenant string) iter.Seq2[posthouse.Event, error] {
	return func(yield func(posthouse.Event, error) bool) {
		_, err := s.History.ExportEvents(ctx, tenant, "", func(e posthouse.Event) error {
			if !yield(e, nil) {
				return io.EOF
			}
			return nil
		})
		if err != nil && !errors.Is(err, io.EOF) {
			yield(posthouse.Event{}, err)
		}
	}
}

// withMessages sets, when the log has been read, how many messages of each tenant it tells of beside how many
// are stored, and names the tenants of these whose deliveries are to be counted.
func withMessages(ctx context.Context, s *store.Store, in *verify.Inputs) iter.Seq2[posthouse.Event, error] {
	events, last := in.Events, ""
	told := map[string]int{}
	return func(yield func(posthouse.Event, error) bool) {
		for e, err := range events {
			if err == nil && e.Message != last { // those of a message follow each other
				told[e.Tenant]++
				last = e.Message
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
		stored, err := s.History.MessageCounts(ctx)
		if err != nil {
			yield(posthouse.Event{}, err)
			return
		}
		for tenant, n := range told {
			in.Kept["messages of tenant "+tenant+", by the log"] = verify.Count{Kept: n, There: stored[tenant]}
		}
		for tenant, n := range stored {
			in.Kept["messages of tenant "+tenant+", by the log"] = verify.Count{Kept: told[tenant], There: n}
			if in.Stored[tenant] == nil {
				in.Stored[tenant] = map[posthouse.State]int{}
			}
		}
	}
}

// counted tells a terminal now and then how many events have gone by.
func counted(sh *shell.Shell, events iter.Seq2[posthouse.Event, error]) iter.Seq2[posthouse.Event, error] {
	if !sh.ErrTerminal {
		return events
	}
	return func(yield func(posthouse.Event, error) bool) {
		n, said := 0, time.Now()
		defer sh.Notef("\r\x1b[K")
		for e, err := range events {
			if n++; n%4096 == 0 && time.Since(said) > 500*time.Millisecond {
				sh.Notef("\r%d events", n)
				said = time.Now()
			}
			if !yield(e, err) {
				return
			}
		}
	}
}
