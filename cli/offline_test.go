package cli

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/cli/shell"
	"github.com/posthouse/posthouse/internal/secret"
	"github.com/posthouse/posthouse/internal/store"
	"github.com/posthouse/posthouse/internal/store/schema"
	"github.com/posthouse/posthouse/internal/work"
)

// ran runs a command without a server and answers what it printed and its exit code.
func ran(t *testing.T, environ []string, args ...string) (string, int) {
	t.Helper()
	var out bytes.Buffer
	sh := &shell.Shell{In: strings.NewReader(""), Out: &out, Err: &out, Dir: t.TempDir(), Environ: environ}
	code := run(t.Context(), sh, args)
	return out.String(), code
}

func TestMigrateBringsTheSchemaUpOnce(t *testing.T) {
	t.Parallel()
	environ := []string{"POSTHOUSE_CREATE=true", "POSTHOUSE_DSN=sqlite:" + filepath.Join(t.TempDir(), "posthouse.db")}
	expect := func(want string, wantCode int, args ...string) {
		t.Helper()
		if got, code := ran(t, environ, args...); !strings.Contains(got, want) || code != wantCode {
			t.Errorf("%v: got %q and exit code %d, want %q and %d", args, got, code, want, wantCode)
		}
	}
	expect("posthouse migrate makes it", 1, "migrate", "status")
	expect("posthouse migrate makes it", 1, "migrate", "new-epoch", "--yes")
	expect("brought the sqlite schema from version 0", 0, "migrate")
	expect("already: nothing to do", 0, "migrate")
	expect("the sqlite schema has version", 0, "migrate", "status")
	expect("nothing was changed", 2, "migrate", "new-epoch")
	expect("0 deliveries are held as unknown", 0, "migrate", "new-epoch", "--yes")
}

// A DSN with a slip in it: no command makes a file or a folder that nobody asked for.
func TestAMistypedDSNMakesNothing(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"serve", "--addr", "127.0.0.1:0"}, {"migrate"}, {"migrate", "status"}, {"migrate", "new-epoch", "--yes"}, {"migrate", "down", "--yes"},
		{"migrate", "views", "--none"}, {"doctor"}, {"place"}, {"place", "switch", "b"}, {"events"}, {"verify"}, {"import", "lksms", "--from", "postgres://127.0.0.1:1/x"},
	} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := filepath.Join(dir, "folder", "posthuose.db")
			text, code := ran(t, nil, append(args, "--dsn", "sqlite:"+path)...)
			if code == 0 || !strings.Contains(text, path) {
				t.Errorf("got exit code %d and %q, want an error that names %s", code, text, path)
			}
			if made, err := os.ReadDir(dir); err != nil || len(made) > 0 {
				t.Errorf("%v was made (%v)", made, err)
			}
		})
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "folder", "posthouse.db")
	if text, code := ran(t, nil, "migrate", "--create", "--dsn", "sqlite:"+path); code != 0 {
		t.Errorf("with --create: exit code %d, %s", code, text)
	}
}

// The default file is made where the command is given.
func TestTheDefaultFileIsMadeHere(t *testing.T) {
	t.Chdir(t.TempDir())
	if text, code := ran(t, nil, "migrate"); code != 0 {
		t.Errorf("exit code %d, %s", code, text)
	}
	if _, err := os.Stat("posthouse.db"); err != nil {
		t.Error(err)
	}
}

func TestDoctorNamesWhatIsUnsafe(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	environ := []string{"POSTHOUSE_CREATE=true", "POSTHOUSE_DSN=sqlite:" + filepath.Join(dir, "posthouse.db")}
	type verdicts map[string]bool
	examined := func() (verdicts, int) {
		text, code := ran(t, environ, "doctor", "--json")
		var report struct {
			Healthy  bool
			Findings []struct {
				Check string
				OK    bool
			}
		}
		if err := json.Unmarshal([]byte(text), &report); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		if report.Healthy != (code == 0) {
			t.Errorf("healthy is %v and the exit code %d", report.Healthy, code)
		}
		out := verdicts{}
		for _, f := range report.Findings {
			out[f.Check] = f.OK
		}
		return out, code
	}
	expect := func(when string, want verdicts, wantCode int) {
		t.Helper()
		got, code := examined()
		if diff := cmp.Diff(want, got); diff != "" || code != wantCode {
			t.Errorf("%s: exit code %d, findings (-want +got):\n%s", when, code, diff)
		}
	}
	expect("no database", verdicts{"database": false}, 1)
	if _, err := os.Stat(filepath.Join(dir, "posthouse.db")); err == nil {
		t.Error("the doctor made a database")
	}
	if text, code := ran(t, environ, "migrate"); code != 0 {
		t.Fatal(text)
	}
	expect("no keyring", verdicts{"database": true, "database settings": true, "file": true, "schema": true, "clock": true, "processes": true, "keyring": false}, 1)
	keys := filepath.Join(dir, "posthouse.keys")
	if _, err := secret.Create(keys); err != nil {
		t.Fatal(err)
	}
	expect("all well", verdicts{"database": true, "database settings": true, "file": true, "schema": true, "clock": true, "processes": true, "keyring": true, "channels": true}, 0)
	if err := os.Chmod(keys, 0o644); err != nil {
		t.Fatal(err)
	}
	expect("a keyring others can read", verdicts{"database": true, "database settings": true, "file": true, "schema": true, "clock": true, "processes": true, "keyring": false}, 1)
}

