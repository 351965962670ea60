package store

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/wire"
)

func TestTheAuditLogIsReadFromTheEndAndPrunedInTheEnd(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		var want []wire.AuditEntry
		for i, keep := range []time.Duration{time.Hour, 0, time.Hour} {
			e := wire.AuditEntry{
				ID: posthouse.NewID(), Tenant: "t1", Key: "k1", KeyName: "运维", Source: "::1", Action: "channels.put", Target: "c1", Note: "工单",
				Affected: i, Detail: json.RawMessage(`{"after":{"a":1}}`),
			}
			if err := s.Audit.AddAudit(t.Context(), at(), e, keep); err != nil {
				t.Fatal(err)
			}
			want = append([]wire.AuditEntry{e}, want...)
		}
		first, next, err := s.Audit.AuditLog(t.Context(), work.AuditFilter{Tenant: "t1", Limit: 2})
		rest, end, err2 := s.Audit.AuditLog(t.Context(), work.AuditFilter{Tenant: "t1", Cursor: next, Limit: 2})
		got := append(first, rest...)
		for i := range got {
			if got[i].At.IsZero() {
				t.Error("an entry has no time")
			}
			got[i].At = time.Time{}
		}
		if diff := cmp.Diff(want, got); diff != "" || err != nil || err2 != nil || end != "" {
			t.Errorf("%v %v %q (-want +got):\n%s", err, err2, end, diff)
		}
		for action, n := range map[string]int{"channels.*": 3, "accounts.*": 0, "accounts.*,channels.put": 3, "channels.delete": 0, "channels": 0, "channels.put": 3} {
			if only, _, err := s.Audit.AuditLog(t.Context(), work.AuditFilter{Tenant: "t1", Action: action}); len(only) != n || err != nil {
				t.Errorf("of the action %s: %d entries, %v; want %d", action, len(only), err, n)
			}
		}
		tamper(t, s, "UPDATE posthouse_audit SET keep_until = 1 WHERE keep_until < 9000000000000000000")
		if _, err := s.Upkeep.Prune(t.Context(), at(), work.KeepAll(24*time.Hour), 100); err != nil {
			t.Fatal(err)
		}
		if left, _, err := s.Audit.AuditLog(t.Context(), work.AuditFilter{Tenant: "t1"}); len(left) != 1 || left[0].Affected != 1 || err != nil {
			t.Errorf("left are %+v, %v; want the entry that is kept for good", left, err)
		}
	})
}
