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
	if _, err := plain.Reminders.Create(t.Context(), posthouse.Reminder{Draft: everybody, Repeat: &posthouse.Repeat{}}); !errors.As(err, &problem) || problem.Code != posthouse.CodeForbidden {
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
