package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/internal/secret"
	"github.com/posthouse/posthouse/server"
)

// running is a server with a channel that sends nothing, as somebody has paused it: what is handed in is due and stays open.
type running struct {
	*client.Client
	url  string
	stop func()
}

func serveOn(t *testing.T, dsn, keys string) running {
	t.Helper()
	key := secret.FormatKey(secret.NewKey())
	s, err := server.New(t.Context(), server.Options{
		DSN: dsn, Addr: "127.0.0.1:0", AdminKey: key, AllowPrivate: true, KeyringFile: keys, CreateKeyring: true, StateDir: filepath.Dir(keys),
		Log: slog.New(slog.DiscardHandler), Output: io.Discard, Version: "test",
	})
	if err != nil {
		t.Fatal(err)
	}
	stopped := false
	stop := func() {
		if stopped {
			return
		}
		stopped = true
		if err := s.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Errorf("stop the server: %v", err)
		}
	}
	t.Cleanup(stop)
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(client.Options{URL: s.URL(), Key: key})
	if err != nil {
		t.Fatal(err)
	}
	return running{c, s.URL(), stop}
}

var notice = posthouse.Draft{Channel: "desk", To: []posthouse.Recipient{{User: "li.na"}}, Content: &posthouse.Content{Text: "今晚 18:00 起请值班"}}

func (r running) send(t *testing.T, n int) {
	t.Helper()
	for range n {
		if _, err := r.Messages.Send(t.Context(), notice); err != nil {
			t.Fatal(err)
		}
	}
}

func (r running) pausedDesk(t *testing.T) {
	t.Helper()
	if _, _, err := r.Channels.Put(t.Context(), posthouse.Channel{Name: "desk", Driver: "console"}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Channels.Pause(t.Context(), "desk", ""); err != nil {
		t.Fatal(err)
	}
}

// unknown counts what waits for a person, and that the server accepts.
func (r running) unknown(t *testing.T) int {
	t.Helper()
	r.send(t, 1)
	page, err := r.Deliveries.List(t.Context(), client.Filter{States: []posthouse.State{posthouse.Unknown}, Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	return len(page.Items)
}

// A backup that is made while a server accepts is whole, and a server goes on from it: what was due then waits for a person.
func TestABackupOfAnSQLiteFileAtWorkIsRestored(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	db, keys, backup := filepath.Join(dir, "posthouse.db"), filepath.Join(dir, "posthouse.keys"), filepath.Join(t.TempDir(), "first.db")
	dsn := []string{"POSTHOUSE_DSN=sqlite:" + db}
	s := serveOn(t, "sqlite:"+db, keys)
	s.pausedDesk(t)
	s.send(t, 5)
	expect := func(wantCode int, want string, args ...string) {
		t.Helper()
		if text, code := ran(t, dsn, args...); code != wantCode || !strings.Contains(text, want) {
			t.Errorf("%v: exit code %d and %q; want %d and %q", args, code, text, wantCode, want)
		}
	}
	var writes sync.WaitGroup
	ends, begun := make(chan struct{}), make(chan struct{})
	writes.Go(func() { // while the copy is made
		for i := 0; ; i++ {
			select {
			case <-ends:
				return
			default:
			}
			if _, err := s.Messages.Send(t.Context(), notice); err != nil {
				t.Error(err)
				return
			}
			if i == 0 {
				close(begun)
			}
		}
	})
	<-begun
	ty := newTypist(t, "/backup/posthouse.db", backup, "posthouse backup", "posthouse backup --dsn sqlite:"+db, "posthouse restore", "posthouse restore --dsn sqlite:"+db+" --json")
	if out := ty.types("posthouse backup"); !strings.Contains(out, "read back and found whole") {
		t.Error(out)
	}
	close(ends)
	writes.Wait()
	expect(2, "is already there", "backup", "--to", backup)
	expect(1, "a server works on the database", "restore", backup, "--replace")
	s.send(t, 3)
	s.stop()

	expect(1, "nothing was changed", "restore", backup)
	expect(1, "is no Posthouse database", "restore", notOurs(t), "--replace")
	expect(1, "there is no file", "restore", backup+".not", "--replace")
	if out := ty.types("posthouse restore"); !strings.Contains(out, `"epoch": 2`) {
		t.Error(out)
	}
	aside, err := filepath.Glob(db + ".before-*")
	if err != nil || len(aside) != 1 {
		t.Errorf("moved aside: %v, %v", aside, err)
	}
	expect(0, "whole", "doctor")
	expect(2, "Nothing is violated", "verify") // it proves little
	s = serveOn(t, "sqlite:"+db, keys)
	if n := s.unknown(t); n < 6 {
		t.Errorf("%d deliveries wait for a person, want those of the backup: 6 at least", n)
	}
	s.stop()
	left, err := filepath.Glob(filepath.Join(dir, ".*part*"))
	if err != nil || len(left) > 0 {
		t.Errorf("%v was left behind, %v", left, err)
	}
}

// A restore on a machine without any database makes one, and one that fails leaves no trace that would keep a server from beginning anew.
func TestARestoreWhereNothingStoodYet(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	keys, backup := filepath.Join(dir, "posthouse.keys"), filepath.Join(dir, "copy.db")
	s := serveOn(t, "sqlite:"+filepath.Join(dir, "old.db"), keys)
	s.pausedDesk(t)
	s.send(t, 2)
	if text, code := ran(t, []string{"POSTHOUSE_DSN=sqlite:" + filepath.Join(dir, "old.db")}, "backup", "--to", backup); code != 0 {
		t.Fatal(text)
	}
	s.stop()
	place := filepath.Join(t.TempDir(), "new.db")
	if text, code := ran(t, []string{"POSTHOUSE_DSN=sqlite:" + place}, "restore", notOurs(t)); code != 1 {
		t.Errorf("exit code %d: %s", code, text)
	}
	if left, err := os.ReadDir(filepath.Dir(place)); err != nil || len(left) > 0 {
		t.Errorf("%v was left behind, %v", left, err)
	}
	if text, code := ran(t, []string{"POSTHOUSE_DSN=sqlite:" + place}, "restore", backup); code != 0 || !strings.Contains(text, "2 deliveries are held") {
		t.Errorf("exit code %d: %s", code, text)
	}
	if n := serveOn(t, "sqlite:"+place, keys).unknown(t); n != 2 {
		t.Errorf("%d deliveries wait for a person, want 2", n)
	}
}

// notOurs is an SQLite file of somebody else's.
func notOurs(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "theirs.db")
	if _, err := dbtest.SQL(t, "sqlite:"+path).ExecContext(t.Context(), "CREATE TABLE theirs (id INTEGER)"); err != nil {
		t.Fatal(err)
	}
	return path
}

// What other databases have tools for is left to these.
func TestBackupAndRestoreAreForSQLite(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"backup", "--to", filepath.Join(t.TempDir(), "x")}, {"restore", "x"}} {
		if text, code := ran(t, []string{"POSTHOUSE_DSN=" + dbtest.Postgres(t)}, args...); code != 2 || !strings.Contains(text, "PostgreSQL") {
			t.Errorf("%v: exit code %d and %q", args, code, text)
		}
	}
}

