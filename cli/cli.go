package cli

import (
	"cmp"
	"context"
	"os"
	"runtime/debug"
	"slices"
	_ "time/tzdata" // rosters have time zones, and a small machine may have none

	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/cli/follow"
	"github.com/posthouse/posthouse/internal/cli/local"
	"github.com/posthouse/posthouse/internal/cli/media"
	"github.com/posthouse/posthouse/internal/cli/process"
	"github.com/posthouse/posthouse/internal/cli/remote"
	"github.com/posthouse/posthouse/internal/cli/shell"
	"github.com/posthouse/posthouse/rule"
)

// Options says what a program is made of. The zero value is posthouse itself.
type Options struct {
	// Drivers are the channel drivers there are. Defaults to those of channel/builtin.
	Drivers []channel.Type
	// Rules are the rules that channels can be given. Defaults to rule.Types().
	Rules []rule.Type
	// Version is what the program says of itself. Defaults to that of the module it was built from, or "dev".
	Version string
	// Commit and Date say what was built, and when that was committed. Default to what Go has noted of the build.
	Commit, Date string
}

// Main runs the command line of this process and ends it with the command's exit code.
func Main(o Options) {
	sh := o.shell()
	sh.In, sh.Out, sh.Err, sh.Environ = os.Stdin, os.Stdout, os.Stderr, os.Environ()
	sh.Terminal = isatty.IsTerminal(os.Stdout.Fd())
	sh.Width = width(os.Stdout)
	sh.ErrTerminal = isatty.IsTerminal(os.Stderr.Fd())
	os.Exit(run(context.Background(), sh, os.Args[1:]))
}

func (o Options) shell() *shell.Shell {
	version, commit, date := noted(debug.ReadBuildInfo())
	return &shell.Shell{
		Drivers: o.Drivers, Rules: o.Rules, Version: cmp.Or(o.Version, version, "dev"), Commit: cmp.Or(o.Commit, commit), Date: cmp.Or(o.Date, date),
	}
}

// noted is what Go has noted of a build: go install takes a version, go build a commit.
func noted(info *debug.BuildInfo, ok bool) (version, commit, date string) {
	if !ok {
		return "", "", ""
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			commit = s.Value
		case "vcs.time":
			date = s.Value
		}
	}
	if version = info.Main.Version; version == "(devel)" {
		version = ""
	}
	return version, commit, date
}

// run executes a command line and returns the exit code.
func run(ctx context.Context, sh *shell.Shell, args []string) int {
	root := root(sh)
	root.SetArgs(former(args))
	root.SetIn(sh.In)
	root.SetOut(sh.Out)
	root.SetErr(sh.Err)
	err := root.ExecuteContext(ctx)
	if err != nil {
		sh.Overhear(args)
	}
	return sh.Exit(err)
}

func root(sh *shell.Shell) *cobra.Command {
	commands := slices.Concat(local.Processes(sh), remote.Commands(sh), media.Commands(sh), process.Commands(sh), follow.Commands(sh))
	root := shell.Group("posthouse", "A message centre: accepts messages, sends each over its channel, and knows what became of it",
		append(commands, local.Tools(sh)...)...)
	root.PersistentFlags().BoolVar(&sh.JSON, "json", false, "print JSON")
	sh.AddLang(root.PersistentFlags())
	root.SetFlagErrorFunc(shell.FlagFault)
	root.SilenceErrors, root.SilenceUsage = true, true
	root.AddCommand(manCommand())
	if agents, _, err := root.Find([]string{"agent"}); err == nil {
		agents.AddCommand(local.AgentRun(sh))
	}
	inChapters(root)
	shell.Strict(root)
	completing(root, closedSets())
	readable(root, sh.Columns())
	return root
}
