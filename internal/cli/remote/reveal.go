package remote

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/cli/shell"
)

// revealCommand shows a hidden content.
func revealCommand(sh *shell.Shell) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use: "reveal MESSAGE", Short: "Show the hidden content of a sensitive message", Args: shell.Takes("MESSAGE"),
		Long: `Show the hidden content of a sensitive message. The audit log keeps who saw it, and the reason. The key needs the
scope admin, and where it is narrowed to actions, contents.reveal.`,
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			shown, err := c.Messages.Reveal(ctx, args[0], reason)
			if err != nil {
				return err
			}
			return sh.Show(shown, func() {
				sh.Fields([][2]string{{"title", shown.Content.Title}, {"text", shown.Content.Text}, {"payload", string(shown.Payload)}}...)
			})
		}),
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why you want to see it, a `TEXT`: it stands in the audit log")
	_ = cmd.MarkFlagRequired("reason") // the flag is there
	return sh.Calling(cmd)
}
