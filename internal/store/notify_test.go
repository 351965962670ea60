package store

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/layout"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

// job makes an entry one of the document's jobs, handed to OA.
func job(kind, ref string) func(*work.Entry) {
	return func(e *work.Entry) {
		e.Message.Kind, e.Message.Ref, e.Message.Channel, e.Message.Source = kind, ref, "oa", "task-service"
		for i := range e.Deliveries {
			e.Deliveries[i].Channel = "oa"
		}
	}
}

// settleAs puts a message's deliveries into states, in their order. A state with a > behind it was sent
// again as the delivery after it.
func settleAs(t *testing.T, s *Store, message string, states string) {
	t.Helper()
	previous := ""
	for i, state := range strings.Fields(states) {
		id := posthouse.DeliveryID(message, i+1)
		word, again := strings.CutSuffix(state, ">")
		tamper(t, s, "UPDATE posthouse_queue SET state = ?, replay_of = ? WHERE id = ?", word, previous, id)
		if !posthouse.State(word).Open() {
			tamper(t, s, "INSERT INTO posthouse_settled ("+layout.Queue.List+") SELECT "+layout.Queue.List+" FROM posthouse_queue WHERE id = ?", id)
			tamper(t, s, "DELETE FROM posthouse_queue WHERE id = ?", id)
		}
		if previous = ""; again {
			previous = id
		}
	}
}

// FLOW-2: a job's status follows from its recipients, in the document's numbers.
func TestJobViewDerivesStatusFromDeliveries(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		want, got, statuses := map[string]string{}, map[string]string{}, map[string]string{}
		for _, c := range []struct {
			states string
			mark   int
			want   string // the job's and its recipients' statuses
		}{
			{"pending sent", -1, "0: 0 1"},
			{"sending", -1, "0: 0"},
			{"unknown sent", -1, "0: 0 1"},
			{"sent delivered", -1, "1: 1 1"},
			{"sent suppressed", -1, "1: 1 3"},
			{"sent failed", -1, "2: 1 2"},
			{"sent expired", -1, "2: 1 2"},
			{"delivered undelivered", -1, "2: 1 2"},
			{"quarantined sent", -1, "2: 2 1"},
			{"failed> sent", -1, "1: 2 1"},
			{"failed> failed sent", -1, "2: 2 2 1"},
			{"failed> failed> sent", -1, "1: 2 2 1"},
			{"cancelled cancelled", -1, "3: 3 3"},
			{"suppressed", -1, "3: 3"},
			{"sent cancelled sending", 3, "3: 1 3 3"},
			{"unknown", 3, "3: 3"},
			{"unknown sent", 4, "4: 4 1"},
			{"sent cancelled failed", 4, "4: 1 4 2"},
			{"pending", 4, "4: 4"},
		} {
			id := accept(t, s, entry(len(strings.Fields(c.states)), job("node_done", "8882")))[0]
			id = posthouse.MessageID(id)
			settleAs(t, s, id, c.states)
			if c.mark >= 0 {
				if err := s.Marks.MarkStatus(t.Context(), at(), "t1", []string{id}, c.mark, "u9"); err != nil {
					t.Fatal(err)
				}
			}
			want[id], statuses[id] = c.want, c.states
		}
		for query, write := range map[string]string{
			"SELECT id, status, id FROM tc_notify_job WHERE tenant = 't1' AND biz_type = 1 AND biz_id = 8882 AND channel = 0": "%d:",
		} {
			eachRow(t, s, query, func(id string, status int) { got[id] = fmt.Sprintf(write, status) })
		}
		eachRow(t, s, "SELECT job_id, status, id FROM tc_notify_recipient ORDER BY id", func(id string, status int) { got[id] += fmt.Sprint(" ", status) })
		for id := range want {
			if got[id] != want[id] {
				t.Errorf("%s: job and recipients have %s, want %s", statuses[id], got[id], want[id])
			}
		}
	})
}

