package campaign

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/cli/shell"
	"github.com/posthouse/posthouse/wire"
)

// CAMP-10: lines say what is new, and the bar of a terminal is drawn over the one before.
func TestTheWatcherSaysWhatIsNew(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	seen := func(state posthouse.CampaignState, unsent, started, failed int64) wire.Campaign {
		return wire.Campaign{Campaign: posthouse.Campaign{State: state}, Progress: wire.CampaignProgress{CampaignCounts: wire.CampaignCounts{Members: 2000, Unsent: unsent, Started: started, Failed: failed, Sent: 2000 - unsent - started - failed}}}
	}
	steps := []wire.Campaign{
		seen(posthouse.CampaignRunning, 2000, 0, 0), seen(posthouse.CampaignRunning, 1400, 100, 7), seen(posthouse.CampaignPaused, 1000, 0, 7), seen(posthouse.CampaignPaused, 1000, 0, 7),
		seen(posthouse.CampaignDone, 0, 0, 7),
	}
	steps[1].Progress.PerSecond, steps[1].Progress.Left = 500, posthouse.Duration(3*time.Second)
	parked := seen(posthouse.CampaignRunning, 1000, 0, 7)
	parked.Progress.Waits, parked.Progress.Until = "the account is refused by the provider: 45009", time.Date(2026, 11, 24, 0, 0, 0, 0, time.Local)
	if got, want := progressLine(&shell.Shell{}, &parked, 1000), "running: 1000 of 2000, 7 failed, the account is refused by the provider: 45009, until 00:00"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	for _, terminal := range []bool{false, true} {
		var b strings.Builder
		w := watcher{sh: &shell.Shell{Err: &b}, terminal: terminal, width: 100}
		for i, c := range steps {
			w.saw(c, at.Add(time.Duration(i)*time.Second))
		}
		w.end()
		want := "running: 0 of 2000\nrunning: 500 of 2000, 100 under way, 7 failed, 500 a second, 3s left\npaused: 1000 of 2000, 7 failed\ndone: 2000 of 2000, 7 failed\n"
		if terminal {
			const over = "\r\x1b[K"
			want = over + "[........................] running: 0 of 2000" + over + "[######..................] running: 500 of 2000, 100 under way, 7 failed, 500 a second, 3s left" +
				strings.Repeat(over+"[############............] paused: 1000 of 2000, 7 failed", 2) + over + "[########################] done: 2000 of 2000, 7 failed\n"
		}
		if got := b.String(); got != want {
			t.Errorf("on a terminal %t:\n%q\nwant\n%q", terminal, got, want)
		}
	}
}

// CAMP-10: a server that is killed and started anew does not end the watching; one that stays away, or refuses, does.
func TestTheWatcherWaitsForAServerThatIsAway(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	var b strings.Builder
	w := watcher{sh: &shell.Shell{Err: &b}}
	gone := errors.New("connection refused")
	if w.waits(gone, at) {
		t.Error("it waits for a server that has never answered")
	}
	c := wire.Campaign{Campaign: posthouse.Campaign{State: posthouse.CampaignRunning}, Progress: wire.CampaignProgress{CampaignCounts: wire.CampaignCounts{Members: 10, Unsent: 10}}}
	w.saw(c, at)
	for _, step := range []struct {
		after time.Duration
		err   error
		want  bool
	}{
		{time.Second, gone, true}, {4 * time.Minute, posthouse.Errorf(posthouse.CodeUnavailable, "starting"), true}, {2 * time.Second, posthouse.Errorf(posthouse.CodeNotFound, "there is no campaign"), false},
		{6 * time.Minute, gone, false},
	} {
		if got := w.waits(step.err, at.Add(step.after)); got != step.want {
			t.Errorf("%s after it was seen, %v: it waits: %t, want %t", step.after, step.err, got, step.want)
		}
	}
	w.saw(c, at.Add(7*time.Minute))
	if !w.waits(gone, at.Add(13*time.Minute)) {
		t.Error("a server that came back is not waited for again")
	}
	if n := strings.Count(b.String(), "the server does not answer"); n != 2 {
		t.Errorf("it says %d times that the server is away, want once each time:\n%s", n, b.String())
	}
}
