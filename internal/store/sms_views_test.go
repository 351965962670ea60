package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	knownids "github.com/posthouse/posthouse/internal/ids"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

// smsAt is when what these tests import was made.
var smsAt = time.Date(2023, 12, 1, 10, 0, 0, 0, time.UTC)

// imported is a task that began a second after the one before, with what has happened since.
func imported(n int, ref string, events ...posthouse.Event) work.Imported {
	created := smsAt.Add(time.Duration(n) * time.Second)
	id := knownids.At(created, ref)
	i := work.Imported{
		Message: posthouse.Message{ID: id, Tenant: "t1", Channel: "sms", Kind: "sms", Ref: ref, Source: "a", Content: posthouse.Content{Text: "您好"},
			Priority: posthouse.Normal, CreatedAt: created},
		Deliveries: []posthouse.Delivery{{ID: posthouse.DeliveryID(id, 1), Tenant: "t1", Channel: "sms", Pulled: true, Priority: posthouse.Normal,
			Recipient: posthouse.Recipient{Address: "+861380013800" + fmt.Sprint(n)}, OnUnknown: posthouse.Retry, CreatedAt: created}},
	}
	if ref != "" {
		i.Message.DedupKey = "lksms:" + ref
	}
	d := &i.Deliveries[0]
	for k, e := range append([]posthouse.Event{{Type: posthouse.EventAccept, To: posthouse.Pending}}, events...) {
		e.Delivery, e.Version, e.Tenant, e.From, e.At = d.ID, int64(k+1), "t1", d.State, created
		d.State, d.Version, d.Reason, d.UpdatedAt = e.To, e.Version, e.Reason, created
		d.Tries, d.LeaseOwner, d.StartedAt = e.Tries, e.Owner, created
		if e.Error != "" {
			d.Error = e.Error
		}
		i.Events = append(i.Events, e)
	}
	return i
}

func importSMS(t *testing.T, s *Store, list ...work.Imported) {
	t.Helper()
	if n, err := s.Imports.Import(t.Context(), at(), "t1", list); n != len(list) || err != nil {
		t.Fatalf("Import = %d, %v; want %d", n, err, len(list))
	}
}

// The table of tasks reads as that of the document does.
func TestSMSTasksViewSpeaksTheDocumentsWords(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		start := posthouse.Event{Type: posthouse.EventStart, To: posthouse.Sending, Owner: work.Owner("app1")}
		refused := posthouse.Event{Type: posthouse.EventRetry, To: posthouse.Pending, Tries: 1, Error: "空号"}
		lost := posthouse.Event{Type: posthouse.EventLeaseLost, To: posthouse.Unknown, Tries: 1}
		resent := posthouse.Event{Type: posthouse.EventResend, To: posthouse.Pending, Tries: 1, Reason: "unknown"}
		given := posthouse.Event{Type: posthouse.EventFail, To: posthouse.Failed, Tries: 4, Error: "停机", Reason: "tries_used_up"}
		unheard := posthouse.Event{Type: posthouse.EventHoldTimeout, To: posthouse.Failed, Tries: 4, Reason: "tries_used_up"}
		final := posthouse.Event{Type: posthouse.EventFail, To: posthouse.Failed, Tries: 1, Error: "空号", Reason: "no_retry"}
		sent := posthouse.Event{Type: posthouse.EventSent, To: posthouse.Sent, Tries: 1}
		proved := posthouse.Event{Type: posthouse.EventEvidence, To: posthouse.Sent, Tries: 4}
		importSMS(t, s,
			imported(1, ""), imported(2, "task_2", start), imported(3, "task_3", start, refused), imported(4, "task_4", start, lost, resent),
			imported(5, "task_5", start, given), imported(6, "task_6", start, lost, unheard), imported(7, "task_7", start, final),
			imported(8, "task_8", start, refused, start, sent), imported(9, "task_9", start, given, proved))
		accept(t, s, entry(1)) // of another kind
		own := posthouse.DeliveryID(knownids.At(smsAt.Add(time.Second), ""), 1)
		want := []string{
			own + " 13800138001 您好 0 a 0 - -  ",
			"task_2 13800138002 您好 1 a 0 app1 -  ",
			"task_3 13800138003 您好 0 a 1 - 空号  ",
			"task_4 13800138004 您好 0 a 1 - 处理超时，自动重试  ",
			"task_5 13800138005 您好 3 a 3 - 超过最大重试次数: 停机  reported",
			"task_6 13800138006 您好 3 a 3 - 处理超时，超过最大重试次数  reported",
			"task_7 13800138007 您好 3 a 0 app1 空号  reported",
			"task_8 13800138008 您好 2 a 1 app1 发送成功 sent reported",
			"task_9 13800138009 您好 2 a 3 app1 发送成功 sent reported",
		}
		got := wordsOf(t, s, `SELECT task_id, phone_number, content, status, source, retry_count, COALESCE(processing_app_id, '-'), COALESCE(result, '-'),
			CASE WHEN sent_at IS NULL THEN '' ELSE 'sent' END, CASE WHEN reported_at IS NULL THEN '' ELSE 'reported' END FROM sms_tasks WHERE tenant = ? ORDER BY id`, 10)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("sms_tasks (-want +got):\n%s", diff)
		}
		var created any
		err := s.DB.Look(t.Context(), "SELECT created_at FROM sms_tasks WHERE task_id = 'task_2'", nil, func(scan sqldb.Scanner) error { return scan(&created) })
		if got, want := viewTime(t, created), smsAt.Add(2*time.Second); err != nil || !got.Equal(want) {
			t.Errorf("created_at is %v, %v; want %v", got, err, want)
		}
	})
}

