package local

import (
	"cmp"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/cli/agent"
	"github.com/posthouse/posthouse/internal/cli/shell"
	"github.com/posthouse/posthouse/internal/config"
	"github.com/posthouse/posthouse/internal/shellword"
)

const agentHelp = `Run a sender app: it fetches what is to be sent from a server, hands it to a phone, and reports what
came of it. The phone is a file that each message is written to, standard output where none is named, or one of the
simulator's, whose page shows what was sent. The source of this command is a reference for authors of real apps.

The protocol native (/v1/agents) needs the agent's own key: posthouse agent add phone-1 --channel sms prints one. The protocol sms is
the SMS front door's (/api/v1/sms), with its user and password or with an API key.

The journal makes sure that nothing is sent twice, however the app ends: what was under way when it died is reported as
unknown. A stop (SIGINT, SIGTERM) finishes the message that is under way and gives the others back.`

// sender is a sender app with its flags.
type sender struct {
	*shell.Shell
	o                   agent.Options
	out, phone, journal string
	failing, unknown    float64
	seed                uint64
	capabilities        []string
}

// AgentRun is the command of a sender app. It stands beside those that set up what it is for.
func AgentRun(sh *shell.Shell) *cobra.Command {
	f := &sender{Shell: sh}
	cmd := sh.Calling(&cobra.Command{
		Use: "run", Short: "Run a sender app that fetches, sends and reports, as a phone does",
		Long: agentHelp,
		Example: `  posthouse agent run --app-id phone-1 --key ph_… --phone http://127.0.0.1:8090
  posthouse agent run --app-id phone-1 --protocol sms --user sms --password … --out sent.jsonl
  posthouse agent run --app-id phone-1 --failure-rate 0.2 --unknown-rate 0.05 --pace 4s --once`,
		Args: shell.Takes(),
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	})
	f.describe(cmd.Flags())
	return cmd
}

func (f *sender) describe(flags *pflag.FlagSet) {
	flags.StringVar(&f.o.ID, "app-id", "", "the `ID` of the agent")
	flags.StringVar(&f.o.Protocol, "protocol", agent.Native, "the `PROTOCOL`: native or sms")
	flags.StringVar(&f.o.User, "user", "", "the SMS front door's `USER` [$BASIC_AUTH_USERNAME]")
	flags.StringVar(&f.o.Password, "password", "", "and its `PASSWORD`; better given by its variable, where others cannot read it [$BASIC_AUTH_PASSWORD]")
	flags.StringVar(&f.out, "out", "", "send by writing a line of JSON to this `FILE` (default standard output)")
	flags.StringVar(&f.phone, "phone", "", "send by the phone of a simulator, a `URL` such as http://127.0.0.1:8090")
	flags.StringVar(&f.journal, "journal", "", "the `FILE` that knows what was sent, or none (default posthouse-agent-ID.jsonl)")
	flags.Float64Var(&f.failing, "failure-rate", 0, "the `SHARE` of messages that are not sent, by chance, 0 to 1")
	flags.Float64Var(&f.unknown, "unknown-rate", 0, "the `SHARE` of messages of which nobody knows whether they were sent")
	flags.Uint64Var(&f.seed, "seed", 1, "the `NUMBER` that chance begins with")
	flags.IntVar(&f.o.Max, "max", 10, "how `MANY` messages are fetched at once, 1 to 100")
	flags.DurationVar(&f.o.Wait, "wait", 30*time.Second, "how long the server may wait for work, a `DURATION` of at most 1m (native)")
	flags.DurationVar(&f.o.Poll, "poll", 0, "how long to wait after nothing was fetched, a `DURATION` (default 5s with sms, none with native)")
	flags.DurationVar(&f.o.Pace, "pace", 0, "the least time from one message to the next, a `DURATION`")
	flags.StringSliceVar(&f.capabilities, "capability", nil, "what the phone can do, `NAME=VALUE` such as operator=cmcc (native)")
	flags.BoolVar(&f.o.RetryUnknown, "retry-unknown", false, "have sent again what may have left (sms; native leaves it to the channel)")
	flags.StringVar(&f.o.App, "name", "posthouse-agent/"+f.Version, "what the app says of itself, a `NAME` (native)")
	flags.BoolVar(&f.o.Once, "once", false, "end when there is nothing to fetch, and what the phone has got is handed in")
}

