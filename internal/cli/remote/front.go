package remote

import (
	"cmp"
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/cli/shell"
	"github.com/posthouse/posthouse/internal/fronttext"
	"github.com/posthouse/posthouse/internal/shellword"
	"github.com/posthouse/posthouse/wire"
)

func frontGroup(sh *shell.Shell) *cobra.Command {
	return sh.Calling(shell.Group("front", "The fronts, at which senders of other makers hand in messages in their own form",
		frontKinds(sh), frontAdd(sh), frontList(sh), frontShow(sh), frontRotate(sh), frontReveal(sh), frontDelete(sh)))
}

func frontKinds(sh *shell.Shell) *cobra.Command {
	return &cobra.Command{
		Use: "kinds", Short: "List whose forms a front can speak", Args: shell.Takes(),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, _ []string) error {
			list, err := c.Fronts.Kinds(ctx)
			if err != nil {
				return err
			}
			return sh.Show(list, func() {
				var rows [][]string
				for _, k := range list {
					rows = append(rows, []string{k.Kind, k.Title})
				}
				sh.Table([]string{"Kind", "Form"}, rows)
			})
		}),
	}
}

// frontFlags are what a front is made of.
type frontFlags struct {
	name              string
	recipients        []string
	matches, formulas []string
	priorities        map[string]string
	in                wire.PutFront
	format            string
}

func frontAdd(sh *shell.Shell) *cobra.Command {
	var f frontFlags
	cmd := &cobra.Command{
		Use: "add KIND", Short: "Make a front and print what to paste at the sender; or replace the settings of the one of this name", Args: shell.Takes("KIND"),
		Long: `Make a front and print what to paste at the sender, with the token of the front in it, which is shown this once. A front that has the
name already gets the settings of this command and keeps its token.

Recipients are users of the directory; roster:NAME is whoever is on duty when a message comes, role:NAME whoever has the role, and
address:TEXT is where the channel reaches somebody. A front of the kind smsgate may have none: its senders then name the numbers. So may a
front that leads to a route whose steps all name theirs.`,
		Example: `  posthouse front add alertmanager --to-channel ops --recipients roster:sre
  posthouse front add grafana --to-channel ops --recipients li.na --language zh --each alert
  posthouse front add grafana --to-channel ops --recipients u1 --match 'team=db to-channel=db'
  posthouse front add alertmanager --to-route night
  posthouse front add grafana --to-channel ops --recipients u1 --match 'team=db to-route=night'
  posthouse front add alertmanager --to-channel robot --recipients ops --each alert --digest alerts
  posthouse front add smsgate --to-channel sms`,
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			f.in.Kind = args[0]
			if err := f.read(); err != nil {
				return err
			}
			made, err := c.Fronts.Put(ctx, cmp.Or(f.name, f.in.Kind), f.in)
			if err != nil {
				return err
			}
			return sh.Show(made, func() {
				showFront(sh, made)
				for _, w := range made.Warnings {
					sh.Notef("%s: %s %s\n", sh.Says("warning"), w.Path, sh.Says(w.Message))
				}
			})
		}),
	}
	cmd.Flags().StringVar(&f.name, "name", "", "what to call it, a `NAME` (default the kind)")
	cmd.Flags().StringVar(&f.in.Channel, "to-channel", "", "the `CHANNEL` that its messages go through")
	cmd.Flags().StringVar(&f.in.Route, "to-route", "", "the `ROUTE` that its messages follow, in place of a channel")
	cmd.Flags().StringSliceVar(&f.recipients, "recipients", nil, "whom they are for, a `LIST`: users, roster:NAME, role:NAME or address:TEXT")
	cmd.Flags().StringArrayVar(&f.matches, "match", nil, "labels that lead elsewhere, a `RULE` of NAME=VALUE, to-channel=CHANNEL or to-route=ROUTE, and recipients=LIST; the first that fits counts")
	cmd.Flags().StringVar(&f.in.Digest, "digest", "", "the `DIGEST` that gathers what goes through a channel (default none: each leaves by itself)")
	cmd.Flags().StringVar(&f.in.Template, "template", "", "the `TEMPLATE` to fill, in place of the front's own text")
	cmd.Flags().StringVar(&f.in.MessageKind, "message-kind", "", "the `KIND` of the messages (default the front's)")
	cmd.Flags().StringVar(&f.in.Language, "language", "", "the `LANGUAGE` of the front's own text: en or zh (default en)")
	cmd.Flags().StringVar(&f.format, "format", "", "the `FORMAT` of the front's own text: text or markdown (default markdown where the channel sends it)")
	cmd.Flags().StringVar(&f.in.Each, "each", "", "`WHAT` becomes a message: group or alert (default group)")
	cmd.Flags().StringToStringVar(&f.priorities, "priority", nil, "the priorities of the sender's words, as `WORD=PRIORITY`, such as warning=high")
	cmd.Flags().TextVar(&f.in.DedupWindow, "dedup-window", &f.in.DedupWindow, "how long the same is taken once, a `DURATION` up to 24h (default 5m, of mail 24h)")
	cmd.Flags().Lookup("dedup-window").DefValue, cmd.Flags().Lookup("priority").DefValue = "", "" // the usage says it
	cmd.Flags().BoolVar(&f.in.Signed, "signed", false, "refuse what does not carry the sender's signature, whose secret is the token")
	cmd.Flags().StringArrayVar(&f.formulas, "expression", nil, "what makes a part of a message of a body, as `NAME=EXPRESSION`, of the kind json; may be repeated")
	return cmd
}

