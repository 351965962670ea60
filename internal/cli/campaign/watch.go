package campaign

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/cli/shell"
	"github.com/posthouse/posthouse/internal/shellword"
	"github.com/posthouse/posthouse/wire"
)

const watchLong = `Watch a campaign until it has ended: a bar that is drawn anew on a terminal, and elsewhere a line whenever
something has changed. It only looks: to end it with Ctrl-C changes nothing.`

func watch(sh *shell.Shell) *cobra.Command {
	var every time.Duration
	cmd := &cobra.Command{
		Use: "watch NAME", Short: "Show how far a campaign is, until it has ended", Long: watchLong, Args: shell.Takes("NAME"),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			if every < 100*time.Millisecond {
				return shell.Usagef("--every: is %s: want 100ms or more", every)
			}
			w := watcher{sh: sh, terminal: sh.ErrTerminal, width: sh.Columns()}
			for {
				got, err := c.Campaigns.Get(ctx, args[0])
				switch {
				case err != nil && w.waits(err, time.Now()) && ctx.Err() == nil:
				case err != nil:
					w.end()
					return err
				default:
					w.saw(got, time.Now())
				}
				if err == nil && ended(&got) {
					w.end()
					return sh.Show(got, func() { printCampaign(sh, got) })
				}
				pause := time.NewTimer(every)
				select {
				case <-pause.C:
				case <-ctx.Done():
					w.end()
					return ctx.Err()
				}
			}
		}),
	}
	cmd.Flags().DurationVar(&every, "every", time.Second, "how often it looks, a `TIME` such as 5s")
	return cmd
}

// ended reports whether nothing more happens to a campaign: its end is written for everybody.
func ended(c *wire.Campaign) bool { return c.State.Final() && !c.FinishedAt.IsZero() }

// watcher tells how far a campaign is.
type watcher struct {
	sh       *shell.Shell
	terminal bool
	width    int
	said     string
	began    time.Time
	away     time.Time // since when the server does not answer
}

// patience is how long a server may be away that somebody watches: as long as a machine takes to start anew, and more.
const patience = 5 * time.Minute

// waits reports whether an error may pass, and says so once. A campaign does not end with the server's process.
func (w *watcher) waits(err error, now time.Time) bool {
	switch {
	case w.began.IsZero() || !lost(err):
		return false
	case w.away.IsZero():
		w.away = now
		w.end()
		w.sh.Notef("the server does not answer, and is asked again for %s: %v\n", patience, err)
	}
	return now.Sub(w.away) < patience
}

// saw tells what is new about a campaign.
func (w *watcher) saw(c wire.Campaign, now time.Time) {
	w.away = time.Time{}
	p := &c.Progress
	settled := p.Members - p.Unsent - p.Started
	if w.began.IsZero() {
		w.began = now
		if c.State == posthouse.CampaignDraft || c.State == posthouse.CampaignReady {
			w.sh.Notef("nothing happens to %s until it is started: posthouse campaign start %s\n", c.Name, shellword.Quote(c.Name))
		}
	}
	line := progressLine(w.sh, &c, settled)
	switch {
	case w.terminal:
		bar := shell.Cut(bar(settled, p.Members)+" "+line, max(w.width-1, 20))
		w.sh.Notef("\r\x1b[K%s", bar)
	case line != w.said:
		w.sh.Notef("%s\n", line)
	}
	w.said = line
}

// end leaves the line that was drawn.
func (w *watcher) end() {
	if w.terminal && w.said != "" {
		w.sh.Notef("\n")
	}
}

// progressLine says how far a campaign is, and how fast, or why nobody is sent to.
func progressLine(sh *shell.Shell, c *wire.Campaign, settled int64) string {
	p := &c.Progress
	parts := []string{sh.Text("%s: %d of %d", sh.State(string(c.State)), settled, p.Members)}
	for _, n := range []struct {
		name string
		n    int64
	}{{"under way", p.Started}, {"failed", p.Failed}, {"unknown", p.Unknown}, {"expired", p.Expired}, {"cancelled", p.Cancelled}, {"suppressed", p.Suppressed}} {
		if n.n > 0 {
			parts = append(parts, sh.Text("%d %s", n.n, sh.Label(n.name)))
		}
	}
	switch {
	case p.Waits != "" && p.Until.IsZero():
		parts = append(parts, sh.Says(p.Waits))
	case p.Waits != "":
		parts = append(parts, sh.Says(p.Waits), sh.Text("until %s", p.Until.In(sh.Location()).Format("15:04")))
	case c.State == posthouse.CampaignRunning && p.PerSecond > 0:
		parts = append(parts, sh.Text("%.0f a second", p.PerSecond), sh.Text("%s left", p.Left))
	case c.State == posthouse.CampaignPaused && c.Reason != "":
		parts = append(parts, c.Reason)
	}
	return strings.Join(parts, ", ")
}

// bar draws how much of all is done.
func bar(done, all int64) string {
	const cells = 24
	full := 0
	if all > 0 {
		full = int(done * cells / all)
	}
	return "[" + strings.Repeat("#", full) + strings.Repeat(".", cells-full) + "]"
}
