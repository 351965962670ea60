package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/internal/verify"
)

// messageForms are messages that end in rows of their own each: sent by the first attempt, waiting for it, sent by the third of
// a message with two recipients, waiting there, and held. NNN is a number.
var messageForms = map[string]string{
	"clean":   `{"channel": "oa", "to": [{"user": "clean-NNN"}]`,
	"waiting": `{"channel": "oa", "to": [{"user": "waiting-NNN"}], "not_before": "SOON"`,
	"settled": `{"channel": "oa", "to": [{"user": "busy-twice-NNN"}, {"user": "other-NNN"}]`,
	"queued":  `{"channel": "oa", "to": [{"user": "queued-NNN"}, {"user": "other-NNN"}], "not_before": "SOON"`,
	"held":    `{"channel": "oa", "on_unknown": "hold", "to": [{"user": "lost-answer-NNN"}, {"user": "other-NNN"}]`,
}

// rowsOfForms are the rows whose columns are changed, one in each database and message. M is the message's id, D that of its
// first delivery.
var rowsOfForms = []struct{ name, table, form, where string }{
	{"message", "posthouse_messages", "clean", "id = 'M'"},
	{"row of one that waits", "posthouse_due", "waiting", "id = 'D'"},
	{"row of one that was sent", "posthouse_sent", "clean", "id = 'D'"},
	{"row in the queue", "posthouse_queue", "queued", "id = 'D'"},
	{"row that is unknown", "posthouse_queue", "held", "id = 'D'"},
	{"row that has settled", "posthouse_settled", "settled", "id = 'D'"},
	{"event of a refusal", "posthouse_transitions", "settled", "delivery = 'D' AND type = 'retry' AND version = 3"},
	{"event of a success", "posthouse_transitions", "settled", "delivery = 'D' AND type = 'sent'"},
	{"event of an unknown outcome", "posthouse_transitions", "held", "delivery = 'D' AND type = 'ambiguous'"},
	{"idempotency key", "posthouse_idempotency", "waiting", "owner = 'M'"},
	{"dedup key", "posthouse_dedup", "waiting", "message_id = 'M'"},
}

// values are what columns are set to where one more, or a longer text, would be no value of theirs.
var values = map[string]string{
	"id": "substr(id, 1, 20) || 'ZZ' || substr(id, 23)", "delivery": "substr(delivery, 1, 22) || '0009'", "message_id": "substr(message_id, 1, 20) || 'ZZ0000'",
	"owner": "substr(owner, 1, 20) || 'ZZ0000'", "sole": "0", "content": "replace(content, 'hello', 'other')", "payload": `'{"a":1}'`, "options": `'{"account":"x"}'`,
	"answer": "replace(answer, '0000\"', '0009\"')", "policy": "'assume_sent'", "on_unknown": "'assume_sent'", "state": "CASE state WHEN 'sent' THEN 'failed' ELSE 'quarantined' END",
	"type": "CASE type WHEN 'sent' THEN 'evidence' ELSE 'resend' END", "from_state": "'unknown'", "to_state": "'quarantined'", "class": "'rate'", "replay_of": "'D'", "priority": "2", "version": "version + 40",
}

// onePlace are the columns, by row, of which verify does not find a change without a hash chain: no other place says the same.
var onePlace = map[string]string{
	"message":                     "kind ref priority content template template_version payload source not_before trace created_at options user_id address recipient_type policy epoch due_at",
	"row of one that was sent":    "at started_at lease_until owner account code ref request response",
	"row in the queue":            "user_id address recipient_type on_unknown",
	"row that is unknown":         "user_id address recipient_type",
	"row that has settled":        "user_id address recipient_type on_unknown",
	"event of a refusal":          "at code error ref request response",
	"event of a success":          "type code request response",
	"event of an unknown outcome": "code request response",
	"idempotency key":             "tenant endpoint idem_key body_hash created_at expires_at deleted",
	"dedup key":                   "created_at expires_at deleted",
}

// edited is one column, or all, of one row that somebody changes, and the message that it is of.
type edited struct{ name, sql, message, key string }

