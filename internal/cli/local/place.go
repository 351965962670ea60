package local

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse/internal/cli/shell"
	"github.com/posthouse/posthouse/internal/config"
	"github.com/posthouse/posthouse/internal/read"
	"github.com/posthouse/posthouse/internal/shellword"
	"github.com/posthouse/posthouse/internal/store"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

func placeCommand(sh *shell.Shell) *cobra.Command {
	cmd := &cobra.Command{
		Use: "place", Short: "Which place holds the database and sends, of several with a copy each", Args: shell.Takes(),
		RunE: func(cmd *cobra.Command, _ []string) error { return withPlace(sh, cmd, looks, showPlace) },
	}
	config.AddFlags(cmd.Flags(), "dsn", "place", "log_level", "log_format")
	cmd.AddCommand(placeSwitch(sh), placeForget(sh))
	return cmd
}

func placeSwitch(sh *shell.Shell) *cobra.Command {
	var wait time.Duration
	cmd := &cobra.Command{
		Use: "switch TO", Short: "Hand the database over to another place, so that nothing is lost and nothing is sent twice",
		Long: `Run it on the database that takes writes now. The place that holds it accepts and starts nothing more,
ends what it began, and tells callers where to go. Then the command says how the copy of the other place
is promoted: its servers send as soon as it takes writes. Until it was promoted, a switch back to the
first place takes all of it back.`,
		Args: shell.Takes("TO"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := work.CheckPlace(args[0]); err != nil {
				return shell.Usagef("%s", err)
			}
			return withPlace(sh, cmd, changes, func(ctx context.Context, sh *shell.Shell, s *store.Store) error {
				return switchPlace(ctx, sh, s, args[0], wait)
			})
		},
	}
	cmd.Flags().DurationVar(&wait, "wait", 30*time.Second, "how long (`DURATION`) what is under way may take to end; what has not ended then is found by its lease at the other place")
	config.AddFlags(cmd.Flags(), "dsn", "log_level", "log_format")
	return cmd
}

func placeForget(sh *shell.Shell) *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use: "forget", Short: "Let servers without a place work on the database again", Args: shell.Takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !yes {
				return shell.Hint(shell.Usagef("servers without a place would send beside those of the place that holds the database; nothing was changed"), "say --yes if there are no places any more")
			}
			return withPlace(sh, cmd, changes, forgetPlace)
		},
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "do it")
	config.AddFlags(cmd.Flags(), "dsn", "log_level", "log_format")
	return cmd
}

