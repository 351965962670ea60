package server_test

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel/builtin"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/server"
	"github.com/posthouse/posthouse/wire"
)

// FLEET-4: two processes spend one budget to the last message and not one more; the reserve is for high priority alone; explain, the windows
// and the log say so. What was spent is known after a start.
// So it is where Redis counts before the database.
func TestFLEET_ABudgetHoldsOverProcesses(t *testing.T) {
	onEachDatabase(t, func(h *house) { budgetHolds(h, "") })
	t.Run("with redis", func(t *testing.T) {
		t.Parallel()
		redis := "redis://" + dbtest.Redis(t) + "/0"
		budgetHolds(open(t, dbtest.Postgres(t), func(o *server.Options) { o.Redis = redis }), redis)
	})
}

func budgetHolds(h *house, redis string) {
	h.Helper()
	budget := &posthouse.Budget{Max: 12, Per: posthouse.PerMonth, TimeZone: "Asia/Shanghai", WhenSpent: posthouse.SpentHighPriority, Reserve: 3}
	h.put(posthouse.Channel{Name: "fleet", Driver: "discard", ChannelSettings: posthouse.ChannelSettings{Budget: budget}})
	other := h
	if !strings.Contains(h.Name(), "sqlite") { // which one process has
		other = h.beside(func(o *server.Options) { o.Redis = redis })
	}
	count := func(ids []string) (sent int) {
		for _, id := range ids {
			if h.delivery(id).State == posthouse.Sent {
				sent++
			}
		}
		return sent
	}
	send := func(p posthouse.Priority, n int) (ids []string) {
		for i := range n {
			by := []*house{h, other}[i%2]
			ids = append(ids, by.hand(posthouse.Draft{Channel: "fleet", Priority: p, To: []posthouse.Recipient{{User: fmt.Sprint(p, i)}}, Content: &posthouse.Content{Text: "hello"}}).Deliveries[0].ID)
		}
		return ids
	}
	normal := send(posthouse.Normal, 14)
	h.eventually("nine are sent", func() bool { return count(normal) == 9 })
	high := send(posthouse.High, 5)
	h.eventually("the reserve is sent", func() bool { return count(high) == 3 })
	if n := count(normal); n != 9 {
		h.Errorf("%d of normal priority are sent, want the 9 that the reserve leaves", n)
	}
	windows, err := h.api.Channels.Windows(h.Context(), "fleet")
	h.must(err)
	if len(windows) != 1 || windows[0].Used != 12 || windows[0].Left != 0 || windows[0].Budget != posthouse.PerMonth || !windows[0].OpensAt.Equal(windows[0].To) {
		h.Errorf("the windows are %+v", windows)
	}
	for _, id := range normal {
		if h.delivery(id).State == posthouse.Sent {
			continue
		}
		// A look at the budget has the slots until the limiter has answered, which is said too for that moment.
		h.eventually("the budget alone explains why it waits", func() bool {
			x, err := h.api.Deliveries.Explain(h.Context(), id)
			h.must(err)
			return len(x.Waits) == 1 && x.Waits[0].Cause == "budget" && strings.Contains(x.Waits[0].Detail, "of 12 a month, the last 3 are for high priority")
		})
		break
	}
}

// Attempts of which the provider has seen nothing use up no budget: it refuses the connection, or gives no token.
func TestFLEET_WhatNeverLeftUsesUpNoBudget(t *testing.T) {
	test := func(h *house) {
		gone, err := (&net.ListenConfig{}).Listen(h.Context(), "tcp", "127.0.0.1:0")
		h.must(err)
		away := "http://" + gone.Addr().String()
		h.must(gone.Close())
		settings := runs(0)
		settings.Backoff = []posthouse.Duration{posthouse.Duration(10 * time.Millisecond)}
		settings.Tries, settings.Budget = 2, &posthouse.Budget{Max: 3, Per: posthouse.PerMonth}
		for name, config := range map[string]map[string]any{
			"webhook": {"url": away + "/hook", "secret": "whsec_" + strings.Repeat("typd", 11)},
			"wecom":   {"corp_id": "ww1", "agent_id": 1, "secret": "s", "url": away},
		} {
			h.put(posthouse.Channel{Name: name, Driver: name, ChannelSettings: settings, Config: config})
			for i := range 3 { // six attempts, of a budget of three
				id := h.hand(posthouse.Draft{Channel: name, To: []posthouse.Recipient{{User: fmt.Sprint("u", i)}}, Content: &posthouse.Content{Text: "hello"}}).Deliveries[0].ID
				h.eventually("it fails", func() bool { return h.delivery(id).State == posthouse.Failed })
			}
			h.eventually("nothing of the budget is used", func() bool {
				windows, err := h.api.Channels.Windows(h.Context(), name)
				h.must(err)
				i := slices.IndexFunc(windows, func(w wire.Window) bool { return w.Budget != "" })
				return i >= 0 && windows[i].Used == 0
			})
		}
	}
	onEachDatabase(t, test)
	t.Run("with redis", func(t *testing.T) {
		t.Parallel()
		redis := "redis://" + dbtest.Redis(t) + "/0"
		test(open(t, dbtest.Postgres(t), func(o *server.Options) { o.Redis = redis }))
	})
}

// beside is another process on the same database.
func (h *house) beside(with ...func(*server.Options)) *house {
	h.Helper()
	other := open(h.T, h.dsn, append(with, func(o *server.Options) { o.AdminKey = h.key })...)
	var err error
	other.api, err = client.New(client.Options{URL: other.url, Key: h.key})
	h.must(err)
	return other
}

