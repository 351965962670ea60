package remote

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/cli/shell"
	"github.com/posthouse/posthouse/internal/limittext"
	"github.com/posthouse/posthouse/wire"
)

func accountGroup(sh *shell.Shell) *cobra.Command {
	list := accountList(sh)
	g := shell.Group("accounts", "The accounts that a channel sends by, where it has several",
		list, accountWatch(sh), accountShow(sh), accountSet(sh), accountImport(sh), accountExport(sh),
		accountPause(sh), accountResume(sh), accountTest(sh), accountDelete(sh))
	unknown := g.RunE
	g.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 {
			return unknown(cmd, args)
		}
		return list.RunE(cmd, args) // of the channel alone, as list shows it
	}
	g.Example = "  posthouse channel accounts wecom # as list does"
	return g
}

func accountList(sh *shell.Shell) *cobra.Command {
	var f client.Filter
	cmd := &cobra.Command{
		Use: "list CHANNEL", Short: "List a channel's accounts: how fast each goes now, and what it waits for", Args: shell.Takes("CHANNEL"),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			f.Channel = args[0]
			list, err := listAccounts(ctx, c, f)
			if err != nil {
				return err
			}
			return sh.Show(list.page, func() {
				list.table(sh)
				sh.More(list.page.Next)
			})
		}),
	}
	shell.PageFlags(cmd.Flags(), &f.Limit, 100, &f.Cursor)
	return cmd
}

func windowsOf(list []posthouse.Limit) string { return limittext.Text(list, ",") }

// waitsFor says what keeps an account from sending, and until when.
func waitsFor(sh *shell.Shell, a *posthouse.Account) string {
	switch {
	case a.State == posthouse.AccountOpen:
		return ""
	case !a.StateUntil.IsZero():
		return strings.TrimSpace(a.StateReason + sh.Text(" until %s", sh.At(a.StateUntil)))
	case a.State == posthouse.AccountPaused && a.StateReason == "":
		return sh.Text("somebody to resume it")
	}
	return a.StateReason
}

func accountShow(sh *shell.Shell) *cobra.Command {
	return &cobra.Command{
		Use: "show CHANNEL NAME", Short: "Show an account, its secrets masked", Args: shell.Takes("CHANNEL", "NAME"),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			a, err := c.Accounts.Get(ctx, args[0], args[1])
			if err != nil {
				return err
			}
			if sh.JSON {
				return sh.PrintJSON(a)
			}
			return sh.PrintYAML(a)
		}),
	}
}

// accountFlags are the settings of an account as flags. Their texts are values of JSON fields.
var accountFlags = []channelFlag{
	{"pools", "labels that messages may ask for, a `LIST` with commas between", labels},
	{"weight", "its share of what is pinned to no account, a `NUMBER` from 1 to 1000", number},
	{"base-rate", "how many calls a second it makes at most, when all is well, a `NUMBER`", fraction},
	{"limits", "windows that hold together, a `LIST` such as 20/1s,1000/1m, or unlimited; empty for the channel's account limits", windows},
	{"budget", "how much it may send in a day or a month of the calendar, a `TEXT` such as 20000/month@Asia/Shanghai; empty for the channel's account budget", budget},
}

func labels(s string) (any, error) { return append([]string{}, shell.List(s)...), nil }

func accountSet(sh *shell.Shell) *cobra.Command {
	var config string
	cmd := &cobra.Command{
		Use: "set CHANNEL NAME", Short: "Create an account, or change what the flags name", Args: shell.Takes("CHANNEL", "NAME"),
		Long: `Create an account of a channel, or change what the flags name and keep the rest. The channel has the
setting accounts: its config is what all accounts share, and --config what is this one's.`,
		Example: `  posthouse channel accounts set wecom sales-07 --config '{"agent_id": 1000007, "secret": "…"}'
  posthouse channel accounts set wecom sales-07 --limits 20/1s,500/1m
  posthouse channel accounts set wecom sales-07 --weight 3 --pools vip`,
	}
	cmd.Flags().StringVar(&config, "config", "", "what is this account's of the driver's fields: a `JSON` object, @FILE, or -")
	for _, f := range accountFlags {
		cmd.Flags().String(f.name, "", f.help)
	}
	cmd.RunE = sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
		a, err := changedAccount(ctx, sh, c, args[0], args[1], config, cmd.Flags())
		if err != nil {
			return err
		}
		over := client.IfNew(ctx)
		if !a.CreatedAt.IsZero() {
			over = client.IfMatch(ctx, a.Tag()) // what it keeps is what was read
		}
		stored, created, err := c.Accounts.Put(over, args[0], a)
		if err != nil {
			return err
		}
		what := "changed"
		if created {
			what = "created"
		}
		return sh.Show(stored, func() { sh.Printf("%s: %s\n", stored.Name, sh.Label(what)) })
	})
	return cmd
}

