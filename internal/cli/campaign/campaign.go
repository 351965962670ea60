// Package campaign has the commands of campaigns and of stored lists of people.
package campaign

import (
	"context"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/cli/shell"
	"github.com/posthouse/posthouse/wire"
)

// Group is what is done with campaigns.
func Group(sh *shell.Shell) *cobra.Command {
	return sh.Calling(shell.Group("campaign", "What is sent to an audience of up to millions, each known by name",
		create(sh), list(sh), show(sh), importPeople(sh), query(sh, ofCampaign), followers(sh, ofCampaign), plan(sh), test(sh), change(sh), start(sh),
		act(sh, "unschedule", "Take back when a campaign is to begin by itself", client.Campaigns.Unschedule), watch(sh),
		act(sh, "pause", "Start nobody more; who is under way is finished", client.Campaigns.Pause),
		act(sh, "resume", "Go on with a campaign that is paused", client.Campaigns.Resume),
		repair(sh),
		deletion(sh, "Delete a campaign that was never started, or has ended, with its members and where they stand",
			func(ctx context.Context, c *client.Client, name string) error { return c.Campaigns.Delete(ctx, name) }),
		act(sh, "cancel", "End a campaign: everybody who is not under way is cancelled", client.Campaigns.Cancel),
		resolve(sh), again(sh), clone(sh), who(sh), export(sh), refused(sh)))
}

func create(sh *shell.Shell) *cobra.Command {
	var draft wire.CampaignDraft
	var text, own, payload, deadline, file string
	var how people
	var some selection
	cmd := &cobra.Command{
		Use: "add NAME", Aliases: []string{"create"}, Short: "Make a campaign, and import its people where a file is named", Args: shell.Takes("NAME"),
		Example: `  posthouse campaign add coupon-a --channel wechat --template coupon --audience people.csv
  posthouse campaign add news --channel mail --text "We have moved" --list customers
  posthouse campaign add a --channel mail --text Hi --list all --share 0-10%`,
	}
	flags := cmd.Flags()
	flags.StringVar(&draft.Channel, "channel", "", "the `NAME` of the channel that sends")
	flags.StringVar(&draft.Template, "template", "", "the `NAME` of the template that makes each member's content")
	flags.StringVar(&text, "text", "", "the `TEXT` that everybody gets, in place of a template")
	flags.StringVar(&own, "own-text", "", "a `TEXT` with placeholders of columns, such as '${name}: ${sum} off', in place of a template")
	flags.StringVar(&payload, "payload", "", "the `JSON` that the template is filled with for all: an object, @FILE, or - for standard input")
	flags.StringVar(&draft.Kind, "kind", "", "the business type, a `WORD` of your own")
	flags.StringVar(&file, "audience", "", "the `FILE` of its people, see campaign import")
	flags.StringVar(&draft.Audience, "list", "", "the `NAME` of a stored list, in place of a file")
	flags.StringVar((*string)(&draft.Priority), "priority", "", "`WORD`: high, normal or low (default normal)")
	flags.StringVar((*string)(&draft.OnUnknown), "on-unknown", "", "what follows where nobody knows whether a member was reached: `WORD` hold or retry")
	flags.StringVar(&deadline, "deadline", "", "the `TIME` when sending ends, whoever is left: \"2030-10-01 20:00\", 20:00, or 2h from now")
	flags.IntVar(&draft.SegmentSize, "segment-size", 0, "how many members are claimed as one, a `NUMBER` (default 1000)")
	how.describe(cmd)
	some.describe(cmd)
	var with caution
	with.describe(cmd)
	cmd.RunE = sh.Over(func(ctx context.Context, c *client.Client, args []string) (err error) {
		draft.Name = args[0]
		if draft.CampaignRules, err = with.rules(); err != nil {
			return err
		}
		if draft.Payload, err = sh.Object("--payload", payload); err != nil {
			return err
		}
		if draft.Deadline, err = sh.Moment("--deadline", deadline); err != nil {
			return err
		}
		if draft.Select, err = some.asked(); err != nil {
			return err
		}
		if text != "" {
			draft.Content = &posthouse.Content{Text: text}
		}
		if own != "" {
			draft.OwnText = &wire.CampaignText{Text: own}
		}
		if file != "" {
			if err := how.look(sh, file); err != nil {
				return err
			}
		}
		made, err := c.Campaigns.Create(ctx, draft)
		if err == nil && file != "" {
			if _, err = how.send(ctx, sh, ofCampaign(c, draft.Name), file); err == nil {
				made, err = c.Campaigns.Get(ctx, draft.Name)
			}
		}
		if err != nil {
			return err
		}
		return sh.Show(made, func() { printCampaign(sh, made) })
	})
	return cmd
}

