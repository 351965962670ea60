package remote

import (
	"context"

	"github.com/posthouse/posthouse/internal/cli/shell"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse/client"
)

func workflowGroup(sh *shell.Shell) *cobra.Command {
	return shell.Calling(shell.Group("workflow", "What notices of workflows need", workflowInit(sh)))
}

func workflowInit(sh *shell.Shell) *cobra.Command {
	return &cobra.Command{
		Use: "init", Short: "Store the default templates of workflow notices where there are none", Args: shell.Takes(),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, _ []string) error {
			out, err := c.Templates.Install(ctx)
			if err != nil {
				return err
			}
			return sh.Show(out, func() {
				for _, name := range out.Installed {
					sh.Printf("%s: stored\n", name)
				}
				sh.Printf("%d stored, %d were there already and stay as they are\n", len(out.Installed), len(out.Kept))
			})
		}),
	}
}
