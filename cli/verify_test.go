package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/cli/shell"
	"github.com/posthouse/posthouse/internal/secret"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/verify"
	"github.com/posthouse/posthouse/server"
)

// sentLog is the event log of one delivery that was sent.
const sentLog = `{"delivery":"01KMJ000000000000000AB0001","version":1,"tenant":"bank","db_ts":"2026-03-01T08:00:00Z","type":"accept","to":"pending","token":0,"epoch":1}
{"delivery":"01KMJ000000000000000AB0001","version":2,"tenant":"bank","db_ts":"2026-03-01T08:00:01Z","type":"start","from":"pending","to":"sending","token":1,"attempt":1,"owner":"vm-1-a","lease_until":"2026-03-01T08:00:16Z","epoch":1}
{"delivery":"01KMJ000000000000000AB0001","version":3,"tenant":"bank","db_ts":"2026-03-01T08:00:02Z","type":"sent","from":"sending","to":"sent","token":1,"attempt":1,"owner":"vm-1-a","epoch":1}
`

// verified runs verify with a log on its standard input.
func verified(t *testing.T, log string, args ...string) (out, errs string, code int) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	sh := &shell.Shell{In: strings.NewReader(log), Out: &stdout, Err: &stderr, Dir: t.TempDir()}
	code = run(t.Context(), sh, append([]string{"verify", "--events", "-"}, args...))
	return stdout.String(), stderr.String(), code
}

func TestVerifySaysItsVerdictByTheExitCode(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		log        string
		args       []string
		want, errs string
		code       int
	}{
		"holds":          {sentLog, []string{"--sometimes", "none"}, "HOLDS.", "", 0},
		"violated":       {strings.Replace(sentLog, `"version":3`, `"version":4`, 1), []string{"--sometimes", "none"}, "VIOLATED. These do not hold: I6 chain.", "", 1},
		"not conclusive": {sentLog, nil, "NOT CONCLUSIVE.", "", 2},
		"unreadable":     {sentLog + "{}\n", nil, "", "posthouse: no verdict: standard input: line 4: delivery: it is missing", 2},
		"no such rarity": {sentLog, []string{"--sometimes", "luck"}, "", `there is no "luck"`, 2},
		"no such file":   {sentLog, []string{"--sink", "/no/such/file"}, "", "--sink: /no/such/file cannot be read", 2},
		"two on stdin":   {sentLog, []string{"--client", "-"}, "", "--events and --client: standard input can be one of them", 2},
		"two logs":       {sentLog, []string{"--dsn", "sqlite:x.db"}, "", "--events and --dsn: give one of them", 2},
		"no time at all": {sentLog, []string{"--sometimes", "none", "--slack", "0", "--keep", "0"}, "HOLDS.", "", 0},
		"days":           {sentLog, []string{"--sometimes", "none", "--slack", "1d", "--key-window", "7d"}, "HOLDS.", "", 0},
		"less than none": {sentLog, []string{"--slack", "-1s"}, "", `--slack: it must not be negative`, 2},
		"no window":      {sentLog, []string{"--sometimes", "none", "--key-window", "0s"}, "HOLDS.", "", 0},
		"negative":       {sentLog, []string{"--key-window", "-1s"}, "", `--key-window: it must not be negative`, 2},
		"keep less":      {sentLog, []string{"--keep", "-1"}, "", "--keep -1: want 0 or more", 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, errs, code := verified(t, c.log, c.args...)
			if !strings.HasPrefix(out, c.want) || !strings.Contains(errs, c.errs) || (out == "") != (c.want == "") || code != c.code {
				t.Errorf("got exit code %d, want %d\n%s\n%s", code, c.code, out, errs)
			}
		})
	}
}

// The flags reach the checker: nothing shown is not the default number, and no slack is not the default.
func TestVerifyTakesNoneForAnAnswer(t *testing.T) {
	t.Parallel()
	broken := strings.Replace(sentLog, `"version":3`, `"version":4`, 1)
	if out, _, code := verified(t, broken, "--keep", "0"); !strings.Contains(out, "  … and 1 more") || code != 1 {
		t.Errorf("keep: got exit code %d\n%s", code, out)
	}
	sink := filepath.Join(t.TempDir(), "sink.jsonl")
	const early = `{"seq":1,"at":"2026-03-01T08:00:00.99Z","provider":"generic","path":"/","key":"01KMJ000000000000000AB0001","user":"u","text":"t","answer":"accepted","status":200}`
	if err := os.WriteFile(sink, []byte(early), 0o600); err != nil {
		t.Fatal(err)
	}
	for slack, want := range map[string]int{"0s": 1, "100ms": 0} {
		if out, _, code := verified(t, sentLog, "--sometimes", "none", "--sink", sink, "--slack", slack); code != want {
			t.Errorf("slack %s: got exit code %d, want %d\n%s", slack, code, want, out)
		}
	}
}

