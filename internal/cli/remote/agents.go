package remote

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/cli/shell"
	"github.com/posthouse/posthouse/internal/limittext"
	"github.com/posthouse/posthouse/internal/shellword"
	"github.com/posthouse/posthouse/wire"
)

func agentsGroup(sh *shell.Shell) *cobra.Command {
	g := sh.Calling(shell.Group("agent", "The phones and programs that fetch messages and send them themselves",
		agentsList(sh), agentsShow(sh), agentsAdd(sh), agentsSet(sh), agentsLimits(sh),
		agentsPause(sh), agentsDrain(sh), agentsResume(sh), agentsReassign(sh), agentsKey(sh), agentsDelete(sh)))
	g.Aliases = []string{"agents"}
	return g
}

func agentsList(sh *shell.Shell) *cobra.Command {
	var f client.Filter
	cmd := &cobra.Command{
		Use: "list", Short: "List the agents", Args: shell.Takes(),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, _ []string) error {
			page, err := c.Agents.List(ctx, f)
			if err != nil {
				return err
			}
			return sh.Show(page, func() {
				var rows [][]string
				for _, a := range page.Items {
					rows = append(rows, []string{a.ID, a.Name, shell.Words(a.Channels), standing(a), windowsText(a.Limits), cmp.Or(sh.At(a.LastSeenAt), sh.Text("never")), a.App})
				}
				sh.Table([]string{"Agent", "Name", "Channels", "State", "Limits", "Last seen", "App"}, rows)
				sh.More(page.Next)
			})
		}),
	}
	shell.PageFlags(cmd.Flags(), &f.Limit, 100, &f.Cursor)
	return cmd
}

// standing is an agent's state with its reason.
func standing(a posthouse.Agent) string {
	if a.Reason == "" {
		return string(a.State)
	}
	return string(a.State) + ": " + a.Reason
}

// windowsText is a list of limits as --limits takes it.
func windowsText(limits []posthouse.Limit) string {
	if len(limits) == 0 {
		return "none"
	}
	return windowsOf(limits)
}

func agentsShow(sh *shell.Shell) *cobra.Command {
	return &cobra.Command{
		Use: "show AGENT", Short: "Show an agent and what it holds", Args: shell.Takes("AGENT"),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			a, err := c.Agents.Get(ctx, args[0])
			if err != nil {
				return err
			}
			held, err := c.Handouts.List(ctx, args[0])
			if err != nil {
				return err
			}
			return sh.Show(map[string]any{"agent": a, "handouts": held}, func() {
				printAgent(sh, a.Agent)
				sh.Printf("\n")
				printHeld(sh, held)
			})
		}),
	}
}

func printAgent(sh *shell.Shell, a posthouse.Agent) {
	var able []string
	for _, name := range slices.Sorted(maps.Keys(a.Capabilities)) {
		able = append(able, name+"="+a.Capabilities[name])
	}
	sh.Fields([][2]string{
		{"agent", a.ID}, {"name", a.Name}, {"channels", shell.Words(a.Channels)}, {"state", standing(a)}, {"capabilities", shell.Words(able)},
		{"limits", windowsText(a.Limits)}, {"key", a.Key}, {"app", a.App}, {"last seen", cmp.Or(sh.At(a.LastSeenAt), sh.Text("never"))}, {"registered", sh.At(a.CreatedAt)},
	}...)
}

func printHeld(sh *shell.Shell, held []wire.Held) {
	if len(held) == 0 {
		sh.Printf("it holds nothing\n")
		return
	}
	var rows [][]string
	for _, d := range held {
		rows = append(rows, []string{
			d.ID, d.Channel, recipient(d.Recipient), strconv.FormatInt(d.Token, 10), cmp.Or(sh.At(d.StartedAt), sh.Text("not yet")),
			away(sh, time.Duration(d.LeaseMillis)*time.Millisecond),
		})
	}
	sh.Table([]string{"Holds", "Channel", "Recipient", "Token", "Started", "Lease ends"}, rows)
}

