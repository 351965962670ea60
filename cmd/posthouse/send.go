package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
)

type sendFlags struct {
	draft                         posthouse.Draft
	to                            []string
	recipientType, title, text    string
	payload, notBefore, deadline  string
	priority, onUnknown, key, all string
	forgetAfter                   string
	wait                          bool
	timeout                       time.Duration
}

func (p *program) send() *cobra.Command {
	var f sendFlags
	cmd := calling(&cobra.Command{
		Use: "send", Short: "Send a message to one or many recipients",
		Example: `  posthouse send --channel oa --to li.na,wang.fang --title "值班" --text "今晚值班请注意"
  posthouse send --channel tianyuan --to li.na --template leave --payload '{"name": "李娜"}' --wait
  git log -1 | posthouse send --channel console --to team --text -
  posthouse send --messages @batch.json        # {"messages": [{…}, …]} as POST /v1/messages takes them`,
		Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) error { return p.runSend(cmd, f) },
	})
	f.describe(cmd.Flags())
	flags := cmd.Flags()
	flags.StringVar(&f.notBefore, "not-before", "", "a `TIME` before which nothing is sent: 10m, \"2026-10-01 08:30\"")
	flags.StringVar(&f.deadline, "deadline", "", "a `TIME` after which nothing is sent")
	flags.BoolVar(&f.draft.Sensitive, "sensitive", false, "keep the content sealed, show it nowhere and forget it: for one-time passwords")
	flags.StringVar(&f.forgetAfter, "forget-after", "", "how `LONG` a sensitive content is kept: 10m (default 24h)")
	flags.StringVar(&f.all, "messages", "", "one message or many as `JSON`, @FILE, or -, in place of the flags above")
	flags.BoolVar(&f.wait, "wait", false, "wait until each delivery is settled, and fail where one did not reach its recipient")
	flags.DurationVar(&f.timeout, "timeout", time.Minute, "how long --wait waits")
	return cmd
}

// describe adds the flags that a message is described by.
func (f *sendFlags) describe(flags *pflag.FlagSet) {
	flags.StringVar(&f.draft.Channel, "channel", "", "the `NAME` of the channel")
	flags.StringSliceVar(&f.to, "to", nil, "the `RECIPIENTS`, with commas between: users, or USER=ADDRESS, or =ADDRESS")
	flags.StringVar(&f.recipientType, "type", "", "the recipients' `TYPE`, which rules look at, such as head_office")
	flags.StringVar(&f.title, "title", "", "the `TITLE`")
	flags.StringVar(&f.text, "text", "", "the `TEXT`, @FILE, or - for standard input")
	flags.StringVar(&f.draft.Template, "template", "", "the `NAME` of a template that makes title and text")
	flags.StringVar(&f.payload, "payload", "", "the template's values: a `JSON` object, @FILE, or -")
	flags.StringVar(&f.draft.Kind, "kind", "", "what it is about, a `WORD` of yours")
	flags.StringVar(&f.draft.Ref, "ref", "", "the `KEY` of it within the kind")
	flags.StringVar(&f.priority, "priority", "", "`PRIORITY`: high, normal or low (default normal)")
	flags.StringVar(&f.draft.DedupKey, "dedup-key", "", "a `KEY` by which a second message is found to be the first")
	flags.StringVar(&f.draft.Source, "source", "", "which `SYSTEM` sends it")
	flags.StringVar(&f.onUnknown, "on-unknown", "", "the `POLICY` where nobody knows whether it arrived: retry, hold, query or assume_sent")
	flags.StringVar(&f.key, "idempotency-key", "", "a `KEY` with which this very command can be repeated (default a new one)")
}

func (p *program) runSend(cmd *cobra.Command, f sendFlags) error {
	c, err := p.dial(cmd)
	if err != nil {
		return err
	}
	sent, err := p.handIn(cmd, c, f)
	if err != nil {
		return err
	}
	if f.wait {
		return p.waitFor(cmd.Context(), c, sent.Accepted, f.timeout)
	}
	return p.show(map[string]any{"messages": sent.Accepted, "replayed": sent.Replayed}, func() { p.printSent(sent) })
}

func (p *program) handIn(cmd *cobra.Command, c *client.Client, f sendFlags) (client.Sent, error) {
	if f.all == "" {
		draft, err := p.draft(f)
		if err != nil {
			return client.Sent{}, err
		}
		if f.key != "" {
			return c.Messages.SendOnce(cmd.Context(), f.key, draft)
		}
		return c.Messages.Send(cmd.Context(), draft)
	}
	if beside := flagsBesideMessages(cmd); len(beside) > 0 {
		return client.Sent{}, usagef("--messages holds whole messages: leave out %s", strings.Join(beside, ", "))
	}
	body, err := p.object("--messages", f.all)
	if err != nil {
		return client.Sent{}, err
	}
	return c.Messages.SendJSON(cmd.Context(), f.key, body)
}