// withPlace opens the database for a command about places; to look, also where it is a standby.
func withPlace(sh *shell.Shell, cmd *cobra.Command, to access, do func(context.Context, *shell.Shell, *store.Store) error) (err error) {
	c, err := sh.Settings(cmd)
	if err != nil {
		return err
	}
	s, err := store.Open(cmd.Context(), store.Options{DSN: c.Server.DSN, Log: c.Logger(sh.Err, sh.ErrTerminal), ReadOnly: to == looks, Standby: to == looks, MustExist: true})
	if err != nil {
		return noFile(err, true)
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := currentSchema(cmd.Context(), s); err != nil {
		return err
	}
	return do(cmd.Context(), sh, s)
}

func showPlace(ctx context.Context, sh *shell.Shell, s *store.Store) error {
	h, err := heldOf(ctx, s)
	if err != nil {
		return err
	}
	return sh.Show(h, func() { sh.Printf("%s\n", sh.Says(h.text())) })
}

func forgetPlace(ctx context.Context, sh *shell.Shell, s *store.Store) error {
	h, found, err := s.Places.Forget(ctx, time.Now())
	if err != nil {
		return err
	}
	return sh.Show(map[string]any{"was": h.Place}, func() {
		if !found {
			sh.Printf("no place held the database: nothing to do\n")
			return
		}
		sh.Printf("%s holds the database no more: servers without a place can work on it\n", h.Place)
	})
}

// switched is what a switch came to.
type switched struct {
	From     string   `json:"from"`
	To       string   `json:"to"`
	Epoch    int64    `json:"epoch"`
	UnderWay int64    `json:"under_way"`
	Silent   []string `json:"silent,omitempty"`
}

func switchPlace(ctx context.Context, sh *shell.Shell, s *store.Store, to string, wait time.Duration) error {
	h, err := s.Places.Leave(ctx, time.Now(), to)
	if err != nil {
		return err
	}
	if h.Phase == work.PhaseHeld {
		return sh.Show(switched{To: to, Epoch: h.Epoch}, func() { sh.Printf("%s holds the database already: nothing to do\n", to) })
	}
	out := switched{From: h.From, To: to, Epoch: h.Epoch}
	if out.UnderWay, out.Silent, err = awaitEnd(ctx, s, h.Epoch, wait); err != nil {
		return err
	}
	if err := s.Places.Ready(ctx, time.Now(), to); err != nil {
		return err
	}
	_, standbys, err := s.DB.Standbys(ctx)
	if err != nil {
		return err
	}
	return sh.Show(out, func() {
		sh.Printf("%s accepts and starts nothing more (epoch %d)\n", out.From, out.Epoch)
		if out.UnderWay > 0 {
			sh.Printf("%d deliveries that it began had not ended after %s: %s finds them by their leases, and what has no result then is unknown\n", out.UnderWay, wait, to)
		}
		if len(out.Silent) > 0 {
			sh.Printf("these processes did not say that they have stopped: %s\n", strings.Join(out.Silent, ", "))
		}
		if s.DB.Dialect == sqldb.MySQL {
			sh.Printf(`
Where %s works on this database it sends now. Where it has a replica, in this order:
1. at %s: have the database take no more writes, and read how far it has written
     SET GLOBAL read_only = ON; SELECT @@gtid_binlog_pos;
2. at %s: wait until the replica has that, and promote it; %s sends as soon as it takes writes
     SELECT MASTER_GTID_WAIT('...'); STOP SLAVE; RESET SLAVE ALL; SET GLOBAL read_only = OFF;
3. at %s: have the old database follow the new one
     SET GLOBAL gtid_slave_pos = @@gtid_binlog_pos; CHANGE MASTER TO MASTER_HOST = '...', MASTER_USE_GTID = slave_pos; START SLAVE;
Until 2, posthouse place switch %s takes it back.
`, to, out.From, to, to, out.From, shellword.Quote(out.From))
			return
		}
		if len(standbys) == 0 {
			sh.Printf("\nNo standby follows this database. Where %s works on the same one it sends now; else bring up its standby before this server is stopped.\n", to)
			return
		}
		sh.Printf(`
Now the database, in this order:
1. at %s: stop PostgreSQL cleanly, which hands the rest of its log to the standby first
     pg_ctl stop -m fast
2. at %s: promote the standby; %s sends as soon as it takes writes
     SELECT pg_promote();
3. at %s: have the old database follow the new one, and start it
     touch $PGDATA/standby.signal; set primary_conninfo to %s; pg_ctl start
Until 2, posthouse place switch %s takes it back.
`, out.From, to, to, out.From, to, shellword.Quote(out.From))
	})
}

// awaitEnd waits until nothing is under way and no process of before is there, but not for ever. It returns what has not ended.
func awaitEnd(ctx context.Context, s *store.Store, epoch int64, wait time.Duration) (underWay int64, silent []string, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	end := time.NewTimer(wait)
	defer end.Stop()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		if underWay, err = s.Places.UnderWay(ctx); err != nil {
			return 0, nil, err
		}
		list, err := read.Processes{Present: s.Processes, Epochs: s.Epochs}.Processes(ctx)
		if err != nil {
			return 0, nil, err
		}
		silent = nil
		for _, p := range list {
			if !p.Gone && p.Epoch < epoch {
				silent = append(silent, p.ID)
			}
		}
		if underWay == 0 && len(silent) == 0 {
			return 0, nil, nil
		}
		select {
		case <-ctx.Done():
			return 0, nil, ctx.Err()
		case <-end.C:
			return underWay, silent, nil
		case <-tick.C:
		}
	}
}
