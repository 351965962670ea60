// Package follow has the commands of those who follow what happens to deliveries: subscriptions, and the live stream. They call a
// server through package client, as package remote's do.
package follow

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/cli/shell"
	"github.com/posthouse/posthouse/wire"
)

// Commands are the commands in the order that the help shows them.
func Commands(sh *shell.Shell) []*cobra.Command {
	return []*cobra.Command{subscriptionGroup(sh), followCommand(sh)}
}

func subscriptionGroup(sh *shell.Shell) *cobra.Command {
	one := func(use, short, done string, do func(c *client.Client) func(context.Context, string) error) *cobra.Command {
		return &cobra.Command{Use: use + " ID", Short: short, Args: shell.Takes("ID"), RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			if err := do(c)(ctx, args[0]); err != nil {
				return err
			}
			return sh.DoneWord(args[0], done)
		})}
	}
	return sh.Calling(shell.Group("subscription", "Addresses that are told of what happens to deliveries", subscriptionList(sh), subscriptionAdd(sh), subscriptionRotate(sh),
		one("pause", "Tell it nothing until it is resumed; what happens meanwhile waits", "paused", func(c *client.Client) func(context.Context, string) error { return c.Subscriptions.Pause }),
		one("resume", "Go on where it was paused, and try again at once", "resumed", func(c *client.Client) func(context.Context, string) error { return c.Subscriptions.Resume }),
		subscriptionTest(sh), subscriptionReplay(sh), subscriptionDead(sh),
		one("delete", "Tell it no more", "deleted", func(c *client.Client) func(context.Context, string) error { return c.Subscriptions.Delete }),
	))
}

func subscriptionList(sh *shell.Shell) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List them, with how far each has come", Args: shell.Takes(),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, _ []string) error {
			list, err := c.Subscriptions.List(ctx)
			if err != nil {
				return err
			}
			return sh.Show(list, func() {
				var rows [][]string
				for _, s := range list {
					rows = append(rows, []string{s.ID, s.URL, onlyOf(sh, s), s.State + " " + s.Reason, s.Lag.String(), strconv.FormatInt(s.Told, 10), strconv.FormatInt(s.Dead, 10), s.LastError})
				}
				sh.Table([]string{"Subscription", "URL", "Only", "State", "Behind", "Told", "Dead", "Last error"}, rows)
			})
		}),
	}
}

// onlyOf is what a subscription is narrowed to.
func onlyOf(sh *shell.Shell, s wire.Subscription) string {
	var parts []string
	states := make([]string, len(s.States))
	for i := range states {
		states[i] = string(s.States[i])
	}
	for _, l := range []struct {
		name string
		list []string
	}{{"channels", s.Channels}, {"kinds", s.Kinds}, {"refs", s.Refs}, {"states", states}, {"types", s.Types}} {
		if len(l.list) > 0 {
			parts = append(parts, sh.Label(l.name)+" "+strings.Join(l.list, ","))
		}
	}
	return strings.Join(parts, "; ")
}

func subscriptionAdd(sh *shell.Shell) *cobra.Command {
	var in wire.NewSubscription
	var states []string
	var since string
	cmd := &cobra.Command{
		Use: "add URL", Short: "Have an address told; its signing secret is shown this once", Args: shell.Takes("URL"),
		Example: `  posthouse subscription add https://crm.example.com/hooks --state delivered,failed
  posthouse subscription add https://lake.example.com/events --batch 200 --since 1h`,
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) (err error) {
			in.URL = args[0]
			for _, s := range states {
				in.States = append(in.States, posthouse.State(s))
			}
			if in.Since, err = sh.Past("--since", since); err != nil {
				return err
			}
			made, err := c.Subscriptions.Create(ctx, in)
			if err != nil {
				return err
			}
			return sh.Show(made, func() {
				sh.Notef("  → subscription %s\n", made.ID)
				for _, w := range made.Warnings {
					sh.Notef("%s: %s\n", sh.Says("warning"), sh.Says(w))
				}
				showSecret(sh, made.Secret)
			})
		}),
	}
	cmd.Flags().StringVar(&in.Description, "description", "", "a `TEXT` for people")
	cmd.Flags().StringSliceVar(&in.Channels, "channel", nil, "only events of these `CHANNELS`, with commas between")
	cmd.Flags().StringSliceVar(&in.Kinds, "kind", nil, "only events of messages of these `KINDS`")
	cmd.Flags().StringSliceVar(&in.Refs, "ref", nil, "only events of messages with these `REFS`")
	cmd.Flags().StringSliceVar(&states, "state", nil, "only events that lead to these `STATES`")
	cmd.Flags().StringSliceVar(&in.Types, "type", nil, "only events of these `TYPES`, or that begin with these words: delivery, notification, notification.not_told, budget, callback")
	cmd.Flags().IntVar(&in.Batch, "batch", 0, "how many events one call may hold, up to `N`; 1 by default")
	cmd.Flags().StringVar(&since, "since", "", "begin with what happened at this `TIME`: \"2026-10-01 08:30\", or 2h ago")
	cmd.Flags().StringVar(&in.Behind, "behind", "", "begin behind the event with this `ID`")
	return cmd
}