// A restored copy is named before anybody starts a server on it.
func TestDoctorNamesADatabaseThatWentBack(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	dsn := "sqlite:" + filepath.Join(dir, "posthouse.db")
	environ := []string{"POSTHOUSE_DSN=" + dsn}
	s, err := store.Open(t.Context(), store.Options{DSN: dsn})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Schema.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	at, err := s.Tides.RaiseWatermark(t.Context(), time.Now(), schema.Watermark{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		seen time.Time
		want bool
	}{{at.At, false}, {at.At.Add(time.Hour), true}} {
		if err := os.WriteFile(schema.MarkFile(dir, at.History), []byte(schema.Moment(test.seen)+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if text, _ := ran(t, environ, "doctor"); strings.Contains(text, "migrate new-epoch") != test.want {
			t.Errorf("seen at %s, it is as of %s: %s", test.seen, at.At, text)
		}
	}
}

func TestKeyNewMakesAKeyThatServeTakes(t *testing.T) {
	t.Parallel()
	text, code := ran(t, nil, "key", "new")
	if _, _, ok := secret.ParseKey(strings.TrimSpace(text)); !ok || code != 0 {
		t.Errorf("got %q and exit code %d, want a key", text, code)
	}
}

// tap is an output that tells of each line as it is written.
type tap struct {
	mu    sync.Mutex
	text  bytes.Buffer
	lines chan string
}

func (w *tap) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text.Write(b)
	for {
		line, err := w.text.ReadString('\n')
		if err != nil {
			w.text.WriteString(line)
			return len(b), nil
		}
		w.lines <- line
	}
}

// untilURL runs a command that stays, until it has printed as JSON where it listens.
func untilURL(t *testing.T, o Options, args ...string) (announced map[string]any, stop func() int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	out := &tap{lines: make(chan string, 100)}
	sh := o.shell()
	sh.In, sh.Out, sh.Err, sh.Dir = strings.NewReader(""), out, new(bytes.Buffer), t.TempDir()
	code := make(chan int, 1)
	go func() { code <- run(ctx, sh, append(args, "--json")) }()
	var text string
	for json.Unmarshal([]byte(text), &announced) != nil {
		select {
		case line := <-out.lines:
			text += line
		case c := <-code:
			cancel()
			t.Fatalf("%v ended with exit code %d: %s", args, c, sh.Err)
		}
	}
	return announced, func() int {
		cancel()
		return <-code
	}
}

func TestServePrintsWhereItListensAndTheFirstKeyAndStopsWhenTold(t *testing.T) {
	t.Parallel()
	dsn := "sqlite:" + filepath.Join(t.TempDir(), "posthouse.db")
	said, stop := untilURL(t, Options{}, "serve", "--addr", "127.0.0.1:0", "--create", "--dsn", dsn)
	res, err := http.Get(said["url"].(string) + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusOK {
		t.Errorf("/healthz answers %d", res.StatusCode)
	}
	if _, _, ok := secret.ParseKey(said["first_key"].(string)); !ok {
		t.Errorf("got first key %q, want one", said["first_key"])
	}
	if got, code := ran(t, []string{"POSTHOUSE_API_KEY=" + said["first_key"].(string)}, "channel", "list", "--url", said["url"].(string)); code != 0 {
		t.Errorf("the first key does not open the API: %s", got)
	}
	if code := stop(); code != 0 {
		t.Errorf("serve ended with exit code %d", code)
	}
	said, stop = untilURL(t, Options{}, "serve", "--addr", "127.0.0.1:0", "--create", "--dsn", dsn)
	if said["first_key"] != "" {
		t.Errorf("the second start shows a key: %q", said["first_key"])
	}
	if code := stop(); code != 0 {
		t.Errorf("serve ended with exit code %d", code)
	}
}

func TestSimulateServesAndWritesItsJournal(t *testing.T) {
	t.Parallel()
	journal := filepath.Join(t.TempDir(), "arrivals.jsonl")
	said, stop := untilURL(t, Options{}, "simulate", "--addr", "127.0.0.1:0", "--journal", journal)
	res, err := http.Post(said["url"].(string)+"/generic/x", "application/json", strings.NewReader(`{"to": "li.na", "text": "hello"}`))
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if code := stop(); code != 0 {
		t.Errorf("simulate ended with exit code %d", code)
	}
	b, err := os.ReadFile(journal)
	if err != nil || !strings.Contains(string(b), "li.na") {
		t.Errorf("got journal %q and error %v, want the arrival", b, err)
	}
}

func TestServeHelp(t *testing.T) {
	t.Parallel()
	got, code := ran(t, nil, "serve", "--help")
	const golden = "testdata/serve-help.golden"
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" || code != 0 {
		t.Errorf("exit code %d, help (-want +got; go test -update writes it anew):\n%s", code, diff)
	}
}

// A command that only looks leaves a file of another program as it is: its journal mode stands in it.
func TestCommandsThatLookChangeNoFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "other.db")
	db, err := sql.Open("sqlite", path)
	if err == nil {
		_, err = db.ExecContext(t.Context(), "CREATE TABLE orders (id TEXT)")
	}
	if err == nil {
		err = db.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"migrate", "status"}, {"doctor"}} {
		text, code := ran(t, []string{"POSTHOUSE_CREATE=true", "POSTHOUSE_DSN=sqlite:" + path}, args...)
		after, err := os.ReadFile(path)
		files, listed := os.ReadDir(dir)
		if code != 1 || !strings.Contains(text, "version 0") || err != nil || listed != nil || !bytes.Equal(before, after) || len(files) != 1 {
			t.Errorf("%v ends with %d, %v, %v: the file is the same: %v, files %v\n%s", args, code, err, listed, bytes.Equal(before, after), files, text)
		}
	}
}