// flagsBesideMessages are the given flags that would say something of a message: with --messages nobody would look at
// them.
func flagsBesideMessages(cmd *cobra.Command) (names []string) {
	cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
		if f.Changed && !slices.Contains([]string{"messages", "idempotency-key", "wait", "timeout"}, f.Name) {
			names = append(names, "--"+f.Name)
		}
	})
	return names
}

// draft is the message that the flags describe. What is missing is the server's to say.
func (p *program) draft(f sendFlags) (d posthouse.Draft, err error) {
	d = f.draft
	d.Priority, d.OnUnknown = posthouse.Priority(f.priority), posthouse.Policy(f.onUnknown)
	for _, to := range f.to {
		user, address, _ := strings.Cut(to, "=")
		d.To = append(d.To, posthouse.Recipient{User: user, Address: address, Type: f.recipientType})
	}
	text, err := p.input(f.text)
	if err != nil {
		return d, err
	}
	if f.title != "" || len(text) > 0 {
		d.Content = &posthouse.Content{Title: f.title, Text: strings.TrimRight(string(text), "\n")}
	}
	if d.Payload, err = p.object("--payload", f.payload); err != nil {
		return d, err
	}
	if f.forgetAfter != "" {
		if err := d.ForgetAfter.UnmarshalText([]byte(f.forgetAfter)); err != nil {
			return d, usagef("--forget-after: %w", err)
		}
	}
	if d.NotBefore, err = moment("--not-before", f.notBefore); err != nil {
		return d, err
	}
	d.Deadline, err = moment("--deadline", f.deadline)
	return d, err
}

func (p *program) printSent(sent client.Sent) {
	if sent.Replayed {
		p.printf("this idempotency key was used before: nothing new was sent; this was the answer\n")
	}
	var rows [][]string
	for _, m := range sent.Accepted {
		if m.DuplicateOf != "" {
			p.printf("message %s stands for this dedup key already: nothing new was sent\n", m.DuplicateOf)
		}
		for _, d := range m.Deliveries {
			rows = append(rows, []string{d.ID, d.User, string(d.State), d.Reason})
		}
	}
	p.printTable([]string{"Delivery", "User", "State", "Reason"}, rows)
	if len(sent.Accepted) == 1 {
		p.printf("  → posthouse status %s\n", sent.Accepted[0].ID)
	}
}

// waitFor looks at messages until all their deliveries are settled, prints them, and fails where
// one did not reach its recipient.
func (p *program) waitFor(ctx context.Context, c *client.Client, sent []posthouse.Accepted, most time.Duration) error {
	all, err := settled(ctx, c, sent, most)
	if err != nil {
		return err
	}
	if err := p.show(map[string]any{"deliveries": all}, func() { p.printDeliveries(all) }); err != nil {
		return err
	}
	open, lost := tally(all)
	switch {
	case open > 0:
		return hinted{fmt.Errorf("%d of %d deliveries are not settled after %s", open, len(all), most), "posthouse explain ID says why one waits"}
	case lost > 0:
		return fmt.Errorf("%d of %d deliveries did not reach their recipients", lost, len(all))
	}
	return nil
}

// settled reads messages' deliveries until all are settled, or for so long at most.
func settled(ctx context.Context, c *client.Client, sent []posthouse.Accepted, most time.Duration) ([]posthouse.Delivery, error) {
	over := time.NewTimer(most)
	defer over.Stop()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		all, err := deliveriesOf(ctx, c, sent)
		if open, _ := tally(all); err != nil || open == 0 {
			return all, err
		}
		select {
		case <-tick.C:
		case <-over.C:
			return all, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func deliveriesOf(ctx context.Context, c *client.Client, sent []posthouse.Accepted) ([]posthouse.Delivery, error) {
	var out []posthouse.Delivery
	for _, m := range sent {
		cursor := ""
		for {
			page, err := c.Messages.Page(ctx, m.ID, cursor, 1000)
			if err != nil {
				return nil, err
			}
			out = append(out, page.Deliveries...)
			if cursor = page.Next; cursor == "" {
				break
			}
		}
	}
	return out, nil
}

// tally counts the deliveries that are not settled, and those that are and reached nobody though
// they should have.
func tally(all []posthouse.Delivery) (open, lost int) {
	for _, d := range all {
		switch {
		case !d.State.Settled(d.OnUnknown):
			open++
		case d.State != posthouse.Sent && d.State != posthouse.Delivered && d.State != posthouse.Suppressed:
			lost++
		}
	}
	return open, lost
}
