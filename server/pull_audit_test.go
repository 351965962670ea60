package server_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/web"
	"github.com/posthouse/posthouse/wire"
)

// What operators change at the SMS front door stands in the audit log, with who did it, from where, and why.
func TestPULL_WhatOperatorsChangeIsAudited(t *testing.T) {
	onEachFrontDoor(t, func(h *house) {
		key := h.keyOf(posthouse.ScopeAdmin)
		note := map[string][]string{web.NoteHeader: {"工单 4711"}}
		for _, q := range []asked{
			{method: "POST", path: "/api/v1/admin/template", body: `{"template_name":"t","template_content":"x {} y"}`, header: note},
			{method: "PUT", path: "/api/v1/admin/template/1", body: `{"is_active":false}`, user: "any", password: key},
			{method: "POST", path: "/api/v1/admin/default-sms", body: `{"phone_number":"13800138000","content":"first"}`},
			{method: "POST", path: "/api/v1/admin/default-sms", body: `{"phone_number":"13800138000","content":"first"}`},
			{method: "POST", path: "/api/v1/admin/default-sms", body: `{"phone_number":"13800138000","content":"second"}`},
			{method: "POST", path: "/api/v1/admin/recover-zombie-tasks"},
		} {
			if got := h.ask(q); got.status != 200 {
				h.Fatalf("%s %s: got %d %s", q.method, q.path, got.status, got.text)
			}
		}
		page, err := h.api.Audit.List(h.Context(), client.AuditFilter{Limit: 5})
		h.must(err)
		var got []string
		for _, e := range page.Items {
			got = append(got, e.Action+" "+e.Target)
			if e.Source == "" || e.KeyName == "" {
				h.Errorf("it does not say who it was: %+v", e)
			}
		}
		want := []string{"sms.recover ", "sms_defaults.put +8613800138000", "sms_defaults.put +8613800138000", "sms_templates.put 1", "sms_templates.create 1"}
		if !slices.Equal(got, want) {
			h.Fatalf("got %q, want %q", got, want)
		}
		second, first := page.Items[1], page.Items[4]
		if !strings.Contains(string(second.Detail), `"content":"first"`) || !strings.Contains(string(second.Detail), `"content":"second"`) {
			h.Errorf("before and after: got %s", second.Detail)
		}
		if first.Note != "工单 4711" || first.KeyName != "the shared pair" || page.Items[3].Key == "" {
			h.Errorf("got %+v and %+v", first, page.Items[3])
		}
		bad := asked{method: "POST", path: "/api/v1/admin/template", body: `{"template_name":"t","template_content":"x"}`, header: map[string][]string{web.NoteHeader: {strings.Repeat("x", 256)}}}
		if got := h.ask(bad); got.status != 400 {
			h.Errorf("a note that cannot be kept: got %d %s", got.status, got.text)
		}
	})
}

// A key that is narrowed reaches of the front door what it is for, as of the API.
func TestPULL_NarrowedKeysReachWhatTheyAreFor(t *testing.T) {
	onEachFrontDoor(t, func(h *house) {
		id := h.sms("13800138000", "x")
		h.want(200, "POST", "/api/v1/admin/default-sms", `{"phone_number":"13800138001","content":"secret"}`)
		narrow := func(limits posthouse.KeyLimits) string {
			k, err := h.api.Keys.Create(h.Context(), wire.Key{Name: "narrow", Scope: posthouse.ScopeAdmin, KeyLimits: limits})
			h.must(err)
			return k.Secret
		}
		for _, c := range []struct {
			name    string
			limits  posthouse.KeyLimits
			allowed []string
		}{
			{"for another channel", posthouse.KeyLimits{Channels: []string{"other"}}, nil},
			{"for another kind", posthouse.KeyLimits{Kinds: []string{"order"}}, nil},
			{"for the channel", posthouse.KeyLimits{Channels: []string{"sms"}, Kinds: []string{"sms"}}, []string{"send", "task", "story"}},
			{"for an action", posthouse.KeyLimits{Actions: []string{"sms.send"}}, []string{"send"}},
			{"for all of it", posthouse.KeyLimits{Actions: []string{"sms*"}}, []string{"send", "task", "story", "template", "logs"}},
		} {
			key := narrow(c.limits)
			for what, q := range map[string]asked{
				"send":     {method: "POST", path: "/api/v1/sms/send", body: `{"phone_number":"13800138000","content":"x"}`},
				"task":     {method: "GET", path: "/api/v1/sms/task/" + id},
				"story":    {method: "GET", path: "/api/v1/admin/task/" + id},
				"template": {method: "POST", path: "/api/v1/admin/template", body: `{"template_name":"t","template_content":"x"}`},
				"logs":     {method: "GET", path: "/api/v1/admin/logs/receive"},
			} {
				q.user, q.password = "any", key
				want := map[bool]int{true: 200, false: 403}[slices.Contains(c.allowed, what)]
				if got := h.ask(q); got.status != want {
					h.Errorf("a key %s, %s: got %d %s, want %d", c.name, what, got.status, got.text, want)
				}
			}
		}
	})
}