// pages of the guide whose commands these tests type, each on servers of its own.
var pagesOfBackups = []string{"../docs/guide/backup-and-restore.md", "../docs/guide/backup-and-restore.zh-CN.md"}

const isOfBackups = "wants servers of its own: the tests of backups type it there"

// typist types blocks of the guide of backups, with other names in the place of the guide's.
type typist struct {
	*testing.T
	dir   string
	names *strings.Replacer
}

func newTypist(t *testing.T, names ...string) typist {
	t.Helper()
	ty := typist{t, t.TempDir(), strings.NewReplacer(names...)}
	self, err := os.Executable()
	if err == nil {
		err = os.Symlink(self, filepath.Join(ty.dir, "posthouse"))
	}
	if err != nil {
		t.Fatal(err)
	}
	return ty
}

// block is the one that begins so; it is the same in both languages.
func (t typist) block(begins string) string {
	t.Helper()
	var found []string
	for _, page := range pagesOfBackups {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range blocksOf(string(text)) {
			if strings.HasPrefix(b.text, begins) {
				found = append(found, b.text)
			}
		}
	}
	if len(found) != len(pagesOfBackups) || found[0] != found[1] {
		t.Fatalf("the pages have %q for %q, want one block each, and the same", found, begins)
	}
	return t.names.Replace(found[0])
}

func (t typist) types(begins string) string {
	t.Helper()
	out, err := t.typed(t.block(begins))
	if err != nil {
		t.Fatalf("%s: %v: %s", begins, err, out)
	}
	return out
}

