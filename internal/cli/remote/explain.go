package remote

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/cli/shell"
	"github.com/posthouse/posthouse/wire"
)

// maxExplained bounds how many deliveries of one message are explained at once.
const maxExplained = 20

func explainCommand(sh *shell.Shell) *cobra.Command {
	return sh.Calling(&cobra.Command{
		Use: "explain ID", Short: "Say why a delivery waits and until when, or why it ended as it did",
		Long: `Say why a delivery waits and until when, or why it ended as it did. For a message, each of its
deliveries that is not sent is explained, up to ` + fmt.Sprint(maxExplained) + `.`,
		Args: shell.Takes("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := sh.Dial(cmd)
			if err != nil {
				return err
			}
			ids, err := explainable(cmd.Context(), c, args[0])
			if err != nil {
				return err
			}
			explained := []wire.Explanation{}
			for _, id := range ids {
				x, err := c.Deliveries.Explain(cmd.Context(), id)
				if err != nil {
					return err
				}
				explained = append(explained, x)
			}
			return sh.Show(explained, func() { printExplained(sh, explained) })
		},
	})
}

func explainable(ctx context.Context, c *client.Client, id string) ([]string, error) {
	if !posthouse.ValidID(id) {
		return nil, notAnID(id)
	}
	if posthouse.DeliveryNumber(id) > 0 {
		return []string{id}, nil
	}
	m, err := c.Messages.Page(ctx, id, "", 1000)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, d := range m.Deliveries {
		if d.State != posthouse.Sent && d.State != posthouse.Delivered && len(out) < maxExplained {
			out = append(out, d.ID)
		}
	}
	return out, nil
}

func printExplained(sh *shell.Shell, all []wire.Explanation) {
	if len(all) == 0 {
		sh.Printf("%s\n", sh.Says("all of its deliveries were sent"))
	}
	for _, x := range all {
		sh.Printf("%s  %s\n", x.Delivery, x.State)
		sh.Printf("  %s\n", sh.Cut(x.Summary, 300))
		for _, w := range x.Waits {
			until := "until a person or an event ends it"
			if !w.Until.IsZero() {
				until = fmt.Sprintf("until %s (%s)", sh.At(w.Until), away(time.Until(w.Until)))
			}
			sh.Printf("  - %s: %s, %s\n", w.Cause, sh.Cut(w.Detail, 200), sh.Says(until))
		}
	}
}

// away says how far a time is from now.
func away(d time.Duration) string {
	d = d.Round(time.Second)
	if d < 0 {
		return posthouse.Duration(-d).String() + " ago"
	}
	return "in " + posthouse.Duration(d).String()
}
