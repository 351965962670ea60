package outbox_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/outbox"
)

// ledger is a transaction that remembers its statements, and fails with err if it is set.
type ledger struct {
	queries []string
	args    [][]any
	err     error
}

func (l *ledger) ExecContext(_ context.Context, query string, args ...any) (sql.Result, error) {
	l.queries, l.args = append(l.queries, query), append(l.args, args)
	return nil, l.err
}

func box(t testing.TB, o outbox.Options) *outbox.Box {
	t.Helper()
	b, err := outbox.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// text is a draft on the channel "test".
func text(users ...string) posthouse.Draft {
	d := posthouse.Draft{Channel: "test", Content: &posthouse.Content{Text: "你好 'x' \\ \"y\" ? $1 👋"}}
	for _, u := range users {
		d.To = append(d.To, posthouse.Recipient{User: u})
	}
	return d
}

func TestEnqueueIsOneStatementHoweverManyRecipients(t *testing.T) {
	t.Parallel()
	users := make([]string, 500)
	for i := range users {
		users[i] = fmt.Sprint("u", i)
	}
	for _, db := range []outbox.Database{outbox.SQLite, outbox.Postgres, outbox.MySQL} {
		for _, n := range []int{1, 3, outbox.MaxDrafts} {
			drafts := make([]posthouse.Draft, n)
			for i := range drafts {
				drafts[i] = text("u1")
			}
			drafts[0] = text(users...)
			var l ledger
			ids, err := box(t, outbox.Options{Database: db}).Enqueue(t.Context(), &l, drafts...)
			if err != nil || len(ids) != n || len(l.queries) != 1 || len(l.args[0]) != 3*n {
				t.Errorf("%s: %d drafts are %d ids in %d statements, %v; want one statement", db, n, len(ids), len(l.queries), err)
			}
		}
	}
}

func TestStatementOfEachDatabase(t *testing.T) {
	t.Parallel()
	for db, want := range map[outbox.Database]string{
		outbox.SQLite:   "INSERT INTO posthouse_outbox (id, tenant, draft) VALUES (?, ?, ?), (?, ?, ?)",
		outbox.MySQL:    "INSERT INTO posthouse_outbox (id, tenant, draft) VALUES (?, ?, ?), (?, ?, ?)",
		outbox.Postgres: "INSERT INTO posthouse_outbox (id, tenant, draft) VALUES ($1, $2, $3), ($4, $5, $6)",
	} {
		var l ledger
		first, second := text("u1"), text("u2")
		ids, err := box(t, outbox.Options{Database: db, Tenant: "t1"}).Enqueue(t.Context(), &l, first, second)
		if err != nil || l.queries[0] != want {
			t.Errorf("%s: %q, %v; want %q", db, l.queries, err, want)
		}
		for i, d := range []posthouse.Draft{first, second} {
			var got posthouse.Draft
			if err := json.Unmarshal([]byte(l.args[0][3*i+2].(string)), &got); err != nil {
				t.Error(err)
			}
			if diff := cmp.Diff(d, got); diff != "" || l.args[0][3*i] != ids[i] || l.args[0][3*i+1] != "t1" || !posthouse.ValidID(ids[i]) {
				t.Errorf("%s: row %d is %v (-want +got):\n%s", db, i, l.args[0][3*i:3*i+2], diff)
			}
		}
	}
}

func TestEnqueueNamesEveryProblemAndWritesNothing(t *testing.T) {
	t.Parallel()
	with := func(change func(d *posthouse.Draft)) posthouse.Draft {
		d := text("u1")
		change(&d)
		return d
	}
	past := time.Now().Add(-time.Minute)
	for name, c := range map[string]struct {
		drafts []posthouse.Draft
		want   []string // paths
	}{
		"an empty draft":        {[]posthouse.Draft{{}}, []string{"channel", "to", "content"}},
		"nobody":                {[]posthouse.Draft{text()}, []string{"to"}},
		"a recipient of nobody": {[]posthouse.Draft{text("u1", "")}, []string{"to[1]"}},
		"too many recipients":   {[]posthouse.Draft{text(make([]string, outbox.MaxRecipients+1)...)}, []string{"to"}},
		"words not known": {[]posthouse.Draft{with(func(d *posthouse.Draft) { d.Priority, d.OnUnknown = "now", "maybe" })},
			[]string{"priority", "on_unknown"}},
		"too long": {[]posthouse.Draft{with(func(d *posthouse.Draft) { d.Kind, d.DedupKey = strings.Repeat("k", 129), strings.Repeat("d", 256) })},
			[]string{"kind", "dedup_key"}},
		"no object":                  {[]posthouse.Draft{with(func(d *posthouse.Draft) { d.Payload = json.RawMessage(`[1]`) })}, []string{"payload"}},
		"no JSON":                    {[]posthouse.Draft{with(func(d *posthouse.Draft) { d.Payload = json.RawMessage(`{"a`) })}, []string{"payload"}},
		"not text":                   {[]posthouse.Draft{with(func(d *posthouse.Draft) { d.Content.Text = "a\x00b"; d.Ref = "\xff" })}, []string{"ref", "content.text"}},
		"a deadline that has passed": {[]posthouse.Draft{with(func(d *posthouse.Draft) { d.Deadline = past })}, []string{"deadline"}},
		"text and template":          {[]posthouse.Draft{with(func(d *posthouse.Draft) { d.Template = "t" })}, []string{"content"}},
		"the second of three":        {[]posthouse.Draft{text("u1"), text(), text("u3")}, []string{"drafts[1].to"}},
		"too many drafts":            {make([]posthouse.Draft, outbox.MaxDrafts+1), []string{"drafts"}},
		"too much":                   {slicesOf(200, with(func(d *posthouse.Draft) { d.Content.Text = strings.Repeat("x", 60<<10) })), []string{"drafts"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var l ledger
			ids, err := box(t, outbox.Options{Database: outbox.SQLite}).Enqueue(t.Context(), &l, c.drafts...)
			var coded *posthouse.Error
			if !errors.As(err, &coded) || coded.Code != posthouse.CodeInvalid || ids != nil || len(l.queries) != 0 {
				t.Fatalf("Enqueue = %v, %v after %d statements; want an error of code invalid and none", ids, err, len(l.queries))
			}
			var got []string
			for _, p := range coded.Problems {
				got = append(got, p.Path)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}

func slicesOf(n int, d posthouse.Draft) []posthouse.Draft {
	list := make([]posthouse.Draft, n)
	for i := range list {
		list[i] = d
	}
	return list
}

func TestEnqueueOfNothingRunsNoStatement(t *testing.T) {
	t.Parallel()
	var l ledger
	if ids, err := box(t, outbox.Options{Database: outbox.MySQL}).Enqueue(t.Context(), &l); ids != nil || err != nil || len(l.queries) != 0 {
		t.Errorf("Enqueue() = %v, %v after %d statements", ids, err, len(l.queries))
	}
}

func TestErrorOfTheDatabaseIsPassedOn(t *testing.T) {
	t.Parallel()
	l := ledger{err: sql.ErrTxDone}
	if ids, err := box(t, outbox.Options{Database: outbox.SQLite}).Enqueue(t.Context(), &l, text("u1")); !errors.Is(err, sql.ErrTxDone) || ids != nil {
		t.Errorf("Enqueue = %v, %v; want %v", ids, err, sql.ErrTxDone)
	}
}

func TestNewNamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		options outbox.Options
		want    string
	}{
		{outbox.Options{}, `Database: is "": want "sqlite", "postgres" or "mysql"`},
		{outbox.Options{Database: "oracle"}, `Database: is "oracle"`},
		{outbox.Options{Database: outbox.MySQL, Tenant: strings.Repeat("t", 129)}, "Tenant: has 129 bytes"},
	} {
		if _, err := outbox.New(c.options); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("New(%+v) = %v, want %q", c.options, err, c.want)
		}
	}
}

func contains(err error, part string) bool { return strings.Contains(err.Error(), part) }
