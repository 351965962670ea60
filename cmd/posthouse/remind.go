package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
)

func (p *program) remind() *cobra.Command {
	return calling(group("remind", "Messages that come at several moments: in a countdown, or again and again",
		p.remindAdd(), p.remindList(), p.remindShow(), p.remindEnd()))
}

// remindFlags say when a reminder's slots are.
type remindFlags struct {
	message                sendFlags
	countdown, from, until string
	before, every          string
	daily                  []string
	zone, missed           string
	max                    int
}

func (p *program) remindAdd() *cobra.Command {
	var f remindFlags
	cmd := &cobra.Command{
		Use: "add", Short: "Open a reminder",
		Example: `  posthouse remind add --channel oa --to li.na --template pass --countdown "2026-10-01 14:00" --before 60m --every 15m
  posthouse remind add --channel oa --to li.na --text "日报" --daily 09:00,18:00 --time-zone Asia/Shanghai
  posthouse remind add --channel oa --to li.na --text "还没有处理" --every 30m --max 5 --dedup-key ticket-7`,
		Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := p.dial(cmd)
			if err != nil {
				return err
			}
			return p.runRemind(cmd.Context(), c, f)
		},
	}
	flags := cmd.Flags()
	f.message.describe(flags)
	flags.Lookup("dedup-key").Usage = "a `KEY` that names the reminder: while it is open, no second one is made"
	flags.StringVar(&f.countdown, "countdown", "", "the `TIME` that is counted down to: 2h, \"2026-10-01 14:00\"")
	flags.StringVar(&f.before, "before", "", "how `LONG` before it the countdown begins: 60m")
	flags.StringVar(&f.every, "every", "", "how `LONG` from one message to the next: 15m")
	flags.StringVar(&f.from, "from", "", "the `TIME` of the first message of a repeat (default now)")
	flags.StringVar(&f.until, "until", "", "the `TIME` after which a repeat sends nothing (default none)")
	flags.StringSliceVar(&f.daily, "daily", nil, "the local `TIMES` of each day, with commas between: 09:00,18:00")
	flags.StringVar(&f.zone, "time-zone", "", "the `ZONE` of --daily, such as Asia/Shanghai (default the server's)")
	flags.IntVar(&f.max, "max", 0, "how many messages a repeat has: at most `N` (default no bound)")
	flags.StringVar(&f.missed, "missed", "", "what becomes of messages that could not be sent in time, a `WAY`: collapse or expire (default collapse)")
	return cmd
}

func (p *program) runRemind(ctx context.Context, c *client.Client, f remindFlags) error {
	r, err := p.reminder(f)
	if err != nil {
		return err
	}
	key := f.message.key
	if key == "" {
		key = posthouse.NewID()
	}
	out, err := c.Reminders.CreateOnce(ctx, key, r)
	if err != nil {
		return err
	}
	return p.show(out, func() {
		if out.DuplicateOf != "" {
			p.printf("reminder %s is open already: no second one was made\n", out.DuplicateOf)
		}
		p.printReminder(out)
	})
}

// reminder is what the flags describe. What is missing is the server's to say.
func (p *program) reminder(f remindFlags) (r posthouse.Reminder, err error) {
	if r.Draft, err = p.draft(f.message); err != nil {
		return r, err
	}
	r.Missed = posthouse.Missed(f.missed)
	var before, every posthouse.Duration
	for _, d := range []struct {
		flag, text string
		into       *posthouse.Duration
	}{{"--before", f.before, &before}, {"--every", f.every, &every}} {
		if d.text == "" {
			continue
		}
		if err := d.into.UnmarshalText([]byte(d.text)); err != nil {
			return r, usagef("%s: %v", d.flag, err)
		}
	}
	if f.countdown != "" {
		if f.from+f.until+f.zone != "" || len(f.daily) > 0 || f.max != 0 {
			return r, usagef("--countdown goes with --before and --every: --from, --until, --daily, --time-zone and --max are of a repeat")
		}
		r.Countdown = &posthouse.Countdown{Before: before, Every: every}
		r.Countdown.To, err = moment("--countdown", f.countdown)
		return r, err
	}
	if f.before != "" {
		return r, usagef("--before goes with --countdown")
	}
	r.Repeat = &posthouse.Repeat{Every: every, Daily: f.daily, TimeZone: f.zone, Max: f.max}
	if r.Repeat.From, err = moment("--from", f.from); err != nil {
		return r, err
	}
	r.Repeat.Until, err = moment("--until", f.until)
	return r, err
}