// agentFlags describe what people decide about an agent.
type agentFlags struct {
	name, limits        string
	channels, abilities []string
}

func (f *agentFlags) describe(flags *pflag.FlagSet) {
	flags.StringVar(&f.name, "name", "", "a `NAME` for people")
	flags.StringSliceVar(&f.channels, "channel", nil, "the pulled `CHANNELS` it fetches from, with commas between")
	flags.StringSliceVar(&f.abilities, "capability", nil, "what it can do, `NAME=VALUE` such as operator=cmcc, compared with a channel's needs")
	flags.StringVar(&f.limits, "limits", "", "the windows of what it is handed, a `LIST` such as 1/4s,30/1h, or none (default "+windowsText(posthouse.AgentLimits())+")")
}

// apply changes of an agent what the flags name.
func (f *agentFlags) apply(flags *pflag.FlagSet, a *posthouse.Agent) (err error) {
	if flags.Changed("name") {
		a.Name = f.name
	}
	if flags.Changed("channel") {
		a.Channels = f.channels
	}
	if flags.Changed("capability") {
		if a.Capabilities, err = shell.Pairs("--capability", f.abilities); err != nil {
			return err
		}
	}
	if flags.Changed("limits") {
		a.Limits, err = agentLimits("--limits", f.limits)
	}
	return err
}

// agentLimits reads windows; none are an empty list.
func agentLimits(what, text string) ([]posthouse.Limit, error) {
	if text == "none" {
		return []posthouse.Limit{}, nil
	}
	limits, err := limittext.Read(text)
	if err != nil {
		return nil, shell.Usagef("%s: %w", what, err)
	}
	if limits == nil {
		return nil, shell.Usagef("%s: no window is named; none takes them away", what)
	}
	return limits, nil
}

func agentsAdd(sh *shell.Shell) *cobra.Command {
	var f agentFlags
	cmd := &cobra.Command{
		Use: "add AGENT --channel CHANNELS", Short: "Register an agent and make its key; it is shown this once", Args: shell.Takes("AGENT"),
		Example: `  posthouse agent add phone-1 --channel sms --name "柜台手机"
  posthouse agent add phone-2 --channel sms,alerts --capability operator=cmcc --limits 1/4s,30/1h`,
	}
	f.describe(cmd.Flags())
	cmd.RunE = sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
		a := posthouse.Agent{ID: args[0]}
		if err := f.apply(cmd.Flags(), &a); err != nil {
			return err
		}
		made, err := c.Agents.Add(ctx, a)
		if err != nil {
			return err
		}
		return sh.Show(made, func() { showSecret(sh, made.Secret) })
	})
	return cmd
}

func agentsSet(sh *shell.Shell) *cobra.Command {
	var f agentFlags
	cmd := &cobra.Command{Use: "set AGENT", Short: "Change what the flags name of an agent", Args: shell.Takes("AGENT")}
	f.describe(cmd.Flags())
	cmd.RunE = sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
		return changeAgent(ctx, sh, c, args[0], func(a *posthouse.Agent) error { return f.apply(cmd.Flags(), a) })
	})
	return cmd
}

// changeAgent reads an agent, changes it and stores it.
func changeAgent(ctx context.Context, sh *shell.Shell, c *client.Client, id string, change func(*posthouse.Agent) error) error {
	a, err := c.Agents.Get(ctx, id)
	if err != nil {
		return err
	}
	if err := change(&a.Agent); err != nil {
		return err
	}
	stored, err := c.Agents.Put(ctx, a.Agent)
	if err != nil {
		return err
	}
	return sh.Show(stored, func() { printAgent(sh, stored) })
}

