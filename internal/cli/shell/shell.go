package shell

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/config"
	"github.com/posthouse/posthouse/rule"
)

// Shell is one run of the program: where it reads and writes, what it is made of, and what every command shares.
type Shell struct {
	In       io.Reader
	Out, Err io.Writer
	Environ  []string
	Dir      string // where .env is looked for, empty for the working directory
	// Terminal and ErrTerminal tell whether Out and Err are terminals: tables are coloured there.
	Terminal, ErrTerminal bool
	// Width is how many columns the terminal has, 0 where that is not known.
	Width int
	// JSON asks for JSON in place of what people read: --json.
	JSON bool
	// Version is the program's own; Commit and Date what it was built of.
	Version, Commit, Date string
	// Drivers are the channel drivers there are. Empty stands for those of channel/builtin.
	Drivers []channel.Type
	// Rules are the rules that channels can be given. Empty stands for rule.Types().
	Rules []rule.Type

	lang     language       // --lang
	zoneName string         // --zone
	zone     *time.Location // of the times that are shown and read, once it is known
	server   *client.Client // that was dialled last
}

// Group is a command that only holds others.
func Group(use, short string, commands ...*cobra.Command) *cobra.Command {
	g := &cobra.Command{Use: use, Short: short}
	g.AddCommand(commands...)
	Hold(g)
	return g
}

// Hold has a command show its help, and refuse what is none of the commands below it.
func Hold(g *cobra.Command) {
	g.Args = cobra.ArbitraryArgs
	g.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		return UnknownCommand(cmd, args[0])
	}
}

// UnknownCommand refuses a name that no command below a group has, and names the nearest.
func UnknownCommand(g *cobra.Command, name string) error {
	var names []string
	for _, c := range g.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	_, path, _ := strings.Cut(g.CommandPath()+" ", " ")
	return Usagef("%q: %s", path+name, unknown("command", name, names, g))
}

// FlagFault says what is wrong with a flag as the server says it of a field: the nearest flags where one is not known, and else what is wanted.
func FlagFault(cmd *cobra.Command, err error) error {
	var missing *pflag.NotExistError
	var bare *pflag.ValueRequiredError
	var wrong *pflag.InvalidValueError
	if errors.As(err, &bare) && bare.GetFlag() != nil {
		return Usagef("--%s: a value is missing: %s", bare.GetFlag().Name, cmd.UseLine())
	}
	if errors.As(err, &wrong) && wrong.GetFlag() != nil {
		return Usagef("--%s: %w", wrong.GetFlag().Name, wanted(wrong))
	}
	if !errors.As(err, &missing) || missing.GetSpecifiedShortnames() != "" {
		return Usagef("%w", err)
	}
	if cmd.HasSubCommands() && cmd.Flags().NArg() > 0 { // a flag of the command that was meant
		return UnknownCommand(cmd, cmd.Flags().Arg(0))
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	return Usagef("--%s: %s", missing.GetSpecifiedName(), unknown("flag", missing.GetSpecifiedName(), names, cmd))
}

// wanted is why a flag does not take a value. Of the flags library's own kinds it says how their values look; our kinds say that themselves.
func wanted(wrong *pflag.InvalidValueError) error {
	value := wrong.GetValue()
	switch wrong.GetFlag().Value.Type() {
	case "bool":
		return fmt.Errorf("is %q: want true or false", value)
	case "int", "int64", "uint", "uint64":
		return fmt.Errorf("is %q: want a whole number such as 10", value)
	case "float64":
		return fmt.Errorf("is %q: want a number such as 0.2", value)
	case "duration":
		var own *time.ParseError
		if _, err := time.ParseDuration(value); err != nil && !errors.As(wrong, &own) {
			return fmt.Errorf("is %q: want a duration such as 500ms, 90s, 5m or 1h30m", value)
		}
	case "stringToString":
		return fmt.Errorf("is %q: want NAME=VALUE", value)
	}
	return wrong.Unwrap()
}

// unknown names what is nearest to a name that is not known, and else where all are: there may be many.
func unknown(what, name string, names []string, cmd *cobra.Command) string {
	if slices.Sort(names); len(channel.Nearest(name, names)) > 0 {
		return channel.UnknownName(what, name, names)
	}
	return fmt.Sprintf("there is no %s of this name: %s --help lists them", what, cmd.CommandPath())
}

// Takes says which arguments a command wants, all of them required.
func Takes(names ...string) cobra.PositionalArgs { return between(names, len(names)) }

// Some says which arguments a command wants, of whose last there may be many.
func Some(names ...string) cobra.PositionalArgs { return between(names, math.MaxInt) }

// UpTo says how many arguments a command takes at most, none of them required.
func UpTo(most int) cobra.PositionalArgs { return between(nil, most) }

func between(required []string, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < len(required) {
			return Usagef("%s is missing: %s", required[len(args)], cmd.UseLine())
		}
		if len(args) > most {
			return Usagef("%q is one argument too many: %s", args[most], cmd.UseLine())
		}
		return nil
	}
}

// Strict has a command, and all below it, refuse as a usage mistake what its line lacks or has too much of: arguments, where it says nothing of them,
// flags that are required, and those of which one excludes the other.
func Strict(cmd *cobra.Command) {
	for _, below := range cmd.Commands() {
		Strict(below)
	}
	takes := cmd.Args
	if takes == nil {
		takes = Takes()
	}
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		var usage UsageFault
		if err := takes(cmd, args); errors.As(err, &usage) {
			return err
		} else if err != nil {
			return Usagef("%w", err)
		}
		if err := errors.Join(cmd.ValidateRequiredFlags(), cmd.ValidateFlagGroups()); err != nil {
			return Usagef("%w", err)
		}
		return nil
	}
}

// Sources is where a command's settings come from.
func (sh *Shell) Sources(cmd *cobra.Command) config.Sources {
	return config.Sources{Flags: cmd.Flags(), Environ: sh.Environ, Dir: sh.Dir}
}

// Settings reads the server's settings; what is wrong with them is wrong usage.
func (sh *Shell) Settings(cmd *cobra.Command) (config.Config, error) {
	c, err := config.Load(sh.Sources(cmd))
	if err != nil {
		return c, Usagef("%w", err)
	}
	c.Server.Version, c.Server.Drivers, c.Server.Rules = sh.Version, sh.Drivers, sh.Rules
	return c, nil
}
