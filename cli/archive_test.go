package cli

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/archive"
	"github.com/posthouse/posthouse/internal/chain"
	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/internal/store"
	"github.com/posthouse/posthouse/wire"
)

// What has settled goes into a file that can be read back, on each database; what is to settle within the time waits for the next.
func TestArchiveHoldsWhatSettled(t *testing.T) {
	t.Parallel()
	for name, dsn := range map[string]func(testing.TB) string{"sqlite": dbtest.SQLite, "postgres": dbtest.Postgres, "mariadb": dbtest.MariaDB} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dsn := dsn(t)
			sendTo(t, dsn)
			environ := []string{"POSTHOUSE_DSN=" + dsn, "POSTHOUSE_KEYRING=k1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="}
			path := filepath.Join(t.TempDir(), "it.ndjson.gz")
			for _, c := range []struct {
				want string
				args []string
			}{
				{"is still to come", []string{"--before", time.Now().AddDate(1, 0, 0).Format(time.DateOnly), "--to", path}},
				{"is not before --before", []string{"--before", "2h", "--after", "1h", "--to", path}},
				{"--to is missing", []string{"--before", "2h"}},
				{"--before is missing", []string{"--to", path}},
				{"no such file or directory", []string{"--before", "2h", "--to", filepath.Join(path, "below")}},
			} {
				if out, code := ran(t, environ, append([]string{"archive"}, c.args...)...); code != 2 || !strings.Contains(out, c.want) {
					t.Errorf("%v: exit code %d: %s; want %q", c.args, code, out, c.want)
				}
			}
			out, code := ran(t, environ, "archive", "--before", "1ms", "--to", path)
			if code != 0 || !strings.Contains(out, "1 messages, 2 deliveries, 6 events") {
				t.Fatalf("exit code %d: %s", code, out)
			}
			if out, code := ran(t, environ, "archive", "--before", "1ms", "--to", path); code != 2 || !strings.Contains(out, "is already there") {
				t.Errorf("once more: exit code %d: %s", code, out)
			}
			if out, code := ran(t, environ, "archive", "check", path); code != 0 || !strings.Contains(out, "1 messages, 2 deliveries, 6 events, settled before ") {
				t.Errorf("check: exit code %d: %s", code, out)
			}
			file, err := os.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			var texts []string
			message := ""
			_, totals, err := archive.Read(file, func(r *archive.Record) error {
				texts, message = append(texts, r.Message.Content.Text), r.Message.ID
				return nil
			})
			if err != nil || !slices.Equal(texts, []string{"hello"}) || totals.Messages != 1 || file.Close() != nil {
				t.Errorf("the archive holds %q, %+v: %v", texts, totals, err)
			}
			provesFrom(t, environ, path, message)
			left, err := os.ReadDir(filepath.Dir(path))
			if err != nil || len(left) != 1 {
				t.Errorf("left beside it: %v, %v", left, err)
			}
		})
	}
}

