package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/channel/builtin"
	"github.com/posthouse/posthouse/internal/channels"
	"github.com/posthouse/posthouse/internal/cli/shell"
	"github.com/posthouse/posthouse/internal/config"
	"github.com/posthouse/posthouse/internal/read"
	"github.com/posthouse/posthouse/internal/secret"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/store"
	"github.com/posthouse/posthouse/internal/store/schema"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/wire"
)

// finding is one thing the doctor looked at.
type finding wire.Finding

// clockSlack is how far this machine's clock may be from the database's: leases are longer by far,
// but schedules and deadlines should not be wrong by more.
const clockSlack = 2 * time.Second

func doctorCommand(sh *shell.Shell) *cobra.Command {
	var full bool
	cmd := &cobra.Command{
		Use: "doctor", Short: "Look for what is unsafe or broken: database, schema, clock, keyring, channels; exit 1 if anything is",
		Args: shell.Takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := sh.Settings(cmd)
			if err != nil {
				return err
			}
			c.Server.Log = c.Logger(sh.Err, sh.ErrTerminal)
			return report(sh, examine(cmd.Context(), c, full))
		},
	}
	cmd.Flags().BoolVar(&full, "full", false, "look at all of an SQLite file's structure, however long it takes")
	config.AddFlags(cmd.Flags(), "dsn", "place", "read_dsn", "read_max_lag", "redis", "time_zone", "keyring_file", "allow_networks", "allow_private", "log_level", "log_format")
	return cmd
}

func report(sh *shell.Shell, found []finding) error {
	sick := 0
	rows := make([][]string, len(found))
	for i, f := range found {
		verdict := sh.Text("ok")
		if !f.OK {
			verdict = sh.Text("UNSAFE")
			sick++
		}
		rows[i] = []string{verdict, sh.Label(f.Check), f.Detail}
	}
	err := sh.Show(map[string]any{"healthy": sick == 0, "findings": found}, func() {
		sh.Table([]string{"", "What", "Finding"}, rows)
	})
	if err == nil && sick > 0 {
		return shell.ErrQuiet
	}
	return err
}

// examiner is what the server asks where a person has it look at itself: just what the command does.
func examiner(c config.Config) func(ctx context.Context) []wire.Finding {
	return func(ctx context.Context) (list []wire.Finding) {
		for _, f := range examine(ctx, c, false) {
			list = append(list, wire.Finding(f))
		}
		return list
	}
}

// examine looks at everything that can be looked at and changes nothing.
func examine(ctx context.Context, c config.Config, full bool) []finding {
	switch none := sqldb.MissingFile(c.Server.DSN); {
	case none == nil:
	case none.Trace != "":
		return []finding{{"database", false, none.Error()}}
	default:
		return []finding{{"database", false, none.Error() + ": posthouse serve or posthouse migrate makes it, with --create where it is not the default one"}}
	}
	s, err := store.Open(ctx, store.Options{DSN: c.Server.DSN, Log: c.Server.Log, ReadOnly: true, Standby: c.Server.Place != ""})
	if err != nil {
		return []finding{{"database", false, err.Error()}}
	}
	defer s.Close() //nolint:errcheck // it was only read
	out := append([]finding{{"database", true, database(c.Server.DSN)}}, wayTo(s.DB.Way())...)
	out = append(out, examineRoom(s.DB.Room(ctx))...)
	if weak := c.Server.SMS.Weak(); weak != "" {
		out = append(out, finding{"front door", false, weak})
	}
	out = append(out, examineMail(ctx, c.Server)...)
	out = append(out, examineSettings(ctx, s)...)
	out = append(out, examineStandbys(ctx, s)...)
	out = append(out, examineReplica(ctx, s, c)...)
	out = append(out, examineFile(ctx, s, full)...)
	schema, whole := examineSchema(ctx, s)
	out = append(append(out, schema...), examineClock(ctx, s))
	ring, keyring := examineKeyring(c)
	out = append(out, keyring)
	if whole {
		out = append(out, examinePlace(ctx, s, c.Server.Place)...)
		out = append(out, examineTide(ctx, s, c)...)
		out = append(out, examineViews(ctx, s)...)
		out = append(out, examinePartitions(ctx, s)...)
		out = append(out, examineProcesses(ctx, s)...)
		out = append(out, examineFronts(ctx, s, time.Now())...)
		out = append(out, examineBudgets(ctx, s, c, time.Now())...)
		out = append(out, examineQuiet(ctx, s)...)
		out = append(out, examineHeld(ctx, s)...)
	}
	if whole && ring != nil {
		out = append(out, examineChannels(ctx, s, ring, c)...)
		out = append(out, examineKeys(ctx, s, ring, c)...)
	}
	return out
}

