package server_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/simulator"
)

// crew configures three accounts of the simulator's WeCom, in windows of their own, and pauses them.
func (h *house) crew() (names []string) {
	h.Helper()
	h.put(posthouse.Channel{Name: "wecom", Driver: "wecom", Config: map[string]any{"url": h.sim.URL() + "/wecom", "corp_id": "ww1"}, ChannelSettings: posthouse.ChannelSettings{
		Accounts: true, Backoff: []posthouse.Duration{posthouse.Duration(200 * time.Millisecond)}, Jitter: new(float64), Profile: "wecom",
		AccountLimits: []posthouse.Limit{{Max: 100, Per: posthouse.Duration(time.Second)}, {Max: 1000, Per: posthouse.Duration(time.Minute)}},
	}})
	_, err := h.api.Channels.Pause(h.Context(), "wecom", "they wait for each other")
	h.must(err)
	for i := range 3 {
		names = append(names, fmt.Sprint("sales-", i))
		_, _, err := h.api.Accounts.Put(h.Context(), "wecom", posthouse.Account{Name: names[i], Config: map[string]any{"agent_id": 1_000_001 + i, "secret": "a-secret-of-ours"}})
		h.must(err)
	}
	return names
}

// FLEET-3, FLEET-5, FLEET-6, FLEET-7, FLEET-8, FLEET-12: accounts send beside each other what is pinned to each, what says the same in
// few calls; each priority; what is put off, and what failed once, when it is due and not before.
func TestFLEET_AccountsSendBesideEachOther(t *testing.T) {
	onEachDatabase(t, func(h *house) {
		names := h.crew()
		h.behave("wecom", simulator.Fault{Kind: simulator.Business, Recipient: "late", Times: 1})
		to := func(user, words, account string, change ...func(*posthouse.Draft)) posthouse.Accepted {
			d := posthouse.Draft{Channel: "wecom", Account: account, To: []posthouse.Recipient{{User: user}}, Content: &posthouse.Content{Text: words}}
			for _, do := range change {
				do(&d)
			}
			return h.hand(d)
		}
		var same, all []posthouse.Accepted
		for i := range 30 {
			same = append(same, to(fmt.Sprint("same-", i), "the same words", names[i%3]))
		}
		for i := range 9 {
			p := posthouse.Priorities()[i%3]
			all = append(all, to(fmt.Sprint("queued-", i), fmt.Sprint("words ", i), "", func(d *posthouse.Draft) { d.Priority = p }))
		}
		after := time.Now().Add(time.Second)
		late := to("late", "once more", "")
		put := to("put-off", "later", "", func(d *posthouse.Draft) { d.NotBefore = after })
		all = slices.Concat(all, same, []posthouse.Accepted{late, put})
		_, err := h.api.Channels.Resume(h.Context(), "wecom")
		h.must(err)
		for _, m := range all {
			h.eventually("the message to "+m.Deliveries[0].User+" is sent", func() bool { return h.delivery(m.Deliveries[0].ID).State == posthouse.Sent })
		}
		h.sharedCalls(same, names)
		if at := h.delivery(put.Deliveries[0].ID).FirstStartAt; at.Before(after.Truncate(time.Microsecond)) {
			h.Errorf("what was put off until %v began at %v", after, at)
		}
		tries := h.attempts(late.Deliveries[0].ID)
		if len(tries) != 2 || tries[1].StartedAt.Sub(tries[0].FinishedAt) < 200*time.Millisecond {
			h.Errorf("what failed once was tried so: %+v", tries)
		}
		slices.SortFunc(all, func(a, b posthouse.Accepted) int { return strings.Compare(a.ID, b.ID) })
		h.verified(all...)
	})
}

// sharedCalls holds that what says the same went by the account that each is pinned to, and that it shared calls.
func (h *house) sharedCalls(list []posthouse.Accepted, names []string) {
	h.Helper()
	calls := map[string]bool{}
	for i, m := range list {
		d := h.delivery(m.Deliveries[0].ID)
		if calls[d.ProviderRef] = true; d.Account != names[i%3] {
			h.Errorf("what is pinned to %s went by %s", names[i%3], d.Account)
		}
	}
	if len(calls) > len(list)/2 { // a claim takes as many messages as there are senders for
		h.Errorf("%d calls for the %d messages that say the same, by %d accounts", len(calls), len(list), len(names))
	}
}
