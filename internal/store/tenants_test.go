package store

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/wire"
)

// What a tenant has is counted up to a bound, and plans by whether a moment of them is to come.
func TestWhatATenantHasIsCountedUpToABound(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		ctx := t.Context()
		users := make([]posthouse.User, wire.HoldsAtMost+1)
		for i := range users {
			users[i].ID = fmt.Sprint("u", i)
		}
		if err := s.Users.PutUsers(ctx, at(), "t1", users); err != nil {
			t.Fatal(err)
		}
		plans := []work.Plan{
			{Type: work.PlanNotification, State: "waiting", NextAt: at()}, {Type: work.PlanNotification, State: "acknowledged"}, {Type: work.PlanCollection, State: "leaving", NextAt: at()},
			{Type: work.PlanReminder, NextAt: at()}, {Type: work.PlanReminder}, {Type: work.PlanTask, NextAt: at()},
		}
		for i := range plans {
			plans[i].Tenant, plans[i].ID, plans[i].Doc = "t1", fmt.Sprint("p", i), []byte("{}")
		}
		put(t, s, &work.Submission{Tenant: "t1", Endpoint: "reminders", Plans: plans})
		holds, err := s.Tenants.Holds(ctx, "t1")
		if want := (wire.TenantHolds{Users: wire.HoldsAtMost, Plans: 4}); err != nil || holds != want {
			t.Errorf("it has %+v, %v, want %+v", holds, err, want)
		}
	})
}

func TestTenantsAndWhatTheyHave(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		ctx := t.Context()
		quota := posthouse.Quota{Open: 7, Requests: []posthouse.Limit{{Max: 2, Per: posthouse.Duration(time.Second)}}}
		quiet := []posthouse.QuietHours{{From: "22:00", To: "08:00", Spread: posthouse.Duration(time.Minute), Users: []string{"李娜"}}}
		caps := []posthouse.Cap{{Max: 3, Per: posthouse.Duration(time.Hour), Then: posthouse.CapSuppress}}
		for _, name := range []string{"t1", "分行"} {
			if _, err := s.Tenants.PutTenant(ctx, at(), posthouse.Tenant{Name: name, Note: "n", Quota: quota, QuietHours: quiet}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := s.Tenants.PutTenant(ctx, at(), posthouse.Tenant{Name: "t1", Caps: caps}); err != nil {
			t.Fatal(err)
		}
		attentive, err := s.Tenants.Attentive(ctx)
		if one, two := attentive["t1"], attentive["分行"]; err != nil || len(attentive) != 2 || !cmp.Equal(one.Caps, caps) || one.QuietHours != nil || !cmp.Equal(two.QuietHours, quiet) || two.Caps != nil || !cmp.Equal(two.Quota, quota) {
			t.Errorf("those with quiet hours or caps are %+v, %v", attentive, err)
		}
		if _, err := s.Tenants.PutTenant(ctx, at(), posthouse.Tenant{Name: "t1"}); err != nil {
			t.Fatal(err)
		}
		if err := s.Keys.AddKey(ctx, at(), posthouse.Key{ID: "k1", Tenant: "t0", Name: "n", Scope: posthouse.ScopeAdmin, Quota: quota}, "h"); err != nil {
			t.Fatal(err)
		}
		list, _, err := s.Tenants.Tenants(ctx, "", 0)
		names := []string{}
		for _, tenant := range list {
			names = append(names, tenant.Name)
		}
		if err != nil || !slices.Equal(names, []string{"t0", "t1", "分行"}) {
			t.Errorf("the tenants are %v, %v", names, err)
		}
		quotas, err := s.Tenants.TenantQuotas(ctx)
		if diff := cmp.Diff(map[string]posthouse.Quota{"分行": quota}, quotas); diff != "" || err != nil {
			t.Errorf("%v, the quotas (-want +got):\n%s", err, diff)
		}
		if key, _, _, err := s.Keys.KeyHash(ctx, "k1"); err != nil || !cmp.Equal(key.Quota, quota) {
			t.Errorf("the key has %+v, %v", key.Quota, err)
		}
		if key, err := s.Keys.SetKeyQuota(ctx, at(), "t0", "k1", posthouse.Quota{}); err != nil || key.Quota.Any() {
			t.Errorf("without a quota the key has %+v, %v", key.Quota, err)
		}
		accept(t, s, entry(3), entry(1))
		holds, err := s.Tenants.Holds(ctx, "t1")
		if n, _ := s.Tenants.OpenOfTenant(ctx, "t1"); err != nil || holds != (wire.TenantHolds{Open: 4}) || n != 4 {
			t.Errorf("it has %+v and %d open, %v", holds, n, err)
		}
		if err := s.Tenants.RemoveTenant(ctx, at(), "t1", true); posthouse.CodeOf(err) != posthouse.CodeConflict || !strings.Contains(err.Error(), "4 open deliveries") {
			t.Errorf("one with open deliveries: %v", err)
		}
		if err := s.Tenants.RemoveTenant(ctx, at(), "t0", false); posthouse.CodeOf(err) != posthouse.CodeConflict {
			t.Errorf("one with a key: %v", err)
		}
		if err := s.Tenants.RemoveTenant(ctx, at(), "t0", true); err != nil {
			t.Error(err)
		}
		if _, _, found, err := s.Keys.KeyHash(ctx, "k1"); found || err != nil {
			t.Errorf("its key is still there: %v", err)
		}
		if _, err := s.Tenants.Tenant(ctx, "t0"); posthouse.CodeOf(err) != posthouse.CodeNotFound {
			t.Errorf("it is still there: %v", err)
		}
	})
}

