package remote

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/cli/shell"
	"github.com/posthouse/posthouse/internal/fronttext"
	"github.com/posthouse/posthouse/internal/shellword"
)

// message is a message as flags describe it.
type message struct {
	draft                        posthouse.Draft
	to                           []string
	recipientType, title, text   string
	payload, notBefore, deadline string
	priority, onUnknown, key     string
	forgetAfter                  string
}

// send hands in a message, or a file of them.
type send struct {
	*shell.Shell
	message message
	all     string
	wait    bool
	timeout time.Duration
}

func sendCommand(sh *shell.Shell) *cobra.Command {
	s := &send{Shell: sh}
	cmd := sh.Calling(&cobra.Command{
		Use: "send", Short: "Send a message to one or many recipients",
		Example: `  posthouse send --channel oa --to li.na,wang.fang --title "值班" --text "今晚值班请注意"
  posthouse send --channel tianyuan --to li.na --template leave --payload '{"name": "李娜"}' --wait
  git log -1 | posthouse send --channel console --to team --text -
  posthouse send --messages @batch.json     # {"messages": [{…}, …]} as POST /v1/messages takes them`,
		Args: shell.Takes(),
		RunE: func(cmd *cobra.Command, _ []string) error { return s.run(cmd) },
	})
	flags := cmd.Flags()
	s.message.describe(flags)
	s.message.once(flags, "a `KEY` by which a second message is found to be the first")
	flags.StringVar(&s.message.notBefore, "not-before", "", "a `TIME` before which nothing is sent: 10m, \"2026-10-01 08:30\"")
	flags.StringVar(&s.message.deadline, "deadline", "", "a `TIME` after which nothing is sent")
	flags.BoolVar(&s.message.draft.Sensitive, "sensitive", false, "keep the content sealed, show it nowhere and forget it: for one-time passwords")
	flags.StringVar(&s.message.forgetAfter, "forget-after", "", "how `LONG` a sensitive content is kept: 10m (default 24h)")
	flags.StringVar(&s.all, "messages", "", "one message or many as `JSON`, @FILE, or -, in place of the flags above")
	flags.BoolVar(&s.wait, "wait", false, "wait until each delivery is settled, and fail where one did not reach its recipient")
	flags.DurationVar(&s.timeout, "timeout", time.Minute, "how long --wait waits, a `DURATION`")
	return cmd
}

// describe adds the flags that a message is described by.
func (m *message) describe(flags *pflag.FlagSet) {
	flags.StringVar(&m.draft.Channel, "channel", "", "the `NAME` of the channel")
	flags.StringVar(&m.draft.Route, "route", "", "the `NAME` of a route, in place of the channel")
	flags.StringVar(&m.draft.Digest, "digest", "", "the `NAME` of a digest that gathers it with others")
	flags.StringSliceVar(&m.to, "to", nil, "the `RECIPIENTS`, with commas between: users, USER=ADDRESS, =ADDRESS, roster:NAME or role:NAME")
	flags.StringVar(&m.recipientType, "type", "", "the recipients' `TYPE`, which rules look at, such as head_office")
	flags.StringVar(&m.title, "title", "", "the `TITLE`")
	flags.StringVar(&m.text, "text", "", "the `TEXT`, @FILE, or - for standard input")
	flags.StringVar(&m.draft.Template, "template", "", "the `NAME` of a template that makes title and text")
	flags.StringVar(&m.payload, "payload", "", "the template's values: a `JSON` object, @FILE, or -")
	flags.StringVar(&m.draft.Kind, "kind", "", "what it is about, a `WORD` of yours")
	flags.StringVar(&m.draft.Ref, "ref", "", "the `KEY` of it within the kind")
	flags.StringVar(&m.priority, "priority", "", "`PRIORITY`: high, normal or low (default normal)")
	flags.StringVar(&m.draft.Account, "account", "", "the `NAME` of the one account of the channel that is to send it")
	flags.BoolVar(&m.draft.Critical, "critical", false, "send it in quiet hours and beyond caps too: the key needs the grant critical")
	flags.StringVar(&m.draft.OrderingKey, "ordering-key", "", "a `KEY`: messages that have the same are sent one after the other")
	flags.StringVar(&m.draft.Pool, "pool", "", "the `LABEL` of the accounts that may send it")
	flags.StringVar(&m.draft.Source, "source", "", "which `SYSTEM` sends it")
	flags.StringVar(&m.onUnknown, "on-unknown", "", "the `POLICY` where nobody knows whether it arrived: retry, hold, query or assume_sent")
}

// once adds the flags by which a message is not sent twice. dedup says what the first of them is for.
func (m *message) once(flags *pflag.FlagSet, dedup string) {
	flags.StringVar(&m.draft.DedupKey, "dedup-key", "", dedup)
	flags.StringVar(&m.key, "idempotency-key", "", "a `KEY` with which this very command can be repeated (default a new one)")
}

func (s *send) run(cmd *cobra.Command) error {
	c, err := s.Dial(cmd)
	if err != nil {
		return err
	}
	sent, err := s.handIn(cmd, c)
	if err != nil {
		return err
	}
	if s.wait {
		return s.waitFor(cmd.Context(), c, sent.Accepted)
	}
	return s.Show(map[string]any{"messages": sent.Accepted, "replayed": sent.Replayed}, func() { s.printSent(sent) })
}