func list(sh *shell.Shell) *cobra.Command {
	var f client.Filter
	var only string
	cmd := &cobra.Command{
		Use: "list", Short: "List campaigns, newest first", Args: shell.Takes(),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, _ []string) error {
			page, err := c.Campaigns.List(ctx, posthouse.CampaignState(only), f)
			if err != nil {
				return err
			}
			return sh.Show(page, func() {
				var rows [][]string
				for _, c := range page.Items {
					n := &c.Counts
					rows = append(rows, []string{
						c.Name, string(c.State), c.Channel, count(n.Members), count(n.Through()), count(n.Sent + n.Delivered), count(n.Missed()), count(n.Unknown),
						sh.At(c.CreatedAt), sh.At(c.StartAt), sh.At(c.Deadline),
					})
				}
				sh.Table([]string{"Campaign", "State", "Channel", "People", "Through", "Sent", "Failed", "Unknown", "Made", "Begins", "Deadline"}, rows)
				sh.More(page.Next)
			})
		}),
	}
	cmd.Flags().StringVar(&only, "in", "", "only in this `STATE`, such as ready")
	shell.PageFlags(cmd.Flags(), &f.Limit, 50, &f.Cursor)
	return cmd
}

func count(n int64) string { return strconv.FormatInt(n, 10) }

func show(sh *shell.Shell) *cobra.Command {
	return &cobra.Command{
		Use: "show NAME", Short: "Show a campaign and how far it is", Args: shell.Takes("NAME"),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			got, err := c.Campaigns.Get(ctx, args[0])
			if err != nil {
				return err
			}
			return sh.Show(got, func() { printCampaign(sh, got) })
		}),
	}
}

func printCampaign(sh *shell.Shell, c wire.Campaign) {
	sh.Fields(append([][2]string{
		{"campaign", c.Name}, {"id", c.ID}, {"state", string(c.State)}, {"channel", c.Channel}, {"template", c.Template}, {"list", c.Audience},
		{"made", sh.At(c.CreatedAt)}, {"begins", sh.At(c.StartAt)}, {"deadline", sh.At(c.Deadline)}, {"finished", sh.At(c.FinishedAt)}, {"import", told(sh, c.People)}, {"reason", c.Reason},
		{"waits", waiting(sh, &c.Progress)}, {"speed", speed(sh, &c)},
	}, rulesTold(sh, c.CampaignRules)...)...)
	p := c.Progress
	var rows [][]string
	for _, line := range []struct {
		name string
		n    int64
	}{
		{"members", p.Members}, {"unsent", p.Unsent}, {"started", p.Started}, {"sent", p.Sent}, {"delivered", p.Delivered}, {"undelivered", p.Undelivered}, {"failed", p.Failed},
		{"unknown", p.Unknown}, {"expired", p.Expired}, {"suppressed", p.Suppressed}, {"cancelled", p.Cancelled}, {"handed over", p.HandedOver},
	} {
		if line.n > 0 || line.name == "members" {
			rows = append(rows, []string{sh.Label(line.name), strconv.FormatInt(line.n, 10)})
		}
	}
	sh.Printf("\n")
	sh.Table([]string{"People", "Number"}, rows)
	printReasons(sh, p.Reasons)
}

// waiting says why nobody is sent to, empty where somebody is.
func waiting(sh *shell.Shell, p *wire.CampaignProgress) string {
	if p.Waits == "" || p.Until.IsZero() {
		return p.Waits
	}
	return sh.Says(p.Waits) + ", " + sh.Text("until %s", sh.At(p.Until))
}

