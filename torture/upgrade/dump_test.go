package upgrade

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/torture/internal/house"
)

// dump writes all of a database, on which nobody works, into a folder.
func dump(t *testing.T, db house.Database, dsn, folder string) {
	t.Helper()
	var text []byte
	switch db {
	case house.SQLite:
		path := filepath.Join(t.TempDir(), "copy.db")
		if _, err := dbtest.SQL(t, dsn).ExecContext(t.Context(), "VACUUM INTO '"+path+"'"); err != nil {
			t.Fatal(err)
		}
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		text = whole
	case house.Postgres:
		text = runs(t, nil, tool(t, dbtest.PostgresTool, "pg_dump"), "--no-owner", "--no-privileges", dsn)
	case house.MariaDB:
		settings, name := settingsOf(t, dsn)
		text = runs(t, nil, tool(t, dbtest.MariaDBTool, "mariadb-dump"), "--defaults-file="+settings, "--single-transaction", "--hex-blob", "--skip-dump-date", name)
		text = bytes.ReplaceAll(text, []byte("`"+name+"`."), nil) // it stands in the views, and is another where this is restored
	}
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err == nil {
		_, err = w.Write(text)
	}
	if err == nil {
		err = w.Close()
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, "database.gz"), packed.Bytes(), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// restored is a database of what dump wrote.
func restored(t *testing.T, db house.Database, folder string) (dsn string) {
	t.Helper()
	f, err := os.Open(filepath.Join(folder, "database.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	dsn = db.DSN(t)
	switch db {
	case house.SQLite:
		if err := os.WriteFile(strings.TrimPrefix(dsn, "sqlite:"), text, 0o600); err != nil {
			t.Fatal(err)
		}
	case house.Postgres:
		runs(t, text, tool(t, dbtest.PostgresTool, "psql"), "-1", "-q", "-v", "ON_ERROR_STOP=1", dsn)
	case house.MariaDB:
		settings, name := settingsOf(t, dsn)
		runs(t, text, tool(t, dbtest.MariaDBTool, "mariadb"), "--defaults-file="+settings, name)
	}
	return dsn
}

func tool(t *testing.T, find func(string) (string, error), name string) string {
	t.Helper()
	path, err := find(name)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func runs(t *testing.T, in []byte, name string, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	var said bytes.Buffer
	cmd.Stdin, cmd.Stderr = bytes.NewReader(in), &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", filepath.Base(name), err, said.String())
	}
	return out
}

// settingsOf is a file with what MariaDB's programs need to reach a database, and the database's name.
func settingsOf(t *testing.T, dsn string) (file, name string) {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	password, _ := u.User.Password()
	file = filepath.Join(t.TempDir(), "my.cnf")
	text := fmt.Sprintf("[client]\nhost=%s\nport=%s\nuser=%s\npassword=%s\n", u.Hostname(), u.Port(), u.User.Username(), password)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file, strings.Trim(u.Path, "/")
}
