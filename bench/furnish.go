package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/store/layout"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/wire"
)

// What the pages have to cope with besides deliveries. Of notifications, tasks and reminders a pattern goes through the API, and SQL copies
// it under other ids; those that wait are not due while pages are looked at.
const (
	furnished      = 1000
	notifications  = 200_000
	tasksAndSoOn   = 20_000
	audited        = 200_000
	campaignPeople = 1_000_000
)

// furnisher fills a database through a server's API.
type furnisher struct {
	*viewer
	c   *crowded
	api *client.Client
}

// inside is a transport that asks a handler.
type inside struct{ http.Handler }

func (i inside) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body == nil {
		r.Body = http.NoBody
	}
	w := httptest.NewRecorder()
	i.ServeHTTP(w, r)
	return w.Result(), nil
}

// furnish stores one of everything that has a page, and many of what there are many of.
func (f furnisher) furnish(ctx context.Context, people int) (err error) {
	if f.api, err = client.New(client.Options{URL: "http://inside", Key: f.key, HTTP: &http.Client{Transport: inside{f.server.Handler()}}}); err != nil {
		return err
	}
	for _, step := range []func(context.Context) error{
		f.config, f.plans, f.multiplied, func(ctx context.Context) error { return f.campaign(ctx, people) },
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return f.c.settle(ctx)
}

// call asks the API for something that must be granted.
func (f furnisher) call(method, path string, body any) error { return f.calls(method, path, body, nil) }

// calls reads the answer too.
func (f furnisher) calls(method, path string, body, into any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	r := httptest.NewRequest(method, path, bytes.NewReader(text))
	r.Header.Set("Authorization", "Bearer "+f.key)
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	f.server.Handler().ServeHTTP(w, r)
	if w.Code/100 != 2 {
		return fmt.Errorf("%s %s is answered with %d: %.300s", method, path, w.Code, w.Body)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(w.Body.Bytes(), into)
}

// doc is a document of JSON.
type doc = map[string]any

// config stores what is configured.
func (f furnisher) config(context.Context) error {
	users := func(n int) (list []string) {
		for i := range 3 {
			list = append(list, fmt.Sprint("u", n+i))
		}
		return list
	}
	accounts := make([]doc, crowdAccounts)
	for i := range accounts {
		accounts[i] = doc{"name": fmt.Sprint("a", i)}
	}
	errs := []error{
		f.call("PUT", "/v1/channels/fleet", doc{"driver": "discard", "accounts": true}), f.call("PUT", "/v1/channels/fleet/accounts", doc{"accounts": accounts}),
		f.call("PUT", "/v1/channels/mass", doc{"driver": "discard"}), f.call("PUT", "/v1/channels/pulled", doc{"driver": "discard", "pull": true}),
		f.call("PUT", "/v1/tenants/default", doc{"quiet_hours": []doc{{"from": "22:00", "to": "08:00", "except_kinds": []string{"otp", "spring"}}}}),
		f.call("PUT", "/v1/routes/way", doc{"steps": []doc{{"channels": []string{"sms"}, "until": "acknowledged", "within": "720h"}, {"channels": []string{"push"}, "to": []doc{{"roster": "duty0"}}}}}),
		f.call("PUT", "/v1/digests/evening", doc{"window": "720h"}),
	}
	for i := range 100 {
		name := func(of string) string { return fmt.Sprint(of, i) }
		errs = append(
			errs,
			f.call("PUT", "/v1/templates/"+name("duty"), doc{"text": "Duty: ${name}"}),
			f.call("POST", "/v1/agents", doc{"id": name("phone-"), "name": name("柜台 "), "channels": []string{"pulled"}}),
			f.call("POST", "/v1/keys", doc{"name": name("crm-"), "scope": "send"}),
			f.call("PUT", "/v1/tenants/"+name("other-"), doc{"note": "measured"}),
		)
		if i < 20 {
			errs = append(
				errs,
				f.call("PUT", "/v1/rosters/"+name("duty"), doc{"days": map[string][]string{"1": users(i), "2": users(i + 3), "3": users(i), "4": users(i + 3), "5": users(i)}}),
				f.call("PUT", "/v1/fronts/"+name("alerts-"), doc{"kind": "alertmanager", "channel": "sms", "to": []doc{{"user": "u1"}}}),
				f.call("POST", "/v1/subscriptions", doc{"url": "https://example.com/" + name("x"), "channels": []string{"nothing"}}),
			)
		}
	}
	return errors.Join(errs...)
}

// plans stores patterns of notifications, reminders and tasks, and messages that are gathered.
func (f furnisher) plans(context.Context) error {
	var told, gathered []doc
	for i := range furnished {
		to := []doc{{"user": fmt.Sprint("u", i)}}
		told = append(told, doc{"route": "way", "kind": "alarm", "ref": fmt.Sprint("a", i), "to": to, "content": doc{"text": "the pump stands still"}})
		gathered = append(gathered, doc{"channel": "push", "digest": "evening", "to": to, "content": doc{"text": "done"}})
	}
	errs := []error{f.call("POST", "/v1/messages", doc{"messages": told}), f.call("POST", "/v1/messages", doc{"messages": gathered})}
	var list struct{ Items []struct{ ID string } }
	w, _ := f.ask("/v1/notifications?limit=1000")
	errs = append(errs, json.Unmarshal(w.Body.Bytes(), &list))
	for i, m := range list.Items {
		if i%10 > 0 { // one in ten still waits
			errs = append(errs, f.call("POST", "/v1/notifications/"+m.ID+"/ack", doc{"by": "u1"}))
		}
	}
	for i := range furnished {
		errs = append(
			errs,
			f.call("POST", "/v1/reminders", doc{"draft": doc{"channel": "sms", "to": []doc{{"user": fmt.Sprint("u", i)}}, "content": doc{"text": "drink"}}, "repeat": doc{"every": "24h", "from": time.Now().Add(720 * time.Hour).Format(time.RFC3339)}}),
			f.call("POST", "/v1/workflow/events", doc{"event": "task.created", "task_id": fmt.Sprintf("task-%06d", i), "task": doc{"name": fmt.Sprint("过境 ", i), "create_by": "u1", "nodes": []doc{{"id": "n1", "name": "n"}}}}),
		)
	}
	return errors.Join(append(errs, f.decided())...)
}

// decided has a decision made about the delivery of a channel.
func (f furnisher) decided() error {
	var count wire.Decision
	filter := doc{"outcome": "replay", "channel": "rare", "dry_run": true}
	if err := f.calls("POST", "/v1/decisions", filter, &count); err != nil {
		return err
	}
	delete(filter, "dry_run")
	filter["confirm"] = count.Confirm
	return f.call("POST", "/v1/decisions", filter)
}

// multiplied copies the patterns.
func (f furnisher) multiplied(ctx context.Context) error {
	for _, p := range []struct {
		kind work.PlanType
		n    int
	}{{work.PlanNotification, notifications}, {work.PlanReminder, tasksAndSoOn}, {work.PlanTask, tasksAndSoOn}} {
		if err := f.copyPlans(ctx, p.kind, p.n/furnished-1); err != nil {
			return fmt.Errorf("copy plans of type %s: %w", p.kind, err)
		}
	}
	if err := f.copyAudit(ctx); err != nil {
		return fmt.Errorf("copy the audit log: %w", err)
	}
	return f.copyMinutes(ctx)
}

// copyMinutes makes the hour of a fleet a day.
func (f furnisher) copyMinutes(ctx context.Context) error {
	var last int64
	if err := f.c.raw.QueryRowContext(ctx, "SELECT MAX(minute) FROM posthouse_minutes WHERE channel = 'fleet'").Scan(&last); err != nil {
		return err
	}
	for hour := int64(1); hour < 24; hour++ {
		_, err := f.c.raw.ExecContext(ctx, fmt.Sprintf(`INSERT INTO posthouse_minutes (minute, tenant, channel, account, type, outcome, n, ms)
			SELECT minute - %d, tenant, channel, account, type, outcome, n, ms FROM posthouse_minutes WHERE channel = 'fleet' AND minute > %d`, 60*hour, last-60))
		if err != nil {
			return fmt.Errorf("copy minutes: %w", err)
		}
	}
	return nil
}

// copyPlans copies those of a type, each copy an hour older than the one before, under other ids.
func (f furnisher) copyPlans(ctx context.Context, kind work.PlanType, copies int) error {
	columns, err := f.c.columns(ctx, "posthouse_plans")
	if err != nil {
		return err
	}
	first := map[work.PlanType]string{work.PlanTask: "task-0", work.PlanNotification: layout.IDAt(f.c.begun), work.PlanReminder: layout.IDAt(f.c.begun)}[kind]
	for nth := 1; nth <= copies; nth++ {
		at := f.c.begun.Add(-time.Duration(nth) * time.Hour)
		id := "CONCAT('" + layout.IDAt(at)[:10] + "', substr(id, 11))"
		if kind == work.PlanTask {
			id = fmt.Sprintf("CONCAT('copy-%d-', id)", nth)
		}
		as := map[string]string{
			"id": id, "doc": "replace(doc, id, " + id + ")", "created_at": fmt.Sprint(at.UnixMicro()), "updated_at": fmt.Sprint(at.UnixMicro()),
			"next_at": fmt.Sprintf("CASE WHEN next_at = 0 THEN 0 ELSE %d END", sqldb.Micros(f.c.begun.Add(720*time.Hour))),
		}
		if err := f.copyRows(ctx, "posthouse_plans", columns, as, fmt.Sprintf("tenant = '%s' AND type = '%s' AND id >= '%s'", lane.Tenant, kind, first)+map[bool]string{true: " AND id < 'task-9'"}[kind == work.PlanTask]); err != nil {
			return err
		}
	}
	return nil
}

// copyAudit copies the audit log, each copy an hour older than the one before.
func (f furnisher) copyAudit(ctx context.Context) error {
	columns, err := f.c.columns(ctx, "posthouse_audit")
	for nth := 1; nth <= audited/furnished && err == nil; nth++ {
		at := f.c.begun.Add(-time.Duration(nth) * time.Hour)
		as := map[string]string{"id": "CONCAT('" + layout.IDAt(at)[:10] + "', substr(id, 11))", "at": fmt.Sprint(at.UnixMicro())}
		err = f.copyRows(ctx, "posthouse_audit", columns, as, "id >= '"+layout.IDAt(f.c.begun)+"'")
	}
	return err
}

func (f furnisher) copyRows(ctx context.Context, table string, columns []string, as map[string]string, where string) error {
	values := make([]string, len(columns))
	for i, column := range columns {
		if values[i] = as[column]; values[i] == "" {
			values[i] = column
		}
	}
	_, err := f.c.raw.ExecContext(ctx, fmt.Sprintf("INSERT INTO %s (%s) SELECT %s FROM %s WHERE %s", table, strings.Join(columns, ", "), strings.Join(values, ", "), table, where))
	return err
}

// campaign sends one to many people until a tenth of them have it, and leaves a draft and small ones.
func (f furnisher) campaign(ctx context.Context, people int) error {
	if _, err := f.api.Audiences.Create(ctx, wire.AudienceDraft{Name: "everybody"}); err != nil {
		return err
	}
	list, _ := crowd(people)
	if _, err := f.api.Audiences.Import(ctx, "everybody", client.Part{Final: true}, list); err != nil {
		return err
	}
	errs := []error{f.call("POST", "/v1/campaigns", doc{"name": "spring", "kind": "spring", "channel": "mass", "template": "duty0", "audience": "everybody"}), f.call("POST", "/v1/campaigns", doc{"name": "draft", "channel": "mass", "own_text": doc{"text": "${name}"}, "audience": "everybody"})}
	for i := range 60 {
		errs = append(errs, f.call("POST", "/v1/campaigns", doc{"name": fmt.Sprint("small-", i), "channel": "mass", "own_text": doc{"text": "${name}"}}))
	}
	if err := errors.Join(append(errs, f.call("POST", "/v1/campaigns/spring/start", doc{}))...); err != nil {
		return err
	}
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		c, err := f.api.Campaigns.Get(ctx, "spring")
		if err != nil {
			return err
		}
		if c.Progress.Members > 0 && c.Progress.Sent >= c.Progress.Members/10 {
			return f.call("POST", "/v1/channels/mass/pause", doc{"reason": "measured"})
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
