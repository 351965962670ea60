package proxy

import (
	"database/sql"
	"encoding/binary"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/posthouse/posthouse/internal/dbtest"
)

func TestReadKnowsWhatAStatementDoes(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]statement{
		"commit": commits, "COMMIT": commits, " Commit ;\n": commits, "COMMIT WORK": commits, "end transaction": commits,
		"INSERT INTO a VALUES (1); COMMIT": commits, "": other, ";": other, "committed": other, "rollback": undoes,
		"COMMIT PREPARED 'x'": other, "COMMIT; SELECT 1": other, "SELECT 'commit'": other, "BEGIN": begins, "START TRANSACTION": begins,
		"UPDATE a SET b = 1": writes, "WITH a AS (SELECT 1) SELECT * FROM a FOR UPDATE": other,
		"WITH a AS (UPDATE b SET c = 1 RETURNING c) SELECT * FROM a": writes, "WITH a AS ( DELETE FROM b RETURNING c) SELECT 1": writes,
	} {
		if got := read(query); got != want {
			t.Errorf("read(%q) = %v, want %v", query, got, want)
		}
	}
}

// pg is a message of PostgreSQL; a kind of 0 is a start-up message.
func pg(kind byte, body ...string) string {
	b := strings.Join(body, "\x00")
	out := string(binary.BigEndian.AppendUint32(nil, uint32(len(b)+4))) + b
	if kind != 0 {
		out = string(kind) + out
	}
	return out
}

// my is a packet of MySQL.
func my(sequence byte, body string) string {
	n := len(body)
	return string([]byte{byte(n), byte(n >> 8), byte(n >> 16), sequence}) + body
}

func TestWatchersCountCommitsHoweverTheStreamIsCut(t *testing.T) {
	t.Parallel()
	version := string([]byte{0, 3, 0, 0})
	hello := pg(0, version+"user", "posthouse", "", "")
	ssl := pg(0, string(binary.BigEndian.AppendUint32(nil, sslRequest)))
	cases := []struct {
		name     string
		protocol Protocol
		stream   string
		want     int
	}{
		{"a simple commit", Postgres, hello + pg('Q', "begin", "") + pg('Q', "commit", ""), 1},
		{"after a request for TLS that was refused", Postgres, ssl + hello + pg('Q', "COMMIT;", ""), 1},
		{"no commit", Postgres, hello + pg('Q', "begin", "") + pg('Q', "rollback", ""), 0},
		{"extended, by name", Postgres, hello + pg('P', "s1", "commit", "\x00") + pg('P', "s2", "select 1", "\x00") +
			pg('B', "", "s1", "") + pg('E', "", "\x00\x00\x00\x00") + pg('S') + pg('B', "", "s2", "") + pg('E', "", "\x00\x00\x00\x00") + pg('S'), 1},
		{"extended, without names, twice", Postgres, hello + pg('P', "", "commit", "\x00") + pg('B', "", "", "") + pg('E', "", "") + pg('S') +
			pg('P', "", "select 1", "\x00") + pg('B', "", "", "") + pg('E', "", "") + pg('S') + pg('P', "", "commit", "\x00") + pg('B', "", "", "") + pg('E', "", ""), 2},
		{"a write by itself", Postgres, hello + pg('Q', "insert into t values (1)", "") + pg('Q', "select 1", ""), 1},
		{"writes in a transaction", Postgres, hello + pg('Q', "begin", "") + pg('Q', "insert into t values (1)", "") + pg('P', "", "update t set a = 1", "\x00") +
			pg('B', "", "", "") + pg('E', "", "") + pg('S') + pg('Q', "commit", ""), 1},
		{"extended, a write by itself", Postgres, hello + pg('P', "w", "update t set a = 1", "\x00") + pg('S') + pg('B', "", "w", "") + pg('E', "", "") + pg('S') + pg('S'), 1},
		{"a long query that holds the word", Postgres, hello + pg('Q', "select '"+strings.Repeat("; commit", 200)+"'", ""), 0},
		{"a simple commit", MySQL, my(1, "\x85\xa2 log-in") + my(0, "\x03START TRANSACTION") + my(0, "\x03COMMIT"), 1},
		{"a log-in that looks like one", MySQL, my(1, "\x03COMMIT"), 0},
		{"another command", MySQL, my(0, "\x0e") + my(0, "\x02COMMIT") + my(0, ""), 0},
		{"a long query that ends like one", MySQL, my(0, "\x03INSERT INTO t VALUES ('"+strings.Repeat("x", 40)+"; COMMIT"+strings.Repeat("y", 1<<17)), 0},
		{"a protocol we do not speak", Opaque, pg('Q', "commit", ""), 0},
	}
	for _, c := range cases {
		t.Run(fmt.Sprint(c.protocol, " ", c.name), func(t *testing.T) {
			t.Parallel()
			for _, size := range []int{1, 2, 3, 5, 7, 64, 1 << 20} {
				w, got := c.protocol.watcher(), 0
				for rest := []byte(c.stream); len(rest) > 0; {
					n := min(size, len(rest))
					got += w.commits(rest[:n])
					rest = rest[n:]
				}
				if got != c.want {
					t.Errorf("in pieces of %d: %d commits, want %d", size, got, c.want)
				}
			}
		})
	}
}

