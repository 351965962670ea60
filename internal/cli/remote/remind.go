package remote

import (
	"cmp"
	"context"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/cli/shell"
	"github.com/posthouse/posthouse/wire"
)

func remindGroup(sh *shell.Shell) *cobra.Command {
	return sh.Calling(shell.Group("remind", "Messages that come at several moments: in a countdown, by schedule, or again and again",
		remindAdd(sh), remindPut(sh), remindList(sh), remindShow(sh), remindPause(sh), remindResume(sh), remindEnd(sh)))
}

// remind opens a reminder: its flags say what is sent and when its slots are.
type remind struct {
	*shell.Shell
	message                message
	countdown, from, until string
	before, every          string
	daily                  []string
	cron, zone, missed     string
	max                    int
	rehearse               bool
	campaign               posthouse.ScheduledCampaign
	query                  posthouse.ScheduledQuery
	within                 string
}

func remindAdd(sh *shell.Shell) *cobra.Command {
	f := &remind{Shell: sh}
	cmd := &cobra.Command{
		Use: "add", Short: "Open a reminder",
		Example: `  posthouse remind add --channel oa --to li.na --template pass \
    --countdown "2026-10-01 14:00" --before 60m --every 15m
  posthouse remind add --channel oa --to li.na --text "日报" \
    --daily 09:00,18:00 --time-zone Asia/Shanghai
  posthouse remind add --channel oa --to li.na --text "还没有处理" \
    --every 30m --max 5 --dedup-key ticket-7
  posthouse remind add --channel oa --to li.na --text "周报" \
    --cron "0 17 * * 5" --time-zone Asia/Shanghai --dry-run`,
		Args: shell.Takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := sh.Dial(cmd)
			if err != nil {
				return err
			}
			return f.run(cmd.Context(), c)
		},
	}
	f.describe(cmd.Flags())
	f.message.once(cmd.Flags(), "a `KEY` that names the reminder: while it is open, no second one is made")
	cmd.Flags().BoolVar(&f.rehearse, "dry-run", false, "show what would be opened and when it comes, and open nothing")
	return cmd
}

// remindPut opens a reminder by a name, or replaces it: what is run twice changes nothing.
func remindPut(sh *shell.Shell) *cobra.Command {
	f := &remind{Shell: sh}
	cmd := &cobra.Command{
		Use: "put ID", Short: "Open a reminder by its id, or replace what it says", Args: shell.Takes("ID"),
		Example: `  posthouse remind put daily-report --channel oa --to li.na --text "日报" \
    --cron "0 9 * * 1-5" --time-zone Asia/Shanghai
  posthouse remind put weekly-bill --campaign bill --cron "0 10 * * 1" \
    --database crm --query "$(cat bills.sql)"`,
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			r, err := f.reminder()
			if err != nil {
				return err
			}
			out, err := c.Reminders.Put(ctx, args[0], r)
			if err != nil {
				return err
			}
			return sh.Show(out, func() { printReminder(sh, out) })
		}),
	}
	f.describe(cmd.Flags())
	return cmd
}

// describe adds the flags of a reminder.
func (f *remind) describe(flags *pflag.FlagSet) {
	f.message.describe(flags)
	flags.StringVar(&f.countdown, "countdown", "", "the `TIME` that is counted down to: 2h, \"2026-10-01 14:00\"")
	flags.StringVar(&f.before, "before", "", "how `LONG` before it the countdown begins: 60m")
	flags.StringVar(&f.every, "every", "", "how `LONG` from one message to the next: 15m")
	flags.StringVar(&f.from, "from", "", "the `TIME` of the first message of a repeat (default now)")
	flags.StringVar(&f.until, "until", "", "the `TIME` after which a repeat sends nothing (default none)")
	flags.StringSliceVar(&f.daily, "daily", nil, "the local `TIMES` of each day, with commas between: 09:00,18:00")
	flags.StringVar(&f.cron, "cron", "", "an `EXPRESSION` of five fields, minute, hour, day, month and day of the week: \"0 9 * * 1-5\"")
	flags.StringVar(&f.zone, "time-zone", "", "the `ZONE` of --daily and --cron, such as Asia/Shanghai (default the server's)")
	flags.IntVar(&f.max, "max", 0, "how many messages a repeat has: at most `N` (default no bound)")
	flags.StringVar(&f.campaign.Like, "campaign", "", "the `NAME` of a campaign that is never started: each moment starts one like it, in place of a message")
	flags.StringVar(&f.campaign.Audience, "list", "", "the `NAME` of the stored list that each campaign is sent to (default the people of --campaign)")
	flags.StringVar(&f.query.Database, "database", "", "the `NAME` of the database that people are read from when a moment comes, as the server's setting databases has it")
	flags.StringVar(&f.query.Query, "query", "", "the query that reads them, as `SQL`: one column is the address")
	flags.StringVar(&f.query.Address, "address", "", "the `COLUMN` of the address (default the one whose name says so)")
	flags.StringVar(&f.within, "within", "", "how `LONG` after its moment a campaign may send: 8h (default no bound)")
	flags.BoolVar(&f.campaign.Force, "force", false, "start each campaign although records lack a variable, or its time is short")
	flags.StringVar(&f.missed, "missed", "", "what becomes of messages that could not be sent in time, a `WAY`: collapse or expire (default collapse)")
}