// wayTo says what stands before a PostgreSQL, and how that was known.
func wayTo(way sqldb.Way, found bool) []finding {
	const name = "connections"
	switch {
	case way == sqldb.Direct:
		return []finding{{name, true, "the server's own sessions"}}
	case way == sqldb.BySession:
		return []finding{{name, true, "by a pooler that keeps a session for each client, as pool=session says"}}
	case way == sqldb.ByTransaction && found:
		return []finding{{name, true, "by a pooler, which was found out: nothing rests on a session (pool=transaction). Where it keeps a session for each client, pool=session saves some time"}}
	case way == sqldb.ByTransaction:
		return []finding{{name, true, "nothing rests on a session, as pool=transaction says"}}
	}
	return nil
}

// examineRoom says whether the server has connections left for another process.
func examineRoom(r sqldb.Room, err error) []finding {
	const name = "connections"
	switch {
	case err != nil:
		return []finding{{name, false, err.Error()}}
	case r.Most == 0:
		return nil
	case r.Tight():
		return []finding{{name, false, fmt.Sprintf("%d of the server's %d are in use, and a process takes up to %d: raise max_connections, or put a pooler before it", r.Used, r.Most, r.Own)}}
	}
	return []finding{{name, true, fmt.Sprintf("%d of the server's %d are in use; a process takes up to %d", r.Used, r.Most, r.Own)}}
}

func examineSettings(ctx context.Context, s *store.Store) []finding {
	unsafe, err := s.DB.Doctor(ctx)
	if err != nil {
		return []finding{{"database settings", false, err.Error()}}
	}
	var out []finding
	for _, f := range unsafe {
		out = append(out, finding{f.Setting, false, fmt.Sprintf("it is %s: %s", f.Value, f.Why)})
	}
	if len(out) == 0 {
		out = append(out, finding{"database settings", true, "durable"})
	}
	return out
}

// examineTide says whether the database went back since a process that remembers in this folder saw it.
func examineTide(ctx context.Context, s *store.Store, c config.Config) []finding {
	const name = "restore"
	now, found, err := s.Tides.Watermark(ctx)
	if err != nil || !found {
		return nil // no server has worked on it
	}
	seen, err := schema.Remembered(schema.MarkFolder(c.Server.StateDir, c.Server.DSN), now.History)
	if err == nil && now.At.Before(seen) { // a server that works may have raised both between the two looks
		if now, found, err = s.Tides.Watermark(ctx); err == nil && !found {
			return nil
		}
	}
	switch {
	case err != nil:
		return []finding{{name, false, "what was seen of the database before cannot be read: " + err.Error()}}
	case now.At.Before(seen):
		back := schema.WentBack{Seen: schema.Watermark{History: now.History, At: seen}, Found: now}
		return []finding{{name, false, back.Error() + ": run posthouse migrate new-epoch --yes before a server starts, or what was sent since is sent again"}}
	}
	return nil
}

// examineProcesses says whether all processes of the database are of one kind.
func examineProcesses(ctx context.Context, s *store.Store) []finding {
	list, err := read.Processes{Present: s.Processes, Epochs: s.Epochs}.Processes(ctx)
	if err != nil {
		return []finding{{"processes", false, err.Error()}}
	}
	return ofOneKind(list)
}