// Every column of every row of a delivery and its keys: without a hash chain verify finds what two places say, with it all.
func TestVerifyFindsEditsOfEachColumn(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "posthouse.db")
	h := newHousehold(t, path)
	db := dbtest.SQL(t, "sqlite:"+path)
	soon := time.Now().Add(time.Hour).Format(time.RFC3339)
	var list []edited
	settle := 0
	add := func(name, form, sql string) {
		n := fmt.Sprintf("%03d", len(list))
		body := strings.NewReplacer("NNN", n, "SOON", soon).Replace(messageForms[form]) + `, "dedup_key": "d-` + n + `", "content": {"text": "hello"}}`
		id := h.send("k-"+n, body).ID
		settle += map[string]int{"clean": 1, "settled": 2, "held": 2}[form]
		list = append(list, edited{name, strings.NewReplacer("'M'", "'"+id+"'", "'D'", "'"+posthouse.DeliveryID(id, 1)+"'").Replace(sql), id, "-" + n})
	}
	for _, row := range rowsOfForms {
		for _, column := range columnsOf(t, path, row.table) {
			value := cmp.Or(values[column.name], column.name+" || 'x'")
			if column.number && values[column.name] == "" {
				value = column.name + " + 1"
			}
			add(row.name+", "+column.name, row.form, fmt.Sprintf("UPDATE %s SET %s = %s WHERE %s", row.table, column.name, value, row.where))
		}
		add(row.name+", deleted", row.form, fmt.Sprintf("DELETE FROM %s WHERE %s", row.table, row.where))
	}
	add("nothing", "settled", "")
	h.settled(settle)
	h.stop()
	seal(t, path)
	for _, e := range list[:len(list)-1] {
		result, err := db.ExecContext(t.Context(), e.sql)
		if err != nil {
			t.Fatalf("%s: %v", e.name, err)
		}
		if n, _ := result.RowsAffected(); n != 1 {
			t.Fatalf("%s: %s changed %d rows", e.name, e.sql, n)
		}
	}
	if diff := gocmp.Diff([]string{"nothing"}, missed(t, path, list)); diff != "" {
		t.Errorf("with a hash chain it does not find (-want +got):\n%s", diff)
	}
	if _, err := db.ExecContext(t.Context(), "DELETE FROM posthouse_checkpoints"); err != nil {
		t.Fatal(err)
	}
	var want []string
	table := ""
	for _, row := range rowsOfForms {
		alone := strings.Fields(onePlace[row.name])
		for _, column := range alone {
			want = append(want, row.name+", "+column)
		}
		kinds := len(columnsOf(t, path, row.table)) + 1
		table += fmt.Sprintf("| %s | %d | %d | all |\n", row.name, kinds, kinds-len(alone))
	}
	if diff := gocmp.Diff(append(want, "nothing"), missed(t, path, list)); diff != "" {
		t.Errorf("without a hash chain it does not find (-want +got):\n%s", diff)
	}
	guide, err := os.ReadFile("../docs/guide/verify.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(guide), table) {
		t.Errorf("docs/guide/verify.md does not say what is found:\n%s", table)
	}
	chinese, err := os.ReadFile("../docs/guide/verify.zh-CN.md")
	if err != nil {
		t.Fatal(err)
	}
	for row := range strings.Lines(table) {
		_, figures, _ := strings.Cut(strings.Replace(strings.TrimPrefix(row, "| "), "all", "全部", 1), " | ")
		if !strings.Contains(string(chinese), " | "+figures) {
			t.Errorf("docs/guide/verify.zh-CN.md does not say what is found of %q", row)
		}
	}
}

// missed are the changes of which a report says nothing.
func missed(t *testing.T, path string, list []edited) []string {
	t.Helper()
	out, code := ran(t, []string{"POSTHOUSE_DSN=sqlite:" + path}, "verify", "--sometimes", "none", "--at-rest", "--json", "--keep", "10000")
	if code != 1 {
		t.Fatalf("got exit code %d, want 1: %s", code, out)
	}
	var report verify.Report
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		t.Fatal(err)
	}
	said := map[string]bool{}
	for _, invariant := range report.Invariants {
		for _, v := range invariant.Violations {
			text := v.Subject + " " + v.What + " " + strings.Join(v.Excerpt, " ")
			for i := range list {
				if strings.Contains(text, list[i].message[:22]) || strings.Contains(text, "\"k"+list[i].key) || strings.Contains(text, "\"d"+list[i].key) {
					said[list[i].name] = true
				}
			}
		}
	}
	var rest []string
	for i := range list {
		if !said[list[i].name] {
			rest = append(rest, list[i].name)
		}
	}
	return rest
}

type tableColumn struct {
	name   string
	number bool
}

// columnsOf are those of a table.
func columnsOf(t *testing.T, path, table string) (list []tableColumn) {
	t.Helper()
	rows, err := dbtest.SQL(t, "sqlite:"+path).QueryContext(t.Context(), "SELECT name, type FROM pragma_table_info('"+table+"')")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var name, kind string
		if err := rows.Scan(&name, &kind); err != nil {
			t.Fatal(err)
		}
		list = append(list, tableColumn{name, kind == "INTEGER"})
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return list
}