func (f *remind) run(ctx context.Context, c *client.Client) error {
	r, err := f.reminder()
	if err != nil {
		return err
	}
	if f.rehearse {
		out, err := c.Reminders.Try(ctx, r)
		if err != nil {
			return err
		}
		return f.Show(out, func() {
			printSlots(f.Shell, out)
			f.Printf("\nnothing was opened: without --dry-run it is\n")
		})
	}
	key := f.message.key
	if key == "" {
		key = posthouse.NewID()
	}
	out, err := c.Reminders.CreateOnce(ctx, key, r)
	if err != nil {
		return err
	}
	return f.Show(out, func() {
		if out.DuplicateOf != "" {
			f.Printf("reminder %s is open already: no second one was made\n", out.DuplicateOf)
		}
		printReminder(f.Shell, out)
	})
}

// ofCampaign is what each moment starts, nil for a message.
func (f *remind) ofCampaign() (*posthouse.ScheduledCampaign, error) {
	if f.query != (posthouse.ScheduledQuery{}) {
		f.campaign.Query = &f.query
	}
	if f.campaign.Like == "" {
		if f.campaign != (posthouse.ScheduledCampaign{}) || f.within != "" {
			return nil, shell.Usagef("--list, --database, --query, --address, --within and --force go with --campaign")
		}
		return nil, nil
	}
	if f.within != "" {
		if err := f.campaign.Within.UnmarshalText([]byte(f.within)); err != nil {
			return nil, shell.Usagef("--within: %v", err)
		}
	}
	return &f.campaign, nil
}

// reminder is what the flags describe. What is missing is the server's to say.
func (f *remind) reminder() (r posthouse.Reminder, err error) {
	if r.Draft, err = f.message.read(f.Shell); err != nil {
		return r, err
	}
	r.Missed = posthouse.Missed(f.missed)
	if r.Campaign, err = f.ofCampaign(); err != nil {
		return r, err
	}
	var before, every posthouse.Duration
	for _, d := range []struct {
		flag, text string
		into       *posthouse.Duration
	}{{"--before", f.before, &before}, {"--every", f.every, &every}} {
		if d.text == "" {
			continue
		}
		if err := d.into.UnmarshalText([]byte(d.text)); err != nil {
			return r, shell.Usagef("%s: %v", d.flag, err)
		}
	}
	if f.countdown != "" {
		if f.from+f.until+f.zone+f.cron != "" || len(f.daily) > 0 || f.max != 0 {
			return r, shell.Usagef("--countdown goes with --before and --every: --from, --until, --daily, --cron, --time-zone and --max are of a repeat")
		}
		r.Countdown = &posthouse.Countdown{Before: before, Every: every}
		r.Countdown.To, err = f.Moment("--countdown", f.countdown)
		return r, err
	}
	if f.before != "" {
		return r, shell.Usagef("--before goes with --countdown")
	}
	r.Repeat = &posthouse.Repeat{Every: every, Daily: f.daily, Cron: f.cron, TimeZone: f.zone, Max: f.max}
	if r.Repeat.From, err = f.Moment("--from", f.from); err != nil {
		return r, err
	}
	r.Repeat.Until, err = f.Moment("--until", f.until)
	return r, err
}