func (p *program) remindList() *cobra.Command {
	var f client.Filter
	cmd := &cobra.Command{
		Use: "list", Short: "List reminders", Args: takes(),
		RunE: p.over(func(ctx context.Context, c *client.Client, _ []string) error {
			page, err := c.Reminders.List(ctx, f)
			if err != nil {
				return err
			}
			return p.show(page, func() { p.printReminders(page) })
		}),
	}
	cmd.Flags().StringVar(&f.Kind, "kind", "", "only of the `KIND`; goes with --ref")
	cmd.Flags().StringVar(&f.Ref, "ref", "", "only with the `REF`; goes with --kind")
	cmd.Flags().IntVar(&f.Limit, "limit", 50, "how many at most, 1 to 1000")
	return cmd
}

func (p *program) printReminders(page client.Page[client.Reminder]) {
	var rows [][]string
	for _, r := range page.Items {
		rows = append(rows, []string{r.ID, r.Draft.Channel, string(r.State), r.Reason, at(r.NextAt), strconv.Itoa(r.Fired), cut(r.Error, 60)})
	}
	p.printTable([]string{"Reminder", "Channel", "State", "Reason", "Next", "Sent", "Last error"}, rows)
	if page.Next != "" {
		p.printf("  … and more: --limit shows up to 1000\n")
	}
}

func (p *program) remindShow() *cobra.Command {
	return &cobra.Command{
		Use: "show ID", Short: "Show a reminder with its next messages", Args: takes("ID"),
		RunE: p.over(func(ctx context.Context, c *client.Client, args []string) error {
			r, err := c.Reminders.Get(ctx, args[0])
			if err != nil {
				return err
			}
			return p.show(r, func() { p.printReminder(r) })
		}),
	}
}

func (p *program) printReminder(r client.Reminder) {
	const most = 3
	var slots []string
	for _, slot := range r.Slots[:min(most, len(r.Slots))] {
		slots = append(slots, at(slot))
	}
	if len(r.Slots) > most {
		slots = append(slots, "…")
	}
	p.printFields([][2]string{
		{"reminder", r.ID}, {"state", string(r.State)}, {"reason", r.Reason}, {"last error", r.Error},
		{"channel", r.Draft.Channel}, {"kind", r.Draft.Kind}, {"ref", r.Draft.Ref}, {"template", r.Draft.Template},
		{"when", whenever(r.Reminder)}, {"missed", string(r.Missed)},
		{"sent", strconv.Itoa(r.Fired) + " of " + strconv.Itoa(r.Reminder.Slots) + " that came"}, {"last message", r.Message},
		{"next", strings.Join(slots, ", ")},
	}...)
}

// whenever is a countdown or a repeat in words.
func whenever(r posthouse.Reminder) string {
	var words []string
	add := func(given bool, format string, args ...any) {
		if given {
			words = append(words, fmt.Sprintf(format, args...))
		}
	}
	if c := r.Countdown; c != nil {
		add(true, "down to %s", at(c.To))
		add(c.Before > 0, "from %s before", c.Before)
		add(c.Before > 0, "every %s", c.Every)
	} else if c := r.Repeat; c != nil {
		add(true, "from %s", at(c.From))
		add(c.Every > 0, "every %s", c.Every)
		add(len(c.Daily) > 0, "daily at %s %s", strings.Join(c.Daily, " "), c.TimeZone)
		add(c.Max > 0, "at most %d", c.Max)
		add(!c.Until.IsZero(), "until %s", at(c.Until))
	}
	return strings.Join(words, ", ")
}

func (p *program) remindEnd() *cobra.Command {
	var kind, ref string
	cmd := &cobra.Command{
		Use: "end (ID | --kind KIND --ref REF)", Short: "End a reminder, and withdraw its message that waits", Args: cobra.MaximumNArgs(1),
		RunE: p.over(func(ctx context.Context, c *client.Client, args []string) error {
			switch {
			case len(args) == 1 && kind+ref == "":
				r, err := c.Reminders.End(ctx, args[0])
				if err != nil {
					return err
				}
				return p.show(r, func() { p.printReminder(r) })
			case len(args) == 0 && kind != "" && ref != "":
				page, err := c.Reminders.EndRef(ctx, kind, ref)
				if err != nil {
					return err
				}
				return p.show(page, func() { p.printReminders(page) })
			}
			return usagef("either a reminder's id or both --kind and --ref say what is ended")
		}),
	}
	cmd.Flags().StringVar(&kind, "kind", "", "the `KIND` of the reminders")
	cmd.Flags().StringVar(&ref, "ref", "", "their `REF`")
	return cmd
}
