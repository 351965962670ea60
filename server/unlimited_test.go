package server_test

import (
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/dbtest"
)

// FLEET-9: an account, a channel and its recipients that are said to have no limit have none, whatever holds for those of which nothing is said.
func TestFLEET_NoLimitIsSaidExplicitly(t *testing.T) {
	onEachDatabase(t, func(h *house) {
		once := []posthouse.Limit{{Max: 1, Per: posthouse.Duration(time.Hour)}}
		h.put(posthouse.Channel{Name: "fleet", Driver: "discard", ChannelSettings: posthouse.ChannelSettings{Accounts: true, AccountLimits: once}})
		for name, limits := range map[string][]posthouse.Limit{"bounded": nil, "free": {}} {
			stored, _, err := h.api.Accounts.Put(h.Context(), "fleet", posthouse.Account{Name: name, AccountSettings: posthouse.AccountSettings{Limits: limits}})
			h.must(err)
			if (stored.Limits == nil) != (limits == nil) {
				h.Errorf("%s: its limits were stored as %v, want %v", name, stored.Limits, limits)
			}
		}
		free := posthouse.ChannelSettings{Limits: []posthouse.Limit{}, RecipientLimits: []posthouse.Limit{}}
		h.put(posthouse.Channel{Name: "free", Driver: "wecom", ChannelSettings: free, Config: map[string]any{
			"url": h.sim.URL() + "/wecom", "corp_id": "ww1", "agent_id": 1, "secret": "s",
		}})
		send := func(channel, account string, n int) (ids []string) {
			for range n {
				sent := h.hand(posthouse.Draft{Channel: channel, Account: account, To: []posthouse.Recipient{{User: "li.na"}}, Content: &posthouse.Content{Text: "hello"}})
				ids = append(ids, sent.Deliveries[0].ID)
			}
			return ids
		}
		bounded := send("fleet", "bounded", 2)
		for _, id := range append(send("fleet", "free", 5), send("free", "", 30)...) { // 25 a minute is the driver's for a recipient
			h.eventually("it is sent", func() bool { return h.delivery(id).State == posthouse.Sent })
		}
		h.eventually("one of the bounded account is sent", func() bool {
			sent := 0
			for _, id := range bounded {
				if h.delivery(id).State == posthouse.Sent {
					sent++
				}
			}
			return sent == 1
		})
	})
}

// FLEET-5: an account with a base of its own has a rate that is shown, whatever its channel says.
func TestFLEET_AnAccountsOwnBaseIsARate(t *testing.T) {
	h := open(t, dbtest.SQLite(t))
	h.put(posthouse.Channel{Name: "fleet", Driver: "discard", ChannelSettings: posthouse.ChannelSettings{Accounts: true}})
	if _, err := h.api.Channels.Rates(h.Context(), "fleet"); posthouse.CodeOf(err) != posthouse.CodeConflict {
		h.Errorf("without a rate: got %v", err)
	}
	_, _, err := h.api.Accounts.Put(h.Context(), "fleet", posthouse.Account{Name: "a", AccountSettings: posthouse.AccountSettings{BaseRate: 5}})
	h.must(err)
	sent := h.hand(posthouse.Draft{Channel: "fleet", To: []posthouse.Recipient{{User: "li.na"}}, Content: &posthouse.Content{Text: "hello"}})
	h.eventually("it is sent", func() bool { return h.delivery(sent.Deliveries[0].ID).State == posthouse.Sent })
	rates, err := h.api.Channels.Rates(h.Context(), "fleet")
	if err != nil || len(rates) != 1 || rates[0].Account != "a" || rates[0].Base != 5 {
		h.Errorf("got %+v, %v; want the account's base of 5", rates, err)
	}
}
