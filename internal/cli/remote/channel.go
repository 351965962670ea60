package remote

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/cli/shell"
	"github.com/posthouse/posthouse/wire"
)

func channelGroup(sh *shell.Shell) *cobra.Command {
	return sh.Calling(shell.Group("channel", "The channels messages are sent over",
		channelList(sh), channelShow(sh), channelSet(sh), channelDelete(sh),
		channelPause(sh), channelResume(sh), channelTest(sh), channelWindows(sh), channelRate(sh), channelDrivers(sh), accountGroup(sh), callbackGroup(sh)))
}

func channelList(sh *shell.Shell) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the channels", Args: shell.Takes(),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, _ []string) error {
			all, err := c.Channels.List(ctx)
			if err != nil {
				return err
			}
			return sh.Show(all, func() {
				var rows [][]string
				for _, ch := range all {
					rows = append(rows, []string{ch.Name, ch.Driver, pace(sh, ch), stateOf(sh, &ch), sh.At(ch.UpdatedAt)})
				}
				sh.Table([]string{"Channel", "Driver", "Sends", "State", "Updated"}, rows)
			})
		}),
	}
}

func pace(sh *shell.Shell, ch posthouse.Channel) string {
	if ch.Pull || ch.Driver == "pull" {
		return sh.Text("by agents")
	}
	if ch.Every == nil || *ch.Every == 0 {
		return sh.Text("at once")
	}
	return sh.Text("every %s", ch.Every)
}

// stateOf is a channel's state and, where it does not send, why.
func stateOf(sh *shell.Shell, ch *posthouse.Channel) string {
	text := strings.TrimSuffix(string(ch.State)+": "+ch.StateReason, ": ")
	if !ch.StateUntil.IsZero() {
		text += sh.Text(" until %s", sh.At(ch.StateUntil))
	}
	return text
}

func channelShow(sh *shell.Shell) *cobra.Command {
	return &cobra.Command{
		Use: "show NAME", Short: "Show a channel, its secrets masked; set -f takes it back", Args: shell.Takes("NAME"),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			ch, err := c.Channels.Get(ctx, args[0])
			if err != nil {
				return err
			}
			if sh.JSON {
				return sh.PrintJSON(ch)
			}
			return sh.PrintYAML(ch)
		}),
	}
}

func channelDelete(sh *shell.Shell) *cobra.Command {
	return &cobra.Command{
		Use: "delete NAME", Short: "Delete a channel that has nothing left to send", Args: shell.Takes("NAME"),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			ways, _ := c.Routes.List(ctx) // where they cannot be listed, the channel is deleted all the same
			var using []string
			for i := range ways {
				if slices.ContainsFunc(ways[i].Steps, func(s posthouse.RouteStep) bool { return slices.Contains(s.Channels, args[0]) }) {
					using = append(using, ways[i].Name)
				}
			}
			if err := c.Channels.Delete(ctx, args[0]); err != nil {
				return err
			}
			if len(using) > 0 {
				warned(sh, []string{fmt.Sprintf("steps of these routes send nothing by it any more: %s", strings.Join(using, ", "))})
			}
			return sh.Done(args[0], "deleted")
		}),
	}
}

func channelPause(sh *shell.Shell) *cobra.Command {
	var pause wire.Pause
	var until string
	cmd := &cobra.Command{
		Use: "pause NAME", Short: "Stop a channel's sending, for a time or until it is resumed; what it is given waits", Args: shell.Takes("NAME"),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) (err error) {
			if pause.Until, err = sh.Moment("--until", until); err != nil {
				return err
			}
			ch, err := c.Channels.PauseUntil(ctx, args[0], pause)
			if err != nil {
				return err
			}
			return sh.Show(ch, func() { sh.Printf("%s: paused%s\n", args[0], untilOf(sh, ch.StateUntil)) })
		}),
	}
	cmd.Flags().StringVar(&pause.Reason, "reason", "", "a `TEXT` that is shown with it")
	cmd.Flags().StringVar(&until, "until", "", "the `TIME` at which it goes on by itself: \"2026-10-01 08:30\", or 2h")
	return cmd
}

func channelResume(sh *shell.Shell) *cobra.Command {
	return &cobra.Command{
		Use: "resume NAME", Short: "Let a channel send again, also where its provider had refused it", Args: shell.Takes("NAME"),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			ch, err := c.Channels.Resume(ctx, args[0])
			if err != nil {
				return err
			}
			return sh.Show(ch, func() { sh.Printf("%s: sends\n", args[0]) })
		}),
	}
}