func (f *sender) run(cmd *cobra.Command) (err error) {
	closing, err := f.equip(cmd)
	if err != nil {
		return err
	}
	defer func() {
		if e := closing(); err == nil {
			err = e
		}
	}()
	app, err := agent.New(f.o)
	if posthouse.CodeOf(err) == posthouse.CodeInvalid {
		return shell.Usagef("%w", err)
	}
	if err != nil {
		return err
	}
	ctx, release := untilSignal(cmd.Context())
	defer release()
	switch err := app.Run(ctx); {
	case posthouse.CodeOf(err) == posthouse.CodeForbidden:
		return shell.Hint(err, "give the agent's own key: posthouse agent key "+shellword.Quote(f.o.ID)+" makes one")
	case err != nil:
		return err
	}
	t := app.Totals()
	return f.Show(t, func() {
		if f.phone+f.out != "" { // else what was sent stands here
			f.Printf("sent %d, not sent %d, unknown %d, given back %d\n", t.Sent, t.NotSent, t.Unknown, t.Given)
		}
	})
}

// equip gives an agent its login, its phone and its journal.
func (f *sender) equip(cmd *cobra.Command) (closing func() error, err error) {
	c, err := config.LoadClient(f.Sources(cmd))
	if err != nil {
		return nil, shell.Usagef("%w", err)
	}
	f.o.URL, f.o.Key = c.URL, c.Key
	if err := f.check(); err != nil {
		return nil, err
	}
	if f.o.Capabilities, err = shell.Pairs("--capability", f.capabilities); err != nil {
		return nil, err
	}
	if f.o.Protocol == agent.SMS {
		f.login()
	}
	f.o.Log = config.Config{}.Logger(f.Err, f.ErrTerminal)
	if f.journal == "" {
		f.journal = "posthouse-agent-" + f.o.ID + ".jsonl"
	}
	if f.journal != "none" {
		f.o.Journal = f.journal
	}
	return f.equipPhone()
}

// check finds what is wrong with the flags before anything is opened.
func (f *sender) check() error {
	switch {
	case f.o.ID == "":
		return shell.Usagef("--app-id is missing: the id that the server knows the agent by")
	case f.out != "" && f.phone != "":
		return shell.Usagef("--out and --phone are two ways to send: one is allowed")
	case f.failing < 0 || f.unknown < 0 || f.failing+f.unknown > 1:
		return shell.Usagef("--failure-rate and --unknown-rate are %g and %g: each must be 0 or more, and both together at most 1", f.failing, f.unknown)
	case f.o.Max < 1 || f.o.Max > 100:
		return shell.Usagef("--max: is %d: 1 to 100 are allowed", f.o.Max)
	case f.o.Wait < 0 || f.o.Wait > time.Minute:
		return shell.Usagef("--wait: is %s: 0s to 1m are allowed", f.o.Wait)
	}
	return nil
}

// login fills in user and password from the variables that the front door has them from. An API key takes
// their place.
func (f *sender) login() {
	for _, entry := range f.Environ {
		switch name, value, _ := strings.Cut(entry, "="); name {
		case "BASIC_AUTH_USERNAME":
			f.o.User = cmp.Or(f.o.User, value)
		case "BASIC_AUTH_PASSWORD":
			f.o.Password = cmp.Or(f.o.Password, value)
		}
	}
}

// equipPhone makes what the agent sends with; closing ends it.
func (f *sender) equipPhone() (closing func() error, err error) {
	closing = func() error { return nil }
	switch {
	case f.phone != "":
		f.o.Phone = agent.Simulated(f.phone, f.o.ID, &http.Client{})
	case f.out != "":
		file, err := os.OpenFile(f.out, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return nil, shell.Usagef("--out: the file cannot be written: %w", err)
		}
		f.o.Phone, closing = agent.Paper(file), file.Close
	default:
		f.o.Phone = agent.Paper(f.Out)
	}
	f.o.Phone = agent.Flaky(f.o.Phone, f.failing, f.unknown, f.seed)
	return closing, nil
}