// read turns flags into settings.
func (f *frontFlags) read() error {
	f.in.To = fronttext.Recipients(f.recipients)
	f.in.Format = posthouse.ContentType(f.format)
	for _, text := range f.formulas {
		name, source, err := fronttext.Pair(text, "title=build.name")
		if err != nil {
			return shell.Usagef("--expression %.80q: want NAME=EXPRESSION, such as 'title=build.name'", text)
		}
		if f.in.Expressions == nil {
			f.in.Expressions = map[string]string{}
		}
		f.in.Expressions[name] = source
	}
	for word, p := range f.priorities {
		if f.in.Priorities == nil {
			f.in.Priorities = map[string]posthouse.Priority{}
		}
		f.in.Priorities[word] = posthouse.Priority(p)
	}
	for _, text := range f.matches {
		m, err := fronttext.Match(text)
		if err != nil {
			return shell.Usagef("--match has %v", err)
		}
		f.in.Match = append(f.in.Match, m)
	}
	return nil
}

// showFront prints what to paste, and beside it where it goes.
func showFront(sh *shell.Shell, made wire.NewFront) {
	if made.Token == "" {
		sh.Printf("%s\n", made.Path)
		sh.Notef("  → stored; the token stays as it is: posthouse front rotate %s makes another\n", shellword.Quote(made.Name))
		return
	}
	for i, s := range made.Setup {
		if i > 0 {
			sh.Printf("\n")
		}
		sh.Printf("# %s\n", sh.Says(s.Title))
		for line := range strings.Lines(s.Text) { // what stands on one line cannot begin another
			sh.Printf("%s\n", strings.TrimSuffix(line, "\n"))
		}
	}
	if len(made.Setup) == 0 {
		sh.Printf("%s/%s\n", made.Path, made.Token)
	}
	sh.Notef("  → the token is shown this once; posthouse front show %s says what came\n", shellword.Quote(made.Name))
}

func recipientText(sh *shell.Shell, f posthouse.Front) string {
	switch {
	case len(f.To) == 0 && f.Kind == "smsgate":
		return sh.Text("whom the sender names")
	case len(f.To) == 0:
		return sh.Text("whom the route names")
	}
	return strings.Join(fronttext.OfRecipients(f.To), ", ")
}

// placeText is where the messages of a front go.
func placeText(sh *shell.Shell, f posthouse.Front) string {
	if f.Route != "" {
		return sh.Text("route %s", f.Route)
	}
	return f.Channel
}

func frontList(sh *shell.Shell) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the fronts", Args: shell.Takes(),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, _ []string) error {
			list, err := c.Fronts.List(ctx)
			if err != nil {
				return err
			}
			return sh.Show(list, func() {
				var rows [][]string
				for _, f := range list {
					rows = append(rows, []string{f.Name, f.Kind, placeText(sh, f), recipientText(sh, f), sh.At(f.LastAt)})
				}
				sh.Table([]string{"Front", "Kind", "To", "For", "Last received"}, rows)
			})
		}),
	}
}

func frontShow(sh *shell.Shell) *cobra.Command {
	return &cobra.Command{
		Use: "show NAME", Short: "Show a front, what came there last, and what became of it", Args: shell.Takes("NAME"),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			f, err := c.Fronts.Get(ctx, args[0])
			if err != nil {
				return err
			}
			calls, err := c.Fronts.Calls(ctx, args[0])
			if err != nil {
				return err
			}
			return sh.Show(map[string]any{"front": f, "calls": calls}, func() {
				sh.Fields([][2]string{{"front", f.Name}, {"kind", f.Kind}, {"channel", f.Channel}, {"route", f.Route}, {"for", recipientText(sh, f)}, {"digest", f.Digest}, {"template", f.Template}, {"last received", sh.At(f.LastAt)}}...)
				var rows [][]string
				for _, call := range calls {
					rows = append(rows, []string{sh.At(call.At), string(call.Outcome), strings.Join(call.Messages, " "), call.Reason, call.ID})
				}
				if len(rows) > 0 {
					sh.Table([]string{"Received", "Outcome", "Messages", "Why", "Call"}, rows)
				}
			})
		}),
	}
}

func frontRotate(sh *shell.Shell) *cobra.Command {
	return &cobra.Command{
		Use: "rotate NAME", Short: "Give a front another token and print what to paste; within seconds the old one is refused", Args: shell.Takes("NAME"),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			made, err := c.Fronts.Rotate(ctx, args[0])
			if err != nil {
				return err
			}
			return sh.Show(made, func() { showFront(sh, made) })
		}),
	}
}

func frontReveal(sh *shell.Shell) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use: "reveal NAME CALL", Short: "Show the body of a call as it came; the audit log has who saw it and why", Args: shell.Takes("NAME", "CALL"),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			found, err := c.Fronts.Reveal(ctx, args[0], args[1], reason)
			if err != nil {
				return err
			}
			return sh.Show(found, func() {
				for line := range strings.Lines(found.Body) {
					sh.Printf("%s\n", strings.TrimSuffix(line, "\n"))
				}
			})
		}),
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why, a `TEXT` for the audit log")
	return cmd
}

func frontDelete(sh *shell.Shell) *cobra.Command {
	return &cobra.Command{
		Use: "delete NAME", Short: "Delete a front: who calls it is refused", Args: shell.Takes("NAME"),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			if err := c.Fronts.Delete(ctx, args[0]); err != nil {
				return err
			}
			return sh.Done(args[0], "deleted")
		}),
	}
}