// When the database has deleted a notification for its age, an archive still proves who acknowledged it, and the hash chain that it was so.
func TestAnArchiveProvesAnAcknowledgement(t *testing.T) {
	t.Parallel()
	for name, dsn := range map[string]func(testing.TB) string{"sqlite": dbtest.SQLite, "postgres": dbtest.Postgres, "mariadb": dbtest.MariaDB} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dsn := dsn(t)
			message := posthouse.MessageID(notifies(t, dsn)["acknowledged"])
			s, err := store.Open(t.Context(), store.Options{DSN: dsn, Log: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Fatal(err)
			}
			sealer := chain.Sealer{Book: s.Chain, After: time.Millisecond, Keep: -1, Log: slog.New(slog.DiscardHandler)}
			if err := errors.Join(sealer.Seal(t.Context(), time.Now().Add(time.Second)), s.Close()); err != nil {
				t.Fatal(err)
			}
			environ := []string{"POSTHOUSE_DSN=" + dsn, "POSTHOUSE_KEYRING=test:" + base64.StdEncoding.EncodeToString([]byte("the 32 bytes of a key for tests."))}
			path, file := filepath.Join(t.TempDir(), "it.ndjson.gz"), filepath.Join(t.TempDir(), "proof.json")
			if out, code := ran(t, environ, "archive", "--before", "1ms", "--to", path); code != 0 {
				t.Fatalf("exit code %d: %s", code, out)
			}
			db := dbtest.SQL(t, dsn)
			if _, err := db.ExecContext(t.Context(), "DELETE FROM posthouse_plans"); err != nil {
				t.Fatal(err)
			}
			if out, code := ran(t, environ, "archive", "proof", path, message, "--output", file); code != 0 {
				t.Fatalf("exit code %d: %s", code, out)
			}
			if out, code := ran(t, nil, "proof", "verify", file); code != 0 || !strings.Contains(out, "by li, 2") {
				t.Errorf("exit code %d: %s", code, out)
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var made wire.Proof
			if err := json.Unmarshal(text, &made); err != nil {
				t.Fatal(err)
			}
			said, err := made.ReadStatement()
			if err != nil || len(said.Notifications) != 1 || said.Notifications[0].Ack == nil || said.Message.ID != message || said.Message.Route != "acked" || len(said.Parts) != 1 ||
				said.Parts[0].Message.Content.Text != "hello" || len(said.Acks) != 1 || said.Acks[0].Chain.State != wire.ProofSealed {
				t.Errorf("the statement is %+v: %v", said, err)
			}
			if out, code := ran(t, environ, "archive", "proof", path, message, "--person", "c"); code == 0 || !strings.Contains(out, "nobody called") {
				t.Errorf("of another: exit code %d: %s", code, out)
			}
		})
	}
}

// provesFrom makes a proof of a message that an archive holds, and of nothing else.
func provesFrom(t *testing.T, environ []string, path, message string) {
	t.Helper()
	folder := t.TempDir()
	file, page, broken := filepath.Join(folder, "proof.json"), filepath.Join(folder, "proof.html"), filepath.Join(folder, "broken.gz")
	if out, code := ran(t, environ, "archive", "proof", path, message, "--person", "b", "--output", file, "--page", page); code != 0 {
		t.Fatalf("a proof: exit code %d: %s", code, out)
	}
	for _, one := range []string{file, page} {
		if out, code := ran(t, nil, "proof", "verify", one); code != 0 || !strings.Contains(out, "no hidden contents") || !strings.Contains(out, "read from an archive") {
			t.Errorf("%s: exit code %d: %s", one, code, out)
		}
	}
	drawn, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	forged := filepath.Join(folder, "forged.html")
	if err := os.WriteFile(forged, bytes.ReplaceAll(drawn, []byte(message), []byte("01M7YB1WZMBNVQWRX67H460000")), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, code := ran(t, nil, "proof", "verify", page); code != 0 || !strings.Contains(out, "The page shows what the statement says") || !strings.Contains(out, posthouse.DeliveryID(message, 2)) {
		t.Errorf("the page: exit code %d: %s", code, out)
	}
	if out, code := ran(t, nil, "proof", "verify", forged); code != 1 || !strings.Contains(out, "does not show what its statement says") || !strings.Contains(out, message) {
		t.Errorf("a forged page: exit code %d: %s", code, out)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var made wire.Proof
	if err := json.Unmarshal(text, &made); err != nil {
		t.Fatal(err)
	}
	s, err := made.ReadStatement()
	if err != nil || s.Archive == nil || s.Recipients != 2 || len(s.Parts) != 1 || len(s.Parts[0].Deliveries) != 1 || len(s.Parts[0].Deliveries[0].Attempts) != 1 || len(s.Parts[0].Deliveries[0].Events) != 3 || s.Message.Content.Text != "hello" {
		t.Errorf("the statement is %+v: %v", s, err)
	}
	packed, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(broken, packed[:len(packed)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{
		"holds no message":  {path, posthouse.NewID()},
		"cut off":           {broken, message},
		"no such file":      {filepath.Join(folder, "none.gz"), message},
		"nobody called":     {path, message, "--person", "c"},
		"is no id":          {path, "hello"},
		"want en or zh":     {path, message, "--lang", "fr"},
		"--output and --pa": {path, message, "--output", "x", "--page", "x"},
	} {
		if out, code := ran(t, environ, append([]string{"archive", "proof"}, args...)...); code == 0 || !strings.Contains(out, want) {
			t.Errorf("%v: exit code %d: %s; want %q", args, code, out, want)
		}
	}
}
