package remote

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/cli/shell"
	"github.com/posthouse/posthouse/wire"
)

func userPreferences(sh *shell.Shell) *cobra.Command {
	return &cobra.Command{
		Use: "preferences ID", Short: "Show which messages a user wants", Args: shell.Takes("ID"),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			p, err := c.Users.Preferences(ctx, args[0])
			if err != nil {
				return err
			}
			return sh.Show(p, func() { printPreferences(sh, &p) })
		}),
	}
}

func printPreferences(sh *shell.Shell, p *posthouse.Preferences) {
	wants := sh.Text("all but what is off")
	if p.Nothing {
		wants = sh.Text("nothing but critical messages and mandatory kinds")
	}
	var off []string
	for _, one := range p.Off {
		off = append(off, unwantedText(one))
	}
	sh.Fields([][2]string{{"user", p.User}, {"wants", wants}, {"off", shell.Words(off)}, {"prefers", shell.Words(p.Prefer)}, {"by", string(p.By)}, {"updated", sh.At(p.UpdatedAt)}}...)
}

// unwantedText is what a user does not want as the flag --off takes it.
func unwantedText(u posthouse.Unwanted) string {
	if u.Channel == "" {
		return u.Kind
	}
	return u.Kind + "@" + u.Channel
}

func userChoose(sh *shell.Shell) *cobra.Command {
	var in wire.PutPreferences
	var off []string
	cmd := &cobra.Command{
		Use: "choose ID", Short: "Store which messages a user wants; what no flag names is wanted", Args: shell.Takes("ID"),
		Long: `Store which messages a user wants. What no flag names is wanted: without flags that is everything. Critical
messages and the tenant's mandatory kinds come all the same.`,
		Example: `  posthouse user choose li.na --off news --off @sms --off report@phone
  posthouse user choose li.na --prefer dingtalk --prefer sms`,
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			for _, text := range off {
				kind, channel, _ := strings.Cut(text, "@")
				in.Off = append(in.Off, posthouse.Unwanted{Kind: kind, Channel: channel})
			}
			p, err := c.Users.Choose(ctx, args[0], in)
			if err != nil {
				return err
			}
			return sh.Show(p, func() { printPreferences(sh, &p) })
		}),
	}
	flags := cmd.Flags()
	flags.BoolVar(&in.Nothing, "nothing", false, "the user wants no message at all")
	flags.StringArrayVar(&off, "off", nil, "`KIND`, @CHANNEL or KIND@CHANNEL that the user does not want; may be repeated")
	flags.StringArrayVar(&in.Prefer, "prefer", nil, "a `CHANNEL` that is tried before others by steps that take one of each person's own; may be repeated, the first first")
	return cmd
}

func userLink(sh *shell.Shell) *cobra.Command {
	revoke := false
	cmd := &cobra.Command{
		Use: "link ID", Short: "Make a link to the page on which a user chooses", Args: shell.Takes("ID"),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			if revoke {
				if err := c.Users.RevokePreferencesLinks(ctx, args[0]); err != nil {
					return err
				}
				return sh.Done(args[0], "links revoked")
			}
			link, err := c.Users.PreferencesLink(ctx, args[0])
			if err != nil {
				return err
			}
			return sh.Show(link, func() { sh.Printf("%s\nuntil %s\n", link.URL, sh.At(link.ExpiresAt)) })
		}),
	}
	cmd.Flags().BoolVar(&revoke, "revoke", false, "revoke all links of the user instead")
	return cmd
}
