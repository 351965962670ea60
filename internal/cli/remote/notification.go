package remote

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/cli/shell"
	"github.com/posthouse/posthouse/wire"
)

func notificationGroup(sh *shell.Shell) *cobra.Command {
	return sh.Calling(shell.Group("notification", "Whether somebody was told of a message that follows a route",
		notificationList(sh), notificationShow(sh), notificationAck(sh), notificationRevoke(sh), notificationEnd(sh)))
}

func notificationList(sh *shell.Shell) *cobra.Command {
	var state, message string
	var f client.Filter
	cmd := &cobra.Command{
		Use: "list", Short: "List notifications, newest first, or those of a message", Args: shell.Takes(),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, _ []string) error {
			var page wire.Page[posthouse.Notification]
			var err error
			if message != "" {
				page.Items, err = c.Notifications.Of(ctx, message)
			} else {
				page, err = c.Notifications.List(ctx, posthouse.NotificationState(state), f)
			}
			if err != nil {
				return err
			}
			return sh.Show(page, func() {
				printNotifications(sh, page.Items)
				if page.Next != "" {
					sh.Printf("There are more: --cursor %s\n", page.Next)
				}
			})
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&state, "state", "", "only those in a `STATE`: waiting, told, acknowledged or not_told")
	flags.StringVar(&message, "message", "", "only those of this message, by its `ID`")
	flags.IntVar(&f.Limit, "limit", 0, "at most so `MANY` (default 50)")
	flags.StringVar(&f.Cursor, "cursor", "", "the `CURSOR` of the page before")
	return cmd
}

func printNotifications(sh *shell.Shell, all []posthouse.Notification) {
	var rows [][]string
	for i := range all {
		n := &all[i]
		rows = append(rows, []string{n.ID, whom(n.To), string(n.State), n.Reason, n.Route, fmt.Sprint(n.Step), sh.At(n.CreatedAt)})
	}
	sh.Table([]string{"Notification", "Whom", "State", "Reason", "Route", "Step", "Accepted"}, rows)
}

func notificationShow(sh *shell.Shell) *cobra.Command {
	return &cobra.Command{
		Use: "show ID", Short: "Show whether somebody was told, by which steps", Args: shell.Takes("ID"),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			n, err := c.Notifications.Get(ctx, args[0])
			if err != nil {
				return err
			}
			return sh.Show(n, func() { printNotification(sh, &n) })
		}),
	}
}

func printNotification(sh *shell.Shell, n *posthouse.Notification) {
	fields := [][2]string{
		{"notification", n.ID}, {"whom", whom(n.To)}, {"state", string(n.State)}, {"reason", n.Reason},
		{"route", fmt.Sprintf("%s, version %d", n.Route, n.RouteVersion)}, {"accepted", sh.At(n.CreatedAt)}, {"told", sh.At(n.ToldAt)}, {"next step", sh.At(n.NextAt)},
	}
	if n.Reason == "escalated" {
		fields[6] = [2]string{"told instead", n.ToldUser + ", " + sh.At(n.ToldAt)}
	}
	if a := n.Ack; a != nil {
		fields = append(fields, [2]string{"acknowledged", fmt.Sprintf("by %s, %s, by %s", a.By, sh.At(a.At), a.Via)}, [2]string{"evidence", string(a.Evidence)})
	}
	sh.Fields(fields...)
	var rows [][]string
	for _, s := range n.Steps {
		number, after := fmt.Sprint(s.Step), s.At.Sub(n.CreatedAt).Round(time.Second).String()
		if s.Round > 1 {
			number += fmt.Sprintf(" (round %d)", s.Round)
		}
		if s.Skipped != "" {
			rows = append(rows, []string{number, after, "", "", "skipped: " + s.Skipped, s.Detail})
		}
		for _, d := range n.Deliveries {
			if d.Step == s.Step && d.Round == s.Round {
				rows = append(rows, []string{number, after, d.Channel, d.User, string(d.State), cmp.Or(d.Reason, d.ID)})
			}
		}
	}
	sh.Table([]string{"Step", "After", "Channel", "Recipient", "State", "Reason or delivery"}, rows)
}

func notificationAck(sh *shell.Shell) *cobra.Command {
	var ack wire.Ack
	var note string
	var message bool
	cmd := &cobra.Command{
		Use: "ack ID", Short: "Say that somebody has taken note: no further step begins", Args: shell.Takes("ID"),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			if note != "" {
				ack.Evidence, _ = json.Marshal(map[string]string{"note": note}) // a text: cannot fail
			}
			if message {
				list, err := c.Notifications.AcknowledgeMessage(ctx, args[0], ack)
				if err != nil {
					return err
				}
				return sh.Done(args[0], fmt.Sprintf("acknowledged, %d in all", len(list)))
			}
			if ack.User != "" {
				return shell.Usagef("--user is for --message: a notification is one person's")
			}
			n, err := c.Notifications.Acknowledge(ctx, args[0], ack)
			if err != nil {
				return err
			}
			return sh.Show(n, func() { sh.Printf("%s: acknowledged by %s, %s\n", n.ID, n.Ack.By, sh.At(n.Ack.At)) })
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&ack.By, "by", "", "`WHO` has taken note (default the key's name)")
	flags.BoolVar(&message, "message", false, "the id is a message's: acknowledge all its notifications")
	flags.StringVar(&ack.User, "user", "", "with --message, only those of this `USER`")
	flags.StringVar(&note, "evidence", "", "a `REMARK` that is kept with it")
	return cmd
}

func notificationRevoke(sh *shell.Shell) *cobra.Command {
	return &cobra.Command{
		Use: "revoke-links ID", Short: "Make the links and cards void that were sent for a notification; its next step sends new ones", Args: shell.Takes("ID"),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			n, err := c.Notifications.RevokeLinks(ctx, args[0])
			if err != nil {
				return err
			}
			return sh.Done(n.ID, "its links are revoked")
		}),
	}
}

func notificationEnd(sh *shell.Shell) *cobra.Command {
	return &cobra.Command{
		Use: "end ID", Short: "Keep a notification from going on, without anybody having taken note", Args: shell.Takes("ID"),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			n, err := c.Notifications.End(ctx, args[0])
			if err != nil {
				return err
			}
			return sh.Done(n.ID, string(n.State))
		}),
	}
}
