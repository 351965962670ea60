package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/cli/shell"
	"github.com/posthouse/posthouse/internal/config"
	"github.com/posthouse/posthouse/internal/store"
	"github.com/posthouse/posthouse/internal/store/reading"
	"github.com/posthouse/posthouse/internal/verify"
	"github.com/posthouse/posthouse/internal/work"
)

// verifying judges a run by its journals.
type verifying struct {
	*shell.Shell
	events, client, sink, limiter, agents, faults string
	sometimes                                     string
	atRest                                        bool
	keyWindow, slack                              time.Duration
	keep                                          int
	head                                          string
}

func verifyCommand(sh *shell.Shell) *cobra.Command {
	f := &verifying{Shell: sh}
	cmd := &cobra.Command{
		Use: "verify", Short: "Decide from the event log, and what others saw, whether a run kept every promise",
		Long: `Decide from the event log, and what others saw of the same run, whether anything was lost, doubled
without a reason, early, late or over a limit. The log is read from a database, or from a file that
posthouse events wrote. docs/guide/verify.md describes the journals.

The exit code is 0 if every invariant holds, 1 if one is violated, and 2 if the run does not prove
enough, or a journal cannot be read: then there is no report.`,
		Example: `  posthouse verify --sometimes none
  posthouse verify --events events.jsonl --client client.jsonl --sink arrivals.jsonl --at-rest`,
		Args: shell.Takes(),
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.events, "events", "", "the event log as a `FILE`, - for standard input, instead of a database")
	flags.StringVar(&f.client, "client", "", "the producers' journal, a `FILE`: what each caller was told")
	flags.StringVar(&f.sink, "sink", "", "the provider's journal, a `FILE`: what arrived (posthouse simulate --journal writes one)")
	flags.StringVar(&f.limiter, "limiter", "", "the limiter's journal, a `FILE`: what was granted")
	flags.StringVar(&f.agents, "agents", "", "the agents' journal, a `FILE`: what phones asked and what they were told")
	flags.StringVar(&f.faults, "faults", "", "the fault journal, a `FILE`: what was done to the run")
	flags.StringVar(&f.sometimes, "sometimes", "all", "what must have happened for the run to prove anything: all that can be seen, none, or a `LIST` of names")
	flags.BoolVar(&f.atRest, "at-rest", false, "the run had come to rest: nothing that is due may wait")
	flags.Var(&durationFlag{&f.keyWindow}, "key-window", "how long the providers know an idempotency key, a `DURATION`; without it, or with 0, that is not checked")
	f.slack = 100 * time.Millisecond
	flags.Var(&durationFlag{&f.slack}, "slack", "how far the clocks of the journals may be apart, a `DURATION`")
	flags.IntVar(&f.keep, "keep", 3, "show at most this `NUMBER` of violations of each invariant")
	flags.StringVar(&f.head, "head", "", "the `LINK` of the hash chain that posthouse chain printed and somebody kept: it must still be there")
	config.AddFlags(flags, "dsn", "read_dsn", "read_max_lag", "log_level", "log_format")
	return cmd
}

// durationFlag is a duration as settings have it, days too, or 0.
type durationFlag struct{ value *time.Duration }

func (d *durationFlag) Type() string { return "duration" }

func (d *durationFlag) String() string {
	if *d.value == 0 {
		return "" // no default
	}
	return posthouse.Duration(*d.value).String()
}

func (d *durationFlag) Set(text string) error {
	var v posthouse.Duration
	if err := v.UnmarshalText([]byte(text)); err != nil {
		return err
	}
	if v < 0 {
		return errors.New("it must not be negative")
	}
	*d.value = v.Std()
	return nil
}

