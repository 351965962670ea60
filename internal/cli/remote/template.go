package remote

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/cli/shell"
	"github.com/posthouse/posthouse/wire"
)

func templateGroup(sh *shell.Shell) *cobra.Command {
	return sh.Calling(shell.Group("template", "Texts with placeholders",
		templateList(sh), templateShow(sh), templateSet(sh), templateDelete(sh), templatePreview(sh), templateTest(sh)))
}

func templateList(sh *shell.Shell) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the templates", Args: shell.Takes(),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, _ []string) error {
			all, err := c.Templates.List(ctx)
			if err != nil {
				return err
			}
			return sh.Show(all, func() {
				var rows [][]string
				for _, t := range all {
					rows = append(rows, []string{t.Name, fmt.Sprint(t.Version), shell.Words(t.Variables), shell.Cut(t.Text, 50)})
				}
				sh.Table([]string{"Template", "Version", "Variables", "Text"}, rows)
			})
		}),
	}
}

func templateShow(sh *shell.Shell) *cobra.Command {
	var version int
	cmd := &cobra.Command{
		Use: "show NAME", Short: "Show a template", Args: shell.Takes("NAME"),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			t, err := c.Templates.Get(ctx, args[0], version)
			if err != nil {
				return err
			}
			return sh.Show(t, func() { printTemplate(sh, t) })
		}),
	}
	cmd.Flags().IntVar(&version, "version", 0, "a `NUMBER` (default the latest)")
	return cmd
}

func printTemplate(sh *shell.Shell, t posthouse.Template) {
	missing := sh.Text("refused")
	if t.Lenient {
		missing = sh.Text("shown as they are")
	}
	sh.Fields([][2]string{
		{"template", t.Name}, {"version", fmt.Sprint(t.Version)}, {"provider's id", t.ExternalID}, {"disabled", yes(sh, t.Disabled)}, {"variables", shell.Words(t.Variables)},
		{"missing ones", missing}, {"made", sh.At(t.CreatedAt)}, {"language", t.Language}, {"title", t.Title}, {"text", t.Text},
		{"type", string(t.Type)}, {"extra", string(t.Extra)},
	}...)
	for _, name := range slices.Sorted(maps.Keys(t.Parameters)) {
		sh.Fields([2]string{"parameter " + name, t.Parameters[name]})
	}
	for _, tag := range slices.Sorted(maps.Keys(t.Texts)) {
		sh.Fields([2]string{"title " + tag, t.Texts[tag].Title}, [2]string{"text " + tag, t.Texts[tag].Text}, [2]string{"extra " + tag, string(t.Texts[tag].Extra)})
	}
}

func templateSet(sh *shell.Shell) *cobra.Command {
	var t posthouse.Template
	var text, extra string
	var texts, titles map[string]string
	var extras []string
	cmd := &cobra.Command{
		Use: "set NAME", Short: "Store a template; a changed text makes a new version", Args: shell.Takes("NAME"),
		Example: `  posthouse template set leave --title '请假审批' --text '${name} 申请请假 ${days} 天，请审批。'`,
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			b, err := sh.Input(text)
			if err != nil {
				return err
			}
			t.Name, t.Text = args[0], strings.TrimRight(string(b), "\n")
			for tag := range titles {
				if _, has := texts[tag]; !has {
					return shell.Usagef("--title-in %s has no --text-in %s", tag, tag)
				}
			}
			for tag, text := range texts {
				if t.Texts == nil {
					t.Texts = map[string]posthouse.TemplateText{}
				}
				t.Texts[tag] = posthouse.TemplateText{Title: titles[tag], Text: text}
			}
			if t.Extra, err = sh.Object("--extra", extra); err != nil {
				return err
			}
			if err := extrasIn(sh, &t, extras); err != nil {
				return err
			}
			stored, err := c.Templates.Put(ctx, t)
			if err != nil {
				return err
			}
			return sh.Show(stored, func() {
				sh.Printf("%s: version %d, variables: %s\n", stored.Name, stored.Version, shell.Words(stored.Variables))
			})
		}),
	}
	cmd.Flags().StringVar(&t.Title, "title", "", "the `TITLE`")
	cmd.Flags().StringVar(&text, "text", "", "the `TEXT` with ${name} or {name} for each value, @FILE, or -")
	cmd.Flags().StringVar((*string)(&t.Type), "type", "", "the `TYPE` of what it makes: text, markdown, news, card or template (default the channel's own)")
	cmd.Flags().StringVar(&extra, "extra", "", "what only the provider knows, such as a card with its buttons: a `JSON` object with ${name} in its strings, @FILE, or -")
	cmd.Flags().StringArrayVar(&extras, "extra-in", nil, "the extra in another language, `LANGUAGE=JSON` or LANGUAGE=@FILE; repeat it for more")
	cmd.Flags().StringVar(&t.ExternalID, "external-id", "", "what the provider calls the template, an `ID`")
	cmd.Flags().StringToStringVar(&t.Parameters, "parameter", nil, "a parameter of the provider's template and what fills it, `NAME=TEXT` such as 'thing1=${name}'; repeat it for more")
	cmd.Flags().StringVar(&t.Language, "language", "", "the `LANGUAGE` of title and text, a tag such as zh or en")
	cmd.Flags().StringToStringVar(&texts, "text-in", nil, "the text in another language, `LANGUAGE=TEXT` such as 'en=${name} is on duty'; repeat it for more")
	cmd.Flags().StringToStringVar(&titles, "title-in", nil, "the title in another language, `LANGUAGE=TITLE`; repeat it for more")
	cmd.Flags().BoolVar(&t.Disabled, "disabled", false, "refuse new messages with it")
	cmd.Flags().BoolVar(&t.Lenient, "lenient", false, "leave a missing value's placeholder visible instead of refusing the message")
	return cmd
}

