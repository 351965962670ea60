package campaign

import (
	"context"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/cli/shell"
	"github.com/posthouse/posthouse/internal/shellword"
	"github.com/posthouse/posthouse/wire"
)

// selection says which members of a list are meant.
type selection struct{ where, share, seed string }

func (s *selection) describe(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&s.where, "where", "", "only members of whom a `CONDITION` holds, such as 'city == \"Hangzhou\" && int(points) >= 100'")
	flags.StringVar(&s.share, "share", "", "only a `PART` of them by their addresses, such as 0-10%; 10-20% has none in common with it")
	flags.StringVar(&s.seed, "seed", "", "a `WORD` by which the parts are others (default the name of the list)")
}

// asked is nil where all are meant.
func (s *selection) asked() (*wire.MemberSelection, error) {
	if *s == (selection{}) {
		return nil, nil
	}
	out := &wire.MemberSelection{Where: s.where}
	if s.share == "" {
		if s.seed != "" {
			return nil, shell.Usagef("--seed: goes with --share")
		}
		return out, nil
	}
	text, percent := strings.CutSuffix(s.share, "%")
	from, to, both := strings.Cut(text, "-")
	a, wrongFrom := strconv.ParseFloat(from, 64)
	b, wrongTo := strconv.ParseFloat(to, 64)
	if !both || !percent || wrongFrom != nil || wrongTo != nil || a < 0 || a >= b || b > 100 {
		return nil, shell.Usagef("--share: is %.40q: want a part such as 0-10%%", s.share)
	}
	out.Share = &wire.MemberShare{From: a / 100, To: b / 100, Seed: s.seed}
	return out, nil
}

func clone(sh *shell.Shell) *cobra.Command {
	var in wire.CampaignClone
	var some selection
	cmd := &cobra.Command{
		Use: "clone NAME", Short: "Make a campaign like another one, for the same people or some of them", Args: shell.Takes("NAME"),
		Example: `  posthouse campaign clone coupon-a --name coupon-b
  posthouse campaign clone coupon-a --where 'level in ["gold", "silver"]'`,
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			asked, err := some.asked()
			if err != nil {
				return err
			}
			if asked != nil {
				in.MemberSelection = *asked
			}
			made, err := c.Campaigns.Clone(ctx, args[0], in)
			if err != nil {
				return err
			}
			return sh.Show(made, func() { printMade(sh, &made) })
		}),
	}
	cmd.Flags().StringVar(&in.Name, "name", "", "what it is called, a `NAME` (default that of the one before and -copy)")
	some.describe(cmd)
	return cmd
}

// printMade says how many people a campaign has that was made of others.
func printMade(sh *shell.Shell, made *wire.Campaign) {
	sh.Printf("%s: %d people. posthouse campaign plan %s shows what they get\n", made.Name, made.People.Members, shellword.Quote(made.Name))
}