// speed says how fast a campaign goes, empty where nobody can tell.
func speed(sh *shell.Shell, c *wire.Campaign) string {
	switch p := &c.Progress; {
	case p.PerSecond <= 0:
		return ""
	case c.State != posthouse.CampaignRunning:
		return sh.Text("%.1f a second", p.PerSecond)
	case p.Left > 0:
		return sh.Text("%.1f a second, %s left", p.PerSecond, p.Left)
	default:
		return sh.Text("%.1f a second in the last minute", p.PerSecond)
	}
}

// printReasons says why people failed or are unknown.
func printReasons(sh *shell.Shell, list []wire.CampaignReason) {
	var rows [][]string
	for _, r := range list {
		rows = append(rows, []string{r.Outcome, strconv.FormatInt(r.Members, 10), string(r.Class), r.Code, sh.Cut(r.Error, 60)})
	}
	if len(rows) > 0 {
		sh.Printf("\n")
		sh.Table([]string{"Outcome", "People", "Class", "Code", "Error"}, rows)
	}
}

// told says how far an import is.
func told(sh *shell.Shell, a posthouse.Audience) string {
	text := sh.Text("%s: %d people, %d repeated, %d refused", sh.State(string(a.State)), a.Members, a.Repeated, a.Refused)
	if a.State == posthouse.AudienceOpen {
		text = sh.Text("%s, %d bytes so far: %d people, %d refused", sh.State(string(a.State)), a.Offset, a.Members, a.Refused)
	}
	return text
}

func plan(sh *shell.Shell) *cobra.Command {
	return &cobra.Command{
		Use: "plan NAME", Short: "Say what would happen: people, what is missing, samples, and how long it takes", Args: shell.Takes("NAME"),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			p, err := c.Campaigns.Plan(ctx, args[0])
			if err != nil {
				return err
			}
			return sh.Show(p, func() { printPlan(sh, p) })
		}),
	}
}

func printPlan(sh *shell.Shell, p wire.CampaignPlan) {
	takes := sh.Text("no limit bounds it")
	if p.Duration > 0 {
		takes = sh.Text("at least %s", p.Duration)
	}
	recently := "" // nobody looks without the rule
	if p.NotToldWithin > 0 {
		recently = strconv.FormatInt(p.ToldRecently, 10)
	}
	sh.Fields(append([][2]string{
		{"people", strconv.FormatInt(p.Members, 10)}, {"repeated", strconv.FormatInt(p.Repeated, 10)}, {"refused", strconv.FormatInt(p.Refused, 10)}, {"suppressed", strconv.FormatInt(p.Suppressed, 10)}, {"told recently", recently},
		{"segments", strconv.FormatInt(p.Segments, 10)}, {"takes", takes},
	}, rulesTold(sh, p.CampaignRules)...)...)
	for _, w := range p.Windows {
		of := string(w.Of)
		if w.Account != "" {
			of += " " + w.Account
		}
		sh.Printf("quota: %d of %d in %s of the %s are used, %d are left\n", w.Used, w.Max, w.Per, of, w.Left)
	}
	for _, name := range slices.Sorted(maps.Keys(p.Missing)) {
		sh.Printf("missing: %s, in %d records\n", name, p.Missing[name])
	}
	for _, f := range p.Problems {
		sh.Printf("%s: %s: %s\n", sh.Says("problem"), f.Path, sh.Says(f.Message))
	}
	var rows [][]string
	for _, s := range p.Samples {
		said := s.Content.Text
		if len(s.Payload) > 2 { // it goes by a template of the provider's
			said = string(s.Payload)
		}
		for _, f := range s.Problems {
			said = f.Path + ": " + f.Message
		}
		rows = append(rows, []string{strconv.FormatInt(s.Seq, 10), s.Address, shell.Cut(said, 100)})
	}
	if len(rows) > 0 {
		sh.Printf("\n")
		sh.Table([]string{"Record", "Address", "Gets"}, rows)
	}
}

func who(sh *shell.Shell) *cobra.Command {
	return &cobra.Command{
		Use: "who NAME ADDRESS", Short: "Find one member by the address, and say where it stands", Args: shell.Takes("NAME", "ADDRESS"),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			m, err := c.Campaigns.Who(ctx, args[0], args[1])
			if err != nil {
				return err
			}
			return sh.Show(m, func() {
				sh.Fields([][2]string{{"address", m.Address}, {"number", strconv.FormatInt(m.Seq, 10)}, {"outcome", m.Outcome}, {"reason", reasonTold(m.Reason)}, {"account", m.Account}, {"segment", m.Segment}, {"variables", string(m.Variables)}}...)
			})
		}),
	}
}

