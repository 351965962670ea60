package client_test

import (
	"database/sql"
	"path/filepath"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
)

func TestRejectedRowsOfTheOutbox(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	url, key, stop, err := serve(folder)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	c, err := client.New(client.Options{URL: url, Key: key})
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(folder + "/*.db")
	if err != nil || len(files) != 1 {
		t.Fatalf("databases %v, %v; want one", files, err)
	}
	db, err := sql.Open("sqlite", "file:"+files[0]+"?_pragma=busy_timeout(10000)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, id := range []string{"row 1", "row/2"} {
		_, err := db.Exec(`INSERT INTO posthouse_outbox (id, draft, error, failures, failed_at, due_at) VALUES (?, '{"channel": "late", "ref": "7"}', 'held', 1, 1, 9223372036854775807)`, id)
		if err != nil {
			t.Fatal(err)
		}
	}
	box, err := c.Outbox.List(t.Context(), client.Filter{Limit: 1})
	if err != nil || box.Rejected != 2 || box.Waiting != 0 || len(box.Items) != 1 || box.Next == "" {
		t.Fatalf("Outbox = %+v, %v; want one of two rows", box, err)
	}
	if row := box.Items[0]; row.ID != "row 1" || row.Channel != "late" || row.Ref != "7" || row.Problem != "held" || !row.NextTryAt.IsZero() {
		t.Errorf("the row is %+v", row)
	}
	if box, err = c.Outbox.List(t.Context(), client.Filter{Cursor: box.Next}); err != nil || len(box.Items) != 1 || box.Items[0].ID != "row/2" {
		t.Errorf("the next page is %+v, %v", box, err)
	}
	if err := c.Outbox.Drop(t.Context(), "row/2"); err != nil {
		t.Error(err)
	}
	if err := c.Outbox.Retry(t.Context(), "row/2"); posthouse.CodeOf(err) != posthouse.CodeNotFound || !strings.Contains(err.Error(), "row/2") {
		t.Errorf("a row that was dropped is tried again: %v", err)
	}
	if err := c.Outbox.Retry(t.Context(), "row 1"); err != nil {
		t.Error(err)
	}
}