func channelTest(sh *shell.Shell) *cobra.Command {
	var to, text string
	cmd := &cobra.Command{
		Use: "test NAME", Short: "Try a channel: by its driver's own check, or by really sending a text to --to",
		Args: shell.Takes("NAME"),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			result, err := c.Channels.Test(ctx, args[0], testOf(to, text))
			if err != nil {
				return err
			}
			return printTest(sh, result)
		}),
	}
	testFlags(cmd, &to, &text)
	return cmd
}

func testFlags(cmd *cobra.Command, to, text *string) {
	cmd.Flags().StringVar(to, "to", "", "the `ADDRESS` a real message goes to")
	cmd.Flags().StringVar(text, "text", "A test of Posthouse. 这是一条测试消息。", "its `TEXT`")
}

func testOf(to, text string) (test wire.ChannelTest) {
	if to != "" {
		test.To = posthouse.Recipient{User: to, Address: to}
		test.Content = posthouse.Content{Title: "Posthouse", Text: text}
	}
	return test
}

func printTest(sh *shell.Shell, r wire.ChannelTested) error {
	err := sh.Show(r, func() {
		sh.Fields([][2]string{
			{"class", string(r.Class)}, {"code", r.Code}, {"error", r.Error}, {"provider ref", r.Ref},
			{"request", shell.Cut(r.Request, 300)}, {"response", shell.Cut(r.Response, 300)},
		}...)
	})
	if err == nil && !r.OK {
		err = fmt.Errorf("the test did not succeed: %s", r.Class)
		if r.Code == channel.CodeBlocked {
			err = shell.Hint(err, "the server's setting allow_networks lets channels reach addresses inside: posthouse serve --allow-networks 10.0.0.0/8")
		}
	}
	return err
}

func channelDrivers(sh *shell.Shell) *cobra.Command {
	return &cobra.Command{
		Use: "drivers [NAME]", Short: "List the drivers a channel can have, or the fields of one", Args: shell.UpTo(1),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			all, err := c.Channels.Drivers(ctx)
			if err != nil {
				return err
			}
			if len(args) == 0 {
				return sh.Show(all, func() {
					var rows [][]string
					for _, d := range all {
						rows = append(rows, []string{d.Name, sh.Either(d.Doc, d.DocZH)})
					}
					sh.Table([]string{"Driver", "What it does"}, rows)
				})
			}
			var names []string
			for _, d := range all {
				if d.Name == args[0] {
					return sh.Show(d, func() { printDriver(sh, d) })
				}
				names = append(names, d.Name)
			}
			return fmt.Errorf("there is no driver %q; %s", args[0], channel.OneOf("drivers", args[0], names))
		}),
	}
}

func printDriver(sh *shell.Shell, d wire.Driver) {
	sh.Printf("%s: %s\n", d.Name, sh.Either(d.Doc, d.DocZH))
	if len(d.Fields) == 0 {
		sh.Printf("It has no fields.\n")
		return
	}
	sh.Printf("\n")
	var rows, choices [][]string
	for _, f := range d.Fields {
		kind := string(f.Kind)
		if f.Min != 0 || f.Max != 0 {
			kind += " " + strconv.Itoa(f.Min) + " to " + strconv.Itoa(f.Max)
		}
		if len(f.Choices) > 0 {
			var values []string
			for _, c := range f.Choices {
				values = append(values, c.Value)
				if said := sh.Either(c.Label, c.LabelZH); said != c.Value {
					choices = append(choices, []string{f.Name, c.Value, said})
				}
			}
			kind = shell.Words(values)
		}
		rows = append(rows, []string{f.Name, shell.Cut(kind, 40), must(sh, f), shell.Cut(sh.Either(f.Help, f.HelpZH), 70)})
	}
	sh.Table([]string{"Field", "Holds", "Default", "Help"}, rows)
	if len(choices) > 0 {
		sh.Printf("\n")
		sh.Table([]string{"Field", "Holds", "What it is"}, choices)
	}
}

func must(sh *shell.Shell, f wire.Field) string {
	switch {
	case f.Required:
		return sh.Text("required")
	case f.Default != nil:
		return fmt.Sprint(f.Default)
	}
	return ""
}