func eachRow(t *testing.T, s *Store, query string, each func(id string, status int)) {
	t.Helper()
	err := s.DB.Look(t.Context(), query, nil, func(scan sqldb.Scanner) error {
		var id, ignored string
		var status int
		err := scan(&id, &status, &ignored)
		each(id, status)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// jobRow is a row of tc_notify_job in the document's columns.
type jobRow struct {
	ID                       string
	Type, BizID              *int64
	Key                      *string
	Payload                  string
	Channel, Status, Retries int
	Next                     any
	Remark                   *string
	Deleted                  int
	CreateBy                 string
	CreateTime               any
	UpdateBy                 *string
	UpdateTime               any
	Kind, Ref                string
}

func readJobs(t *testing.T, s *Store) []jobRow {
	t.Helper()
	list, err := sqldb.All(s.DB.Reads(t.Context()), func(scan sqldb.Scanner) (r jobRow, err error) {
		return r, scan(&r.ID, &r.Type, &r.BizID, &r.Key, &r.Payload, &r.Channel, &r.Status, &r.Retries, &r.Next, &r.Remark, &r.Deleted,
			&r.CreateBy, &r.CreateTime, &r.UpdateBy, &r.UpdateTime, &r.Kind, &r.Ref)
	}, `SELECT id, biz_type, biz_id, dedup_key, payload, channel, status, retry_count, next_run_time, remark, del_flag,
		create_by, create_time, update_by, update_time, kind, biz_ref FROM tc_notify_job WHERE tenant = ? ORDER BY id`, "t1")
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// FLOW-2: the job's other columns, of a message and of a deleted one.
func TestJobViewHasTheDocumentsColumns(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		slot := time.Now().Add(time.Hour).Truncate(time.Second)
		planned := entry(2, job("orbit_remind", "9223372036854775807"), func(e *work.Entry) {
			e.Message.DedupKey, e.Message.Payload, e.Message.NotBefore = "2_1_9_45_0", []byte(`{"orbitNo":9}`), slot
			for i := range e.Deliveries {
				e.Deliveries[i].NotBefore, e.Deliveries[i].DueAt = slot, slot
			}
		})
		named := entry(1, job("task_created", "T-2025-0001"))
		accept(t, s, planned, named, entry(1), entry(1, job("notice", "1")))
		if err := s.Marks.MarkDeleted(t.Context(), at(), "t1", []string{named.Message.ID}, "u9", nil); err != nil {
			t.Fatal(err)
		}
		rows := readJobs(t, s)
		if len(rows) != 2 || rows[0].ID != planned.Message.ID || rows[1].ID != named.Message.ID {
			t.Fatalf("the view has %+v", rows)
		}
		first, second := rows[0], rows[1]
		if *first.Type != 2 || first.BizID == nil || *first.BizID != 9223372036854775807 || first.Ref != "9223372036854775807" || first.Kind != "orbit_remind" {
			t.Errorf("about: %+v", first)
		}
		if *first.Key != "2_1_9_45_0" || strings.ReplaceAll(first.Payload, " ", "") != `{"orbitNo":9}` || first.CreateBy != "task-service" {
			t.Errorf("said by its sender: %+v", first)
		}
		if next := viewTime(t, first.Next); !next.Equal(slot) || first.Deleted != 0 || first.UpdateBy != nil || first.Remark != nil {
			t.Errorf("next_run_time %v, want %v; %+v", next, slot, first)
		}
		if second.BizID != nil || second.Ref != "T-2025-0001" || second.Key != nil || second.Payload != "{}" {
			t.Errorf("without numbers: %+v", second)
		}
		if second.Deleted != 1 || second.UpdateBy == nil || *second.UpdateBy != "u9" || viewTime(t, second.UpdateTime).Before(viewTime(t, second.CreateTime)) {
			t.Errorf("deleted: %+v", second)
		}
	})
}

// FLOW-2: a reminder is one job, with the recipients of all messages that it became.
func TestJobViewShowsAReminderOnce(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		round := func(e *work.Entry) { e.Message.Reminder = "5_8882_0" }
		first, second := entry(2, job("node_timeout", "8882"), round), entry(2, job("node_timeout", "8882"), round)
		accept(t, s, first, second, entry(1, job("node_timeout", "8882")), entry(1, job("node_timeout", "1")))
		settleAs(t, s, first.Message.ID, "sent failed")
		settleAs(t, s, second.Message.ID, "sent sent")
		next := time.Now().Add(time.Minute).Truncate(time.Second)
		doc := `{"id":"5_8882_0","state":"%s","last_message":"` + second.Message.ID + `","draft":{"channel":"oa","dedup_key":"5_8882_0","source":"task-service","payload":{"nodeInstId":8882}}}`
		plan := work.Plan{Tenant: "t1", Type: work.PlanReminder, ID: "5_8882_0", Kind: "node_timeout", Ref: "8882", Doc: fmt.Appendf(nil, doc, "open"), NextAt: next}
		put := func() {
			t.Helper()
			if out, err := s.Submissions.Accept(t.Context(), at(), []*work.Submission{{Tenant: "t1", Plans: []work.Plan{plan}}}); err != nil || out[0].Err != nil {
				t.Fatal(err, out)
			}
		}
		put()
		find := func() jobRow {
			t.Helper()
			for _, r := range readJobs(t, s) {
				if r.ID == "5_8882_0" {
					return r
				}
			}
			t.Fatal("the reminder is not a job")
			return jobRow{}
		}
		open := find()
		if n := viewTime(t, open.Next); open.Status != 0 || !n.Equal(next) || *open.Type != 5 || *open.BizID != 8882 || *open.Key != "5_8882_0" {
			t.Errorf("open: %+v", open)
		}
		if strings.ReplaceAll(open.Payload, " ", "") != `{"nodeInstId":8882}` || open.CreateBy != "task-service" {
			t.Errorf("its draft: %+v", open)
		}
		plan.Version, plan.NextAt, plan.Doc = 1, time.Time{}, fmt.Appendf(nil, doc, "ended")
		put()
		if ended := find(); ended.Status != 1 {
			t.Errorf("ended after a round that made the failure of the first one good it has status %d, want 1", ended.Status)
		}
		tamper(t, s, "UPDATE posthouse_settled SET state = 'failed' WHERE id = ?", posthouse.DeliveryID(second.Message.ID, 2))
		if ended := find(); ended.Status != 2 {
			t.Errorf("ended after a round with a failure it has status %d, want 2", ended.Status)
		}
		tamper(t, s, "UPDATE posthouse_settled SET state = 'cancelled' WHERE id > ? AND id < ?", second.Message.ID, second.Message.ID[:22]+"ZZZZ")
		if ended := find(); ended.Status != 2 {
			t.Errorf("ended after a failure and a round that was cancelled it has status %d, want 2", ended.Status)
		}
		if n := len(readJobs(t, s)); n != 3 {
			t.Errorf("there are %d jobs, want 3", n)
		}
		if n := count(t, s, "SELECT COUNT(*) FROM tc_notify_recipient WHERE job_id = '5_8882_0'"); n != 4 {
			t.Errorf("the reminder has %d recipients, want 4", n)
		}
	})
}

