package server_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/wire"
)

// FLEET-1: to call everybody needs a grant of its own, and has a quota of its own.
func TestFLEET_CallingEverybodyNeedsAGrantAndHasAQuota(t *testing.T) {
	h := open(t, dbtest.SQLite(t))
	h.put(posthouse.Channel{Name: "robot", Driver: "wecom_robot", Config: map[string]any{"url": h.sim.URL() + "/wecom_robot/cgi-bin/webhook/send", "key": "k"}})
	as := func(k wire.Key) *client.Client {
		t.Helper()
		k.Name = "of the test"
		made, err := h.api.Keys.Create(t.Context(), k)
		h.must(err)
		c, err := client.New(client.Options{URL: h.url, Key: made.Secret, Tries: 1})
		h.must(err)
		return c
	}
	everybody := posthouse.Draft{Channel: "robot", To: []posthouse.Recipient{{User: "u"}}, Content: &posthouse.Content{Text: "fire drill", MentionAll: true}}
	plain := as(wire.Key{Scope: posthouse.ScopeSend})
	var problem *posthouse.Error
	if _, err := plain.Messages.Send(t.Context(), everybody); !errors.As(err, &problem) || problem.Code != posthouse.CodeForbidden || !strings.Contains(err.Error(), "content.mention_all") {
		t.Errorf("a key without the grant: got %v", err)
	}
	if _, err := plain.Reminders.Create(t.Context(), posthouse.Reminder{Draft: everybody, Repeat: &posthouse.Repeat{Max: 1}}); !errors.As(err, &problem) || problem.Code != posthouse.CodeForbidden {
		t.Errorf("its reminder: got %v", err)
	}
	if _, err := plain.Campaigns.Create(t.Context(), wire.CampaignDraft{Name: "all", Channel: "robot", Content: everybody.Content}); !errors.As(err, &problem) || problem.Code != posthouse.CodeForbidden {
		t.Errorf("its campaign: got %v", err)
	}
	granted := as(wire.Key{Scope: posthouse.ScopeSend, Grants: []posthouse.Grant{posthouse.GrantMentionAll}, Quota: posthouse.Quota{MentionAll: 2}})
	bad := everybody
	bad.Channel = "nowhere"
	if _, err := granted.Messages.Send(t.Context(), bad); err == nil {
		t.Error("a message to no channel is accepted")
	}
	for range 2 { // what was refused did not count
		_, err := granted.Messages.Send(t.Context(), everybody)
		h.must(err)
	}
	if _, err := granted.Messages.Send(t.Context(), everybody); !errors.As(err, &problem) || problem.Code != posthouse.CodeQuota || problem.Bound == nil || problem.Bound.What != posthouse.BoundMentionAll {
		t.Errorf("the third of two: got %v", err)
	}
	quiet := everybody
	quiet.Content = &posthouse.Content{Text: "no drill"}
	_, err := granted.Messages.Send(t.Context(), quiet)
	h.must(err)
	h.put(posthouse.Channel{Name: "app", Driver: "wecom", Config: map[string]any{
		"url": h.sim.URL() + "/wecom", "corp_id": "corp", "agent_id": 7, "secret": "s", "everyone": true,
	}})
	all := posthouse.Draft{Channel: "app", To: []posthouse.Recipient{{Address: "@all"}}, Content: &posthouse.Content{Text: "fire drill"}}
	if _, err := granted.Messages.Send(t.Context(), all); !errors.As(err, &problem) || problem.Code != posthouse.CodeQuota {
		t.Errorf("a message to @all: got %v, want the quota's error", err)
	}
	_, err = h.api.Messages.Send(t.Context(), everybody) // an admin's key may
	h.must(err)
	for _, k := range []wire.Key{{Scope: posthouse.ScopeRead, Grants: []posthouse.Grant{posthouse.GrantMentionAll}}, {Scope: posthouse.ScopeSend, Grants: []posthouse.Grant{"everything"}}} {
		k.Name = "wrong"
		if _, err := h.api.Keys.Create(t.Context(), k); err == nil || !strings.Contains(err.Error(), "grants[0]") {
			t.Errorf("%+v: got %v", k, err)
		}
	}
}

