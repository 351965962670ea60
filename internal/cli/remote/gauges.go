package remote

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/cli/shell"
	"github.com/posthouse/posthouse/wire"
)

func channelWindows(sh *shell.Shell) *cobra.Command {
	var accounts string
	cmd := &cobra.Command{
		Use: "windows NAME", Short: "Show how full a channel's windows are, and when those open that are full", Args: shell.Takes("NAME"),
		Long: `Show how full the windows are that bound a channel's sends, and when those open that are full: of its tenant, its own,
and those of its accounts, with budgets and what is foreseen of them. What a process has reserved for the next two seconds counts as used.`,
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			list, err := c.Channels.Windows(ctx, args[0], shell.List(accounts)...)
			if err != nil {
				return err
			}
			return sh.Show(list, func() {
				head, budgets := []string{"Of", "Account", "Window", "Used", "Left", "Opens"}, slices.ContainsFunc(list, func(w wire.Window) bool { return w.Budget != "" })
				if budgets {
					head = append(head, "Forecast")
				}
				var rows [][]string
				for _, w := range list {
					row := []string{string(w.Of), cmp.Or(w.Account, "-"), windowText(w), strconv.Itoa(w.Used), strconv.Itoa(w.Left), sh.At(w.OpensAt)}
					if budgets {
						row = append(row, forecast(sh, w))
					}
					rows = append(rows, row)
				}
				sh.Table(head, rows)
			})
		}),
	}
	cmd.Flags().StringVar(&accounts, "account", "", "beside the channel's only those of these accounts, a `LIST` with commas between")
	return cmd
}

// windowText is a window as limits are written, or a budget.
func windowText(w wire.Window) string {
	if w.Budget != "" {
		return posthouse.Budget{Max: w.Max, Per: w.Budget}.String()
	}
	return posthouse.Limit{Max: w.Max, Per: w.Per}.String()
}

// forecast is what is foreseen of a budget.
func forecast(sh *shell.Shell, w wire.Window) string {
	switch {
	case !w.SpentAt.IsZero():
		return sh.Text("spent %s", sh.At(w.SpentAt))
	case w.Forecast > 0 && w.Left > 0:
		return strconv.Itoa(w.Forecast)
	}
	return ""
}

func channelRate(sh *shell.Shell) *cobra.Command {
	var account, since string
	cmd := &cobra.Command{
		Use: "rate NAME", Short: "Show how fast each account of a channel may go, or how fast one could, and why", Args: shell.Takes("NAME"),
		Long: `Show how fast each account of a channel with a rate may go, in calls a second, and what makes it up: its base times its
health, its success, its load and the time of day. Shown are the accounts that the process that answers has sent by.

With --since it shows how fast one account could go by the minute, up to a day back; beyond four hours by ten minutes. Where
the account made no call there is no line. Of several processes, rates and bases are added up.`,
		Example: `  posthouse channel rate wecom
  posthouse channel rate wecom --account sales-07 --since 2h`,
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			if account == "" && since == "" {
				return ratesNow(ctx, sh, c, args[0])
			}
			from, err := sh.Past("--since", since)
			if err != nil {
				return err
			}
			return ratesSince(ctx, sh, c, args[0], account, from)
		}),
	}
	cmd.Flags().StringVar(&account, "account", "", "how fast the account with this `NAME` could go, of a channel that sends by several")
	cmd.Flags().StringVar(&since, "since", "", "from which `TIME` on: \"2026-10-01 08:30\", or 2h ago. Defaults to an hour ago")
	return cmd
}

func ratesNow(ctx context.Context, sh *shell.Shell, c *client.Client, channel string) error {
	rates, err := c.Channels.Rates(ctx, channel)
	if err != nil {
		return err
	}
	return sh.Show(rates, func() {
		var rows [][]string
		for _, r := range rates {
			rows = append(rows, []string{cmp.Or(r.Account, "-"), factor(r.Rate), factor(r.Base), factor(r.Health), factor(r.Success), factor(r.Load), factor(r.Time), string(r.Reason), sh.At(r.Since)})
		}
		sh.Table([]string{"Account", "Rate", "Base", "Health", "Success", "Load", "Time", "Because", "Since"}, rows)
	})
}

func ratesSince(ctx context.Context, sh *shell.Shell, c *client.Client, channel, account string, since time.Time) error {
	history, err := c.Channels.RateHistory(ctx, channel, account, since)
	if err != nil {
		return err
	}
	return sh.Show(history, func() {
		var rows [][]string
		for _, r := range history.Points {
			rows = append(rows, []string{sh.At(r.At), factor(r.Rate), factor(r.Base), factor(r.Health), factor(r.Success), factor(r.Load), factor(r.Time), string(r.Reason), strconv.Itoa(r.Processes)})
		}
		sh.Table([]string{"At", "Rate", "Base", "Health", "Success", "Load", "Time", "Because", "Processes"}, rows)
	})
}

func factor(v float64) string { return strconv.FormatFloat(v, 'f', 2, 64) }