// ofOneKind compares the processes that are at work. Two versions are no fault: one may be taking over from the other.
func ofOneKind(list []wire.Process) []finding {
	there := 0
	versions, keyrings := map[string]bool{}, map[string]bool{}
	var out []finding
	for _, p := range list {
		if p.Gone {
			continue
		}
		there++
		versions[p.Version], keyrings[p.Key+" "+p.Keyring] = true, true
		if p.Stale {
			out = append(out, finding{"process " + p.ID, false, "the database was restored under it: restart it"})
		}
		if p.Untrusted {
			out = append(out, finding{"process " + p.ID, false, "requests come to it by a proxy that it does not trust: wrong passwords are bounded by user there, and strangers can make users wait. Name the proxy in trusted_proxies"})
		}
	}
	said := fmt.Sprintf("%d at work", there)
	if len(versions) > 1 {
		said += ", of the versions " + strings.Join(slices.Sorted(maps.Keys(versions)), ", ") + ": start the older ones anew"
	}
	if len(keyrings) > 1 {
		out = append(out, finding{"keyrings", false, "processes have different ones, by newest key and fingerprint: " + strings.Join(slices.Sorted(maps.Keys(keyrings)), ", ") +
			". What one seals another may not open: give all of them the same keys and start them anew"})
	}
	return append([]finding{{"processes", true, said}}, out...)
}

// examinePartitions says how what is old is deleted. It is no fault to do so row by row.
func examinePartitions(ctx context.Context, s *store.Store) []finding {
	const name = "partitions"
	p, err := s.Upkeep.Partitions(ctx)
	switch {
	case err != nil:
		return []finding{{name, false, err.Error()}}
	case !p.Known:
		return nil
	case p.Until.Before(p.Now):
		return []finding{{name, true, "none is made for what is stored now: what is old is deleted row by row, which costs more. " +
			"A running server makes them where its user owns the tables (PostgreSQL) or has the rights of migrate (MariaDB), and its log says what stands in the way"}}
	}
	return []finding{{name, true, fmt.Sprintf("%d, made until %s: what is old is dropped with its partition", p.Number, p.Until.Format(time.DateOnly))}}
}

// fileCheck bounds the look at the structure of an SQLite file.
const fileCheck = 10 * time.Second

// examineFile looks at the structure of an SQLite file.
func examineFile(ctx context.Context, s *store.Store, full bool) []finding {
	const name = "file"
	within := fileCheck
	if full {
		within = 0
	}
	found, err := s.DB.Sound(ctx, within)
	switch {
	case s.DB.SharedClock():
		return nil // another database, which looks after its files itself
	case err != nil:
		return []finding{{name, false, err.Error()}}
	case !found.Whole:
		return []finding{{name, true, fmt.Sprintf("no damage found within %s; --full looks at all of it", fileCheck)}}
	case full && len(found.Problems) == 0:
		return []finding{{name, true, "sound, every index too"}}
	case len(found.Problems) == 0:
		return []finding{{name, true, "sound"}}
	}
	var out []finding
	for _, p := range found.Problems {
		out = append(out, finding{name, false, "damaged: " + p})
	}
	return out
}

// examineSchema compares the schema with this binary's, and reports whether one can go by it.
func examineSchema(ctx context.Context, s *store.Store) (out []finding, whole bool) {
	const name = "schema"
	have, want, err := s.Schema.Schema(ctx)
	switch {
	case err != nil:
		return []finding{{name, false, err.Error()}}, false
	case have < want:
		return []finding{{name, false, fmt.Sprintf("version %d, this binary wants %d: posthouse migrate brings it up", have, want)}}, false
	}
	if err := s.Schema.Suits(ctx); err != nil {
		return []finding{{name, false, err.Error()}}, false
	}
	drift, err := s.Schema.Drift(ctx)
	if err == nil {
		err = drift.Err()
	}
	if err != nil {
		out = append(out, finding{name, false, err.Error()})
	} else {
		out = append(out, finding{name, true, fmt.Sprintf("version %d, whole", have)})
	}
	for _, part := range drift.Missing {
		out = append(out, finding{name, false, part})
	}
	for _, part := range drift.Besides {
		out = append(out, finding{name, true, "not of Posthouse: " + part})
	}
	return out, err == nil
}

// examineViews lists the documents' views that are missing. Nothing of ours reads them, so that is no fault.
func examineViews(ctx context.Context, s *store.Store) []finding {
	views, err := s.Schema.DocumentViews(ctx)
	if err != nil {
		return []finding{{"views", false, err.Error()}}
	}
	var out []finding
	for _, v := range views {
		if v.Problem != "" {
			out = append(out, finding{"view " + v.Name, true, v.Problem})
		}
	}
	return out
}