func (s *send) handIn(cmd *cobra.Command, c *client.Client) (client.Sent, error) {
	if s.all == "" {
		draft, err := s.message.read(s.Shell)
		if err != nil {
			return client.Sent{}, err
		}
		if s.message.key != "" {
			return c.Messages.SendOnce(cmd.Context(), s.message.key, draft)
		}
		return c.Messages.Send(cmd.Context(), draft)
	}
	if beside := flagsBesideMessages(cmd); len(beside) > 0 {
		return client.Sent{}, shell.Usagef("--messages holds whole messages: leave out %s", strings.Join(beside, ", "))
	}
	body, err := s.Object("--messages", s.all)
	if err != nil {
		return client.Sent{}, err
	}
	return c.Messages.SendJSON(cmd.Context(), s.message.key, body)
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

// read makes the message that the flags describe. What is missing is the server's to say.
func (m *message) read(sh *shell.Shell) (d posthouse.Draft, err error) {
	d = m.draft
	d.Priority, d.OnUnknown = posthouse.Priority(m.priority), posthouse.Policy(m.onUnknown)
	for _, to := range m.to {
		var r posthouse.Recipient
		if strings.HasPrefix(to, "roster:") || strings.HasPrefix(to, "role:") {
			r = fronttext.Recipients([]string{to})[0]
		} else {
			r.User, r.Address, _ = strings.Cut(to, "=")
		}
		r.Type = m.recipientType
		d.To = append(d.To, r)
	}
	text, err := sh.Input(m.text)
	if err != nil {
		return d, err
	}
	if m.title != "" || len(text) > 0 {
		d.Content = &posthouse.Content{Title: m.title, Text: strings.TrimRight(string(text), "\n")}
	}
	if d.Payload, err = sh.Object("--payload", m.payload); err != nil {
		return d, err
	}
	if m.forgetAfter != "" {
		if err := d.ForgetAfter.UnmarshalText([]byte(m.forgetAfter)); err != nil {
			return d, shell.Usagef("--forget-after: %w", err)
		}
	}
	if d.NotBefore, err = sh.Moment("--not-before", m.notBefore); err != nil {
		return d, err
	}
	d.Deadline, err = sh.Moment("--deadline", m.deadline)
	return d, err
}

func (s *send) printSent(sent client.Sent) {
	if sent.Replayed {
		s.Printf("this idempotency key was used before: nothing new was sent; this was the answer\n")
	}
	var rows [][]string
	for _, m := range sent.Accepted {
		if m.DuplicateOf != "" {
			s.Printf("message %s stands for this dedup key already: nothing new was sent\n", m.DuplicateOf)
		}
		for _, d := range m.Deliveries {
			rows = append(rows, []string{d.ID, d.User, string(d.State), d.Reason})
		}
	}
	if slices.ContainsFunc(sent.Accepted, func(a posthouse.Accepted) bool { return len(a.Deliveries) == 0 && a.DuplicateOf == "" }) {
		s.Printf("accepted: its route says who is told by which steps\n")
	} else if len(rows) > 0 {
		s.Table([]string{"Delivery", "User", "State", "Reason"}, rows)
	}
	if len(sent.Accepted) == 1 {
		s.Printf("  → posthouse status %s\n", shellword.Quote(sent.Accepted[0].ID))
	}
}

// waitFor looks at messages until all their deliveries are settled, prints them, and fails where
// one did not reach its recipient.
func (s *send) waitFor(ctx context.Context, c *client.Client, sent []posthouse.Accepted) error {
	for i := range sent {
		if a := &sent[i]; len(a.Deliveries) == 0 && a.DuplicateOf == "" {
			return shell.Hint(fmt.Errorf("message %s is accepted and follows a route: --wait waits for deliveries alone", a.ID), "posthouse notification list --message ID says who was told")
		}
	}
	all, err := s.settled(ctx, c, sent)
	if err != nil {
		return err
	}
	if err := s.Show(map[string]any{"deliveries": all}, func() { printDeliveries(s.Shell, all) }); err != nil {
		return err
	}
	open, lost := counted(all)
	switch {
	case open > 0:
		s.tellWaits(ctx, c, all)
		return shell.Hint(fmt.Errorf("%d of %d deliveries are not settled after %s", open, len(all), s.timeout), "posthouse explain ID says why one waits")
	case lost > 0:
		return fmt.Errorf("%d of %d deliveries did not reach their recipients", lost, len(all))
	}
	return nil
}

// settled reads messages' deliveries until all are settled, or for so long at most, and says on the error output
// what it waits for.
func (s *send) settled(ctx context.Context, c *client.Client, sent []posthouse.Accepted) ([]posthouse.Delivery, error) {
	over := time.NewTimer(s.timeout)
	defer over.Stop()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	told := ""
	for {
		all, err := deliveriesOf(ctx, c, sent)
		if open, _ := counted(all); err != nil || open == 0 {
			return all, err
		}
		if now := standings(all); now != told && !s.JSON {
			s.Notef("waiting at most %s: %s\n", s.timeout, now)
			told = now
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

// standings are the states of deliveries: pending 2, sent 1.
func standings(all []posthouse.Delivery) string {
	in := map[posthouse.State]int{}
	for _, d := range all {
		in[d.State]++
	}
	return counts(in)
}

// mostWaits is for how many deliveries it is said why they wait.
const mostWaits = 5

// tellWaits says on the error output why deliveries are not settled.
func (s *send) tellWaits(ctx context.Context, c *client.Client, all []posthouse.Delivery) {
	told := 0
	for _, d := range all {
		if d.State.Settled(d.OnUnknown) || s.JSON || told == mostWaits {
			continue
		}
		told++
		x, err := c.Deliveries.Explain(ctx, d.ID)
		if err != nil {
			return // what became of them is told all the same
		}
		for _, w := range x.Waits {
			s.Notef("%s: %s\n", cmp.Or(recipient(d.Recipient), d.ID), s.Tells(w.Detail))
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

// counted counts the deliveries that are not settled, and those that are and reached nobody though
// they should have.
func counted(all []posthouse.Delivery) (open, lost int) {
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
