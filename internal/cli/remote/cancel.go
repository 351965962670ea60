package remote

import (
	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/cli/shell"
	"github.com/posthouse/posthouse/internal/shellword"
	"github.com/posthouse/posthouse/wire"
)

func cancelCommand(sh *shell.Shell) *cobra.Command {
	var kind, ref string
	cmd := sh.Calling(&cobra.Command{
		Use: "cancel (MESSAGE | --kind KIND --ref REF)", Short: "Withdraw what has not been sent of a message; by kind and ref also end its reminders",
		Args: shell.UpTo(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := sh.Dial(cmd)
			if err != nil {
				return err
			}
			var out wire.Cancelled
			switch {
			case len(args) == 1 && kind+ref == "":
				if err := messageID(args[0]); err != nil {
					return err
				}
				out, err = c.Messages.Cancel(cmd.Context(), args[0])
				if posthouse.CodeOf(err) == posthouse.CodeNotFound {
					err = shell.Hint(err, "a reminder is ended by posthouse remind end "+shellword.Quote(args[0]))
				}
			case len(args) == 0 && kind != "" && ref != "":
				out, err = c.Messages.CancelRef(cmd.Context(), kind, ref)
			default:
				return shell.Usagef("either a message's id or both --kind and --ref say what is cancelled")
			}
			if err != nil {
				return err
			}
			return sh.Show(out, func() { printCancelled(sh, out) })
		},
	})
	cmd.Flags().StringVar(&kind, "kind", "", "the `KIND` of the messages")
	cmd.Flags().StringVar(&ref, "ref", "", "their `REF`")
	return cmd
}

// messageID refuses what is not the id of a message.
func messageID(id string) error {
	if !posthouse.ValidID(id) {
		return notAnID(id)
	}
	if n := posthouse.DeliveryNumber(id); n > 0 {
		return shell.Usagef("%s is delivery %d of message %s: messages are cancelled, not deliveries", id, n, posthouse.MessageID(id))
	}
	return nil
}

func printCancelled(sh *shell.Shell, out wire.Cancelled) {
	sh.Printf("cancelled %d, too late for %d, settled before %d\n", out.Cancelled, out.TooLate, out.AlreadyFinal)
	var rows [][]string
	for _, d := range out.Deliveries {
		rows = append(rows, []string{d.Delivery, d.User, d.Result, string(d.State)})
	}
	if len(rows) > 0 {
		sh.Table([]string{"Delivery", "User", "Result", "State"}, rows)
	}
	for _, id := range out.Reminders {
		sh.Printf("reminder %s: ended, no further message comes of it\n", id)
	}
}