func remindList(sh *shell.Shell) *cobra.Command {
	var f client.Filter
	cmd := &cobra.Command{
		Use: "list", Short: "List reminders", Args: shell.Takes(),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, _ []string) error {
			page, err := c.Reminders.List(ctx, f)
			if err != nil {
				return err
			}
			return sh.Show(page, func() { printReminders(sh, page) })
		}),
	}
	cmd.Flags().StringVar(&f.Kind, "kind", "", "only of the `KIND`; goes with --ref")
	cmd.Flags().StringVar(&f.Ref, "ref", "", "only with the `REF`; goes with --kind")
	cmd.Flags().BoolVar(&f.Held, "held", false, "only those that a new epoch holds until somebody resumes them")
	cmd.Flags().IntVar(&f.Limit, "limit", 50, "how many at most, a `NUMBER` from 1 to 1000")
	return cmd
}

func printReminders(sh *shell.Shell, page wire.Page[wire.Reminder]) {
	var rows [][]string
	for _, r := range page.Items {
		rows = append(rows, []string{r.ID, sendsBy(r), reminderState(r), r.Reason, sh.At(r.NextAt), strconv.Itoa(r.Fired), sh.Cut(r.Error, 60)})
	}
	sh.Table([]string{"Reminder", "Channel", "State", "Reason", "Next", "Sent", "Last error"}, rows)
	if page.Next != "" {
		sh.Printf("  … and more: --limit shows up to 1000\n")
	}
}

// sendsBy is by what a reminder sends, in a word.
func sendsBy(r wire.Reminder) string {
	switch {
	case r.Campaign != nil:
		return "campaign:" + r.Campaign.Like
	case r.Draft.Route != "":
		return "route:" + r.Draft.Route
	}
	return r.Draft.Channel
}

// reminderState is how a reminder stands, in a word.
func reminderState(r wire.Reminder) string {
	if r.Paused {
		return "paused"
	}
	return string(r.State)
}

func remindShow(sh *shell.Shell) *cobra.Command {
	return &cobra.Command{
		Use: "show ID", Short: "Show a reminder with its next messages", Args: shell.Takes("ID"),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			r, err := c.Reminders.Get(ctx, args[0])
			if err != nil {
				return err
			}
			return sh.Show(r, func() { printSlots(sh, r) })
		}),
	}
}

// printSlots shows a reminder with the slots that are to come, and what became of the last ones.
func printSlots(sh *shell.Shell, r wire.Reminder) {
	sh.Fields(factsOf(sh, r)...)
	var ahead, past [][]string
	for _, slot := range r.Slots {
		ahead = append(ahead, []string{sh.At(slot)})
	}
	for _, slot := range r.Last {
		past = append(past, []string{sh.At(slot.At), strconv.Itoa(slot.Missed), cmp.Or(slot.Message, slot.Campaign)})
	}
	if len(ahead) > 0 {
		sh.Printf("\n")
		sh.Table([]string{"Next"}, ahead)
	}
	if len(past) > 0 {
		sh.Printf("\n")
		made := "Message"
		if r.Campaign != nil {
			made = "Campaign"
		}
		sh.Table([]string{"Came", "Missed", made}, past)
	}
}

func remindPause(sh *shell.Shell) *cobra.Command {
	return &cobra.Command{
		Use: "pause ID", Short: "Have nothing more come of a reminder until it is resumed", Args: shell.Takes("ID"),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			r, err := c.Reminders.Pause(ctx, args[0])
			if err != nil {
				return err
			}
			return sh.Show(r, func() { printReminder(sh, r) })
		}),
	}
}

func remindResume(sh *shell.Shell) *cobra.Command {
	all := false
	cmd := &cobra.Command{
		Use: "resume (ID... | --all)", Short: "Have reminders that are paused or held go on with their next message",
		Example: `  posthouse remind list --held
  posthouse remind resume daily-report
  posthouse remind resume --all`,
		Args: func(cmd *cobra.Command, args []string) error {
			if all {
				return shell.Takes()(cmd, args)
			}
			return shell.Some("ID")(cmd, args)
		},
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			resume := func(id string) error {
				r, err := c.Reminders.Resume(ctx, id)
				if err != nil {
					return err
				}
				return sh.Show(r, func() { printReminder(sh, r) })
			}
			for _, id := range args {
				if err := resume(id); err != nil {
					return err
				}
			}
			for all {
				page, err := c.Reminders.List(ctx, client.Filter{Held: true}) // what was resumed is on no page any more
				if err != nil || len(page.Items) == 0 {
					return err
				}
				for _, r := range page.Items {
					if err := resume(r.ID); err != nil {
						return err
					}
				}
			}
			return nil
		}),
	}
	cmd.Flags().BoolVar(&all, "all", false, "all of the tenant that a new epoch holds")
	return cmd
}

