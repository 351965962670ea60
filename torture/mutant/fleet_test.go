package mutant

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/verify"
	"github.com/posthouse/posthouse/simulator"
	"github.com/posthouse/posthouse/torture/internal/house"
	"github.com/posthouse/posthouse/torture/internal/overlay"
)

// wecom makes a channel one of WeCom's applications, of many accounts or of one.
func wecom(h *house.House, ch *posthouse.Channel) {
	ch.Name, ch.Driver = "wecom", "wecom"
	ch.Config = map[string]any{"corp_id": "ww1", "url": h.Provider.URL + "/wecom"}
}

// twoTiers has a channel with a wide window and an account with a narrow one. Each arrival stands for a permit in the
// limiter's journal, with half a second for the way to the provider.
var twoTiers = scenario{fault: "no fault: a wide window of the channel, a narrow one of its account", db: house.SQLite, play: func(r *rig) *house.House {
	const most, per, way = 20, 3 * time.Second, 500 * time.Millisecond
	h := r.open(house.Options{}, nil)
	ch := h.Channel("wecom")
	wecom(h, &ch)
	ch.Accounts = true
	ch.Limits = []posthouse.Limit{{Max: 1000, Per: posthouse.Duration(time.Minute)}}
	ch.AccountLimits = []posthouse.Limit{{Max: most, Per: posthouse.Duration(per)}}
	h.PutChannel(r, ch)
	a := posthouse.Account{Name: "sales", Config: map[string]any{"agent_id": 7, "secret": "s-7"}}
	if _, _, err := h.Members[0].Client(r, 3).Accounts.Put(r.Context(), "wecom", a); err != nil {
		r.Fatal(err)
	}
	h.Produce(r, house.Load{Messages: 3 * most, Draft: func(n int) posthouse.Draft { return house.Text("wecom", n) }})
	h.Settle(r)
	path := filepath.Join(r.TempDir(), "limiter.jsonl")
	f, err := os.Create(path)
	if err != nil {
		r.Fatal(err)
	}
	defer f.Close()
	windows := []posthouse.Limit{{Max: most, Per: posthouse.Duration(per - way)}}
	for _, arrival := range h.Provider.Arrivals(r) {
		line := verify.GrantLine{At: arrival.At, Key: arrival.Account, Windows: windows, Op: verify.OpTake, Want: 1, Granted: 1, RefusedBy: -1}
		if err := json.NewEncoder(f).Encode(line); err != nil {
			r.Fatal(err)
		}
	}
	r.flags = append(r.flags, "--limiter", path)
	return h
}}

// firstTierAlone notes permits where they were asked for first, as if all that was checked were one row.
var firstTierAlone = []overlay.Edit{{
	File: "internal/limit/call.go",
	Old:  "\t\t\ts.add(at[i], g.N)\n",
	New:  "\t\t\tif i == 0 {\n\t\t\t\ts.add(at[i], g.N)\n\t\t\t}\n",
}}

// sharedCalls has messages that say the same share calls, some of them to members whom WeCom does not know.
var sharedCalls = scenario{fault: "no fault: messages that say the same, one in ten to a member who has left", db: house.SQLite, play: func(r *rig) *house.House {
	h := r.open(house.Options{}, nil)
	ch := h.Channel("wecom")
	wecom(h, &ch)
	ch.Config["agent_id"], ch.Config["secret"], ch.Config["batch"] = 7, "s-7", 50
	h.PutChannel(r, ch)
	h.Provider.Behave(r, "wecom", simulator.Behaviour{Faults: []simulator.Fault{
		{Kind: simulator.Business, Code: simulator.UnknownUser, Recipient: "u*5"},
		{Kind: simulator.Latency, Latency: milliseconds(300)},
	}})
	h.Produce(r, house.Load{Messages: 200, Draft: func(n int) posthouse.Draft { return house.Text("wecom", n) }})
	h.Settle(r)
	return h
}}

// oneResultOfACall takes what WeCom says of the first member of a call for all of them.
var oneResultOfACall = []overlay.Edit{{
	File: "channel/wecom/app.go",
	Old:  "answer.missed(to[i].Recipient.Address)",
	New:  "answer.missed(to[0].Recipient.Address)",
}}

// threeAccounts has three accounts of WeCom send what is made for each number, by a provider that may lose answers.
func threeAccounts(account func(n int) string, faults ...simulator.Fault) func(r *rig) *house.House {
	return func(r *rig) *house.House {
		h := r.open(house.Options{}, nil)
		ch := h.Channel("wecom")
		wecom(h, &ch)
		ch.Accounts, ch.OnUnknown, ch.Tries, ch.Backoff = true, posthouse.Retry, 50, []posthouse.Duration{milliseconds(200)}
		h.PutChannel(r, ch)
		for i := range 3 {
			a := posthouse.Account{Name: sales(i), Config: map[string]any{"agent_id": 7 + i, "secret": "s"}}
			if _, _, err := h.Members[0].Client(r, 3).Accounts.Put(r.Context(), "wecom", a); err != nil {
				r.Fatal(err)
			}
		}
		h.Provider.Behave(r, "wecom", simulator.Behaviour{Faults: faults})
		h.Produce(r, house.Load{Messages: 100, Draft: func(n int) posthouse.Draft {
			d := house.Text("wecom", n)
			d.Account = account(n)
			return d
		}})
		h.Settle(r)
		return h
	}
}

func sales(n int) string { return fmt.Sprint("sales-", n%3) }

var pinnedToThree = scenario{fault: "no fault: messages that are pinned to three accounts", db: house.SQLite, play: threeAccounts(sales)}

var lostByThree = scenario{
	fault: "a third of all answers lost, of three accounts", db: house.SQLite,
	play: threeAccounts(func(int) string { return "" }, house.Share(simulator.CutAfter, 0.3)),
}

// pinForgotten takes the pin of one account for that of all.
var pinForgotten = []overlay.Edit{{
	File: "internal/admission/fleet.go",
	Old: `	if name := pin.Account(); name != "" {
		if a := f.accounts[name]; a != nil {
			list = append(list, a)
		}
		return list
	}
	for _, a := range f.accounts {
		if pin == "" || `,
	New: `	for _, a := range f.accounts {
		if pin.Pool() == "" || `,
}}

// repeatedByAny leaves what may have arrived to whichever account is free.
var repeatedByAny = []overlay.Edit{{
	File: "internal/state/machine.go",
	Old:  "\t\td.Pinned = d.Account != \"\" // the provider of another account would not recognise the repeat\n",
	New:  "",
}}
