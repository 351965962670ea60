package main

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/config"
)

// program is one run of the command: where it reads and writes, and what every command shares.
type program struct {
	in       io.Reader
	out, err io.Writer
	environ  []string
	dir      string // where .env is looked for, empty for the working directory
	// terminal and errTerminal tell whether out and err are terminals: tables are coloured there.
	terminal, errTerminal bool

	json bool // --json
}

// run executes a command line and returns the exit code.
func (p *program) run(ctx context.Context, args []string) int {
	root := p.root()
	root.SetArgs(args)
	root.SetIn(p.in)
	root.SetOut(p.out)
	root.SetErr(p.err)
	return p.exit(root.ExecuteContext(ctx))
}

func (p *program) root() *cobra.Command {
	root := group("posthouse", "A message centre: accepts messages, sends each over its channel, and knows what became of it",
		p.serve(), p.demo(), p.simulate(), p.agent(),
		p.send(), p.remind(), p.status(), p.story(), p.explain(), p.cancel(), p.replay(), p.resolve(),
		p.channel(), p.agents(), p.template(), p.roster(), p.user(), p.task(), p.job(), p.workflow(), p.key(), p.outbox(),
		p.events(), p.verify(), p.migrate(), p.imports(), p.doctor(), p.version(),
	)
	root.PersistentFlags().BoolVar(&p.json, "json", false, "print JSON")
	root.SetFlagErrorFunc(flagFault)
	root.SilenceErrors, root.SilenceUsage = true, true
	root.CompletionOptions.HiddenDefaultCmd = true
	return root
}

// group is a command that only holds others.
func group(use, short string, commands ...*cobra.Command) *cobra.Command {
	g := &cobra.Command{Use: use, Short: short, Args: cobra.ArbitraryArgs}
	g.AddCommand(commands...)
	g.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		var names []string
		for _, c := range commands {
			names = append(names, c.Name())
		}
		_, path, _ := strings.Cut(cmd.CommandPath()+" ", " ")
		return usagef("%s%q: %s", path, args[0], channel.UnknownName("command", args[0], names))
	}
	return g
}

// flagFault names the flags there are where one is not known.
func flagFault(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) || unknown.GetSpecifiedShortnames() != "" {
		return usagef("%w", err)
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	return usagef("--%s: %s", unknown.GetSpecifiedName(), channel.UnknownName("flag", unknown.GetSpecifiedName(), names))
}

// takes says which arguments a command wants, all of them required.
func takes(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < len(names) {
			return usagef("%s is missing: %s", names[len(args)], cmd.UseLine())
		}
		if len(args) > len(names) {
			return usagef("%q is one argument too many: %s", args[len(names)], cmd.UseLine())
		}
		return nil
	}
}

// sources is where a command's settings come from.
func (p *program) sources(cmd *cobra.Command) config.Sources {
	return config.Sources{Flags: cmd.Flags(), Environ: p.environ, Dir: p.dir}
}

// settings reads the server's settings; what is wrong with them is wrong usage.
func (p *program) settings(cmd *cobra.Command) (config.Config, error) {
	c, err := config.Load(p.sources(cmd))
	if err != nil {
		return c, usagef("%w", err)
	}
	c.Server.Version = version
	return c, nil
}