// FLOW-2: of a parked account the view says when it may send again, and of what nobody knows that a person decides.
func TestJobViewSaysWhatAJobWaitsFor(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		due := time.Now().Add(time.Minute).Truncate(time.Second)
		parked, doubtful, asked := entry(2, job("node_done", "1")), entry(2, job("node_done", "2")), entry(1, job("node_done", "3"))
		accept(t, s, parked, doubtful, asked)
		settleAs(t, s, doubtful.Message.ID, "unknown sent")
		settleAs(t, s, asked.Message.ID, "unknown")
		tamper(t, s, "UPDATE posthouse_queue SET due_at = 0 WHERE state = 'unknown'")
		tamper(t, s, "UPDATE posthouse_queue SET due_at = ? WHERE id > ? AND id < ?", due.UnixMicro(), parked.Message.ID, parked.Message.ID[:22]+"ZZZZ")
		tamper(t, s, "UPDATE posthouse_queue SET due_at = ? WHERE id = ?", due.UnixMicro(), posthouse.DeliveryID(asked.Message.ID, 1))
		gate := func(wait time.Duration) {
			t.Helper()
			if err := s.Gates.SetGate(t.Context(), at(), work.Gate{Tenant: "t1", Channel: "oa", Class: posthouse.ClassAuth}, wait); err != nil {
				t.Fatal(err)
			}
		}
		rows := func() map[string]jobRow {
			byID := map[string]jobRow{}
			for _, r := range readJobs(t, s) {
				byID[r.ID] = r
			}
			return byID
		}
		if next := viewTime(t, rows()[parked.Message.ID].Next); !next.Equal(due) {
			t.Errorf("next_run_time is %v, want %v", next, due)
		}
		gate(time.Hour)
		if next := viewTime(t, rows()[parked.Message.ID].Next); next.Before(due.Add(30 * time.Minute)) {
			t.Errorf("next_run_time is %v while the account is parked for an hour", next)
		}
		got := rows()
		if r := got[doubtful.Message.ID].Remark; r == nil || !strings.HasPrefix(*r, "held for a person") {
			t.Errorf("the remark of a job that nobody knows of is %v", r)
		}
		if r := got[asked.Message.ID].Remark; r != nil {
			t.Errorf("the remark of one that the provider is asked about is %q", *r)
		}
		if err := s.Marks.MarkStatus(t.Context(), at(), "t1", []string{doubtful.Message.ID}, 4, "op"); err != nil {
			t.Fatal(err)
		}
		if r := rows()[doubtful.Message.ID].Remark; r == nil || !strings.HasPrefix(*r, "ended while nobody knew") {
			t.Errorf("the remark of one that was aborted while nobody knew is %v", r)
		}
		settleAs(t, s, parked.Message.ID, "expired suppressed")
		for reason, want := range map[string]string{"": "a rule said no", "not_on_duty": "a rule said no: not_on_duty"} {
			tamper(t, s, "UPDATE posthouse_settled SET reason = ?, last_error = '' WHERE state = 'suppressed'", reason)
			if why := wordsOf(t, s, "SELECT last_error FROM tc_notify_recipient WHERE state = 'suppressed' AND tenant = ?", 1)[0]; why != want {
				t.Errorf("the error of one that a rule has suppressed is %q, want %q", why, want)
			}
		}
		tamper(t, s, "UPDATE posthouse_settled SET last_error = 'busy' WHERE state = 'expired'")
		if why := wordsOf(t, s, "SELECT last_error FROM tc_notify_recipient WHERE state = 'expired' AND tenant = ?", 1)[0]; why != "its deadline passed before it could be sent: busy" {
			t.Errorf("the error of one that has expired is %q", why)
		}
	})
}