// What is pinned to an account whose budget is spent leaves by another one, where that is what the budget says, and waits where it does not.
func TestFLEET_ASpentBudgetMovesWhatIsPinned(t *testing.T) {
	onEachDatabase(t, func(h *house) {
		for name, when := range map[string]posthouse.WhenSpent{"moves": posthouse.SpentNextAccount, "waits": posthouse.SpentWait} {
			h.put(posthouse.Channel{Name: name, Driver: "discard", ChannelSettings: posthouse.ChannelSettings{Accounts: true}})
			for _, account := range []posthouse.Account{
				{Name: "small", AccountSettings: posthouse.AccountSettings{Budget: &posthouse.Budget{Max: 2, Per: posthouse.PerDay, WhenSpent: when}}}, {Name: "large"},
			} {
				_, _, err := h.api.Accounts.Put(h.Context(), name, account)
				h.must(err)
			}
		}
		send := func(channel string, n int) (ids []string) {
			for i := range n {
				sent := h.hand(posthouse.Draft{Channel: channel, Account: "small", To: []posthouse.Recipient{{User: fmt.Sprint("u", i)}}, Content: &posthouse.Content{Text: "hello"}})
				ids = append(ids, sent.Deliveries[0].ID)
			}
			return ids
		}
		by := func(ids []string) map[string]int {
			sent := map[string]int{}
			for _, id := range ids {
				if d := h.delivery(id); d.State == posthouse.Sent {
					sent[d.Account]++
				}
			}
			return sent
		}
		for _, name := range []string{"moves", "waits"} {
			first := send(name, 2) // one more at once, and it would be a matter of luck who goes first: the sender or the mover
			h.eventually("the budget of "+name+" is spent", func() bool { return by(first)["small"] == 2 })
		}
		moves, waits := send("moves", 3), send("waits", 3)
		h.eventually("three leave by the other account", func() bool { return by(moves)["large"] == 3 })
		if got := by(waits); len(got) > 0 {
			h.Errorf("of a budget that is spent they left by %v", got)
		}
	})
}

// Two processes tell a budget's warning and its end once each, to who follows the feed and to a subscription, which leads to a front here and so
// to a person. They look seldom enough: a claim has ended by the next look on a loaded machine too.
func TestABudgetsWarningReachesAPerson(t *testing.T) {
	slow := func(o *server.Options) { o.RescueEvery = time.Second }
	ways(t, func(h *house, p *scripted) {
		heard := h.listener()
		other := h
		if !strings.Contains(h.Name(), "sqlite") { // which one process has
			other = h.beside(slow, func(o *server.Options) { o.Drivers = append(builtin.Types(), p.driver()) })
		}
		front := h.front("json", func(in *wire.PutFront) {
			in.Channel, in.To = "b", []posthouse.Recipient{{User: "u1"}}
			in.Expressions = map[string]string{
				"title": `"Budget of " + data.channel + " " + (data.account ?? "")`, "text": `string(data.budget.used) + " of " + string(data.budget.max) + " a " + data.budget.per`,
			}
		})
		_, err := h.api.Subscriptions.Create(h.Context(), wire.NewSubscription{URL: h.url + "/in/json/" + front.Token, Types: []string{"budget"}})
		h.must(err)
		h.put(posthouse.Channel{Name: "small", Driver: "scripted", ChannelSettings: posthouse.ChannelSettings{Budget: &posthouse.Budget{Max: 5, Per: posthouse.PerMonth}}})
		from := 0
		send := func(n int, by *house) {
			for range n {
				from++
				by.hand(posthouse.Draft{Channel: "small", To: []posthouse.Recipient{{User: fmt.Sprint("s", from)}}, Content: &posthouse.Content{Text: "hello"}})
			}
		}
		var told []string
		comes := func() *posthouse.BudgetEvent {
			h.Helper()
			e := h.nextBudget(heard)
			if e.Channel != "small" || e.Account != "" || e.Version != 0 || !e.Budget.Until.After(e.At) {
				h.Errorf("told %+v of %+v", e, e.Budget)
			}
			told = append(told, fmt.Sprint(e.Type(), " ", e.Budget.Used, " of ", e.Budget.Max))
			return e.Budget
		}
		send(4, h)
		comes()
		send(1, other)
		comes()
		var person []string
		h.eventually("a person is told both", func() bool { person = p.texts("b"); return len(person) == 2 })
		h.put(posthouse.Channel{Name: "next", Driver: "scripted", ChannelSettings: posthouse.ChannelSettings{Budget: &posthouse.Budget{Max: 1, Per: posthouse.PerMonth}}})
		h.hand(posthouse.Draft{Channel: "next", To: []posthouse.Recipient{{User: "s"}}, Content: &posthouse.Content{Text: "hello"}})
		if e := h.nextBudget(heard); e.Channel != "next" { // whatever was told twice of the first has come by now
			h.Errorf("told once more: %+v", e.Budget)
		}
		if diff := cmp.Diff([]string{"budget.warned 4 of 5", "budget.spent 5 of 5"}, told); diff != "" {
			h.Errorf("told (-want +got):\n%s", diff)
		}
		slices.Sort(person)
		if diff := cmp.Diff([]string{"4 of 5 a month", "5 of 5 a month"}, person); diff != "" {
			h.Errorf("the person (-want +got):\n%s", diff)
		}
	}, slow)
}

// nextBudget is the next event of a budget that is heard.
func (h *house) nextBudget(heard chan posthouse.FeedEvent) (found posthouse.FeedEvent) {
	h.Helper()
	h.eventually("an event of a budget comes", func() bool {
		for {
			select {
			case found = <-heard:
				if found.Budget != nil {
					return true
				}
			default:
				return false
			}
		}
	})
	return found
}
