package state

import (
	"testing"
	"time"

	"github.com/posthouse/posthouse"
)

// FLEET-5: what a provider refused counts against the config that it refused, and against no account of the same name that was made
// later.
func TestWhatWasRefusedIsOfItsConfig(t *testing.T) {
	t.Parallel()
	made := time.Date(2026, 11, 26, 8, 0, 0, 0, time.UTC)
	of := func(url string, version int64, created time.Time) *Channel {
		return &Channel{
			Stored: posthouse.Channel{Driver: "wecom", Config: map[string]any{"url": url}, Version: 3},
			Opened: Opened{Accounts: []*Account{{Account: posthouse.Account{Name: "a", Version: version, CreatedAt: created}}}},
		}
	}
	was := of("one", 1, made)
	for name, c := range map[string]struct {
		now             *Channel
		renewed, remade bool
	}{
		"the same":                      {of("one", 1, made), false, false},
		"another config of the channel": {of("two", 1, made), true, false},
		"the account stored anew":       {of("one", 2, made), true, false},
		"deleted and made again":        {of("one", 1, made.Add(time.Hour)), false, true},
		"deleted":                       {&Channel{Stored: was.Stored}, true, true},
	} {
		if renewed, remade := was.Renewed(c.now, "a"), was.Remade(c.now, "a"); renewed != c.renewed || remade != c.remade {
			t.Errorf("%s: renewed %v and remade %v, want %v and %v", name, renewed, remade, c.renewed, c.remade)
		}
	}
	if ch, account := was.Versions("a"); ch != 3 || account != 1 {
		t.Errorf("the versions are %d and %d, want 3 and 1", ch, account)
	}
	if ch, account := was.Versions(""); ch != 3 || account != 0 {
		t.Errorf("the versions without an account are %d and %d, want 3 and 0", ch, account)
	}
}
