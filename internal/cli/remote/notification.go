package remote

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/cli/shell"
	"github.com/posthouse/posthouse/internal/route"
	"github.com/posthouse/posthouse/wire"
)

func notificationGroup(sh *shell.Shell) *cobra.Command {
	return sh.Calling(shell.Group("notification", "Whether somebody was told of a message that follows a route",
		notificationList(sh), notificationShow(sh), notificationAck(sh), notificationRevoke(sh), notificationEnd(sh), notificationResume(sh)))
}

// asked is which notifications are looked for.
type asked struct {
	client.Filter
	state, message, since, until, by string
	unknown                          bool // the directory knows nobody of the person's id or name
}

// whose finds the user of the directory whom --person names. A key that may not look there asks as it is typed.
func (f *asked) whose(ctx context.Context, c *client.Client) error {
	if f.Person == "" {
		return nil
	}
	found, err := c.Users.Find(ctx, f.Person, route.MostCalled)
	if err != nil {
		return nil //nolint:nilerr // the list itself says what is wrong
	}
	id, known, err := route.Whose(f.Person, found.Items)
	f.Person, f.unknown = id, !known
	return err
}

func notificationList(sh *shell.Shell) *cobra.Command {
	var f asked
	cmd := &cobra.Command{
		Use: "list", Short: "List notifications, newest first, or say whether a person knew by a time", Args: shell.Takes(),
		Example: `  posthouse notification list --state not_told --since 8h
  posthouse notification list --person zhang.san --by 03:10   # did zhang.san know by 03:10?`,
		RunE: sh.Over(func(ctx context.Context, c *client.Client, _ []string) error {
			by, err := f.read(sh)
			if err == nil {
				err = f.whose(ctx, c)
			}
			if err != nil {
				return err
			}
			if f.by != "" {
				return knew(ctx, sh, c, &f, by)
			}
			var page wire.Page[posthouse.Notification]
			if f.message != "" {
				page.Items, err = c.Notifications.Of(ctx, f.message)
			} else {
				page, err = c.Notifications.List(ctx, posthouse.NotificationState(f.state), f.Filter)
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
	flags.StringVar(&f.Person, "person", "", "only those that mean the `PERSON`, by the user's id or name or the address, told them or were acknowledged by them")
	flags.StringVar(&f.by, "by", "", "with --person, say of each whether the person knew by this `TIME`: 03:10, \"2026-10-01 03:10\", or 2h ago")
	flags.StringVar(&f.state, "state", "", "only those in a `STATE`: waiting, told, acknowledged or not_told")
	flags.BoolVar(&f.Held, "held", false, "only those that a new epoch holds until somebody lets them go on")
	flags.StringVar(&f.message, "message", "", "only those of this message, by its `ID`")
	flags.StringVar(&f.Route, "route", "", "only those that follow the route `NAME`")
	flags.StringVar(&f.Kind, "kind", "", "only of the `KIND`")
	flags.StringVar(&f.Ref, "ref", "", "only with the `REF`")
	flags.StringVar(&f.since, "since", "", "only handed in from this `TIME`: \"2026-10-01 08:30\", or 2h ago (with --by by default a day before that)")
	flags.StringVar(&f.until, "until", "", "only handed in before this `TIME`")
	flags.IntVar(&f.Limit, "limit", 0, "at most so `MANY` (default 50)")
	flags.StringVar(&f.Cursor, "cursor", "", "the `CURSOR` of the page before")
	return cmd
}

// read checks the flags. by is the time that is asked about, zero for none.
func (f *asked) read(sh *shell.Shell) (by time.Time, err error) {
	if f.Since, err = sh.Past("--since", f.since); err != nil {
		return by, err
	}
	if f.Until, err = sh.Past("--until", f.until); err != nil {
		return by, err
	}
	if f.by == "" {
		return by, nil
	}
	if f.Person == "" {
		return by, shell.Usagef("--by asks whether a person knew: say whom, such as --person zhang.san --by 03:10")
	}
	if f.message+f.state+f.until != "" {
		return by, shell.Usagef("--by goes with --person, --since, --route, --kind and --ref alone")
	}
	if by, err = sh.Past("--by", f.by); err != nil {
		return by, err
	}
	if by.After(time.Now()) {
		return by, shell.Usagef("--by: %s lies ahead: what a person knew can be said of a time that has come, such as 03:10 or \"2026-10-01 03:10\"", sh.At(by))
	}
	f.Until = by.Add(time.Millisecond) // what came at that moment is asked about too
	if f.Since.IsZero() {
		f.Since = by.AddDate(0, 0, -1)
	}
	return by, nil
}

// asksBy says which moment --by was taken for: 23:50 at five past midnight is yesterday's.
func (f *asked) asksBy(sh *shell.Shell, by time.Time) string {
	now := time.Now().In(sh.Location())
	if _, err := time.Parse("15:04", f.by); err == nil && by.In(now.Location()).YearDay() != now.YearDay() {
		return sh.Text("By %s, yesterday: %s is yet to come today.", sh.At(by), f.by)
	}
	return sh.Text("By %s:", sh.At(by))
}

// known says of one notification whether a person knew of it by a time.
type known struct {
	Notification string                      `json:"notification"`
	Message      string                      `json:"message"`
	Person       string                      `json:"person"`
	By           time.Time                   `json:"by"`
	Known        posthouse.NotificationState `json:"known"`
	At           time.Time                   `json:"at,omitzero"`
	Answer       string                      `json:"answer"`
}

// mostPages bounds the pages that an answer goes through. Each may look at thousands.
const mostPages = 20

// knew says in a line for each notification whether a person knew of it by a time.
func knew(ctx context.Context, sh *shell.Shell, c *client.Client, f *asked, by time.Time) error {
	answers := []known{}
	for range mostPages {
		page, err := c.Notifications.List(ctx, "", f.Filter)
		if err != nil {
			return err
		}
		for i := range page.Items {
			n := &page.Items[i]
			state, at := n.KnownBy(f.Person, by)
			answers = append(answers, known{n.ID, n.Message, f.Person, by, state, at, sh.Says(route.Knew(n, f.Person, by, sh.At))})
		}
		if f.Cursor = page.Next; f.Cursor == "" || len(page.Items) > 0 {
			break
		}
	}
	return sh.Show(answers, func() {
		sh.Printf("%s\n", f.asksBy(sh, by))
		for i := range answers {
			sh.Printf("%s  %s\n", answers[i].Notification, answers[i].Answer)
		}
		if len(answers) == 0 {
			sh.Printf("no notification concerns %s from %s to %s\n", f.Person, sh.At(f.Since), sh.At(by))
			if f.unknown {
				sh.Printf("the directory has no user whose id or name is %s\n", f.Person)
			}
		}
		if f.Cursor != "" {
			sh.Printf("only so many were looked at: --cursor %s leads on\n", f.Cursor)
		}
	})
}

func printNotifications(sh *shell.Shell, all []posthouse.Notification) {
	var rows [][]string
	for i := range all {
		n := &all[i]
		rows = append(rows, []string{n.ID, whom(sh, n.To), string(n.State), cmp.Or(n.Held, n.Reason), n.Route, fmt.Sprint(n.Step), sh.At(n.CreatedAt)})
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
	told := [2]string{"told", sh.At(n.ToldAt)}
	if n.Reason == "escalated" {
		told = [2]string{"told instead", n.ToldUser + ", " + sh.At(n.ToldAt)}
	}
	fields := [][2]string{
		{"notification", n.ID}, {"whom", whom(sh, n.To)}, {"state", string(n.State)}, {"reason", n.Reason}, {"held", n.Held},
		{"route", sh.Text("%s, version %d", n.Route, n.RouteVersion)}, {"accepted", sh.At(n.CreatedAt)}, told, {"resolved", sh.At(n.ResolvedAt)}, {"deadline", sh.At(n.Deadline)}, {"next step", sh.At(n.NextAt)},
	}
	if a := n.Ack; a != nil {
		fields = append(fields, [2]string{"acknowledged", sh.Text("by %s, %s, by %s", a.By, sh.At(a.At), a.Via)}, [2]string{"evidence", string(a.Evidence)})
	}
	sh.Fields(fields...)
	var rows [][]string
	for _, s := range n.Steps {
		number, after := fmt.Sprint(s.Step), sh.Lasts(s.At.Sub(n.CreatedAt))
		if s.Round > 1 {
			number += sh.Text(" (round %d)", s.Round)
		}
		if s.Skipped != "" {
			rows = append(rows, []string{number, after, "", "", sh.Text("skipped: %s", s.Skipped), sh.Tells(s.Detail)})
		}
		for _, d := range n.Deliveries {
			if d.Step == s.Step && d.Round == s.Round {
				rows = append(rows, []string{number, after, d.Channel, d.User, string(d.State), cmp.Or(d.Reason, d.ID)})
			}
		}
	}
	sh.Table([]string{"Step", "After", "Channel", "Recipient", "State", "Reason or delivery"}, rows)
	rows = nil
	for _, e := range n.Ends {
		why := e.Skipped
		if e.Detail != "" {
			why = sh.Tells(e.Detail)
		}
		rows = append(rows, []string{e.User, e.Channel, sh.At(e.At), why})
	}
	if len(rows) > 0 {
		sh.Table([]string{"Hears of the end", "Channel", "From", "Reason"}, rows)
	}
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
				return sh.Done(args[0], "acknowledged, %d in all", len(list))
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
			waits := slices.IndexFunc(n.Deliveries, func(d posthouse.NotificationDelivery) bool { return d.State == posthouse.Pending })
			if waits >= 0 && n.State == posthouse.NotificationWaiting {
				sh.Notef("what waits to be sent of this step has a link that is void too; the next step has a new one\n")
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
			return sh.DoneState(n.ID, string(n.State))
		}),
	}
}

func notificationResume(sh *shell.Shell) *cobra.Command {
	all := false
	cmd := &cobra.Command{
		Use: "resume ID...", Short: "Have a notification go on that a new epoch holds: its next step may begin at once",
		Example: `  posthouse notification list --held
  posthouse notification resume 01JB2Z6N8Q4T7V0X3Y5W9A0000
  posthouse notification resume --all`,
		Args: func(cmd *cobra.Command, args []string) error {
			if all {
				return shell.Takes()(cmd, args)
			}
			return shell.Some("ID")(cmd, args)
		},
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			for _, id := range args {
				if err := letGo(ctx, sh, c, id); err != nil {
					return err
				}
			}
			for all {
				page, err := c.Notifications.List(ctx, "", client.Filter{Held: true}) // what was let go is on no page any more
				if err != nil || len(page.Items) == 0 {
					return err
				}
				for i := range page.Items {
					if err := letGo(ctx, sh, c, page.Items[i].ID); err != nil {
						return err
					}
				}
			}
			return nil
		}),
	}
	cmd.Flags().BoolVar(&all, "all", false, "all of the tenant that are held")
	return cmd
}

// letGo has one notification go on.
func letGo(ctx context.Context, sh *shell.Shell, c *client.Client, id string) error {
	n, err := c.Notifications.Resume(ctx, id)
	if err != nil {
		return err
	}
	if n.State != posthouse.NotificationWaiting {
		return sh.DoneState(n.ID, string(n.State))
	}
	return sh.Done(n.ID, "goes on")
}