// FLOW-2, FLOW-10: the template of each kind on each channel, its latest version only.
func TestTemplateViewShowsWhatAKindUses(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		for _, tmpl := range []posthouse.Template{
			{Name: "task_created.oa", Text: "old"}, {Name: "task_created.oa", Text: "new", Title: "t", ExternalID: "SE1001", Disabled: true},
			{Name: "node_timeout", Text: "both"}, {Name: "node_timeout.dingtalk", Text: "own"}, {Name: "leave", Text: "x"},
		} {
			tmpl.Tenant = "t1"
			if _, err := s.Templates.PutTemplate(t.Context(), at(), tmpl); err != nil {
				t.Fatal(err)
			}
		}
		type row struct {
			Type, Channel  int
			Title, Content string
			External       *string
			Enabled        int
		}
		got, err := sqldb.All(s.DB.Reads(t.Context()), func(scan sqldb.Scanner) (r row, err error) {
			return r, scan(&r.Type, &r.Channel, &r.Title, &r.Content, &r.External, &r.Enabled)
		}, "SELECT biz_type, channel, title_tpl, content_tpl, external_tpl_id, enabled FROM tc_notify_template WHERE tenant = ? AND del_flag = 0 ORDER BY biz_type, channel", "t1")
		external := "SE1001"
		want := []row{{0, 0, "t", "new", &external, 0}, {5, 0, "", "both", nil, 1}, {5, 1, "", "own", nil, 1}}
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	})
}

