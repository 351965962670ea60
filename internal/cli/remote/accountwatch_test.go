package remote

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/cli/shell"
	"github.com/posthouse/posthouse/wire"
)

// FLEET-5: the accounts of a channel are shown again and again, each with every factor of its rate and what it waits for.
func TestAccountsAreWatchedWithEachFactorOfTheirRates(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	looks := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var answer any = wire.Page[posthouse.Account]{Items: []posthouse.Account{
			{Name: "a", State: posthouse.AccountOpen, AccountSettings: posthouse.AccountSettings{Limits: []posthouse.Limit{}}},
			{Name: "b", State: posthouse.AccountPaused, StateReason: "limit of the day"},
		}}
		if strings.HasSuffix(r.URL.Path, "/rates") {
			if looks++; looks == 3 {
				stop()
			}
			answer = wire.Page[posthouse.Rate]{Items: []posthouse.Rate{{Account: "a", Rate: 3, Base: 4, Health: 0.75, Success: 1, Load: 1, Time: 1, Reason: "refused"}}}
		}
		if strings.HasSuffix(r.URL.Path, "/windows") {
			answer = wire.Page[wire.Window]{Items: []wire.Window{
				{Of: "account", Account: "a", Max: 2, Per: posthouse.Duration(time.Second), Used: 1, Left: 1}, {Of: "account", Account: "b", Max: 2, Per: posthouse.Duration(time.Second), Left: 2},
				{Of: "channel", Max: 1000, Per: posthouse.Duration(time.Minute), Left: 9},
			}}
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(answer)
	}))
	t.Cleanup(server.Close)
	var out strings.Builder
	sh := &shell.Shell{Out: &out, Err: &out}
	cmd := sh.Calling(accountGroup(sh))
	cmd.SetArgs([]string{"watch", "wecom", "--every", "100ms", "--url", server.URL, "--key", "ph_1_x"})
	if err := cmd.ExecuteContext(ctx); err != nil {
		t.Fatal(err)
	}
	want := strings.Join([]string{
		"Account  Pools  Weight  Limits     State   Rate  Base  Health  Success  Load  Time  Because  Waits for",
		"a               1       unlimited  open    3.00  4.00  0.75    1.00     1.00  1.00  refused  nothing now; its limit 2/1s holds it below its rate",
		"b               1                  paused                                                    limit of the day",
	}, "\n") + "\n"
	if got := out.String(); got != want+want && got != want+want+want {
		t.Errorf("shown is\n%s\nwant two or three times\n%s", got, want)
	}
}

// The name of a channel alone lists its accounts.
func TestAccountsOfAChannelAreListedByItsName(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path != "/v1/channels/wecom/accounts" {
			w.WriteHeader(http.StatusConflict)
			_, _ = w.Write([]byte(`{"code":"conflict","status":409}`))
			return
		}
		_ = json.NewEncoder(w).Encode(wire.Page[posthouse.Account]{Items: []posthouse.Account{{Name: "sales-07", State: posthouse.AccountOpen}}})
	}))
	t.Cleanup(server.Close)
	for _, args := range [][]string{{"wecom"}, {"list", "wecom"}} {
		var out strings.Builder
		sh := &shell.Shell{Out: &out, Err: &out}
		cmd := sh.Calling(accountGroup(sh))
		cmd.SetArgs(append(args, "--url", server.URL, "--key", "ph_1_x"))
		if err := cmd.ExecuteContext(t.Context()); err != nil || !strings.Contains(out.String(), "sales-07  ") {
			t.Errorf("%v: shown is %q, %v", args, out.String(), err)
		}
	}
}
