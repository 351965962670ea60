package store

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
)

// fleetOf is a store with a channel of two accounts.
func fleetOf(t *testing.T, s *Store, names ...string) {
	t.Helper()
	ch := posthouse.Channel{Tenant: "t1", Name: "wecom", Driver: "wecom", ChannelSettings: posthouse.ChannelSettings{Accounts: true}}
	if _, _, err := s.Channels.PutChannel(t.Context(), time.Now(), ch); err != nil {
		t.Fatal(err)
	}
	list := make([]posthouse.Account, len(names))
	for i, name := range names {
		list[i] = posthouse.Account{Name: name, Config: map[string]any{"secret": "sealed " + name}}
	}
	if _, created, err := s.Accounts.PutAccounts(t.Context(), time.Now(), "t1", "wecom", list); err != nil || created != len(names) {
		t.Fatalf("%d were created: %v", created, err)
	}
}

// FLEET-5: the accounts of a channel are rows.
func TestAccountsAreKeptAsTheyArePut(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		fleetOf(t, s, "a", "b")
		version := func() int64 {
			v, err := s.Channels.ChannelsVersion(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
		before := version()
		until := time.Now().Add(time.Hour).UTC().Truncate(time.Microsecond)
		if err := s.Accounts.PauseAccount(t.Context(), time.Now(), "t1", "wecom", "a", true, "limit of the day", until); err != nil {
			t.Fatal(err)
		}
		if version() == before {
			t.Error("other processes do not see that an account was paused")
		}
		settings := posthouse.AccountSettings{Pools: []string{"vip"}, Weight: 3, BaseRate: 2.5, Limits: []posthouse.Limit{{Max: 20, Per: posthouse.Duration(time.Second)}}}
		put := []posthouse.Account{{Name: "a", AccountSettings: settings, Config: map[string]any{"secret": "another"}}, {Name: "c"}}
		if _, created, err := s.Accounts.PutAccounts(t.Context(), time.Now(), "t1", "wecom", put); err != nil || created != 1 {
			t.Fatalf("%d were created: %v", created, err)
		}
		a, err := s.Accounts.Account(t.Context(), "t1", "wecom", "a")
		if err != nil || a.Version != 3 || !a.Paused || a.PauseReason != "limit of the day" || !a.PausedUntil.Equal(until) {
			t.Errorf("got %+v, %v; want version 3, and paused as before", a, err)
		}
		old := work.WithOnly(t.Context(), work.Only{Tags: []string{"2"}})
		wantCode(t, s.Accounts.PauseAccount(old, time.Now(), "t1", "wecom", "a", false, "", time.Time{}), posthouse.CodeChanged)
		wantCode(t, s.Accounts.PauseAccount(old, time.Now(), "t1", "wecom", "none", false, "", time.Time{}), posthouse.CodeChanged)
		if a, err := s.Accounts.Account(t.Context(), "t1", "wecom", "a"); err != nil || !a.Paused {
			t.Errorf("it was resumed by who had read it before: %+v, %v", a, err)
		}
		if diff := cmp.Diff(settings, a.AccountSettings); diff != "" {
			t.Errorf("settings (-want +got):\n%s", diff)
		}
		if err := s.Accounts.DeleteAccount(t.Context(), time.Now(), "t1", "wecom", "b"); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Accounts.Account(t.Context(), "t1", "wecom", "b"); posthouse.CodeOf(err) != posthouse.CodeNotFound {
			t.Errorf("a deleted account: %v", err)
		}
		if _, _, err := s.Accounts.PutAccounts(t.Context(), time.Now(), "t1", "nowhere", put); posthouse.CodeOf(err) != posthouse.CodeNotFound {
			t.Errorf("accounts of no channel: %v", err)
		}
		if err := s.Channels.DeleteChannel(t.Context(), time.Now(), "t1", "wecom"); err != nil {
			t.Fatal(err)
		}
		if list, _, err := s.Accounts.Accounts(t.Context(), "t1", "wecom", "", 0); err != nil || len(list) != 0 {
			t.Errorf("accounts of a deleted channel: %v, %v", list, err)
		}
	})
}