// However everybody is written, and by whichever door it comes, the grant is needed and nothing leaves without it.
func TestEverybodyIsFoundAtEachDoor(t *testing.T) {
	h := open(t, dbtest.SQLite(t))
	h.put(posthouse.Channel{Name: "robot", Driver: "wecom_robot", Config: map[string]any{"url": h.sim.URL() + "/wecom_robot/cgi-bin/webhook/send", "key": "k"}})
	h.put(posthouse.Channel{Name: "md", Driver: "wecom_robot", Config: map[string]any{"url": h.sim.URL() + "/wecom_robot/cgi-bin/webhook/send", "key": "k", "format": "markdown"}})
	h.put(posthouse.Channel{Name: "ding", Driver: "dingtalk_robot", Config: map[string]any{"url": h.sim.URL() + "/dingtalk_robot/robot/send", "access_token": "k"}})
	h.put(posthouse.Channel{Name: "app", Driver: "wecom", Config: map[string]any{"url": h.sim.URL() + "/wecom", "corp_id": "corp", "agent_id": 7, "secret": "s", "everyone": true}})
	_, err := h.api.Templates.Put(t.Context(), posthouse.Template{Name: "note", Text: "hello <@${who}>"})
	h.must(err)
	made, err := h.api.Keys.Create(t.Context(), wire.Key{Name: "sends", Scope: posthouse.ScopeSend})
	h.must(err)
	plain, err := client.New(client.Options{URL: h.url, Key: made.Secret, Tries: 1})
	h.must(err)
	forbidden := func(name, field string, err error) {
		t.Helper()
		var problem *posthouse.Error
		if !errors.As(err, &problem) || problem.Code != posthouse.CodeForbidden || !strings.Contains(err.Error(), field) || !strings.Contains(err.Error(), "mention_all") {
			t.Errorf("%s: got %v, want it to be forbidden for its %s", name, err, field)
		}
	}
	to := func(users ...string) (list []posthouse.Recipient) {
		for _, user := range users {
			list = append(list, posthouse.Recipient{User: user})
		}
		return list
	}
	text := func(s string) *posthouse.Content { return &posthouse.Content{Text: s} }
	for _, c := range []struct {
		name, field string
		draft       posthouse.Draft
	}{
		{"a mention", "content.mentions[0]", posthouse.Draft{Channel: "robot", To: to("u"), Content: &posthouse.Content{Text: "x", Mentions: []string{"@all"}}}},
		{"a mention in capitals", "content.mentions[1]", posthouse.Draft{Channel: "robot", To: to("u"), Content: &posthouse.Content{Text: "x", Mentions: []string{"u", "@ALL"}}}},
		{"a recipient", "to[1].address", posthouse.Draft{Channel: "robot", To: to("u", "@all"), Content: text("x")}},
		{"a wide recipient", "to[0].address", posthouse.Draft{Channel: "robot", To: to("＠ａｌｌ"), Content: text("x")}},
		{"a mark", "content.text", posthouse.Draft{Channel: "md", To: to("u"), Content: text("x <@all>")}},
		{"a name that Markdown makes a mark of", "to[0].address", posthouse.Draft{Channel: "md", To: to("all"), Content: text("x")}},
		{"DingTalk", "to[0].address", posthouse.Draft{Channel: "ding", To: to("@all"), Content: text("x")}},
		{"an application", "to[0].address", posthouse.Draft{Channel: "app", To: to("@All"), Content: text("x")}},
		{"the root department", "to[0].address", posthouse.Draft{Channel: "app", To: []posthouse.Recipient{{Address: "party:01"}}, Content: text("x")}},
		{"a template that is filled so", "content.text", posthouse.Draft{Channel: "md", To: to("u"), Template: "note", Payload: []byte(`{"who":"all"}`)}},
	} {
		_, err := plain.Messages.Send(t.Context(), c.draft)
		forbidden(c.name, c.field, err)
		_, err = plain.Reminders.Create(t.Context(), posthouse.Reminder{Draft: c.draft, Repeat: &posthouse.Repeat{Max: 1}})
		forbidden("a reminder of "+c.name, c.field, err)
		_, err = h.api.Messages.Send(t.Context(), c.draft) // an admin's key may
		h.must(err)
	}
	for name, draft := range map[string]wire.CampaignDraft{
		"content.mentions[0]": {Name: "one", Channel: "robot", Content: &posthouse.Content{Text: "x", Mentions: []string{"@all"}}},
		"payload.who":         {Name: "two", Channel: "md", Template: "note", Payload: []byte(`{"who":"@all"}`)},
	} {
		_, err := plain.Campaigns.Create(t.Context(), draft)
		forbidden("a campaign", name, err)
	}
	_, err = plain.Messages.Send(t.Context(), posthouse.Draft{Channel: "md", To: to("u"), Content: text("mail all@example.com, @all of you")})
	h.must(err)
}

