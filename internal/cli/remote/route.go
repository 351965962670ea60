package remote

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/cli/shell"
	"github.com/posthouse/posthouse/internal/route"
	"github.com/posthouse/posthouse/internal/web"
	"github.com/posthouse/posthouse/wire"
)

func routeGroup(sh *shell.Shell) *cobra.Command {
	return sh.Calling(shell.Group("route", "By which channels somebody is told, one step after the other",
		routeList(sh), routeGet(sh), routePut(sh), routeDelete(sh), routePreview(sh)))
}

func routeList(sh *shell.Shell) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the routes", Args: shell.Takes(),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, _ []string) error {
			all, err := c.Routes.List(ctx)
			if err != nil {
				return err
			}
			return sh.Show(all, func() {
				var rows [][]string
				for _, r := range all {
					rows = append(rows, []string{r.Name, fmt.Sprint(r.Version), string(r.Kind), string(r.For), stepsInWords(r.Steps), shell.Cut(r.Note, 50)})
				}
				sh.Table([]string{"Route", "Version", "Kind", "For", "Steps", "Note"}, rows)
			})
		}),
	}
}

// stepsInWords are the channels of each step: oa → sms, voice.
func stepsInWords(steps []posthouse.RouteStep) string {
	var words []string
	for _, s := range steps {
		words = append(words, strings.Join(s.Channels, ", "))
	}
	return strings.Join(words, " → ")
}

func routeGet(sh *shell.Shell) *cobra.Command {
	var version int
	cmd := &cobra.Command{
		Use: "show NAME", Short: "Show a route", Args: shell.Takes("NAME"),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			r, err := c.Routes.Get(ctx, args[0], version)
			if err != nil {
				return err
			}
			return sh.Show(r, func() { printRoute(sh, r) })
		}),
	}
	cmd.Flags().IntVar(&version, "version", 0, "a `NUMBER` (default the latest)")
	return cmd
}

func printRoute(sh *shell.Shell, r posthouse.Route) {
	sh.Fields([][2]string{
		{"route", r.Name}, {"version", fmt.Sprint(r.Version)}, {"kind", string(r.Kind)}, {"for", string(r.For)},
		{"on unknown", string(r.OnUnknown)}, {"made", sh.At(r.CreatedAt)}, {"note", r.Note},
	}...)
	var rows [][]string
	for i, s := range r.Steps {
		within := ""
		if s.Within > 0 {
			within = s.Within.String()
		}
		rows = append(rows, []string{fmt.Sprint(i + 1), strings.Join(s.Channels, ", "), recipients(s.To), string(s.Until), within, s.When, templates(&s)})
	}
	sh.Table([]string{"Step", "Channels", "To", "Until", "Within", "When", "Template"}, rows)
}

// templates are those of a step: one for all of its channels, or one each.
func templates(s *posthouse.RouteStep) string {
	if len(s.Templates) == 0 {
		return s.Template
	}
	var list []string
	for _, name := range s.Channels {
		if own := s.TemplateOn(name); own != "" {
			list = append(list, name+" "+own)
		}
	}
	return strings.Join(list, ", ")
}

// examples are values of a route's fields, by what the field is called in a file without the numbers of lists.
var examples = map[string]string{
	"": `{"steps": [{"channels": ["oa"]}]}`, "note": `"who must know of a full disk"`, "kind": `"all"`, "for": `"any"`, "on_unknown": `"fall_back"`, "repeat": "2", "calendar": `"workdays"`,
	"steps": `[{"channels": ["oa"]}]`, "steps[]": `{"channels": ["oa"]}`, "steps[].channels": `["oa", "sms"]`, "steps[].channels[]": `"oa"`, "steps[].own": "true",
	"steps[].to": `[{"user": "li.na"}]`, "steps[].to[]": `{"roster": "night"}`, "steps[].to[].user": `"li.na"`, "steps[].to[].address": `"13800138000"`, "steps[].to[].roster": `"night"`,
	"steps[].to[].role": `"ops"`, "steps[].to[].manager": "1", "steps[].until": `"acknowledged"`, "steps[].within": `"10m"`, "steps[].when": `"hour >= 22"`,
	"steps[].template": `"alarm"`, "steps[].templates": `{"voice": "alarm-call"}`,
}

var routeNumbers = regexp.MustCompile(`\[\d+\]`)

var routeBody = web.BodyOf[posthouse.Route]().Loose()

// readRoute reads a route as the server does, and names all that is wrong with examples of what is wanted.
func readRoute(from string, text []byte) (posthouse.Route, error) {
	r, problems, err := routeBody.Read(text)
	if err != nil {
		return r, shell.Usagef("%s: %w", from, err)
	}
	for i := range r.Steps { // a client would leave it out
		if to := r.Steps[i].To; to != nil && len(to) == 0 {
			problems = append(problems, posthouse.Problem{Path: fmt.Sprintf("steps[%d].to", i), Message: route.EmptyTo})
		}
	}
	for i := range problems {
		p := &problems[i]
		if example := examples[routeNumbers.ReplaceAllString(p.Path, "[]")]; example != "" && strings.Contains(p.Message, ": want ") && !strings.Contains(p.Message, "such as") {
			p.Message += ", such as " + example
		}
	}
	if len(problems) > 0 {
		return r, shell.Usagef("%w", posthouse.Invalid(from+": it is no route", problems))
	}
	return r, nil
}