func examineClock(ctx context.Context, s *store.Store) finding {
	before := time.Now()
	there, err := s.DB.Now(ctx)
	if err != nil {
		return finding{"clock", false, err.Error()}
	}
	away := there.Sub(before.Add(time.Since(before) / 2)).Round(time.Millisecond)
	if away.Abs() > clockSlack {
		return finding{"clock", false, fmt.Sprintf("this machine and the database differ by %s: have both keep time (NTP)", away)}
	}
	if !s.DB.SharedClock() {
		return finding{"clock", true, "the machine's own"}
	}
	return finding{"clock", true, fmt.Sprintf("%s from the database's", away.Abs())}
}

// examineKeyring opens the keyring as the server does, but makes none.
func examineKeyring(c config.Config) (*secret.Keyring, finding) {
	ring, from, err := keyringOf(c)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, finding{"keyring", false, "there is no file " + from + ": without it no channel with secrets opens (the first start makes one beside an SQLite file, or with create_keyring)"}
	case err != nil:
		return nil, finding{"keyring", false, err.Error()}
	}
	return ring, finding{"keyring", true, fmt.Sprintf("%d keys, %s", len(ring.IDs()), from)}
}

// keyringOf is the keyring that the server has, and where it is from.
func keyringOf(c config.Config) (ring *secret.Keyring, from string, err error) {
	if c.Server.Keyring != "" {
		ring, err = secret.Parse(c.Server.Keyring)
		return ring, "from POSTHOUSE_KEYRING", err
	}
	from = cmp.Or(c.Server.KeyringFile, keyringBeside(c.Server.DSN))
	ring, err = secret.Load(from)
	return ring, from, err
}

func keyringBeside(dsn string) string {
	if path, ok := sqldb.SQLiteFile(dsn); ok {
		return filepath.Join(filepath.Dir(path), "posthouse.keys")
	}
	return "posthouse.keys"
}

// drivers are those that the server has.
func drivers(c config.Config) []channel.Type {
	if len(c.Server.Drivers) == 0 {
		return builtin.Types()
	}
	return c.Server.Drivers
}

// statesOf says how many channels that can be opened send now: one that is paused or parked is no fault, and not open either.
func statesOf(ctx context.Context, s *store.Store, rows []work.ChannelRow) (string, error) {
	gates, err := s.Gates.Gates(ctx, "")
	if err != nil {
		return "", err
	}
	list := make([]posthouse.Channel, len(rows))
	for i, row := range rows {
		list[i] = row.Channel
	}
	channels.State(time.Now(), list, gates, func(string, string) error { return nil })
	n := map[posthouse.ChannelState]int{}
	for _, ch := range list {
		n[ch.State]++
	}
	if n[posthouse.ChannelOpen] == len(list) {
		return fmt.Sprintf("%d, all of them open", len(list)), nil
	}
	return fmt.Sprintf("%d: %d open, %d paused, %d parked, %d broken", len(list), n[posthouse.ChannelOpen], n[posthouse.ChannelPaused], n[posthouse.ChannelParked], n[posthouse.ChannelBroken]), nil
}

// examineChannels opens every channel as the server does.
func examineChannels(ctx context.Context, s *store.Store, ring *secret.Keyring, c config.Config) []finding {
	opener, err := channels.NewOpener(channels.OpenerOptions{
		Types: drivers(c), Keyring: ring, Log: c.Server.Log, Output: io.Discard,
		Network: channel.Network{Allow: c.Server.AllowNetworks, AllowPrivate: c.Server.AllowPrivate},
	})
	if err != nil {
		return []finding{{"channels", false, err.Error()}}
	}
	rows, err := s.Channels.Channels(ctx, "")
	if err != nil {
		return []finding{{"channels", false, err.Error()}}
	}
	var out []finding
	for _, row := range rows {
		err := row.Err
		if err == nil {
			var opened state.Opened
			if opened, err = opener.OpenStored(row.Channel); err == nil {
				opener.Close(opened)
			}
		}
		if err != nil {
			out = append(out, finding{"channel " + row.Channel.Name, false, err.Error()})
		}
	}
	if len(out) == 0 {
		states, err := statesOf(ctx, s, rows)
		if err != nil {
			return []finding{{"channels", false, err.Error()}}
		}
		out = append(out, finding{"channels", true, states})
	}
	return out
}