// changedAccount is the stored account, if there is one, with what the flags say.
func changedAccount(ctx context.Context, sh *shell.Shell, c *client.Client, channel, name, config string, flags *pflag.FlagSet) (posthouse.Account, error) {
	own, err := sh.Object("--config", config)
	if err != nil {
		return posthouse.Account{}, err
	}
	changed, err := changedFields(flags, accountFlags)
	if err != nil {
		return posthouse.Account{}, err
	}
	a, err := c.Accounts.Get(ctx, channel, name)
	var missing *posthouse.Error
	if errors.As(err, &missing) && missing.Code == posthouse.CodeNotFound {
		a, err = posthouse.Account{}, nil // of a channel that is missing, the put says so
	}
	if err != nil {
		return a, err
	}
	a.Name = name
	if own != nil {
		a.Config = nil
		if err := json.Unmarshal(own, &a.Config); err != nil {
			return a, err
		}
	}
	return a, setFields(changed, &a.AccountSettings)
}

func accountPause(sh *shell.Shell) *cobra.Command {
	var pause wire.Pause
	var until string
	cmd := &cobra.Command{
		Use: "pause CHANNEL NAME", Short: "Stop an account's sending, for a time or until it is resumed", Args: shell.Takes("CHANNEL", "NAME"),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) (err error) {
			if pause.Until, err = sh.Moment("--until", until); err != nil {
				return err
			}
			a, err := c.Accounts.Pause(ctx, args[0], args[1], pause)
			if err != nil {
				return err
			}
			return sh.Show(a, func() { sh.Printf("%s: paused%s\n", a.Name, untilOf(sh, a.StateUntil)) })
		}),
	}
	cmd.Flags().StringVar(&pause.Reason, "reason", "", "a `TEXT` that is shown with it")
	cmd.Flags().StringVar(&until, "until", "", "the `TIME` at which it goes on by itself: \"2026-10-01 08:30\", or 2h")
	return cmd
}

func untilOf(sh *shell.Shell, at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return sh.Text(" until %s", sh.At(at))
}

func accountResume(sh *shell.Shell) *cobra.Command {
	return &cobra.Command{
		Use: "resume CHANNEL NAME", Short: "Let an account send again, also where its provider had refused it", Args: shell.Takes("CHANNEL", "NAME"),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			a, err := c.Accounts.Resume(ctx, args[0], args[1])
			if err != nil {
				return err
			}
			return sh.Show(a, func() { sh.Printf("%s: sends\n", a.Name) })
		}),
	}
}

func accountTest(sh *shell.Shell) *cobra.Command {
	var to, text string
	cmd := &cobra.Command{
		Use: "test CHANNEL NAME", Short: "Try an account: by its driver's own check, or by really sending a text to --to", Args: shell.Takes("CHANNEL", "NAME"),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			result, err := c.Accounts.Test(ctx, args[0], args[1], testOf(to, text))
			if err != nil {
				return err
			}
			return printTest(sh, result)
		}),
	}
	testFlags(cmd, &to, &text)
	return cmd
}

func accountDelete(sh *shell.Shell) *cobra.Command {
	return &cobra.Command{
		Use: "delete CHANNEL NAME", Short: "Delete an account; what is pinned to it waits for one of its name", Args: shell.Takes("CHANNEL", "NAME"),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			if err := c.Accounts.Delete(ctx, args[0], args[1]); err != nil {
				return err
			}
			return sh.Done(args[1], "deleted")
		}),
	}
}
