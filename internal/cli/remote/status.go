package remote

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/cli/shell"
)

// selection selects messages or deliveries by flags.
type selection struct {
	client.Filter
	states       []string
	since, until string
}

func (f *selection) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.Channel, "channel", "", "only of the channel `NAME`")
	flags.StringVar(&f.Kind, "kind", "", "only of the `KIND`")
	flags.StringVar(&f.Ref, "ref", "", "only with the `REF`")
	flags.StringVar(&f.User, "user", "", "only to the `USER`")
	flags.StringSliceVar(&f.states, "state", nil, "only in these `STATES`, with commas between: "+shell.Words(stateNames()))
	flags.StringVar(&f.since, "since", "", "only handed in from this `TIME`: \"2026-10-01 08:30\", or 2h ago")
	flags.StringVar(&f.until, "until", "", "only handed in before this `TIME`")
}

func stateNames() []string { return texts(posthouse.States()) }

// texts are words as plain texts.
func texts[T ~string](words []T) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = string(w)
	}
	return out
}

// filter checks the flags.
func (f *selection) filter(sh *shell.Shell) (client.Filter, error) {
	out := f.Filter
	for _, word := range f.states {
		state := posthouse.State(word)
		if !state.Valid() {
			return out, shell.Usagef("--state: %s", channel.Want(state, posthouse.States()))
		}
		out.States = append(out.States, state)
	}
	var err error
	if out.Since, err = sh.Past("--since", f.since); err != nil {
		return out, err
	}
	out.Until, err = sh.Past("--until", f.until)
	return out, err
}

func statusCommand(sh *shell.Shell) *cobra.Command {
	var f selection
	cmd := sh.Calling(&cobra.Command{
		Use: "status [ID]", Short: "Show a message, a delivery, or the latest of them",
		Example: `  posthouse status                       # the latest messages
  posthouse status 01K…             # a message with its deliveries, or a delivery with its attempts
  posthouse status --state failed,unknown --channel oa`,
		Args: shell.UpTo(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := sh.Dial(cmd)
			if err != nil {
				return err
			}
			switch {
			case len(args) == 0:
				return listStatus(cmd.Context(), sh, c, &f)
			case !posthouse.ValidID(args[0]):
				return notAnID(args[0])
			case posthouse.DeliveryNumber(args[0]) == 0:
				return messageStatus(cmd.Context(), sh, c, args[0])
			}
			return deliveryStatus(cmd.Context(), sh, c, args[0])
		},
	})
	f.add(cmd)
	cmd.Flags().StringVar(&f.Account, "account", "", "only what the account `NAME` sent, or what is pinned to it")
	cmd.Flags().StringVar(&f.Reason, "reason", "", "only deliveries that are in their state for this `REASON`, such as tries_used_up")
	cmd.Flags().StringVar(&f.KnownAs, "known-as", "", "only deliveries to the `ADDRESS`, or that their provider calls so")
	cmd.Flags().StringVar((*string)(&f.Priority), "priority", "", "only deliveries of the `PRIORITY` high, normal or low")
	cmd.Flags().IntVar(&f.Limit, "limit", 20, "how many at most, a `NUMBER` from 1 to 1000")
	return cmd
}

func notAnID(s string) error {
	return shell.Usagef("%q is not an id: ids are 26 letters and digits, as send and status print them", s)
}

// listStatus lists messages, or deliveries where something is asked for that is of deliveries.
func listStatus(ctx context.Context, sh *shell.Shell, c *client.Client, f *selection) error {
	filter, err := f.filter(sh)
	if err != nil {
		return err
	}
	if filter.Limit < 1 || filter.Limit > 1000 {
		return shell.Usagef("--limit: %d is not a number from 1 to 1000", filter.Limit)
	}
	if len(filter.States) > 0 || filter.User+filter.Account+filter.Reason+filter.KnownAs+string(filter.Priority) != "" {
		page, err := c.Deliveries.List(ctx, filter)
		if err != nil {
			return err
		}
		return sh.Show(page, func() { printDeliveries(sh, page.Items) })
	}
	page, err := c.Messages.List(ctx, filter)
	if err != nil {
		return err
	}
	return sh.Show(page, func() {
		var rows [][]string
		for _, m := range page.Items {
			rows = append(rows, []string{m.ID, sh.At(m.CreatedAt), m.Channel, subject(m.Message), strconv.Itoa(m.Recipients), counts(m.Counts)})
		}
		sh.Table([]string{"Message", "Handed in", "Channel", "Subject", "To", "States"}, rows)
	})
}

// subject is a message in a few words.
func subject(m posthouse.Message) string {
	for _, s := range []string{m.Content.Title, m.Content.Text} {
		if s != "" {
			return shell.Cut(s, 32)
		}
	}
	return m.Kind
}

// counts reads: sent 3, failed 1.
func counts(c map[posthouse.State]int) string {
	var out []string
	for _, s := range posthouse.States() {
		if n := c[s]; n > 0 {
			out = append(out, fmt.Sprintf("%s %d", s, n))
		}
	}
	return shell.Words(out)
}