func agentsLimits(sh *shell.Shell) *cobra.Command {
	return &cobra.Command{
		Use: "limits AGENT LIMITS", Short: "Set how much an agent is handed: 1/4s,30/1h, or none", Args: shell.Takes("AGENT", "LIMITS"),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			limits, err := agentLimits("LIMITS", args[1])
			if err != nil {
				return err
			}
			return changeAgent(ctx, sh, c, args[0], func(a *posthouse.Agent) error {
				a.Limits = limits
				return nil
			})
		}),
	}
}

func agentsPause(sh *shell.Shell) *cobra.Command {
	return halted(sh, "pause AGENT", "Hand an agent nothing for now; it may finish what it holds", client.Agents.Pause)
}

func agentsDrain(sh *shell.Shell) *cobra.Command {
	return halted(sh, "drain AGENT", "Hand an agent nothing more, to take it away when it holds nothing", client.Agents.Drain)
}

// halted is a command that has an agent handed nothing, for a reason.
func halted(sh *shell.Shell, use, short string, do func(c client.Agents, ctx context.Context, id, reason string) (wire.Agent, error)) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use: use, Short: short, Args: shell.Takes("AGENT"),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			a, err := do(c.Agents, ctx, args[0], reason)
			if err != nil {
				return err
			}
			return sh.Show(a, func() { sh.Printf("%s: %s, holds %d\n", a.ID, sh.State(string(a.State)), a.Holds) })
		}),
	}
	cmd.Flags().StringVar(&reason, "reason", "", "the `REASON`, shown with the agent")
	return cmd
}

func agentsResume(sh *shell.Shell) *cobra.Command {
	return &cobra.Command{
		Use: "resume AGENT", Short: "Hand an agent messages again", Args: shell.Takes("AGENT"),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			a, err := c.Agents.Resume(ctx, args[0])
			if err != nil {
				return err
			}
			return sh.Show(a, func() { sh.Printf("%s: %s\n", a.ID, sh.State(string(a.State))) })
		}),
	}
}

func agentsReassign(sh *shell.Shell) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use: "reassign AGENT", Short: "Take everything from an agent that does not come back", Args: shell.Takes("AGENT"),
		Long: `Take everything from an agent that does not come back. What it had not started goes to others at once. What it had
started may have left: it becomes unknown, and the channel's on_unknown says what follows.`,
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			out, err := c.Agents.Reassign(ctx, args[0], reason)
			if err != nil {
				return err
			}
			return sh.Show(out, func() {
				sh.Printf("%s: %d not started, for others now; %d started, unknown now\n", args[0], out.Released, out.Unknown)
			})
		}),
	}
	cmd.Flags().StringVar(&reason, "reason", "", "the `REASON`, kept in the event log")
	return cmd
}

func agentsKey(sh *shell.Shell) *cobra.Command {
	var revoke bool
	cmd := &cobra.Command{
		Use: "key AGENT", Short: "Make an agent another key; it is shown this once", Args: shell.Takes("AGENT"),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			k, err := c.Agents.NewKey(ctx, args[0], revoke)
			if err != nil {
				return err
			}
			return sh.Show(k, func() { showSecret(sh, k.Secret) })
		}),
	}
	cmd.Flags().BoolVar(&revoke, "revoke-old", false, "end its other keys at once")
	return cmd
}

func agentsDelete(sh *shell.Shell) *cobra.Command {
	return &cobra.Command{
		Use: "delete AGENT", Short: "Delete an agent that holds nothing; its keys end", Args: shell.Takes("AGENT"),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			err := c.Agents.Delete(ctx, args[0])
			if posthouse.CodeOf(err) == posthouse.CodeConflict {
				err = shell.Hint(err, fmt.Sprintf("posthouse agent drain %s lets it finish; posthouse agent reassign %s takes what it holds", shellword.Quote(args[0]), shellword.Quote(args[0])))
			}
			if err != nil {
				return err
			}
			return sh.Done(args[0], "deleted")
		}),
	}
}