// run prints the report. An error on the way to it is wrong usage: exit code 1 says that a promise is
// broken, and nothing else.
func (f *verifying) run(cmd *cobra.Command) error {
	if f.events != "" && cmd.Flags().Changed("dsn") {
		return shell.Usagef("--events and --dsn: give one of them")
	}
	if f.events != "" && f.head != "" {
		return shell.Usagef("--head goes with a database, not with --events")
	}
	if f.keep < 0 {
		return shell.Usagef("--keep %d: want 0 or more", f.keep)
	}
	var report verify.Report
	err := f.withInputs(cmd.Context(), func(ctx context.Context, in verify.Inputs) (err error) {
		if in.Events != nil {
			report, err = verify.Check(ctx, in)
			return err
		}
		return withLog(f.Shell, cmd, func(ctx context.Context, s *store.Store) error {
			if err := f.fromStore(ctx, s, &in); err != nil {
				return err
			}
			report, err = verify.Check(ctx, in)
			return err
		})
	})
	var usage shell.UsageFault
	switch {
	case errors.As(err, &usage):
		return err
	case err != nil:
		return shell.Hint(shell.Usagef("no verdict: %s", err), shell.HintFor(err)) // %s: an end by Ctrl-C is no verdict either
	}
	return showReport(f.Shell, &report)
}

// withInputs opens the files and closes them after.
func (f *verifying) withInputs(ctx context.Context, do func(context.Context, verify.Inputs) error) error {
	in := verify.Inputs{AtRest: f.atRest, KeyWindow: f.keyWindow, Slack: cmp.Or(f.slack, -1), Sometimes: shell.List(f.sometimes), Keep: cmp.Or(f.keep, -1)}
	var events io.Reader
	piped := ""
	for _, file := range []struct {
		flag, path string
		into       *io.Reader
	}{
		{"--events", f.events, &events}, {"--client", f.client, &in.Client}, {"--sink", f.sink, &in.Sink},
		{"--limiter", f.limiter, &in.Limiter}, {"--agents", f.agents, &in.Agents}, {"--faults", f.faults, &in.Faults},
	} {
		switch file.path {
		case "":
		case "-":
			if piped != "" {
				return shell.Usagef("%s and %s: standard input can be one of them", piped, file.flag)
			}
			piped, *file.into = file.flag, f.In
		default:
			opened, err := os.Open(file.path)
			var wrong *fs.PathError
			if errors.As(err, &wrong) {
				return shell.Usagef("%s: %s cannot be read: %w", file.flag, file.path, wrong.Err)
			} else if err != nil {
				return err
			}
			defer opened.Close() //nolint:errcheck // it was only read
			*file.into = opened
		}
	}
	if events != nil {
		name := f.events
		if name == "-" {
			name = "standard input"
		}
		in.Events = counted(f.Shell, verify.ReadEvents(name, events))
	}
	return do(ctx, in)
}

// fromStore adds to the inputs what a database knows.
func (f *verifying) fromStore(ctx context.Context, s *store.Store, in *verify.Inputs) error {
	rows, err := s.Channels.Channels(ctx, "")
	if err != nil {
		return err
	}
	for _, row := range rows {
		in.Channels = append(in.Channels, row.Channel)
	}
	if in.Now, err = s.DB.Now(ctx); err != nil {
		return err
	}
	if in.Epoch, err = s.Epochs.Epoch(ctx); err != nil {
		return err
	}
	in.Events, in.Rows, in.References = counted(f.Shell, eventsOf(ctx, s, "")), rowsOf(ctx, s), keysOf(ctx, s)
	in.Campaigns, in.Notifications, in.Collections = judgedCampaigns(ctx, s, in), notificationsOf(ctx, s), collectionsOf(ctx, s)
	if in.Suppressed, err = suppressedIn(ctx, s, in.Channels); err != nil {
		return err
	}
	if in.Seals, err = sealsOf(ctx, s, f.head); err != nil {
		return err
	}
	if f.atRest { // else the counts are of another moment
		in.Stored, in.Kept = map[string]map[posthouse.State]int{}, map[string]verify.Count{}
		in.Events = withMessages(ctx, s, in)
		in.Events = withCounts(ctx, s, in)
	}
	return nil
}

// rowsOf walks over what is stored beside the log.
func rowsOf(ctx context.Context, s *store.Store) iter.Seq2[verify.Stored, error] {
	return func(yield func(verify.Stored, error) bool) {
		err := s.History.Holdings(ctx, func(h reading.Holding) error {
			if !yield(verify.Stored(h), nil) {
				return io.EOF
			}
			return nil
		})
		if err != nil && !errors.Is(err, io.EOF) {
			yield(verify.Stored{}, err)
		}
	}
}