// Nothing but a violation ends with 1: not even a report that nobody gets to see.
func TestVerifyThatCannotPrintIsNoViolation(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{}, {"--json"}} {
		var stderr bytes.Buffer
		sh := &shell.Shell{In: strings.NewReader(sentLog), Out: fullWriter{}, Err: &stderr, Dir: t.TempDir()}
		code := run(t.Context(), sh, append([]string{"verify", "--events", "-", "--sometimes", "none"}, args...))
		if code != 2 || !strings.Contains(stderr.String(), "and the report cannot be written: no space") {
			t.Errorf("%v: got exit code %d: %s", args, code, stderr.String())
		}
	}
}

// fullWriter is a full disk.
type fullWriter struct{}

func (fullWriter) Write([]byte) (int, error) { return 0, errors.New("no space") }

func TestVerifyPrintsItsReportAsJSON(t *testing.T) {
	t.Parallel()
	out, _, _ := verified(t, sentLog, "--json")
	var r verify.Report
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if r.Verdict != verify.Inconclusive || r.Totals.States[posthouse.Sent] != 1 || len(r.Invariants) != len(verify.Laws()) {
		t.Errorf("got %+v", r)
	}
}

// A database is verified as it stands, or from what events wrote.
func TestVerifyReadsADatabaseAndWhatEventsWrote(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	dsn := "sqlite:" + filepath.Join(dir, "posthouse.db")
	sendTo(t, dsn)
	environ := []string{"POSTHOUSE_DSN=" + dsn}
	out, code := ran(t, environ, "verify", "--sometimes", "none", "--at-rest")
	if !strings.HasPrefix(out, "HOLDS.") || !strings.Contains(out, "2 deliveries in 1 message") || !strings.Contains(out, "holds     I3  conservation") || code != 0 {
		t.Errorf("of the database: exit code %d\n%s", code, out)
	}
	log, code := ran(t, environ, "events")
	if strings.Count(log, "\n") != 6 || code != 0 {
		t.Errorf("got exit code %d and the log\n%s", code, log)
	}
	if out, _, code := verified(t, log, "--sometimes", "none", "--at-rest"); !strings.HasPrefix(out, "HOLDS.") || code != 0 {
		t.Errorf("of the file: exit code %d\n%s", code, out)
	}
	if log, code := ran(t, environ, "events", "--tenant", "nobody"); log != "" || code != 0 {
		t.Errorf("got exit code %d and the log of another tenant\n%s", code, log)
	}
}

// What was suppressed, capped or not wanted has started and left nothing: its rows and its log say the same.
func TestVerifyHoldsOfWhatWasHeldBack(t *testing.T) {
	t.Parallel()
	dsn := "sqlite:" + filepath.Join(t.TempDir(), "posthouse.db")
	sendTo(t, dsn,
		[]string{"suppression", "add", "left"},
		[]string{"user", "set", "off", "--name", "Off"}, []string{"user", "choose", "off", "--nothing"},
		[]string{"channel", "set", "capped", "--driver", "console", "--caps", `[{"max":1,"per":"1h","then":"suppress"}]`},
		[]string{"send", "--channel", "desk", "--to", "left,off,c", "--text", "hello", "--wait"},
		[]string{"send", "--channel", "capped", "--to", "c", "--text", "one", "--wait"},
		[]string{"send", "--channel", "capped", "--to", "c", "--text", "two", "--wait"},
	)
	out, code := ran(t, []string{"POSTHOUSE_DSN=" + dsn}, "verify", "--sometimes", "none", "--at-rest")
	if !strings.HasPrefix(out, "HOLDS.") || !strings.Contains(out, "7 deliveries") || code != 0 {
		t.Errorf("exit code %d\n%s", code, out)
	}
}

// sendTo has a server send a message to two, and do more.
func sendTo(t *testing.T, dsn string, more ...[]string) {
	t.Helper()
	key := secret.FormatKey(secret.NewKey())
	o := server.Options{
		DSN: dsn, Addr: "127.0.0.1:0", AdminKey: key, Log: slog.New(slog.DiscardHandler), Output: io.Discard, Version: "test",
	}
	if _, file := sqldb.SQLiteFile(dsn); !file {
		o.KeyringFile, o.CreateKeyring = filepath.Join(t.TempDir(), "posthouse.keys"), true
	}
	s, err := server.New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	environ := []string{"POSTHOUSE_URL=" + s.URL(), "POSTHOUSE_API_KEY=" + key}
	for _, args := range append([][]string{
		{"channel", "set", "desk", "--driver", "console"},
		{"send", "--channel", "desk", "--to", "a,b", "--text", "hello", "--wait"},
	}, more...) {
		if out, code := ran(t, environ, args...); code != 0 {
			t.Error(out)
		}
	}
	if err := s.Stop(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
}

func TestVerifyMakesNoDatabase(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "posthouse.db")
	for _, command := range []string{"verify", "events"} {
		out, code := ran(t, []string{"POSTHOUSE_DSN=sqlite:" + path}, command)
		if !strings.Contains(out, "there is no file") || code != 2 {
			t.Errorf("%s: got exit code %d: %s", command, code, out)
		}
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%s made a database", command)
		}
	}
}
