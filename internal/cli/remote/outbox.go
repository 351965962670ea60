package remote

import (
	"cmp"
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/cli/shell"
	"github.com/posthouse/posthouse/wire"
)

func outboxGroup(sh *shell.Shell) *cobra.Command {
	return sh.Calling(shell.Group("outbox", "What programs handed in through the database and could not be accepted so far",
		outboxList(sh), outboxRetry(sh), outboxDrop(sh)))
}

func outboxList(sh *shell.Shell) *cobra.Command {
	var f client.Filter
	cmd := &cobra.Command{
		Use: "list", Short: "List the rejected rows and why they are", Args: shell.Takes(),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, _ []string) error {
			box, err := c.Outbox.List(ctx, f)
			if err != nil {
				return err
			}
			return sh.Show(box, func() { printOutbox(sh, box) })
		}),
	}
	shell.PageFlags(cmd.Flags(), &f.Limit, 100, &f.Cursor)
	return cmd
}

func printOutbox(sh *shell.Shell, box wire.Outbox) {
	sh.Printf("%d waiting, %d rejected\n", box.Waiting, box.Rejected)
	if len(box.Items) == 0 {
		return
	}
	var rows [][]string
	for _, r := range box.Items {
		rows = append(rows, []string{r.ID, sh.At(r.CreatedAt), cmp.Or(r.Channel, r.TaskEvent), cmp.Or(r.Ref, r.Task),
			strconv.Itoa(r.Failures), cmp.Or(sh.At(r.NextTryAt), sh.Text("held")), shell.Cut(r.Problem, 100)})
	}
	sh.Table([]string{"Row", "Handed in", "Channel", "Ref", "Tries", "Next try", "Problem"}, rows)
	sh.More(box.Next)
}

func outboxRetry(sh *shell.Shell) *cobra.Command {
	return ofRows(sh, "retry ROW…", "Try rejected rows at once", "tried at once", client.Outbox.Retry)
}

func outboxDrop(sh *shell.Shell) *cobra.Command {
	cmd := ofRows(sh, "delete ROW…", "Delete rejected rows: what they hold is not sent", "deleted", client.Outbox.Drop)
	cmd.Aliases = []string{"drop"}
	return cmd
}

// ofRows is a command that does something to each row it is given.
func ofRows(sh *shell.Shell, use, short, done string, do func(c client.Outbox, ctx context.Context, id string) error) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return nil
			}
			return shell.Takes("ROW")(cmd, args)
		},
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			for _, id := range args {
				if err := do(c.Outbox, ctx, id); err != nil {
					return err
				}
				if err := sh.DoneWord(id, done); err != nil {
					return err
				}
			}
			return nil
		}),
	}
}