func reasonTold(r *wire.CampaignReason) string {
	if r == nil {
		return ""
	}
	return strings.TrimSpace(r.Code + " " + r.Error)
}

func export(sh *shell.Shell) *cobra.Command {
	var f shell.Export
	var of client.MemberFilter
	cmd := &cobra.Command{
		Use: "export NAME", Short: "Write every member and where it stands, to a file or a pipe", Args: shell.Takes("NAME"),
		Example: `  posthouse campaign export coupon-a --outcome failed --output failed.csv`,
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			return f.Write(sh, func(w io.Writer, format string) error { return c.Campaigns.ExportOf(ctx, w, args[0], format, of) })
		}),
	}
	f.Describe(cmd.Flags(), "csv")
	cmd.Flags().StringVar(&of.Outcome, "outcome", "", "only who stands there, a `WORD` such as failed")
	cmd.Flags().StringVar(&of.Code, "code", "", "only whose reason has this `CODE`, such as 47003")
	return cmd
}

func refused(sh *shell.Shell) *cobra.Command {
	var f shell.Export
	cmd := &cobra.Command{
		Use: "refused NAME", Short: "Write the records that could not be read, with line, column and reason", Args: shell.Takes("NAME"),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			return f.Write(sh, func(w io.Writer, format string) error { return c.Campaigns.Refused(ctx, w, args[0], format) })
		}),
	}
	f.Describe(cmd.Flags(), "csv")
	return cmd
}

func start(sh *shell.Shell) *cobra.Command {
	var force bool
	var at string
	cmd := &cobra.Command{
		Use: "start NAME", Short: "Begin to send a campaign, now or at a time", Args: shell.Takes("NAME"),
		Example: `  posthouse campaign start coupon-a
  posthouse campaign start coupon-a --at "2030-10-01 08:00"`,
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			when, err := sh.Moment("--at", at)
			if err != nil {
				return err
			}
			got, err := c.Campaigns.StartAt(ctx, args[0], when, force)
			if err != nil {
				return err
			}
			return sh.Show(got, func() { printCampaign(sh, got) })
		}),
	}
	cmd.Flags().StringVar(&at, "at", "", "the `TIME` when it begins by itself: \"2030-10-01 08:00\", 08:00, or 2h from now")
	cmd.Flags().BoolVar(&force, "force", false, "start although records lack a variable, or the deadline comes before the end")
	return cmd
}

// change is a command that changes how a campaign is sent that has not begun.
func change(sh *shell.Shell) *cobra.Command {
	var in wire.CampaignChange
	var deadline, own string
	var with caution
	cmd := &cobra.Command{
		Use: "change NAME", Short: "Change how a campaign is sent that has not begun", Args: shell.Takes("NAME"),
		Example: `  posthouse campaign change coupon-a --deadline "2030-10-01 20:00" --spread 2h
  posthouse campaign change coupon-a --remove brake,canary
  posthouse campaign change coupon-a --name coupon-b`,
	}
	flags := cmd.Flags()
	flags.StringVar(&in.Name, "name", "", "the `NAME` by which it is called from now on")
	flags.StringVar((*string)(&in.Priority), "priority", "", "`WORD`: high, normal or low")
	flags.StringVar((*string)(&in.OnUnknown), "on-unknown", "", "what follows where nobody knows whether a member was reached: `WORD` hold or retry")
	flags.StringVar(&deadline, "deadline", "", "the `TIME` when sending ends, whoever is left: \"2030-10-01 20:00\", 20:00, or 2h from now")
	flags.StringSliceVar(&in.Remove, "remove", nil, "what it has no more, `NAMES` with commas: deadline, spread, canary, brake, not_told_within, parameters, payload")
	flags.StringVar(&in.Template, "template", "", "the `NAME` of the template by which it goes from now on")
	flags.StringVar(&own, "own-text", "", "a `TEXT` of its own from now on, such as '${name}: ${sum} off'")
	with.describe(cmd)
	cmd.RunE = sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
		rules, err := with.rules()
		if err != nil {
			return err
		}
		if own != "" {
			in.OwnText = &wire.CampaignText{Text: own}
		}
		end, err := sh.Moment("--deadline", deadline)
		if err != nil {
			return err
		}
		if !end.IsZero() {
			in.Deadline = &end
		}
		if flags.Changed("spread") {
			in.Spread = &rules.Spread
		}
		if flags.Changed("not-told-within") {
			in.NotToldWithin = &rules.NotToldWithin
		}
		in.Canary, in.Brake, in.Parameters = rules.Canary, rules.Brake, rules.Parameters
		got, err := c.Campaigns.Change(ctx, args[0], in)
		if err != nil {
			return err
		}
		return sh.Show(got, func() { printCampaign(sh, got) })
	})
	return cmd
}