func TestWhatCountsAgainstAKeyIsForgottenWhenItIsSettled(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		count := func(want int) {
			t.Helper()
			if n, err := s.Tenants.OpenOfKey(t.Context(), at(), "t1", "k1"); n != want || err != nil {
				t.Errorf("%d are open, %v, want %d", n, err, want)
			}
		}
		stay, goes := entry(2, each(func(d *posthouse.Delivery) { d.DueAt = at().Add(time.Hour) })), entry(1)
		sub := submit(stay, goes)
		sub.Payer = "k1"
		free := submit(entry(1, in("t1", "c2")))
		if _, err := s.Submissions.Accept(t.Context(), at(), []*work.Submission{sub, free}); err != nil {
			t.Fatal(err)
		}
		count(3)
		items := claim(t, s, 10)
		if len(items) != 1 {
			t.Fatalf("%d were claimed, want the one that is due", len(items))
		}
		count(3)
		record(t, s, sentClean(items[0].Delivery))
		count(2)
		if left, err := sqldb.All(s.DB.Reads(t.Context()), sqldb.Word, "SELECT message FROM posthouse_charges"); err != nil || !slices.Equal(left, []string{stay.Message.ID}) {
			t.Errorf("kept are %v, %v, want the one that is open", left, err)
		}
	})
}

// A table with things of tenants is emptied with them, or there is a reason why not.
func TestEveryTableOfATenantGoesOrStaysForAReason(t *testing.T) {
	t.Parallel()
	stays := map[string]string{
		"posthouse_messages": "history", "posthouse_settled": "history", "posthouse_sent": "history", "posthouse_transitions": "history", "posthouse_audit": "history",
		"posthouse_receive_log": "history", "posthouse_send_log": "history", "posthouse_report_log": "history", "posthouse_minutes": "history", "posthouse_hours": "history", "posthouse_totals": "history", "posthouse_pulse": "history", "posthouse_rates": "it is gone after a day", "posthouse_processes": "they serve all tenants",
		"posthouse_feed": "history", "posthouse_feed_inbox": "history", "posthouse_sealed": "it is forgotten when its time is over",
		"posthouse_queue": "there is none", "posthouse_due": "there is none", "posthouse_flights": "there is none", "posthouse_outbox": "there is none",
		"posthouse_idempotency": "it expires", "posthouse_dedup": "it expires", "posthouse_awaited": "the tracker gives up", "posthouse_heard": "it expires", "posthouse_answerable": "it expires", "posthouse_job_numbers": "they go with their age",
	}
	s := openTest(t, "sqlite:"+t.TempDir()+"/posthouse.db")
	tables, err := sqldb.All(s.DB.Reads(t.Context()), sqldb.Word, "SELECT m.name FROM sqlite_master m, pragma_table_info(m.name) c WHERE m.type = 'table' AND c.name = 'tenant'")
	if err != nil || len(tables) < 30 {
		t.Fatalf("the tables are %v, %v", tables, err)
	}
	for _, table := range tables {
		if slices.Contains(configured, table) == (stays[table] != "") {
			t.Errorf("%s: name it in configured, or say here why its rows stay", table)
		}
	}
}