// A channel that is paused or parked is no fault, and the doctor does not call it open.
func TestDoctorCountsChannelsByWhetherTheySend(t *testing.T) {
	t.Parallel()
	dsn := "sqlite:" + filepath.Join(t.TempDir(), "posthouse.db")
	environ := []string{"POSTHOUSE_CREATE=true", "POSTHOUSE_DSN=" + dsn}
	if text, code := ran(t, environ, "migrate"); code != 0 {
		t.Fatal(text)
	}
	if _, err := secret.Create(strings.TrimSuffix(strings.TrimPrefix(dsn, "sqlite:"), "posthouse.db") + "posthouse.keys"); err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(t.Context(), store.Options{DSN: dsn})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	say := func(want string) {
		t.Helper()
		if text, _ := ran(t, environ, "doctor"); !strings.Contains(text, want) {
			t.Errorf("the doctor says %s, want %s", text, want)
		}
	}
	now := time.Now()
	for _, name := range []string{"a", "b", "c", "d"} {
		if _, _, err := s.Channels.PutChannel(t.Context(), now, posthouse.Channel{Tenant: posthouse.DefaultTenant, Name: name, Driver: "discard"}); err != nil {
			t.Fatal(err)
		}
	}
	say("4, all of them open")
	if err := s.Channels.PauseChannel(t.Context(), now, posthouse.DefaultTenant, "b", true, "for the night", time.Time{}); err != nil {
		t.Fatal(err)
	}
	if err := s.Gates.SetGate(t.Context(), now, work.Gate{Tenant: posthouse.DefaultTenant, Channel: "c", Class: posthouse.ClassAccount, Code: "40014"}, time.Hour); err != nil {
		t.Fatal(err)
	}
	say("4: 2 open, 1 paused, 1 parked, 0 broken")
	text, _ := ran(t, append(environ, "LANG=zh_CN.UTF-8"), "doctor")
	for _, want := range []string{"4 个：2 个正常，1 个已暂停，1 个平台暂拒，0 个无法打开", "文件  "} {
		if !strings.Contains(text, want) {
			t.Errorf("the doctor says %s, want %s", text, want)
		}
	}
}
