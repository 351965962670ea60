package remote

import (
	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/cli/shell"
	"github.com/posthouse/posthouse/internal/shellword"
	"github.com/posthouse/posthouse/wire"
)

func recallCommand(sh *shell.Shell) *cobra.Command {
	return sh.Calling(&cobra.Command{
		Use: "recall MESSAGE", Short: "Cancel what has not been sent of a message, and have its providers take back what was sent",
		Args: shell.Takes("MESSAGE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if n := posthouse.DeliveryNumber(args[0]); posthouse.ValidID(args[0]) && n > 0 {
				message := posthouse.MessageID(args[0])
				return shell.Usagef("%s is delivery %d of the message %s, and a recall takes a whole message: posthouse recall %s cancels what has not been sent of all its recipients, and has taken back what was", args[0], n, message, shellword.Quote(message))
			}
			if err := messageID(args[0]); err != nil {
				return err
			}
			c, err := sh.Dial(cmd)
			if err != nil {
				return err
			}
			out, err := c.Messages.Recall(cmd.Context(), args[0])
			for err == nil && out.Remaining > 0 {
				before := out.Remaining
				if out, err = c.Messages.Recall(cmd.Context(), args[0]); err == nil && out.Remaining >= before {
					break // a provider wants to wait: the answer says what remains
				}
			}
			if err != nil {
				return err
			}
			return sh.Show(out, func() { printRecalled(sh, out) })
		},
	})
}

func printRecalled(sh *shell.Shell, out wire.Recalled) {
	sh.Printf("recalled %d, not sent %d, not supported %d, too late for %d, failed %d, unknown %d\n",
		out.Recalled, out.NotSent, out.NotSupported, out.TooLate, out.Failed, out.Unknown)
	var rows [][]string
	for _, d := range out.Deliveries {
		rows = append(rows, []string{d.Delivery, d.User, d.Channel, d.Outcome, sh.Says(d.Error)})
	}
	if len(rows) > 0 {
		sh.Table([]string{"Delivery", "User", "Channel", "Outcome", "Why"}, rows)
	}
	if out.Remaining > 0 {
		sh.Printf("%d remain: run it again\n", out.Remaining)
	}
}
