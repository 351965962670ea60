package main

import (
	"cmp"
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse/client"
)

func (p *program) outbox() *cobra.Command {
	return calling(group("outbox", "What programs handed in through the database and could not be accepted so far",
		p.outboxList(), p.outboxRetry(), p.outboxDrop()))
}

func (p *program) outboxList() *cobra.Command {
	var f client.Filter
	cmd := &cobra.Command{
		Use: "list", Short: "List the rejected rows and why they are", Args: takes(),
		RunE: p.over(func(ctx context.Context, c *client.Client, _ []string) error {
			box, err := c.Outbox.List(ctx, f)
			if err != nil {
				return err
			}
			return p.show(box, func() { p.printOutbox(box) })
		}),
	}
	cmd.Flags().IntVar(&f.Limit, "limit", 100, "how many at most, 1 to 1000")
	cmd.Flags().StringVar(&f.Cursor, "cursor", "", "where the page before ended, a `CURSOR`")
	return cmd
}

func (p *program) printOutbox(box client.OutboxPage) {
	p.printf("%d waiting, %d rejected\n", box.Waiting, box.Rejected)
	if len(box.Items) == 0 {
		return
	}
	var rows [][]string
	for _, r := range box.Items {
		rows = append(rows, []string{r.ID, at(r.CreatedAt), cmp.Or(r.Channel, r.TaskEvent), cmp.Or(r.Ref, r.Task),
			strconv.Itoa(r.Failures), cmp.Or(at(r.NextTryAt), "held"), cut(r.Problem, 100)})
	}
	p.printTable([]string{"Row", "Handed in", "Channel", "Ref", "Tries", "Next try", "Problem"}, rows)
	if box.Next != "" {
		p.printf("  … and more: --cursor %s\n", box.Next)
	}
}

func (p *program) outboxRetry() *cobra.Command {
	return p.ofRows("retry ROW…", "Try rejected rows at once", "tried at once", client.Outbox.Retry)
}

func (p *program) outboxDrop() *cobra.Command {
	return p.ofRows("drop ROW…", "Delete rejected rows: what they hold is not sent", "deleted", client.Outbox.Drop)
}

// ofRows is a command that does something to each row it is given.
func (p *program) ofRows(use, short, done string, do func(c client.Outbox, ctx context.Context, id string) error) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return nil
			}
			return takes("ROW")(cmd, args)
		},
		RunE: p.over(func(ctx context.Context, c *client.Client, args []string) error {
			for _, id := range args {
				if err := do(c.Outbox, ctx, id); err != nil {
					return err
				}
				if err := p.done(id, done); err != nil {
					return err
				}
			}
			return nil
		}),
	}
}