func printReminder(sh *shell.Shell, r wire.Reminder) {
	const most = 3
	var slots []string
	for _, slot := range r.Slots[:min(most, len(r.Slots))] {
		slots = append(slots, sh.At(slot))
	}
	if len(r.Slots) > most {
		slots = append(slots, "…")
	}
	sh.Fields(append(factsOf(sh, r), [2]string{"next", strings.Join(slots, ", ")})...)
	for _, w := range r.Warnings {
		sh.Notef("%s: %s %s\n", sh.Says("warning"), w.Path, sh.Says(w.Message))
	}
}

func factsOf(sh *shell.Shell, r wire.Reminder) [][2]string {
	var people, preparing, doubtful string
	if c := r.Campaign; c != nil {
		people = cmp.Or(c.Audience, sh.Text("those of %s", c.Like))
		if c.Query != nil {
			people = c.Query.Database + ": " + shell.Cut(c.Query.Query, 100)
		}
	}
	if r.Preparing != nil {
		preparing = r.Preparing.Campaign
	}
	if r.Paused { // a slot of its own has what a new epoch holds alone
		doubtful = sh.At(r.NextAt)
	}
	return [][2]string{
		{"reminder", r.ID}, {"state", reminderState(r)}, {"reason", r.Reason}, {"may have been sent", doubtful}, {"last error", r.Error},
		{"channel", r.Draft.Channel}, {"route", r.Draft.Route}, {"campaign", like(r)}, {"people", people}, {"preparing", preparing}, {"kind", r.Draft.Kind}, {"ref", r.Draft.Ref}, {"template", r.Draft.Template},
		{"when", whenever(sh, r.Reminder)}, {"missed", string(r.Missed)},
		{"sent", sh.Text("%d of %d that came", r.Fired, r.Reminder.Slots)}, {"last message", r.Message},
	}
}

// like is the campaign that a schedule's campaigns are like.
func like(r wire.Reminder) string {
	if r.Campaign == nil {
		return ""
	}
	return r.Campaign.Like
}

// whenever is a countdown or a repeat in words.
func whenever(sh *shell.Shell, r posthouse.Reminder) string {
	var words []string
	add := func(given bool, format string, args ...any) {
		if given {
			words = append(words, sh.Text(format, args...))
		}
	}
	if c := r.Countdown; c != nil {
		add(true, "down to %s", sh.At(c.To))
		add(c.Before > 0, "from %s before", c.Before)
		add(c.Before > 0, "every %s", c.Every)
	} else if c := r.Repeat; c != nil {
		add(true, "from %s", sh.At(c.From))
		add(c.Every > 0, "every %s", c.Every)
		add(c.Cron != "", "by cron %q in %s", c.Cron, c.TimeZone)
		add(len(c.Daily) > 0, "daily at %s %s", strings.Join(c.Daily, " "), c.TimeZone)
		add(c.Max > 0, "at most %d", c.Max)
		add(!c.Until.IsZero(), "until %s", sh.At(c.Until))
	}
	return strings.Join(words, ", ")
}

func remindEnd(sh *shell.Shell) *cobra.Command {
	var kind, ref string
	cmd := &cobra.Command{
		Use: "end (ID | --kind KIND --ref REF)", Short: "End a reminder, and withdraw its message that waits", Args: shell.UpTo(1),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			switch {
			case len(args) == 1 && kind+ref == "":
				r, err := c.Reminders.End(ctx, args[0])
				if err != nil {
					return err
				}
				return sh.Show(r, func() { printReminder(sh, r) })
			case len(args) == 0 && kind != "" && ref != "":
				page, err := c.Reminders.EndRef(ctx, kind, ref)
				if err != nil {
					return err
				}
				return sh.Show(page, func() { printReminders(sh, page) })
			}
			return shell.Usagef("either a reminder's id or both --kind and --ref say what is ended")
		}),
	}
	cmd.Flags().StringVar(&kind, "kind", "", "the `KIND` of the reminders")
	cmd.Flags().StringVar(&ref, "ref", "", "their `REF`")
	return cmd
}
