package remote

import (
	"cmp"
	"context"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/cli/shell"
	"github.com/posthouse/posthouse/wire"
)

// listed are accounts with how fast they go: by name, of those that have a rate. rated is whether their channel has one.
type listed struct {
	page  wire.Page[posthouse.Account]
	rates map[string]posthouse.Rate
	rated bool
	// windows are those that bound them, by account; "" is of all. Empty where the server did not say.
	windows map[string][]wire.Window
}

func listAccounts(ctx context.Context, c *client.Client, f client.Filter) (l listed, err error) {
	if l.page, err = c.Accounts.List(ctx, f); err != nil {
		return l, err
	}
	l.windows = windowsByAccount(ctx, c, f.Channel, l.page.Items)
	rates, err := c.Channels.Rates(ctx, f.Channel)
	if posthouse.CodeOf(err) == posthouse.CodeConflict { // they go as fast as their limits allow
		return l, nil
	}
	l.rated, l.rates = true, make(map[string]posthouse.Rate, len(rates))
	for _, r := range rates {
		l.rates[r.Account] = r
	}
	return l, err
}

// table shows the accounts, and each factor of a rate where there is one.
func (l *listed) table(sh *shell.Shell) {
	head := []string{"Account", "Pools", "Weight", "Limits", "State"}
	if l.rated {
		head = append(head, "Rate", "Base", "Health", "Success", "Load", "Time", "Because")
	}
	var rows [][]string
	for i := range l.page.Items {
		a := &l.page.Items[i]
		row := []string{a.Name, shell.Words(a.Pools), strconv.Itoa(max(a.Weight, 1)), windowsOf(a.Limits), string(a.State)}
		if l.rated {
			row = append(row, factorsOf(l.rates, a.Name)...)
		}
		rows = append(rows, append(row, cmp.Or(waitsFor(sh, a), l.heldBy(sh, a.Name))))
	}
	sh.Table(append(head, "Waits for"), rows)
}

// factorsOf are a rate, what it is made of and why it last changed; nothing of an account that has not sent.
// windowsByAccount are the windows that bound accounts. They are shown beside the accounts, so that what cannot be read of them is left out.
func windowsByAccount(ctx context.Context, c *client.Client, channel string, list []posthouse.Account) map[string][]wire.Window {
	names := make([]string, len(list))
	for i := range list {
		names[i] = list[i].Name
	}
	windows, err := c.Channels.Windows(ctx, channel, names...)
	if err != nil {
		return nil
	}
	by := map[string][]wire.Window{}
	for _, w := range windows {
		by[w.Account] = append(by[w.Account], w)
	}
	return by
}

// heldBy says which window keeps an open account from sending now, or from sending as fast as its rate.
func (l *listed) heldBy(sh *shell.Shell, account string) string {
	var tightest wire.Window
	perSecond := func(w wire.Window) float64 { return float64(w.Max) / w.Per.Std().Seconds() }
	for _, w := range slices.Concat(l.windows[account], l.windows[""]) {
		if w.Left <= 0 {
			return sh.Text("its limit %s, until %s", windowText(w), sh.At(w.OpensAt))
		}
		if w.Budget != "" { // which says nothing of a second
			continue
		}
		if tightest.Per == 0 || perSecond(w) < perSecond(tightest) {
			tightest = w
		}
	}
	if r, known := l.rates[account]; known && tightest.Per > 0 && perSecond(tightest) < r.Rate {
		return sh.Text("nothing now; its limit %s holds it below its rate", posthouse.Limit{Max: tightest.Max, Per: tightest.Per})
	}
	return ""
}

func factorsOf(rates map[string]posthouse.Rate, account string) []string {
	r, known := rates[account]
	if !known {
		return make([]string, 7)
	}
	return []string{factor(r.Rate), factor(r.Base), factor(r.Health), factor(r.Success), factor(r.Load), factor(r.Time), string(r.Reason)}
}

// wipe sends a terminal's cursor home and clears what is below it.
const wipe = "\x1b[H\x1b[2J"

func accountWatch(sh *shell.Shell) *cobra.Command {
	var f client.Filter
	var every time.Duration
	cmd := &cobra.Command{
		Use: "watch CHANNEL", Short: "Show a channel's accounts again and again, until Ctrl-C", Args: shell.Takes("CHANNEL"),
		Long: `Show a channel's accounts again and again: how fast each goes now, with each factor of its rate, and what it waits for. A terminal
is drawn anew; elsewhere one table follows the other. Rates are those of the process that answers, of accounts that it has
sent by.`,
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			if every < 100*time.Millisecond {
				return shell.Usagef("--every: is %s: want 100ms or more", every)
			}
			f.Channel = args[0]
			tick := time.NewTicker(every)
			defer tick.Stop()
			for {
				list, err := listAccounts(ctx, c, f)
				if ctx.Err() != nil {
					return nil //nolint:nilerr // somebody has stopped it
				}
				if err != nil {
					return err
				}
				if sh.Terminal {
					_, _ = io.WriteString(sh.Out, wipe)
				}
				if err := sh.Show(list.page, func() { list.table(sh) }); err != nil {
					return err
				}
				select {
				case <-tick.C:
				case <-ctx.Done():
					return nil
				}
			}
		}),
	}
	cmd.Flags().DurationVar(&every, "every", 2*time.Second, "how often it looks, a `TIME` such as 5s")
	shell.PageFlags(cmd.Flags(), &f.Limit, 100, &f.Cursor)
	return cmd
}