func repair(sh *shell.Shell) *cobra.Command {
	return &cobra.Command{
		Use: "repair NAME", Short: "Look at once for what lost workers have left, and say what was issued anew", Args: shell.Takes("NAME"),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			got, err := c.Campaigns.Repair(ctx, args[0])
			if err != nil {
				return err
			}
			return sh.Show(got, func() {
				if got.Repaired.Segments == 0 {
					sh.Printf("nothing to repair: no lease of a worker that stopped is over (it ends some 20 s later), and nobody who was refused is due for another try\n\n")
				} else {
					sh.Printf("issued anew: %d people of %d segments\n\n", got.Repaired.Members, got.Repaired.Segments)
				}
				printCampaign(sh, got.Campaign)
			})
		}),
	}
}

func again(sh *shell.Shell) *cobra.Command {
	var a wire.CampaignAgain
	var some selection
	cmd := &cobra.Command{
		Use: "again NAME", Short: "Make the next campaign of those members of one who ended in some way", Args: shell.Takes("NAME"),
		Example: `  posthouse campaign again coupon-a --outcome failed,unknown
  posthouse campaign again coupon-a --outcome undelivered --name coupon-b`,
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			asked, err := some.asked()
			if err != nil {
				return err
			}
			if asked != nil {
				a.MemberSelection = *asked
			}
			made, err := c.Campaigns.Again(ctx, args[0], a)
			if err != nil {
				return err
			}
			return sh.Show(made, func() { printMade(sh, &made) })
		}),
	}
	cmd.Flags().StringSliceVar(&a.Outcomes, "outcome", nil, "of whom, `OUTCOMES` with commas: sent, delivered, undelivered, failed, unknown, expired, suppressed, cancelled")
	cmd.Flags().StringVar(&a.Name, "name", "", "what it is called, a `NAME` (default that of the one before and -again)")
	some.describe(cmd)
	return cmd
}

func resolve(sh *shell.Shell) *cobra.Command {
	var r wire.CampaignResolve
	cmd := &cobra.Command{
		Use: "resolve NAME (sent | not_sent | resend)", Short: "Decide on members of whom nobody knows whether they were reached", Args: shell.Takes("NAME", "OUTCOME"),
		Example: `  posthouse campaign export coupon-a --outcome unknown
  posthouse campaign resolve coupon-a sent --address o2
  posthouse campaign resolve coupon-a resend`,
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			r.Outcome = wire.CampaignVerdict(args[1])
			done, err := c.Campaigns.Resolve(ctx, args[0], r)
			if err != nil {
				return err
			}
			return sh.Show(done, func() { sh.Printf("decided on: %d\n", done.Resolved) })
		}),
	}
	cmd.Flags().StringVar(&r.Address, "address", "", "the `ADDRESS` of the only member that is meant, in place of all who are unknown")
	return cmd
}

// act is a command that does one thing to a campaign.
func act(sh *shell.Shell, use, short string, act func(client.Campaigns, context.Context, string) (wire.Campaign, error)) *cobra.Command {
	return &cobra.Command{
		Use: use + " NAME", Short: short, Args: shell.Takes("NAME"),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			got, err := act(c.Campaigns, ctx, args[0])
			if err != nil {
				return err
			}
			return sh.Show(got, func() { printCampaign(sh, got) })
		}),
	}
}