// FLEET-5: a refusal does not count against what is stored anew; how fast the account may be called is another matter, and holds on,
// so that nobody is punished again by a change of weights. A person who resumes it ends that too.
func TestAPutAccountIsRefusedNoMore(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		fleetOf(t, s, "a", "b", "c")
		park := func(g work.Gate) {
			t.Helper()
			g.Tenant, g.Channel = "t1", "wecom"
			if err := s.Gates.SetGate(t.Context(), time.Now(), g, time.Hour); err != nil {
				t.Fatal(err)
			}
		}
		parked := func(want ...string) {
			t.Helper()
			gates, err := s.Gates.Gates(t.Context(), "t1")
			if err != nil {
				t.Fatal(err)
			}
			got := make([]string, len(gates))
			for i, g := range gates {
				got[i] = g.Account
			}
			if !slices.Equal(got, want) {
				t.Errorf("%v are parked, want %v", got, want)
			}
		}
		park(work.Gate{Account: "a", Class: posthouse.ClassAuth})
		park(work.Gate{Account: "b", Class: posthouse.ClassAuth})
		park(work.Gate{Account: "c", Class: posthouse.ClassRate})
		stored, _, err := s.Accounts.PutAccounts(t.Context(), time.Now(), "t1", "wecom", []posthouse.Account{{Name: "a"}, {Name: "c"}})
		if err != nil {
			t.Fatal(err)
		}
		parked("b", "c")

		ch, err := s.Channels.Channel(t.Context(), "t1", "wecom")
		if err != nil {
			t.Fatal(err)
		}
		late := work.Gate{Account: "a", Class: posthouse.ClassAuth, ChannelVersion: ch.Version, AccountVersion: stored[0].Version - 1}
		park(late) // of a process that has not heard of the change
		parked("b", "c")
		late.AccountVersion, late.ChannelVersion = stored[0].Version, ch.Version+1
		park(late)
		parked("b", "c")
		late.ChannelVersion = ch.Version
		park(late)
		parked("a", "b", "c")
		if err := s.Accounts.PauseAccount(t.Context(), time.Now(), "t1", "wecom", "c", false, "", time.Time{}); err != nil {
			t.Fatal(err)
		}
		parked("a", "b")
	})
}

// A new config is not what the provider refused; how fast it may be called is another matter, and the same config stored again is
// the same.
func TestAChannelWithANewConfigIsRefusedNoMore(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		left := func(config string) (accounts []string) {
			t.Helper()
			ch := posthouse.Channel{Tenant: "t1", Name: "wecom", Driver: "test", Config: map[string]any{"url": config}}
			if _, _, err := s.Channels.PutChannel(t.Context(), time.Now(), ch); err != nil {
				t.Fatal(err)
			}
			gates, err := s.Gates.Gates(t.Context(), "t1")
			if err != nil {
				t.Fatal(err)
			}
			for _, g := range gates {
				accounts = append(accounts, g.Account)
			}
			return accounts
		}
		left("http://127.0.0.1:1/wrong")
		for name, class := range map[string]posthouse.Class{"": posthouse.ClassAccount, "a": posthouse.ClassAuth, "b": posthouse.ClassRate} {
			if err := s.Gates.SetGate(t.Context(), time.Now(), work.Gate{Tenant: "t1", Channel: "wecom", Account: name, Class: class}, time.Hour); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff([]string{"", "a", "b"}, left("http://127.0.0.1:1/wrong")); diff != "" {
			t.Errorf("gates after the same config (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]string{"b"}, left("http://127.0.0.1:1/right")); diff != "" {
			t.Errorf("gates after a new config (-want +got):\n%s", diff)
		}
	})
}

func TestAccountsAreListedPageByPageWithinBytes(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		var names []string
		for i := range 30 {
			names = append(names, fmt.Sprintf("a%02d", i))
		}
		fleetOf(t, s, names...)
		large := make([]posthouse.Account, 0, 10)
		for _, name := range names[5:15] {
			large = append(large, posthouse.Account{Name: name, Config: map[string]any{"secret": strings.Repeat("x", 1<<18)}})
		}
		if _, _, err := s.Accounts.PutAccounts(t.Context(), time.Now(), "t1", "wecom", large); err != nil {
			t.Fatal(err)
		}
		var got []string
		pages := 0
		for cursor := ""; pages == 0 || cursor != ""; pages++ {
			list, next, err := s.Accounts.Accounts(t.Context(), "t1", "wecom", cursor, 20)
			if err != nil {
				t.Fatal(err)
			}
			bytes := 0
			for _, row := range list {
				got = append(got, row.Account.Name)
				secret, _ := row.Account.Config["secret"].(string)
				bytes += len(secret)
			}
			if bytes > 2<<20 {
				t.Errorf("a page of %d accounts holds %d bytes", len(list), bytes)
			}
			cursor = next
		}
		if diff := cmp.Diff(names, got); diff != "" || pages < 3 {
			t.Errorf("%d pages (-want +got):\n%s", pages, diff)
		}
	})
}