// showSecret prints a signing secret alone, so that a shell can keep it in a variable.
func showSecret(sh *shell.Shell, secret string) {
	sh.Printf("%s\n", secret)
	sh.Notef("  → shown this once: keep it\n")
}

func subscriptionRotate(sh *shell.Shell) *cobra.Command {
	overlap := posthouse.Duration(24 * time.Hour)
	cmd := &cobra.Command{
		Use: "rotate ID", Short: "Sign with a new secret too, which is shown this once; the old one goes on for a while", Args: shell.Takes("ID"),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			made, err := c.Subscriptions.Rotate(ctx, args[0], &overlap)
			if err != nil {
				return err
			}
			return sh.Show(made, func() { showSecret(sh, made.Secret) })
		}),
	}
	cmd.Flags().TextVar(&overlap, "overlap", &overlap, "how long the old secret signs too, a `DURATION` up to 30d; 0s ends it at once")
	return cmd
}

func subscriptionTest(sh *shell.Shell) *cobra.Command {
	return &cobra.Command{
		Use: "test ID", Short: "Post a signed test to it, at once", Args: shell.Takes("ID"),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			out, err := c.Subscriptions.Test(ctx, args[0])
			if err != nil {
				return err
			}
			if !out.Taken {
				return fmt.Errorf("the address did not take the test: %s", out.Problem)
			}
			return sh.Done(args[0], "tested")
		}),
	}
}

func subscriptionReplay(sh *shell.Shell) *cobra.Command {
	var since, behind string
	cmd := &cobra.Command{
		Use: "replay ID", Short: "Tell it again what happened since a time or behind an event", Args: shell.Takes("ID"),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			from := wire.ReplayEvents{Behind: behind}
			var err error
			if from.Since, err = sh.Past("--since", since); err != nil {
				return err
			}
			if from.Since.IsZero() == (behind == "") {
				return shell.Usagef("want one of --since and --behind: from where to tell again")
			}
			if _, err := c.Subscriptions.Replay(ctx, args[0], from); err != nil {
				return err
			}
			return sh.Done(args[0], "replaying")
		}),
	}
	cmd.Flags().StringVar(&since, "since", "", "from this `TIME` on: \"2026-10-01 08:30\", or 2h ago")
	cmd.Flags().StringVar(&behind, "behind", "", "behind the event with this `ID`")
	return cmd
}

func subscriptionDead(sh *shell.Shell) *cobra.Command {
	return &cobra.Command{
		Use: "dead ID", Short: "List what it did not take at the end of all tries, newest first", Args: shell.Takes("ID"),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			list, err := c.Subscriptions.DeadLetters(ctx, args[0])
			if err != nil {
				return err
			}
			return sh.Show(list, func() {
				var rows [][]string
				for _, d := range list {
					rows = append(rows, []string{d.Event, sh.At(d.GivenUpAt), strconv.Itoa(d.Tries), sh.Says(d.Error)})
				}
				sh.Table([]string{"Event", "Given up", "Tries", "Last error"}, rows)
			})
		}),
	}
}

// followCommand prints what happens to deliveries as it happens.
func followCommand(sh *shell.Shell) *cobra.Command {
	var f client.EventFilter
	var states []string
	var since string
	cmd := &cobra.Command{
		Use: "follow", Short: "Print what happens to deliveries as it happens, one JSON object a line",
		Long: `Print what happens to deliveries as it happens, one JSON object a line. Where the connection breaks, it goes on behind
the last event; --behind with the id of an event goes on there after a stop.`,
		Example: `  posthouse follow --state failed | jq -r '[.at, .channel, .error] | @tsv'`,
		Args:    shell.Takes(),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, _ []string) (err error) {
			for _, s := range states {
				f.States = append(f.States, posthouse.State(s))
			}
			if f.Since, err = sh.Past("--since", since); err != nil {
				return err
			}
			err = c.Events.Follow(ctx, f, func(e posthouse.FeedEvent) error { return shell.WriteJSON(sh.Out, e, "") })
			if ctx.Err() != nil {
				return nil //nolint:nilerr // somebody has stopped it
			}
			return err
		}),
	}
	cmd.Flags().StringVar(&f.Channel, "channel", "", "only events of this `CHANNEL`")
	cmd.Flags().StringVar(&f.Kind, "kind", "", "only events of messages of this `KIND`")
	cmd.Flags().StringVar(&f.Ref, "ref", "", "only events of messages with this `REF`")
	cmd.Flags().StringSliceVar(&states, "state", nil, "only events that lead to these `STATES`")
	cmd.Flags().StringSliceVar(&f.Types, "type", nil, "only events of these `TYPES`, or that begin with these words: delivery, notification, notification.not_told, budget, callback")
	cmd.Flags().StringVar(&since, "since", "", "begin with what happened at this `TIME`: \"2026-10-01 08:30\", or 2h ago")
	cmd.Flags().StringVar(&f.Behind, "behind", "", "begin behind the event with this `ID`")
	return sh.Calling(cmd)
}
