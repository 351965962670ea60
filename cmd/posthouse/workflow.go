package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse/client"
)

func (p *program) workflow() *cobra.Command {
	return calling(group("workflow", "What notices of workflows need", p.workflowInit()))
}

func (p *program) workflowInit() *cobra.Command {
	return &cobra.Command{
		Use: "init", Short: "Store the default templates of workflow notices where there are none", Args: takes(),
		RunE: p.over(func(ctx context.Context, c *client.Client, _ []string) error {
			out, err := c.Templates.Install(ctx)
			if err != nil {
				return err
			}
			return p.show(out, func() {
				for _, name := range out.Installed {
					p.printf("%s: stored\n", name)
				}
				p.printf("%d stored, %d were there already and stay as they are\n", len(out.Installed), len(out.Kept))
			})
		}),
	}
}