func messageStatus(ctx context.Context, sh *shell.Shell, c *client.Client, id string) error {
	m, err := c.Messages.Page(ctx, id, "", 1000)
	if err != nil {
		return err
	}
	return sh.Show(m, func() {
		sh.Fields([][2]string{
			{"message", m.ID}, {"channel", m.Channel}, {"route", m.Route}, {"kind", m.Kind}, {"ref", m.Ref}, {"priority", string(m.Priority)},
			{"title", m.Content.Title}, {"text", shell.Cut(m.Content.Text, 200)}, {"template", m.Template},
			{"handed in", sh.At(m.CreatedAt)}, {"not before", sh.At(m.NotBefore)}, {"deadline", sh.At(m.Deadline)},
			{"states", counts(m.Counts)}, {"unreadable", m.Unreadable},
		}...)
		sh.Printf("\n")
		if len(m.Notifications) > 0 {
			printNotifications(sh, m.Notifications)
			return
		}
		printDeliveries(sh, m.Deliveries)
		if m.Next != "" {
			sh.Printf("  … and more: posthouse status --state … --kind … lists them\n")
		}
	})
}

func printDeliveries(sh *shell.Shell, all []posthouse.Delivery) {
	var rows [][]string
	for _, d := range all {
		rows = append(rows, []string{d.ID, d.Channel, recipient(d.Recipient), string(d.State), strconv.Itoa(d.Attempts), sh.At(d.UpdatedAt), why(sh, d)})
	}
	sh.Table([]string{"Delivery", "Channel", "Recipient", "State", "Attempts", "Updated", "Why"}, rows)
}

func recipient(r posthouse.Recipient) string {
	switch {
	case r.Roster != "":
		return "roster:" + r.Roster
	case r.Role != "":
		return "role:" + r.Role
	case r.Manager > 0:
		return "manager:" + strconv.Itoa(r.Manager)
	}
	return cmp.Or(r.User, r.Address)
}

// why is the reason of a state, and the last error where there is one; of a replay without either, what it repeats.
func why(sh *shell.Shell, d posthouse.Delivery) string {
	switch {
	case d.Reason == "" && d.Error == "" && d.ReplayOf != "":
		return sh.Text("replay of %s", d.ReplayOf)
	case d.Reason == "":
		return sh.Cut(d.Error, 60)
	case d.Error == "":
		return d.Reason
	}
	return shell.Cut(d.Reason+": "+sh.Says(d.Error), 60)
}

func deliveryStatus(ctx context.Context, sh *shell.Shell, c *client.Client, id string) error {
	d, err := c.Deliveries.Get(ctx, id)
	if posthouse.CodeOf(err) == posthouse.CodeNotFound {
		if n, isOne, err := notificationOf(ctx, c, id); isOne {
			if err != nil {
				return err
			}
			return sh.Show(n, func() { printNotification(sh, &n) })
		}
	}
	if err != nil {
		return err
	}
	attempts, err := c.Deliveries.Attempts(ctx, id)
	if err != nil {
		return err
	}
	var notes []string
	if d.Collection != "" || failed(d.State) {
		x, err := c.Deliveries.Explain(ctx, id)
		if err != nil {
			return err
		}
		notes = x.Notes
	}
	return sh.Show(map[string]any{"delivery": d, "attempts": attempts}, func() {
		sh.Fields([][2]string{
			{"delivery", d.ID}, {"message", d.Message}, {"channel", d.Channel}, {"account", accountOf(sh, d)},
			{"recipient", d.User}, {"address", d.Address}, {"type", d.Type},
			{"state", string(d.State)}, {"reason", d.Reason}, {"last error", d.Error},
			{"failures", sh.Text("%d in %d attempts", d.Tries, d.Attempts)}, {"on unknown", string(d.OnUnknown)},
			{"provider ref", d.ProviderRef}, {"replay of", d.ReplayOf},
			{"held by", holder(sh, d)},
			{"handed in", sh.At(d.CreatedAt)}, {"updated", sh.At(d.UpdatedAt)}, {"due", sh.At(due(d))}, {"deadline", sh.At(d.Deadline)},
		}...)
		if len(attempts) > 0 {
			sh.Printf("\n")
			printAttempts(sh, attempts)
		}
		for _, note := range notes {
			sh.Printf("%s\n", sh.Says(note))
		}
	})
}

// failed reports whether a delivery may have been sent again.
func failed(s posthouse.State) bool {
	return s == posthouse.Failed || s == posthouse.Undelivered || s == posthouse.Expired || s == posthouse.Quarantined
}

// holder is the agent that a delivery was handed to, and until when.
func holder(sh *shell.Shell, d posthouse.Delivery) string {
	agent := agentOf(d.LeaseOwner)
	if d.State != posthouse.Sending || agent == "" {
		return ""
	}
	return sh.Text("%s until %s", agent, sh.At(d.LeaseUntil))
}

// due is when an open delivery's turn comes; a settled one has none any more.
func due(d posthouse.Delivery) time.Time {
	if d.State.Settled(d.OnUnknown) {
		return time.Time{}
	}
	return d.DueAt
}

func printAttempts(sh *shell.Shell, attempts []posthouse.Attempt) {
	var rows [][]string
	for _, a := range attempts {
		took := ""
		if !a.FinishedAt.IsZero() {
			took = a.Duration.Round(time.Millisecond).String()
		}
		rows = append(rows, []string{
			strconv.Itoa(a.Number), sh.At(a.StartedAt), took, string(a.Class), a.Code, string(a.To), sh.Cut(a.Error, 60),
		})
	}
	sh.Table([]string{"No", "Started", "Took", "Class", "Code", "Then", "Error"}, rows)
}

// accountOf is the account of a delivery, or the pool that it comes from.
func accountOf(sh *shell.Shell, d posthouse.Delivery) string {
	switch {
	case d.Pinned:
		return sh.Text("%s, no other", d.Account)
	case d.Account == "" && d.Pool != "":
		return sh.Text("one of the pool %s", d.Pool)
	}
	return d.Account
}