func (t typist) typed(text string) (string, error) {
	tools := []string{t.dir}
	for _, of := range []struct {
		find func(string) (string, error)
		name string
	}{{dbtest.PostgresTool, "psql"}, {dbtest.MariaDBTool, "mariadb-dump"}} {
		path, err := of.find(of.name)
		if err != nil {
			t.Fatal(err)
		}
		tools = append(tools, filepath.Dir(path))
	}
	cmd := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", text)
	cmd.Dir = t.dir
	cmd.Env = append(os.Environ(), asCommand+"=1", "PATH="+strings.Join(tools, ":")+":"+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// goesOn expects of a restored database that two deliveries wait for a person, and that it is worked with.
func goesOn(t *testing.T, dsn, keys string) {
	t.Helper()
	s := serveOn(t, dsn, keys)
	if n := s.unknown(t); n != 2 {
		t.Errorf("%d deliveries wait for a person, want 2", n)
	}
	s.stop()
}

func TestADumpOfPostgreSQLIsRestoredAsTheGuideSays(t *testing.T) {
	t.Parallel()
	keys := filepath.Join(t.TempDir(), "posthouse.keys")
	old, fresh, half := dbtest.Postgres(t), dbtest.Postgres(t), dbtest.Postgres(t)
	s := serveOn(t, old, keys)
	s.pausedDesk(t)
	s.send(t, 2)
	ty := newTypist(t, "$DSN", old, "$EMPTY", fresh)
	ty.types("pg_dump")
	s.send(t, 1)
	s.stop()
	if out := ty.types("psql"); !strings.Contains(out, "2 deliveries are held as unknown") {
		t.Error(out)
	}
	goesOn(t, fresh, keys)

	// All rows and no key: what a dump that was cut off leaves where nobody stops at an error.
	dump, err := os.ReadFile(filepath.Join(ty.dir, "posthouse.sql"))
	if err != nil {
		t.Fatal(err)
	}
	begin, _, found := bytes.Cut(dump, []byte("\nALTER TABLE ONLY public.posthouse_accounts\n    ADD CONSTRAINT"))
	if err := os.WriteFile(filepath.Join(ty.dir, "half.sql"), begin, 0o600); err != nil || !found {
		t.Fatalf("the dump has no keys, %v", err)
	}
	if out, err := ty.typed("psql --quiet -f half.sql '" + half + "'"); err != nil {
		t.Fatal(out)
	}
	refused(t, half, "no primary key of posthouse_accounts")
}

func TestACopyOfAPostgreSQLServerIsStartedAsTheGuideSays(t *testing.T) {
	t.Parallel()
	from, to := filepath.Join(t.TempDir(), "server"), filepath.Join(t.TempDir(), "server")
	one := dbtest.Own(t, dbtest.Options{Kind: dbtest.KindPostgres, Dir: from})
	keys := filepath.Join(t.TempDir(), "posthouse.keys")
	s := serveOn(t, one.DSN, keys)
	s.pausedDesk(t)
	s.send(t, 2)
	newTypist(t, "$DSN", one.DSN, "/backup/base", filepath.Join(to, "data")).types("pg_basebackup")
	s.stop()
	likeTheOther(t, from, to)
	other := dbtest.Own(t, dbtest.Options{Kind: dbtest.KindPostgres, Dir: to})
	if text, code := ran(t, []string{"POSTHOUSE_DSN=" + other.DSN}, "migrate", "new-epoch", "--yes"); code != 0 || !strings.Contains(text, "2 deliveries are held as unknown") {
		t.Errorf("exit code %d: %s", code, text)
	}
	goesOn(t, other.DSN, keys)
}

// likeTheOther gives a server's files the owner that the other's have: a server does not run as root. The password is the same.
func likeTheOther(t *testing.T, from, to string) {
	t.Helper()
	info, err := os.Stat(filepath.Join(from, "data"))
	if err != nil {
		t.Fatal(err)
	}
	of := info.Sys().(*syscall.Stat_t)
	err = filepath.WalkDir(to, func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(path, int(of.Uid), int(of.Gid)))
	})
	password, e := os.ReadFile(filepath.Join(from, "password"))
	if err = errors.Join(err, e, os.WriteFile(filepath.Join(to, "password"), password, 0o600)); err != nil {
		t.Fatal(err)
	}
}

func TestADumpOfMariaDBIsRestoredAsTheGuideSays(t *testing.T) {
	t.Parallel()
	old, fresh, half := dbtest.MariaDB(t), dbtest.MariaDB(t), dbtest.MariaDB(t)
	keys := filepath.Join(t.TempDir(), "posthouse.keys")
	s := serveOn(t, old, keys)
	s.pausedDesk(t)
	s.send(t, 2)
	name := func(dsn string) string { return dsn[strings.LastIndexByte(dsn, '/')+1:] }
	ty := newTypist(t, "--single-transaction posthouse", "--single-transaction "+name(old), "posthouse_restored", name(fresh), "CREATE DATABASE", "CREATE DATABASE IF NOT EXISTS", "$EMPTY", fresh)
	u, err := url.Parse(old)
	if err != nil {
		t.Fatal(err)
	}
	password, _ := u.User.Password()
	settings := fmt.Sprintf("[client]\nhost=%s\nport=%s\nuser=%s\npassword=%s\n", u.Hostname(), u.Port(), u.User.Username(), password)
	if err := os.WriteFile(filepath.Join(ty.dir, "my.cnf"), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	ty.types("mariadb-dump")
	s.send(t, 1)
	s.stop()
	if out := ty.types("tail"); !strings.Contains(out, "2 deliveries are held as unknown") {
		t.Error(out)
	}
	goesOn(t, fresh, keys)

	dump, err := os.ReadFile(filepath.Join(ty.dir, "posthouse.sql"))
	if err != nil {
		t.Fatal(err)
	}
	begin, _, found := bytes.Cut(dump, []byte("DROP TABLE IF EXISTS `posthouse_users`"))
	if err := os.WriteFile(filepath.Join(ty.dir, "half.sql"), begin, 0o600); err != nil || !found {
		t.Fatalf("the dump has no such table, %v", err)
	}
	if out, err := ty.typed("mariadb --defaults-file=my.cnf " + name(half) + " < half.sql"); err != nil {
		t.Fatal(out)
	}
	refused(t, half, "no table posthouse_users")
}