// wordsOf reads the tenant t1's rows as texts, columns apart by spaces.
func wordsOf(t *testing.T, s *Store, query string, columns int) []string {
	t.Helper()
	list, err := sqldb.All(s.DB.Reads(t.Context()), func(scan sqldb.Scanner) (string, error) {
		cells, into := make([]string, columns), make([]any, columns)
		for i := range cells {
			into[i] = &cells[i]
		}
		err := scan(into...)
		line := ""
		for i, c := range cells {
			if i > 0 {
				line += " "
			}
			line += c
		}
		return line, err
	}, query, "t1")
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestOtherSMSViewsSpeakTheDocumentsWords(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		task := imported(1, "task_1", posthouse.Event{Type: posthouse.EventStart, To: posthouse.Sending, Owner: work.Owner("app1")})
		importSMS(t, s, task)
		for log, line := range map[work.Log]work.Line{
			work.ReceiveLog: {ID: posthouse.NewID(), Phone: "+8613800138001", Content: "您好", Templated: true, SourceIP: "::1", UserAgent: "curl", Request: json.RawMessage("{}"), Response: json.RawMessage(`[{"a": 1}]`), Status: 200, RequestID: "r1"},
			work.SendLog:    {Delivery: task.Deliveries[0].ID, Token: -7, Agent: "app2", Request: json.RawMessage(`{"limit": 10}`)},
			work.ReportLog:  {ID: posthouse.NewID(), ReportID: "x", Delivery: task.Deliveries[0].ID, Agent: "app2", Outcome: "not_sent", Error: "空号", Answer: "stale", Request: json.RawMessage(`"cut"`)},
		} {
			line.Tenant, line.At = "t1", smsAt
			for range 2 { // the second time it is there
				if _, err := s.Imports.ImportLines(t.Context(), at(), "t1", log, []work.Line{line}); err != nil {
					t.Fatal(err)
				}
			}
		}
		if _, err := s.Texts.ImportTemplates(t.Context(), at(), "t1", []work.SMSTemplate{{ID: 4, Name: "码", Text: "{code}", Active: true}}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Texts.ImportDefaults(t.Context(), at(), "t1", []work.DefaultSMS{
			{Phone: "+8613800138001", Text: "a", Sent: true}, {Phone: "+85251234567", Text: "b", Templated: true}, {Phone: "+8613800138003", Text: "c"},
		}); err != nil {
			t.Fatal(err)
		}
		taken := entry(1, func(e *work.Entry) {
			e.Message.Channel, e.Message.DedupKey, e.DedupWindow = "sms", work.DefaultSMS{Phone: "+8613800138003", Generation: 1}.DedupKey(), time.Hour
		})
		accept(t, s, taken)
		if _, _, err := s.Channels.PutChannel(t.Context(), at(), posthouse.Channel{Tenant: "t1", Name: "sms", Driver: "pull"}); err != nil {
			t.Fatal(err)
		}
		for view, c := range map[string]struct {
			columns string
			n       int
			want    []string // by their second column
		}{
			"receive_logs":     {"request_id, phone_number, content, CASE WHEN use_template THEN 'yes' ELSE 'no' END, source_ip, user_agent, request_data, response_data, status_code", 9, []string{"r1 13800138001 您好 yes ::1 curl {} [{\"a\": 1}] 200"}},
			"send_logs":        {"task_id, app_id, phone_number, content", 4, []string{"task_1 app1 13800138001 您好", "task_1 app2 13800138001 您好"}},
			"report_logs":      {"task_id, app_id, status, error_message, outcome, answer, request_data", 7, []string{`task_1 app2 3 空号 not_sent stale "cut"`}},
			"sms_templates":    {"id, template_name, template_content, CASE WHEN is_active THEN 'yes' ELSE 'no' END", 4, []string{"4 码 {code} yes"}},
			"default_sms_data": {"phone_number, content, CASE WHEN use_template THEN 'yes' ELSE 'no' END, CASE WHEN is_sent THEN 'yes' ELSE 'no' END", 4, []string{"13800138001 a no yes", "+85251234567 b yes no", "13800138003 c no yes"}},
		} {
			got := wordsOf(t, s, "SELECT "+c.columns+" FROM "+view+" WHERE tenant = ? ORDER BY 2", c.n)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", view, diff)
			}
		}
		lines, err := sqldb.All(s.DB.Reads(t.Context()), func(scan sqldb.Scanner) (v map[string]any, err error) {
			var request, response []byte
			if err = scan(&request, &response); err == nil {
				err = errors.Join(json.Unmarshal(request, &v), json.Unmarshal(response, &v))
			}
			return v, err
		}, "SELECT request_data, response_data FROM send_logs WHERE app_id = 'app2'")
		want := []map[string]any{{"limit": 10.0, "task_id": "task_1", "phone_number": "13800138001", "content": "您好"}}
		if diff := cmp.Diff(want, lines); err != nil || diff != "" {
			t.Errorf("what the app asked for and got: %v (-want +got):\n%s", err, diff)
		}
	})
}

// A report on PostgreSQL reads into the documents' JSON columns with ->>.
func TestJSONColumnsOfTheViewsAreJSONOnPostgreSQL(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		if s.DB.Dialect != sqldb.Postgres {
			return
		}
		got, err := sqldb.All(s.DB.Reads(t.Context()), sqldb.Word, `SELECT table_name || '.' || column_name FROM information_schema.columns WHERE data_type = 'jsonb' AND table_schema = current_schema() ORDER BY 1`)
		want := []string{
			"receive_logs.request_data", "receive_logs.response_data", "report_logs.request_data", "send_logs.request_data", "send_logs.response_data",
			"tc_notify_channel_config.config_json", "tc_notify_job.payload",
		}
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("columns of JSON: %v (-want +got):\n%s", err, diff)
		}
	})
}