// keysOf walks over the rows that name messages.
func keysOf(ctx context.Context, s *store.Store) iter.Seq2[verify.Reference, error] {
	return func(yield func(verify.Reference, error) bool) {
		err := s.History.KeyHolders(ctx, func(k reading.KeyHolder) error {
			if !yield(verify.Reference{Name: k.Name, Message: k.Message, Missing: !k.Found, Wrong: k.Wrong}, nil) {
				return io.EOF
			}
			return nil
		})
		if err != nil && !errors.Is(err, io.EOF) {
			yield(verify.Reference{}, err)
		}
	}
}

// withCounts fills in the stored and the kept counts when the log has been read, which knows the tenants.
func withCounts(ctx context.Context, s *store.Store, in *verify.Inputs) iter.Seq2[posthouse.Event, error] {
	events, counts := in.Events, in.Stored
	return func(yield func(posthouse.Event, error) bool) {
		for e, err := range events {
			if err == nil && counts[e.Tenant] == nil {
				counts[e.Tenant] = map[posthouse.State]int{}
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
		depths, err := s.Queue.Depths(ctx)
		if err == nil {
			err = count(ctx, s, depths, counts)
		}
		if err == nil {
			err = countPulled(ctx, s, depths, in)
		}
		if err != nil {
			yield(posthouse.Event{}, err)
		}
	}
}

func count(ctx context.Context, s *store.Store, depths []work.Depth, counts map[string]map[posthouse.State]int) error {
	for _, d := range depths {
		if counts[d.Tenant] == nil {
			counts[d.Tenant] = map[posthouse.State]int{}
		}
		counts[d.Tenant][d.State] += d.Count
	}
	for tenant := range counts {
		settled, err := s.Queue.Counts(ctx, tenant, time.Time{})
		if err != nil {
			return err
		}
		for _, c := range settled {
			counts[tenant][c.State] += c.Count
		}
	}
	return nil
}

// countPulled sets the counts that are kept of each channel, which are 0 where agents do not fetch, beside the
// deliveries that are open there. Those of what has settled go on when it is deleted: nothing to compare with.
func countPulled(ctx context.Context, s *store.Store, depths []work.Depth, in *verify.Inputs) error {
	for _, ch := range in.Channels {
		kept, err := s.Handouts.Tally(ctx, ch.Tenant, ch.Name)
		if err != nil {
			return err
		}
		there := map[string]int{}
		for _, d := range depths {
			if d.Pulled && d.Tenant == ch.Tenant && d.Channel == ch.Name {
				there[bucket(&d)] += d.Count
			}
		}
		for name, n := range map[string]int{"new": kept.New, "again": kept.Retry, "processing": kept.Processing, "unknown": kept.Unknown} {
			in.Kept[fmt.Sprintf("channel %s of tenant %s, %s", ch.Name, ch.Tenant, name)] = verify.Count{Kept: n, There: there[name]}
		}
	}
	return nil
}

// bucket is where open deliveries of a lane count.
func bucket(d *work.Depth) string {
	switch {
	case d.State == posthouse.Sending:
		return "processing"
	case d.State == posthouse.Unknown:
		return "unknown"
	case d.State == posthouse.Quarantined:
		return "quarantined" // counts as failed
	case d.Again:
		return "again"
	}
	return "new"
}

func showReport(sh *shell.Shell, r *verify.Report) error {
	var text strings.Builder
	for line := range strings.Lines(r.PageIn(sh.Text, sh.Verdict)) {
		fmt.Fprintln(&text, config.Printable(strings.TrimSuffix(line, "\n")))
	}
	var err error
	if printed := sh.Show(r, func() { _, err = io.WriteString(sh.Out, text.String()) }); printed != nil {
		err = printed
	}
	switch {
	case err != nil:
		return shell.Usagef("the verdict is %q, and the report cannot be written: %s", r.Verdict, err)
	case r.Verdict == verify.Violated:
		return shell.ErrQuiet
	case r.Verdict == verify.Inconclusive:
		return shell.ErrInconclusive
	}
	return nil
}
