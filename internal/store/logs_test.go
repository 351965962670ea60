package store

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
)

// logged is what a filter lists, a page of two at a time.
func logged(t testing.TB, s *Store, f work.LogFilter) (list []work.Line) {
	t.Helper()
	for f.Limit = 2; ; {
		part, next, err := s.Logs.Log(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		if list = append(list, part...); next == "" {
			return list
		}
		f.Cursor = next
	}
}

// PULL-9: the log of requests, with all that came and went.
func TestLogOfRequestsIsListedNewestFirst(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		when := time.Now().UTC().Truncate(time.Microsecond).Add(-time.Hour)
		delivery := posthouse.DeliveryID(posthouse.NewID(), 1)
		whole := work.Line{
			Tenant: "t1", At: when, Delivery: delivery, RequestID: "req-1", Phone: "+8613800138000", Content: "您好 👋", Templated: true,
			SourceIP: "10.0.0.1", UserAgent: "curl/8", Request: json.RawMessage(`{"a":1}`), Response: json.RawMessage(`{"code":200}`), Status: 200,
		}
		lines := []work.Line{whole, {Tenant: "t1", At: when, Status: 400}, {Tenant: "t1", Status: 422}, {Tenant: "t2", Status: 200}}
		if err := s.Logs.AddReceived(t.Context(), at(), lines); err != nil {
			t.Fatal(err)
		}
		list := logged(t, s, work.LogFilter{Tenant: "t1", Log: work.ReceiveLog})
		var got []int
		for _, l := range list {
			got = append(got, l.Status)
		}
		if diff := cmp.Diff([]int{422, 400, 200}, got); diff != "" {
			t.Fatalf("statuses (-want +got):\n%s", diff)
		}
		whole.Log = work.ReceiveLog
		if diff := cmp.Diff(whole, list[2], cmpopts.IgnoreFields(work.Line{}, "ID")); diff != "" || list[2].ID == "" {
			t.Errorf("a line (-want +got):\n%s", diff)
		}
		for name, c := range map[string]struct {
			f    work.LogFilter
			want int
		}{
			"delivery":         {work.LogFilter{Delivery: delivery}, 1},
			"another delivery": {work.LogFilter{Delivery: "管理员"}, 2}, // requests that led to none
			"since":            {work.LogFilter{Since: when.Add(time.Second)}, 1},
			"until":            {work.LogFilter{Until: when.Add(time.Second)}, 2},
			"at that instant":  {work.LogFilter{Since: when, Until: when}, 0},
		} {
			c.f.Tenant, c.f.Log = "t1", work.ReceiveLog
			if got := logged(t, s, c.f); len(got) != c.want {
				t.Errorf("by %s there are %d, want %d", name, len(got), c.want)
			}
		}
	})
}

// PULL-9: each hand-out and each report, repeats left out.
func TestLogsOfHandOutsAndReportsTellWhoDidWhat(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		accept(t, s, entry(5, pulled))
		items := handOut(t, s, wish(5, claimID("c-1"))).Items
		var list []work.Report
		for i, item := range items {
			r := said(fmt.Sprint("r", i), item.Delivery, posthouse.OutcomeNotSent)
			r.Error, r.Request = "没有信号", `"{…}"`
			list = append(list, r)
		}
		report(t, s, list...)
		report(t, s, list[0])
		one := items[3].Delivery
		for _, log := range []work.Log{work.SendLog, work.ReportLog} {
			if got := logged(t, s, work.LogFilter{Tenant: "t1", Log: log}); len(got) != 5 {
				t.Errorf("the log %s has %d lines, want 5: %+v", log, len(got), got)
			}
			for _, other := range []work.LogFilter{{Tenant: "t2"}, {Tenant: "t1", Agent: "p2"}} {
				other.Log = log
				if got := logged(t, s, other); len(got) != 0 {
					t.Errorf("the log %s of %+v has %d lines", log, other, len(got))
				}
			}
		}
		want := []work.Line{
			{Log: work.SendLog, ClaimID: "c-1", Phone: one.Address, Request: json.RawMessage("{}")},
			{Log: work.ReportLog, ReportID: "r3", Outcome: "not_sent", Answer: "done", Error: "没有信号", Request: json.RawMessage(`"{…}"`)},
		}
		var got []work.Line
		for i := range want {
			want[i].Tenant, want[i].Delivery, want[i].Agent, want[i].Token = "t1", one.ID, "p1", 1
			got = append(got, logged(t, s, work.LogFilter{Tenant: "t1", Log: want[i].Log, Delivery: one.ID, Agent: "p1"})...)
		}
		if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(work.Line{}, "ID", "At")); diff != "" {
			t.Errorf("lines of %s (-want +got):\n%s", one.ID, diff)
		}
	})
}

func TestLogRefusesACursorOfAnother(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		err := s.Logs.AddReceived(t.Context(), at(), []work.Line{{Tenant: "t1"}, {Tenant: "t1"}})
		if err != nil {
			t.Fatal(err)
		}
		_, next, err := s.Logs.Log(t.Context(), work.LogFilter{Tenant: "t1", Log: work.ReceiveLog, Limit: 1})
		if err != nil || next == "" {
			t.Fatal(next, err)
		}
		_, _, err = s.Logs.Log(t.Context(), work.LogFilter{Tenant: "t1", Log: work.ReportLog, Cursor: next})
		wantCode(t, err, posthouse.CodeInvalid)
	})
}

// PULL-9: the logs are kept for as long as they are told to be.
func TestOldLinesOfLogsGo(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		accept(t, s, entry(3, pulled))
		for i, item := range handOut(t, s, wish(3)).Items {
			report(t, s, said(fmt.Sprint("r", i), item.Delivery, posthouse.OutcomeSent))
		}
		if err := s.Logs.AddReceived(t.Context(), at(), []work.Line{{Tenant: "t1"}, {Tenant: "t1"}, {Tenant: "t1"}}); err != nil {
			t.Fatal(err)
		}
		old := time.Now().Add(-2 * time.Hour).UnixMicro()
		for table, key := range map[string]string{"posthouse_receive_log": "id", "posthouse_send_log": "delivery", "posthouse_report_log": "id"} {
			tamper(t, s, "UPDATE "+table+" SET at = ? WHERE "+key+" <> (SELECT * FROM (SELECT MAX("+key+") FROM "+table+") newest)", old)
		}
		if n, err := s.Logs.PruneLogs(t.Context(), at(), time.Hour, 1000); n != 6 || err != nil {
			t.Errorf("PruneLogs = %d, %v; want 6", n, err)
		}
		for _, log := range []work.Log{work.ReceiveLog, work.SendLog, work.ReportLog} {
			if got := logged(t, s, work.LogFilter{Tenant: "t1", Log: log}); len(got) != 1 {
				t.Errorf("the log %s has %d lines left, want 1", log, len(got))
			}
		}
	})
}