func TestStrikesComeInNumbersAndShares(t *testing.T) {
	t.Parallel()
	p := newProxy(Options{Seed: 3})
	p.Set(Faults{AnswerLost: Strike{Next: 2}, CommitLost: Strike{Next: 1}})
	var got []verdict
	for range 5 {
		got = append(got, p.judge(1))
	}
	if want := []verdict{answerLost, answerLost, commitLost, spared, spared}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("verdicts %v, want %v", got, want)
	}
	p.Set(Faults{AnswerLost: Strike{Share: 0.25}})
	for range 4000 {
		p.judge(1)
	}
	if s := p.Stats(); s.AnswersLost < 900 || s.AnswersLost > 1100 || s.Commits != 4005 {
		t.Errorf("a quarter of 4000 commits: %+v", s)
	}
}

// TestAnAmbiguousCommitWithRealDatabases strikes commits of real drivers and servers: both kinds
// are an error to the client, and only the first one is stored.
func TestAnAmbiguousCommitWithRealDatabases(t *testing.T) {
	t.Parallel()
	databases := []struct {
		protocol Protocol
		driver   string
		dsn      func(testing.TB) string
		source   func(*url.URL) string
	}{
		{Postgres, "pgx", dbtest.Postgres, func(u *url.URL) string { return u.String() }},
		{MySQL, "mysql", dbtest.MariaDB, func(u *url.URL) string { return fmt.Sprintf("%s@tcp(%s)%s", u.User, u.Host, u.Path) }},
	}
	for _, d := range databases {
		t.Run(string(d.protocol), func(t *testing.T) {
			t.Parallel()
			u, err := url.Parse(d.dsn(t))
			if err != nil {
				t.Fatal(err)
			}
			p := start(t, Options{Target: u.Host, Protocol: d.protocol})
			u.Host = p.Addr()
			db, err := sql.Open(d.driver, d.source(u))
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			if _, err := db.ExecContext(t.Context(), "CREATE TABLE t (id INT PRIMARY KEY)"); err != nil {
				t.Fatal(err)
			}
			p.Set(Faults{AnswerLost: Strike{Next: 1}, CommitLost: Strike{Next: 1}})
			for id, struck := range []bool{true, true, false} {
				if err := insert(t, db, id); (err != nil) != struck {
					t.Errorf("commit %d: %v, want an error: %v", id, err, struck)
				}
			}
			wantStored(t, db, "0 2")
			if s := p.Stats(); s.AnswersLost != 1 || s.CommitsLost != 1 || s.Commits != 3 {
				t.Errorf("stats %+v, want 3 commits, of which one answer and one commit lost", s)
			}
		})
	}
}

func insert(t *testing.T, db *sql.DB, id int) error {
	t.Helper()
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(t.Context(), fmt.Sprintf("INSERT INTO t VALUES (%d)", id)); err != nil {
		t.Fatal(err)
	}
	return tx.Commit()
}

func wantStored(t *testing.T, db *sql.DB, want string) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), "SELECT id FROM t ORDER BY id")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var got []string
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			t.Fatal(err)
		}
		got = append(got, id)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	if strings.Join(got, " ") != want {
		t.Errorf("stored %v, want %s", got, want)
	}
}

// TestAWriteByItselfIsACommitOfPostgres strikes statements that run outside of a transaction.
func TestAWriteByItselfIsACommitOfPostgres(t *testing.T) {
	t.Parallel()
	u, err := url.Parse(dbtest.Postgres(t))
	if err != nil {
		t.Fatal(err)
	}
	p := start(t, Options{Target: u.Host, Protocol: Postgres})
	u.Host = p.Addr()
	db, err := sql.Open("pgx", u.String())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), "CREATE TABLE t (id INT PRIMARY KEY, text TEXT)"); err != nil {
		t.Fatal(err)
	}
	p.Set(Faults{AnswerLost: Strike{Next: 1}, CommitLost: Strike{Next: 1}})
	for id, struck := range []bool{true, true, false} {
		// The answer is longer than what the server keeps back until it has committed.
		var text string
		err := db.QueryRowContext(t.Context(), "INSERT INTO t VALUES ($1, repeat('x', 100000)) RETURNING text", id).Scan(&text)
		if (err != nil) != struck {
			t.Errorf("write %d: %v, want an error: %v", id, err, struck)
		}
	}
	wantStored(t, db, "0 2")
}