func routePut(sh *shell.Shell) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use: "put NAME --file FILE", Short: "Store a new version of a route", Args: shell.Takes("NAME"),
		Example: `  posthouse route put duty --file route.json
  # {"steps": [{"channels": ["oa"], "within": "5m"}, {"channels": ["sms"]}]}`,
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			if file == "" {
				return shell.Usagef("--file names the route's JSON file, or - for standard input")
			}
			from := file
			if from != "-" {
				from = "@" + from
			}
			b, err := sh.Input(from)
			if err != nil {
				return err
			}
			r, err := readRoute("--file "+file, b)
			if err != nil {
				return err
			}
			r.Name = args[0]
			stored, err := c.Routes.Put(ctx, r)
			if err != nil {
				return err
			}
			return sh.Show(stored, func() {
				sh.Printf("%s: version %d: %s\n", stored.Name, stored.Version, stepsInWords(stored.Steps))
				for _, w := range stored.Warnings {
					sh.Printf("  %s: %s %s\n", sh.Says("warning"), w.Path, sh.Says(w.Message))
				}
			})
		}),
	}
	cmd.Flags().StringVar(&file, "file", "", "the `FILE` with the route as JSON, or - for standard input")
	return cmd
}

func routeDelete(sh *shell.Shell) *cobra.Command {
	return &cobra.Command{
		Use: "delete NAME", Short: "Delete a route with all its versions; notifications that follow it go on", Args: shell.Takes("NAME"),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			if err := c.Routes.Delete(ctx, args[0]); err != nil {
				return err
			}
			return sh.Done(args[0], "deleted")
		}),
	}
}

func routePreview(sh *shell.Shell) *cobra.Command {
	var m message
	cmd := &cobra.Command{
		Use: "preview NAME", Short: "Show who would get what when, without sending it", Args: shell.Takes("NAME"),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			draft, err := m.read(sh)
			if err != nil {
				return err
			}
			out, err := c.Routes.Preview(ctx, args[0], draft)
			if err != nil {
				return err
			}
			return sh.Show(out, func() { printRoutePreview(sh, out) })
		}),
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&m.to, "to", nil, "the `RECIPIENTS`, with commas between: users, or USER=ADDRESS, or =ADDRESS")
	flags.StringVar(&m.title, "title", "", "the `TITLE`")
	flags.StringVar(&m.text, "text", "", "the `TEXT`, @FILE, or - for standard input")
	flags.StringVar(&m.draft.Template, "template", "", "the `NAME` of a template that makes title and text")
	flags.StringVar(&m.payload, "payload", "", "the template's values: a `JSON` object, @FILE, or -")
	flags.StringVar(&m.draft.Kind, "kind", "", "the message's `KIND`, which quiet hours, caps and preferences go by")
	flags.StringVar(&m.priority, "priority", "", "the `PRIORITY`: high, normal or low")
	flags.BoolVar(&m.draft.Critical, "critical", false, "as one that goes through quiet hours and caps")
	flags.StringVar(&m.notBefore, "not-before", "", "as if it were to start at this `TIME`")
	flags.StringVar(&m.deadline, "deadline", "", "as if it were not to start after this `TIME`")
	return cmd
}

func printRoutePreview(sh *shell.Shell, out wire.RoutePreview) {
	var rows [][]string
	for _, n := range out.Notifications {
		for _, s := range n.Steps {
			number, after := fmt.Sprint(s.Step), sh.Lasts(s.After.Std())
			if s.Round > 1 {
				number += sh.Text(" (round %d)", s.Round)
			}
			if s.WaitsUntil != nil {
				rows = append(rows, []string{whom(sh, n.To), number, after, "", "", "", waits(sh, s.Reason, *s.WaitsUntil)})
			}
			if s.Skipped != "" || s.Detail != "" {
				rows = append(rows, []string{whom(sh, n.To), number, after, "", "", "", skipped(sh, s.Skipped, s.Detail)})
			}
			for _, m := range s.Messages {
				rows = append(rows, []string{recipient(m.To), number, after, m.Channel, withLanguage(m.Template, m.Language), string(s.Until), heldBack(sh, &m)})
			}
			if s.Ends != "" {
				rows = append(rows, []string{whom(sh, n.To), number, after, "", "", "", sh.Text("the route ends here: %s", s.Ends)})
			}
		}
	}
	sh.Table([]string{"Recipient", "Step", "After", "Channel", "Template", "Until", "Problem"}, rows)
}

// skipped says why a step or a message is passed over. Without a word for it, it is not, and there is more to say of it.
func skipped(sh *shell.Shell, why, detail string) string {
	if why == "" {
		return sh.Tells(detail)
	}
	if detail == "" {
		return sh.Text("skipped: %s", why)
	}
	return sh.Text("skipped: %s, %s", why, sh.Tells(detail))
}

// waits says until when a step or a message waits, and for what.
func waits(sh *shell.Shell, reason string, until time.Time) string {
	if reason == "" {
		return sh.Text("until %s", sh.At(until))
	}
	return sh.Text("waits until %s: %s", sh.At(until), reason)
}

// heldBack is why a message would not be accepted, not be sent, or wait.
func heldBack(sh *shell.Shell, m *wire.PreviewedMessage) string {
	switch {
	case m.Problem != "":
		return sh.Tells(m.Problem)
	case m.Skipped != "":
		return skipped(sh, m.Skipped, m.Detail)
	case m.WaitsUntil != nil:
		return waits(sh, m.Reason, *m.WaitsUntil)
	}
	return sh.Says(m.Reason)
}

// whom are the recipients of a notification.
func whom(sh *shell.Shell, to []posthouse.Recipient) string {
	if len(to) == 0 {
		return sh.Text("whom the route names")
	}
	return recipients(to)
}

// recipients are several in one cell.
func recipients(to []posthouse.Recipient) string {
	var words []string
	for _, r := range to {
		words = append(words, recipient(r))
	}
	return strings.Join(words, ", ")
}

// withLanguage is a template with the language of its text.
func withLanguage(template, language string) string {
	if language == "" {
		return template
	}
	return template + " (" + language + ")"
}