// A campaign that calls nobody but its members does not do so by a row of its file or a column of it.
func TestARowOfACampaignCallsNobodyElse(t *testing.T) {
	h := open(t, dbtest.SQLite(t))
	h.put(posthouse.Channel{Name: "md", Driver: "wecom_robot", Config: map[string]any{"url": h.sim.URL() + "/wecom_robot/cgi-bin/webhook/send", "key": "k", "format": "markdown"}})
	_, err := h.api.Templates.Put(t.Context(), posthouse.Template{Name: "note", Text: "hello <@${who}>"})
	h.must(err)
	_, err = h.api.Campaigns.Create(t.Context(), wire.CampaignDraft{Name: "spring", Channel: "md", Template: "note"})
	h.must(err)
	people, err := h.api.Campaigns.Import(t.Context(), "spring", client.Part{Final: true}, strings.NewReader("address,who\nzhangsan,zhangsan\n@ALL,lisi\nall,wangwu\nlisi,ALL\n"))
	h.must(err)
	if people.Members != 2 || people.Refused != 2 {
		t.Errorf("%d members and %d rows refused, want 2 and 2", people.Members, people.Refused)
	}
	_, err = h.api.Campaigns.Start(t.Context(), "spring", false)
	h.must(err)
	var outcomes []string
	h.eventually("the campaign ends", func() bool {
		c, err := h.api.Campaigns.Get(t.Context(), "spring")
		h.must(err)
		return c.State == posthouse.CampaignDone
	})
	for _, address := range []string{"ZhangSan", "lisi"} {
		m, err := h.api.Campaigns.Who(t.Context(), "spring", address)
		h.must(err)
		outcomes = append(outcomes, m.Outcome)
	}
	if got := strings.Join(outcomes, " "); got != "sent failed" {
		t.Errorf("the two members are %s, want the first sent and the second failed", got)
	}
}

// What a driver keeps as one address is one recipient, one suppression and one member of a campaign.
func TestSpellingsOfOneAddressAreOneRecipient(t *testing.T) {
	h := open(t, dbtest.SQLite(t))
	h.put(posthouse.Channel{Name: "app", Driver: "wecom", Config: map[string]any{"url": h.sim.URL() + "/wecom", "corp_id": "corp", "agent_id": 7, "secret": "s"}})
	h.put(posthouse.Channel{Name: "robot", Driver: "wecom_robot", Config: map[string]any{"url": h.sim.URL() + "/wecom_robot/cgi-bin/webhook/send", "key": "k"}})
	for channel, to := range map[string][]posthouse.Recipient{
		"app":   {{User: "U50"}, {User: "u50"}, {Address: "u50"}, {Address: "U50"}},
		"robot": {{User: "13800138002"}, {Address: "+8613800138002"}, {Address: "0086 138-0013-8002"}},
	} {
		sent := h.hand(posthouse.Draft{Channel: channel, To: to, Content: &posthouse.Content{Text: "x"}})
		if len(sent.Deliveries) != 1 {
			t.Errorf("%s: %d deliveries to one recipient", channel, len(sent.Deliveries))
		}
	}
	for _, words := range []string{"U50", "u50"} {
		found, err := h.api.Deliveries.List(t.Context(), client.Filter{KnownAs: words})
		h.must(err)
		if len(found.Items) != 1 || found.Items[0].Address != "u50" {
			t.Errorf("%s is found as %+v", words, found.Items)
		}
	}
	found, err := h.api.Deliveries.List(t.Context(), client.Filter{Channel: "robot", KnownAs: "+86 138 0013 8002"})
	h.must(err)
	if len(found.Items) != 1 {
		t.Errorf("the number is found as %+v", found.Items)
	}
	_, err = h.api.Suppressions.Add(t.Context(), wire.SuppressionDraft{Channel: "app", Address: "U50"})
	h.must(err)
	held := h.hand(posthouse.Draft{Channel: "app", To: []posthouse.Recipient{{User: "u50"}}, Content: &posthouse.Content{Text: "y"}})
	h.eventually("it is suppressed", func() bool {
		d, err := h.api.Deliveries.Get(t.Context(), held.Deliveries[0].ID)
		h.must(err)
		return d.State == posthouse.Suppressed
	})
	_, err = h.api.Campaigns.Create(t.Context(), wire.CampaignDraft{Name: "spring", Channel: "app", Content: &posthouse.Content{Text: "x"}})
	h.must(err)
	people, err := h.api.Campaigns.Import(t.Context(), "spring", client.Part{Final: true}, strings.NewReader("address\nLi.Na\nli.na\nLI.NA\nu51\n"))
	h.must(err)
	if people.Members != 2 || people.Repeated != 2 {
		t.Errorf("%d members and %d repeated, want 2 and 2", people.Members, people.Repeated)
	}
	who, err := h.api.Campaigns.Who(t.Context(), "spring", "LI.Na")
	h.must(err)
	if who.Address != "li.na" {
		t.Errorf("the member is %+v", who)
	}
}