// FLOW-2: nothing that may be secret is shown.
func TestChannelViewShowsNoSecrets(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		for _, ch := range []posthouse.Channel{
			{Name: "oa", Driver: "httpapi", Config: map[string]any{"url": "http://oa.example/?token=secret"}},
			{Name: "dingtalk", Driver: "dingtalk", Config: map[string]any{"baseUrl": "http://10.0.0.1/send", "agentId": "A1", "corpId": "C1", "secret": "sealed"}},
			{Name: "zhaohu", Driver: "httpapi"},
		} {
			ch.Tenant = "t1"
			if _, _, err := s.Channels.PutChannel(t.Context(), at(), ch); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Channels.PauseChannel(t.Context(), at(), "t1", "oa", true, "", time.Time{}); err != nil {
			t.Fatal(err)
		}
		got, err := sqldb.All(s.DB.Reads(t.Context()), func(scan sqldb.Scanner) (string, error) {
			var channel, enabled int
			var config string
			if err := scan(&channel, &config, &enabled); err != nil {
				return "", err
			}
			var members map[string]any // each database orders them as it likes
			err := json.Unmarshal([]byte(config), &members)
			return fmt.Sprint(channel, members, enabled), err
		}, "SELECT channel, config_json, enabled FROM tc_notify_channel_config WHERE tenant = ? AND del_flag = 0 ORDER BY channel", "t1")
		want := []string{"0 map[] 0", "1 map[agentId:A1 baseUrl:http://10.0.0.1/send corpId:C1] 1"}
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	})
}

// FLOW-16: a deletion frees the dedup key, a status given before or after stays, and both can be said again.
func TestMarksStandBesideEachOther(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		keyed := func(e *work.Entry) { e.Message.DedupKey = "2_1_9_45_0" }
		send := func() posthouse.Accepted {
			t.Helper()
			out, err := s.Submissions.Accept(t.Context(), at(), []*work.Submission{submit(entry(1, job("orbit_remind", "1"), keyed, func(e *work.Entry) { e.DedupWindow = day }))})
			if err != nil {
				t.Fatal(err)
			}
			return out[0].Accepted[0]
		}
		first := send()
		if again := send(); again.DuplicateOf != first.ID {
			t.Fatalf("a second one is %+v", again)
		}
		row := work.DedupRow{Message: first.ID, Channel: "oa", Key: "2_1_9_45_0"}
		for range 2 {
			if err := s.Marks.MarkDeleted(t.Context(), at(), "t1", []string{first.ID}, "u1", []work.DedupRow{row}); err != nil {
				t.Fatal(err)
			}
		}
		second := send()
		if second.DuplicateOf != "" {
			t.Errorf("after the deletion the key still stands for %s", second.DuplicateOf)
		}
		if err := s.Marks.MarkDeleted(t.Context(), at(), "t1", []string{first.ID}, "u1", []work.DedupRow{row}); err != nil {
			t.Fatal(err)
		}
		if again := send(); again.DuplicateOf != second.ID {
			t.Error("the first one's deletion freed the second one's key")
		}
		if err := s.Marks.MarkStatus(t.Context(), at(), "t1", []string{first.ID, second.ID}, 4, "u2"); err != nil {
			t.Fatal(err)
		}
		got, err := s.Marks.Marks(t.Context(), "t1", []string{first.ID, second.ID, "none"})
		for id, m := range got {
			if time.Since(m.At).Abs() > time.Hour {
				t.Errorf("the mark of %s is of %s", id, m.At)
			}
			m.At = time.Time{}
			got[id] = m
		}
		want := map[string]work.Mark{first.ID: {Job: first.ID, Status: 4, Deleted: true, By: "u2"}, second.ID: {Job: second.ID, Status: 4, By: "u2"}}
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
		if others, err := s.Marks.Marks(t.Context(), "t2", []string{first.ID}); len(others) != 0 || err != nil {
			t.Errorf("another tenant sees %v, %v", others, err)
		}
	})
}

func TestPruneKeepsMarksAsLongAsTheirJobs(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		for age, id := range map[time.Duration]string{70 * day: "old", 50 * day: "younger"} {
			if err := s.Marks.MarkStatus(t.Context(), at(), "t1", []string{id}, 3, ""); err != nil {
				t.Fatal(err)
			}
			tamper(t, s, "UPDATE posthouse_notify_marks SET updated_at = ? WHERE job = ?", time.Now().Add(-age).UnixMicro(), id)
		}
		if _, err := s.Upkeep.Prune(t.Context(), at(), work.KeepAll(30*day), 100); err != nil {
			t.Fatal(err)
		}
		if n := count(t, s, "SELECT COUNT(*) FROM posthouse_notify_marks WHERE job = 'younger'"); n != 1 || count(t, s, "SELECT COUNT(*) FROM posthouse_notify_marks") != 1 {
			t.Error("want the mark that is younger than two times 30 days, and no other")
		}
	})
}
