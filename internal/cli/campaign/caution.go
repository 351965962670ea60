package campaign

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/cli/shell"
)

// caution says how carefully a campaign is sent.
type caution struct {
	spread  time.Duration
	canary  posthouse.Canary
	brake   posthouse.Brake
	classes []string
	apart   string
	fills   map[string]string
}

func (f *caution) describe(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.DurationVar(&f.spread, "spread", 0, "over how long its people are spread evenly, a `DURATION` such as 2h")
	flags.Int64Var(&f.canary.Members, "canary", 0, "the `NUMBER` of people who go first; the others follow unless too many of these fail")
	flags.Float64Var(&f.canary.MaxFailures, "canary-failures", 0, "the `SHARE` of the canary that may fail, such as 0.05")
	flags.Float64Var(&f.brake.Above, "brake", 0, "pause it when more than this `SHARE` have failed, such as 0.2")
	flags.Int64Var(&f.brake.After, "brake-after", defaultBrakeAfter, "the `NUMBER` of people who are answered for before the brake counts")
	flags.StringVar(&f.apart, "not-told-within", "", "leave out whom another campaign of the channel has told within this `DURATION`, such as 7d")
	flags.StringToStringVar(&f.fills, "parameter", nil, "a parameter of the provider's template and what fills it, `NAME=TEXT` such as 'thing1=${name}', instead of those that the template has; repeat it for more")
	flags.StringSliceVar(&f.classes, "brake-classes", nil, "the `CLASSES` of failures that the brake counts, with commas (default all)")
}

const defaultBrakeAfter = 100

func (f *caution) rules() (posthouse.CampaignRules, error) {
	r := posthouse.CampaignRules{Spread: posthouse.Duration(f.spread), Parameters: f.fills}
	if f.apart != "" {
		if err := r.NotToldWithin.UnmarshalText([]byte(f.apart)); err != nil {
			return r, shell.Usagef("--not-told-within: %v", err)
		}
	}
	if f.canary != (posthouse.Canary{}) {
		r.Canary = &f.canary
	}
	if f.brake.Above != 0 || len(f.classes) > 0 {
		for _, c := range f.classes {
			f.brake.Classes = append(f.brake.Classes, posthouse.Class(c))
		}
		r.Brake = &f.brake
	}
	return r, nil
}

// rulesTold are the rules of a campaign for a person; nothing for none.
func rulesTold(sh *shell.Shell, r posthouse.CampaignRules) (list [][2]string) {
	if r.Spread > 0 {
		list = append(list, [2]string{"spread", sh.Text("evenly over %s", r.Spread)})
	}
	if c := r.Canary; c != nil {
		list = append(list, [2]string{"canary", sh.Text("%d people first, of whom %g%% may fail", c.Members, 100*c.MaxFailures)})
	}
	if b := r.Brake; b != nil {
		what := sh.Text("failures")
		if len(b.Classes) > 0 {
			var words []string
			for _, c := range b.Classes {
				words = append(words, string(c))
			}
			what += " (" + strings.Join(words, ", ") + ")"
		}
		list = append(list, [2]string{"brake", sh.Text("pauses above %g%% %s, from %d people on", 100*b.Above, what, b.After)})
	}
	if r.NotToldWithin > 0 {
		list = append(list, [2]string{"leaves out", sh.Text("whom another campaign of the channel has told within %s", r.NotToldWithin)})
	}
	for _, name := range slices.Sorted(maps.Keys(r.Parameters)) {
		list = append(list, [2]string{"parameter " + name, r.Parameters[name]})
	}
	return list
}
