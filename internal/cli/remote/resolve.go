package remote

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/cli/shell"
	"github.com/posthouse/posthouse/wire"
)

func resolveCommand(sh *shell.Shell) *cobra.Command {
	outcomes := []wire.Outcome{wire.OutcomeSent, wire.OutcomeNotSent, wire.OutcomeRetry}
	return sh.Calling(&cobra.Command{
		Use: "resolve DELIVERY (sent | not_sent | retry)", Short: "Decide about a delivery that is unknown or quarantined",
		Long: `Decide about a delivery of which nobody knows whether it arrived, or which was set aside:
  sent      it arrived
  not_sent  it did not; it counts as failed
  retry     it did not, and is sent again`,
		Args: shell.Takes("DELIVERY", "OUTCOME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			outcome := wire.Outcome(strings.ReplaceAll(args[1], "-", "_"))
			switch {
			case !posthouse.ValidID(args[0]) || posthouse.DeliveryNumber(args[0]) == 0:
				return shell.Usagef("%q is not the id of a delivery: posthouse status --state unknown,quarantined lists them", args[0])
			case !slices.Contains(outcomes, outcome):
				return shell.Usagef("%q is not an outcome; sent, not_sent and retry are", args[1])
			}
			c, err := sh.Dial(cmd)
			if err != nil {
				return err
			}
			d, err := c.Deliveries.Resolve(cmd.Context(), args[0], outcome)
			if err != nil {
				return err
			}
			return sh.Show(d, func() { sh.Printf("%s is %s\n", d.ID, d.State) })
		},
	})
}
