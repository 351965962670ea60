package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/client"
)

func (p *program) channel() *cobra.Command {
	return calling(group("channel", "The channels messages are sent over",
		p.channelList(), p.channelShow(), p.channelSet(), p.channelDelete(),
		p.channelPause(), p.channelResume(), p.channelTest(), p.channelDrivers()))
}

// over makes the RunE of a command that calls the server with its arguments.
func (p *program) over(do func(ctx context.Context, c *client.Client, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		c, err := p.dial(cmd)
		if err != nil {
			return err
		}
		return do(cmd.Context(), c, args)
	}
}

func (p *program) channelList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the channels", Args: takes(),
		RunE: p.over(func(ctx context.Context, c *client.Client, _ []string) error {
			all, err := c.Channels.List(ctx)
			if err != nil {
				return err
			}
			return p.show(all, func() {
				var rows [][]string
				for _, ch := range all {
					rows = append(rows, []string{ch.Name, ch.Driver, pace(ch), pausedWord(ch), at(ch.UpdatedAt)})
				}
				p.printTable([]string{"Channel", "Driver", "Sends", "Paused", "Updated"}, rows)
			})
		}),
	}
}

func pace(ch posthouse.Channel) string {
	if ch.Pull || ch.Driver == "pull" {
		return "by agents"
	}
	if ch.Every == nil || *ch.Every == 0 {
		return "at once"
	}
	return "every " + ch.Every.String()
}

func pausedWord(ch posthouse.Channel) string {
	if !ch.Paused {
		return ""
	}
	if ch.PauseReason == "" {
		return "paused"
	}
	return ch.PauseReason
}

func (p *program) channelShow() *cobra.Command {
	return &cobra.Command{
		Use: "show NAME", Short: "Show a channel, its secrets masked; set -f takes it back", Args: takes("NAME"),
		RunE: p.over(func(ctx context.Context, c *client.Client, args []string) error {
			ch, err := c.Channels.Get(ctx, args[0])
			if err != nil {
				return err
			}
			if p.json {
				return p.printJSON(ch)
			}
			return p.printYAML(ch)
		}),
	}
}

func (p *program) channelDelete() *cobra.Command {
	return &cobra.Command{
		Use: "delete NAME", Short: "Delete a channel that has nothing left to send", Args: takes("NAME"),
		RunE: p.over(func(ctx context.Context, c *client.Client, args []string) error {
			if err := c.Channels.Delete(ctx, args[0]); err != nil {
				return err
			}
			return p.done(args[0], "deleted")
		}),
	}
}

// done says what was done to a thing.
func (p *program) done(name, what string) error {
	return p.show(map[string]string{"name": name, "result": what}, func() { p.printf("%s: %s\n", name, what) })
}

func (p *program) channelPause() *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use: "pause NAME", Short: "Stop a channel's sending; what it is given waits", Args: takes("NAME"),
		RunE: p.over(func(ctx context.Context, c *client.Client, args []string) error {
			ch, err := c.Channels.Pause(ctx, args[0], reason)
			if err != nil {
				return err
			}
			return p.show(ch, func() { p.printf("%s: paused\n", args[0]) })
		}),
	}
	cmd.Flags().StringVar(&reason, "reason", "", "a `TEXT` that is shown with it")
	return cmd
}

func (p *program) channelResume() *cobra.Command {
	return &cobra.Command{
		Use: "resume NAME", Short: "Let a channel send again, also where its provider had refused it", Args: takes("NAME"),
		RunE: p.over(func(ctx context.Context, c *client.Client, args []string) error {
			ch, err := c.Channels.Resume(ctx, args[0])
			if err != nil {
				return err
			}
			return p.show(ch, func() { p.printf("%s: sends\n", args[0]) })
		}),
	}
}

func (p *program) channelTest() *cobra.Command {
	var to, text string
	cmd := &cobra.Command{
		Use: "test NAME", Short: "Try a channel: by its driver's own check, or by really sending a text to --to",
		Args: takes("NAME"),
		RunE: p.over(func(ctx context.Context, c *client.Client, args []string) error {
			var test client.ChannelTest
			if to != "" {
				test.To = &posthouse.Recipient{User: to, Address: to}
				test.Content = &posthouse.Content{Title: "Posthouse", Text: text}
			}
			result, err := c.Channels.Test(ctx, args[0], test)
			if err != nil {
				return err
			}
			return p.printTest(result)
		}),
	}
	cmd.Flags().StringVar(&to, "to", "", "the `ADDRESS` a real message goes to")
	cmd.Flags().StringVar(&text, "text", "A test of Posthouse. 这是一条测试消息。", "its `TEXT`")
	return cmd
}

func (p *program) printTest(r client.ChannelTestResult) error {
	err := p.show(r, func() {
		p.printFields([][2]string{
			{"class", string(r.Class)}, {"code", r.Code}, {"error", r.Error}, {"provider ref", r.Ref},
			{"request", cut(r.Request, 300)}, {"response", cut(r.Response, 300)},
		}...)
	})
	if err == nil && !r.OK {
		err = fmt.Errorf("the test did not succeed: %s", r.Class)
		if r.Code == channel.CodeBlocked {
			err = hinted{err, "the server's setting allow_networks lets channels reach addresses inside: posthouse serve --allow-networks 10.0.0.0/8"}
		}
	}
	return err
}

func (p *program) channelDrivers() *cobra.Command {
	return &cobra.Command{
		Use: "drivers [NAME]", Short: "List the drivers a channel can have, or the fields of one", Args: cobra.MaximumNArgs(1),
		RunE: p.over(func(ctx context.Context, c *client.Client, args []string) error {
			all, err := c.Channels.Drivers(ctx)
			if err != nil {
				return err
			}
			if len(args) == 0 {
				return p.show(all, func() {
					var rows [][]string
					for _, d := range all {
						rows = append(rows, []string{d.Name, d.Doc})
					}
					p.printTable([]string{"Driver", "What it does"}, rows)
				})
			}
			var names []string
			for _, d := range all {
				if d.Name == args[0] {
					return p.show(d, func() { p.printDriver(d) })
				}
				names = append(names, d.Name)
			}
			return fmt.Errorf("there is no driver %q; the drivers are %s", args[0], words(names))
		}),
	}
}

func (p *program) printDriver(d client.Driver) {
	p.printf("%s: %s\n", d.Name, d.Doc)
	if len(d.Fields) == 0 {
		p.printf("It has no fields.\n")
		return
	}
	p.printf("\n")
	var rows [][]string
	for _, f := range d.Fields {
		kind := f.Kind
		if f.Min != 0 || f.Max != 0 {
			kind += " " + strconv.Itoa(f.Min) + " to " + strconv.Itoa(f.Max)
		}
		if len(f.Choices) > 0 {
			kind = words(f.Choices)
		}
		rows = append(rows, []string{f.Name, cut(kind, 40), must(f), cut(f.Help, 70)})
	}
	p.printTable([]string{"Field", "Holds", "Default", "Help"}, rows)
}

func must(f client.Field) string {
	switch {
	case f.Required:
		return "required"
	case f.Default != nil:
		return fmt.Sprint(f.Default)
	}
	return ""
}
