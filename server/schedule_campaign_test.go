package server_test

import (
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/wire"
)

// A schedule starts a campaign at each of its moments: of people who are read then, of a copy of another's people, or of nobody. What is
// wrong is said when it is stored.
func TestASchedulesCampaigns(t *testing.T) {
	withCRM(t, func(h *house) {
		h.fans(20)
		create := func(name string) {
			_, err := h.api.Campaigns.Create(h.Context(), wire.CampaignDraft{Name: name, Channel: "mp", Kind: "bill", Content: &posthouse.Content{Text: "hello"}})
			h.must(err)
		}
		create("bare")
		create("few")
		_, err := h.api.Campaigns.Query(h.Context(), "few", wire.PeopleQuery{Database: "crm", Query: "SELECT openid FROM fans WHERE id < 3 ORDER BY id"})
		h.must(err)
		yearly := &posthouse.Repeat{Cron: "0 9 1 1 *", TimeZone: "Asia/Shanghai"}
		fans := func(where string) *posthouse.ScheduledQuery {
			return &posthouse.ScheduledQuery{Database: "crm", Query: "SELECT openid, name FROM fans WHERE " + where + " ORDER BY id"}
		}
		for want, c := range map[string]posthouse.ScheduledCampaign{
			`campaign.like: there is no campaign "gone"`:                                     {Like: "gone"},
			"campaign.like: bare has no people: import some, or name an audience or a query": {Like: "bare"},
			`campaign.audience: there is no audience "vip"`:                                  {Like: "bare", Audience: "vip"},
			`campaign.query.database: there is no database "hr"`:                             {Like: "bare", Query: &posthouse.ScheduledQuery{Database: "hr", Query: "SELECT 1"}},
			"campaign.query.query: ":                                                         {Like: "bare", Query: fans("nothing = 1")},
			"which column has the address?":                                                  {Like: "bare", Query: &posthouse.ScheduledQuery{Database: "crm", Query: "SELECT id, name FROM fans"}},
			"campaign.query: stands beside an audience":                                      {Like: "bare", Audience: "vip", Query: fans("id < 9")},
			"campaign.within: is 1s: want at least 1m":                                       {Like: "few", Within: posthouse.Duration(1e9)},
			"campaign.like: is required":                                                     {},
		} {
			if _, err := h.api.Reminders.Put(h.Context(), "bad", posthouse.Reminder{Campaign: &c, Repeat: yearly}); err == nil || !strings.Contains(err.Error(), want) {
				h.Errorf("%+v: %v; want %q", c, err, want)
			}
		}
		_, err = h.api.Reminders.Put(h.Context(), "bad", posthouse.Reminder{Campaign: &posthouse.ScheduledCampaign{Like: "few"}, Draft: posthouse.Draft{Channel: "mp"}, Repeat: yearly})
		if err == nil || !strings.Contains(err.Error(), "draft: stands beside a campaign") {
			h.Errorf("with a message: %v", err)
		}
		key, err := h.api.Keys.Create(h.Context(), wire.Key{Name: "sender", Scope: posthouse.ScopeSend})
		h.must(err)
		sender, err := client.New(client.Options{URL: h.url, Key: key.Secret})
		h.must(err)
		if _, err := sender.Reminders.Put(h.Context(), "bad", posthouse.Reminder{Campaign: &posthouse.ScheduledCampaign{Like: "bare", Query: fans("id < 9")}, Repeat: yearly}); posthouse.CodeOf(err) != posthouse.CodeForbidden {
			h.Errorf("a key that sends makes a query: %v", err)
		}

		hourly := &posthouse.Repeat{Every: posthouse.Duration(3600e9)}
		for id, c := range map[string]posthouse.ScheduledCampaign{
			"bills": {Like: "bare", Query: fans("id < 9"), Within: posthouse.Duration(1800e9)}, "none": {Like: "bare", Query: fans("id < 0")}, "copies": {Like: "few"},
		} {
			as := sender
			if c.Query != nil {
				as = h.api
			}
			r, err := as.Reminders.Put(h.Context(), id, posthouse.Reminder{Campaign: &c, Repeat: hourly})
			h.must(err)
			if r.State != posthouse.ReminderOpen || len(r.Slots) == 0 {
				h.Errorf("%s: %+v", id, r)
			}
		}
		came := func(id string) posthouse.Slot {
			var r wire.Reminder
			h.eventually(id+" has come", func() bool {
				var err error
				r, err = h.api.Reminders.Get(h.Context(), id)
				h.must(err)
				if r.Error != "" {
					h.Fatalf("%s: %s", id, r.Error)
				}
				return len(r.Last) > 0
			})
			if r.Preparing != nil || r.Last[0].Missed != 0 || r.State != posthouse.ReminderOpen {
				h.Errorf("%s: %+v", id, r)
			}
			return r.Last[0]
		}
		if s := came("none"); s.Campaign != "" {
			h.Errorf("of nobody there is %+v", s)
		}
		list, err := h.api.Campaigns.List(h.Context(), "", client.Filter{})
		h.must(err)
		for _, c := range list.Items {
			if strings.HasPrefix(c.Name, "none-") {
				h.Errorf("of nobody is left: %+v", c)
			}
		}
		for id, members := range map[string]int64{"bills": 9, "copies": 3} {
			s := came(id)
			h.eventually(s.Campaign+" is sent", func() bool {
				c, err := h.api.Campaigns.Get(h.Context(), s.Campaign)
				h.must(err)
				if c.Kind != "bill" || (id == "bills") != c.Deadline.Equal(s.At.Add(1800e9)) {
					h.Fatalf("%s is %+v", id, c)
				}
				return c.State == posthouse.CampaignDone && c.Progress.Sent == members
			})
			if want := id + "-" + s.At.UTC().Format("20060102T150405Z"); s.Campaign != want {
				h.Errorf("%s starts %s, want %s", id, s.Campaign, want)
			}
		}
	})
}