// extrasIn puts what only the provider knows into the texts of other languages.
func extrasIn(sh *shell.Shell, t *posthouse.Template, extras []string) error {
	for _, one := range extras {
		tag, object, _ := strings.Cut(one, "=")
		text, has := t.Texts[tag]
		if !has {
			return shell.Usagef("--extra-in %s has no --text-in %s", tag, tag)
		}
		var err error
		if text.Extra, err = sh.Object("--extra-in", object); err != nil {
			return err
		}
		t.Texts[tag] = text
	}
	return nil
}

func templateDelete(sh *shell.Shell) *cobra.Command {
	return &cobra.Command{
		Use: "delete NAME", Short: "Delete a template with all its versions", Args: shell.Takes("NAME"),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			if err := c.Templates.Delete(ctx, args[0]); err != nil {
				return err
			}
			return sh.Done(args[0], "deleted")
		}),
	}
}

func templatePreview(sh *shell.Shell) *cobra.Command {
	var payload, text, extra string
	var ask wire.Preview
	cmd := &cobra.Command{
		Use: "preview NAME", Short: "Fill a template, or a text that is not stored, without sending it", Args: shell.Takes("NAME"),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			var err error
			if ask.Payload, err = sh.Object("--payload", payload); err != nil {
				return err
			}
			b, err := sh.Input(text)
			if err != nil {
				return err
			}
			ask.Text = string(b)
			if ask.Extra, err = sh.Object("--extra", extra); err != nil {
				return err
			}
			out, err := c.Templates.Preview(ctx, args[0], ask)
			if err != nil {
				return err
			}
			return printPreview(sh, out)
		}),
	}
	cmd.Flags().StringVar(&payload, "payload", "", "the values: a `JSON` object, @FILE, or -")
	cmd.Flags().StringVar(&ask.Channel, "channel", "", "warn of what the provider of this channel, `NAME`, would cut or refuse")
	cmd.Flags().StringVar(&ask.Title, "title", "", "try this `TITLE`")
	cmd.Flags().StringVar(&text, "text", "", "try this `TEXT`, @FILE, or -")
	cmd.Flags().StringVar((*string)(&ask.Type), "type", "", "try the text as a content of this `TYPE`")
	cmd.Flags().StringVar(&extra, "extra", "", "try the text with this `JSON` object of what only the provider knows, @FILE, or -")
	cmd.Flags().StringVar(&ask.Language, "language", "", "what somebody gets who reads this `LANGUAGE`, such as en")
	return cmd
}

func printPreview(sh *shell.Shell, out wire.Previewed) error {
	err := sh.Show(out, func() {
		sh.Fields([][2]string{
			{"language", out.Language}, {"title", out.Content.Title}, {"text", out.Content.Text}, {"type", string(out.Content.Type)}, {"extra", string(out.Content.Extra)}, {"provider's id", out.ExternalID}, {"disabled", yes(sh, out.Disabled)},
			{"variables", shell.Words(out.Variables)},
			{"length", sh.Text("%d characters as a reader counts, %d bytes", out.Text.Graphemes, out.Text.Bytes)},
		}...)
		for _, w := range out.Warnings {
			sh.Printf("%s: %s: %s\n", sh.Says("warning"), w.Path, sh.Says(w.Message))
		}
	})
	if err == nil {
		err = posthouse.Invalid("the payload does not fill the template", out.Problems)
	}
	return err
}

// yes is "yes" for true and empty, which is not shown, for false.
func yes(sh *shell.Shell, b bool) string {
	if b {
		return sh.Text("yes")
	}
	return ""
}

func templateTest(sh *shell.Shell) *cobra.Command {
	var test wire.TemplateTest
	var payload string
	cmd := &cobra.Command{
		Use: "test NAME", Short: "Fill a template and really send it to one recipient, at once", Args: shell.Takes("NAME"),
		Example: `  posthouse template test leave --channel tianyuan --user li.na \
    --payload '{"name": "李娜", "days": 3}'`,
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			var err error
			if test.Payload, err = sh.Object("--payload", payload); err != nil {
				return err
			}
			result, err := c.Templates.Test(ctx, args[0], test)
			if err != nil {
				return err
			}
			return printTest(sh, result)
		}),
	}
	cmd.Flags().StringVar(&test.Channel, "channel", "", "the `NAME` of the channel it is sent through")
	cmd.Flags().StringVar(&test.To.User, "user", "", "whom it goes to, a user's `ID`")
	cmd.Flags().StringVar(&test.To.Address, "address", "", "where it goes to, an `ADDRESS`")
	cmd.Flags().StringVar(&payload, "payload", "", "the values: a `JSON` object, @FILE, or -")
	return cmd
}
