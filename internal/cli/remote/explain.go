package remote

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/cli/shell"
	"github.com/posthouse/posthouse/internal/route"
	"github.com/posthouse/posthouse/wire"
)

// maxExplained bounds how many deliveries of one message are explained at once.
const maxExplained = 20

func explainCommand(sh *shell.Shell) *cobra.Command {
	return sh.Calling(&cobra.Command{
		Use: "explain ID", Short: "Say why a delivery or a notification waits and until when, or why it ended as it did",
		Long: `Say why a delivery waits and until when, or why it ended as it did. For a message, each of its
deliveries that is not sent is explained, up to ` + fmt.Sprint(maxExplained) + `. For a message that follows a route, and for a notification,
each step is told: what it sent, why it was passed over, and when the next one begins.`,
		Args: shell.Takes("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := sh.Dial(cmd)
			if err != nil {
				return err
			}
			told, ids, err := explainable(cmd.Context(), c, args[0])
			if err != nil {
				return err
			}
			if len(told) > 0 {
				return explainNotifications(sh, told)
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

// explainable are the notifications that an id means, or else the deliveries.
func explainable(ctx context.Context, c *client.Client, id string) (told []posthouse.Notification, deliveries []string, err error) {
	if !posthouse.ValidID(id) {
		return nil, nil, notAnID(id)
	}
	if posthouse.DeliveryNumber(id) > 0 {
		n, isOne, err := notificationOf(ctx, c, id)
		if isOne {
			return []posthouse.Notification{n}, nil, err
		}
		return nil, []string{id}, err
	}
	m, err := c.Messages.Page(ctx, id, "", 1000)
	if err != nil {
		return nil, nil, err
	}
	if len(m.Notifications) > 0 {
		return m.Notifications[:min(len(m.Notifications), maxExplained)], nil, nil
	}
	for _, d := range m.Deliveries {
		if d.State != posthouse.Sent && d.State != posthouse.Delivered && len(deliveries) < maxExplained {
			deliveries = append(deliveries, d.ID)
		}
	}
	return nil, deliveries, nil
}

// notificationOf is the notification of an id, where there is no delivery of that id: both are numbered below their message.
func notificationOf(ctx context.Context, c *client.Client, id string) (n posthouse.Notification, isOne bool, err error) {
	if _, err = c.Deliveries.Get(ctx, id); posthouse.CodeOf(err) != posthouse.CodeNotFound {
		return n, false, err
	}
	n, missing := c.Notifications.Get(ctx, id)
	if posthouse.CodeOf(missing) == posthouse.CodeNotFound {
		return n, false, err
	}
	return n, true, missing
}

// steps is a notification explained.
type steps struct {
	Notification string                      `json:"notification"`
	State        posthouse.NotificationState `json:"state"`
	Summary      string                      `json:"summary"`
	Steps        []string                    `json:"steps"`
}

func explainNotifications(sh *shell.Shell, all []posthouse.Notification) error {
	explained := make([]steps, len(all))
	for i := range all {
		summary, lines := route.Explain(&all[i], sh.At)
		explained[i] = steps{all[i].ID, all[i].State, summary, lines}
	}
	return sh.Show(explained, func() {
		for _, x := range explained {
			sh.Printf("%s  %s\n  %s\n", x.Notification, sh.State(string(x.State)), sh.Says(x.Summary))
			for _, line := range x.Steps {
				sh.Printf("  - %s\n", sh.Tells(line))
			}
		}
	})
}

func printExplained(sh *shell.Shell, all []wire.Explanation) {
	if len(all) == 0 {
		sh.Printf("all of its deliveries were sent\n")
	}
	for _, x := range all {
		sh.Printf("%s  %s\n", x.Delivery, sh.State(string(x.State)))
		sh.Printf("  %s\n", shell.Cut(sh.Tells(x.Summary), 300))
		for _, note := range x.Notes {
			sh.Printf("  %s\n", sh.Tells(note))
		}
		for _, w := range x.Waits {
			until := "until a person or an event ends it"
			if !w.Until.IsZero() {
				until = sh.Text("until %s (%s)", sh.At(w.Until), away(sh, time.Until(w.Until)))
			}
			sh.Printf("  - %s: %s, %s\n", w.Cause, shell.Cut(sh.Tells(w.Detail), 200), sh.Says(until))
		}
	}
}

// away says how far a time is from now.
func away(sh *shell.Shell, d time.Duration) string {
	d = d.Round(time.Second)
	if d < 0 {
		return sh.Text("%s ago", sh.Lasts(-d))
	}
	return sh.Text("in %s", sh.Lasts(d))
}
