package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/server"
	"github.com/posthouse/posthouse/wire"
)

// withCRM starts a house on each database, which reads people from the same one under the name crm.
func withCRM(t *testing.T, test func(h *house)) {
	t.Parallel()
	for _, d := range databases {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			dsn := d.dsn(t)
			h := open(t, dsn, func(o *server.Options) {
				o.Databases = map[string]string{"default/crm": dbtest.ForOthers(dsn), "acme/crm": "sqlite:" + t.TempDir() + "/of-acme.db"}
			})
			h.mp("mp", nil)
			test(h)
		})
	}
}

func (h *house) run(statement string, args ...any) {
	h.Helper()
	if _, err := h.db.ExecContext(h.Context(), statement, args...); err != nil {
		h.Fatalf("%s: %v", statement, err)
	}
}

// fans are a table of people: some stand there twice, one has no name, one no address that WeChat has.
func (h *house) fans(n int) {
	h.Helper()
	h.run("CREATE TABLE fans (id INTEGER PRIMARY KEY, openid VARCHAR(64), name VARCHAR(100), points INTEGER, share NUMERIC(5,2), seen TIMESTAMP NULL)")
	for i := range n {
		h.run(fmt.Sprintf("INSERT INTO fans VALUES (%d, 'o%d', '李\"娜'', %d', %d, 1.50, '2026-11-25 08:30:00')", i, i, i, 10*i))
	}
	h.run("INSERT INTO fans VALUES (1000, 'o1', 'again', 1, 2, NULL), (1001, 'o1001', NULL, NULL, NULL, NULL), (1002, 'no openid', 'x', 1, 1, NULL), (1003, NULL, 'x', 1, 1, NULL)")
}

// CAMP-9: people are read from another program's database: each row once, NULL as a variable that is missing, and what is no address
// with its number. A query may only read, and belongs to the tenant whose database it is.
func TestCAMP9_PeopleAreReadFromADatabase(t *testing.T) {
	withCRM(t, func(h *house) {
		h.fans(40)
		folder := h.TempDir()
		_, err := h.api.Campaigns.Create(h.Context(), wire.CampaignDraft{Name: "spring", Channel: "mp", Content: &posthouse.Content{Text: "hello"}})
		h.must(err)
		refused := func(q wire.PeopleQuery, want string) {
			h.Helper()
			_, err := h.api.Campaigns.Query(h.Context(), "spring", q)
			if err == nil || !strings.Contains(err.Error(), want) {
				h.Errorf("%+v: %v; want %q", q, err, want)
			}
		}
		refused(wire.PeopleQuery{}, "query: is required")
		refused(wire.PeopleQuery{Database: "hr", Query: "SELECT 1"}, `there is no database "hr": the server's setting databases names crm`)
		refused(wire.PeopleQuery{Database: "crm", Query: "SELECT openid FROM nobody"}, "query: ")
		refused(wire.PeopleQuery{Database: "crm", Query: "SELECT id, name FROM fans"}, "which column has the address?")
		refused(wire.PeopleQuery{Database: "crm", Query: "SELECT openid, name, name FROM fans"}, "stands twice")
		refused(wire.PeopleQuery{Database: "crm", Query: "SELECT openid FROM fans WHERE id < 0"}, "gives no rows")
		for _, writes := range []string{
			"DELETE FROM fans", "INSERT INTO fans (id, openid) VALUES (2000, 'o2000')", "DROP TABLE fans", "SELECT openid FROM fans; DELETE FROM fans", "DELETE FROM fans; SELECT openid FROM fans",
			"UPDATE fans SET name = 'x'", "CREATE TABLE more (id INTEGER)", "SELECT 1; ATTACH DATABASE '" + filepath.Join(folder, "new.db") + "' AS n", "SELECT 1; VACUUM INTO '" + filepath.Join(folder, "copy.db") + "'",
			"SELECT 1 AS openid; COMMIT; DELETE FROM fans", "SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE", "COPY fans TO '" + filepath.Join(folder, "copy.txt") + "'", "PRAGMA query_only = 0",
		} {
			refused(wire.PeopleQuery{Database: "crm", Query: writes}, "query: ")
		}
		if n := h.count("fans"); n != 44 {
			h.Fatalf("a query has changed the database: it has %d rows", n)
		}
		if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
			h.Errorf("queries have made %v, %v", left, err)
		}
		if got, err := h.api.Campaigns.Get(h.Context(), "spring"); err != nil || got.State != posthouse.CampaignDraft || got.People.Offset != 0 {
			h.Errorf("after queries that were refused: %+v, %v", got, err)
		}
		a, err := h.api.Campaigns.Query(h.Context(), "spring", wire.PeopleQuery{Database: "crm", Query: "SELECT openid, name, points, share, seen FROM fans ORDER BY id"})
		h.must(err)
		if a.State != posthouse.AudienceReady || a.Members != 41 || a.Repeated != 1 || a.Refused != 2 || a.Fields["name"] != 41 || a.Fields["seen"] != 40 {
			h.Errorf("the audience is %+v", a)
		}
		m, err := h.api.Campaigns.Who(h.Context(), "spring", "o7")
		h.must(err)
		var got map[string]string
		h.must(json.Unmarshal(m.Variables, &got))
		got["share"] = strings.TrimSuffix(got["share"], "0") // SQLite keeps a number, not its form
		if diff := cmp.Diff(map[string]string{"name": `李"娜', 7`, "points": "70", "share": "1.5", "seen": "2026-11-25 08:30:00"}, got); diff != "" {
			h.Errorf("o7 has (-want +got):\n%s", diff)
		}
		var out strings.Builder
		h.must(h.api.Campaigns.Refused(h.Context(), &out, "spring", "csv"))
		if !strings.Contains(out.String(), "43,") || !strings.Contains(out.String(), "44,") {
			h.Errorf("refused are\n%s", out.String())
		}
	})
}

// A query shows whatever the database's user may read: it takes an admin's key, of the tenant whose database it is.
func TestAQueryForPeopleTakesAnAdmin(t *testing.T) {
	withCRM(t, func(h *house) {
		h.fans(1)
		_, err := h.api.Audiences.Create(h.Context(), wire.AudienceDraft{Name: "vip"})
		h.must(err)
		key, err := h.api.Keys.Create(h.Context(), wire.Key{Name: "sender", Scope: posthouse.ScopeSend})
		h.must(err)
		sender, err := client.New(client.Options{URL: h.url, Key: key.Secret})
		h.must(err)
		q := wire.PeopleQuery{Database: "crm", Query: "SELECT openid FROM fans ORDER BY id"}
		if _, err := sender.Audiences.Query(h.Context(), "vip", q); posthouse.CodeOf(err) != posthouse.CodeForbidden {
			h.Errorf("a key that sends makes a query: %v", err)
		}
		a, err := h.api.Audiences.Query(h.Context(), "vip", q)
		h.must(err)
		if a.Members != 3 { // o0, o1 and o1001: no channel says what an address is, but none has a space
			h.Errorf("the list is %+v", a)
		}
	})
}

// CAMP-9: everybody who follows a WeChat account is imported, page by page, with what is asked for once more where it was.
func TestCAMP9_FollowersAreImported(t *testing.T) {
	onEachDatabase(t, func(h *house) {
		h.mp("mp", map[string]any{"app_id": "wx-20007"})
		h.mp("alone", map[string]any{"app_id": "wx-0"})
		h.mp("wrong", map[string]any{"app_id": "wrong"})
		for _, name := range []string{"mp", "alone", "wrong"} {
			_, err := h.api.Campaigns.Create(h.Context(), wire.CampaignDraft{Name: name, Channel: name, Content: &posthouse.Content{Text: "hello"}})
			h.must(err)
		}
		ctx, stop := context.WithCancel(h.Context())
		stop()
		if _, err := h.api.Campaigns.Followers(ctx, "mp", wire.PeopleFollowing{}); err == nil {
			h.Error("who has left gets an answer")
		}
		for name, want := range map[string]string{"alone": "nobody follows the account", "wrong": "WeChat does not list the followers: 40013"} {
			if _, err := h.api.Campaigns.Followers(h.Context(), name, wire.PeopleFollowing{}); err == nil || !strings.Contains(err.Error(), want) {
				h.Errorf("%s: %v; want %q", name, err, want)
			}
		}
		if _, err := h.api.Campaigns.Followers(h.Context(), "mp", wire.PeopleFollowing{Account: "x"}); err == nil || !strings.Contains(err.Error(), "account: there is no account") {
			h.Errorf("an account that is not there: %v", err)
		}
		// The first ones came before: as if an import had been interrupted.
		a, err := h.api.Campaigns.Followers(h.Context(), "mp", wire.PeopleFollowing{})
		h.must(err)
		if a.State != posthouse.AudienceReady || a.Members != 20_007 || a.Repeated != 0 || a.Refused != 0 {
			h.Errorf("the audience is %+v", a)
		}
		m, err := h.api.Campaigns.Who(h.Context(), "mp", "o6_fan0020007")
		h.must(err)
		if m.Seq != 20_007 {
			h.Errorf("the last follower is %+v", m)
		}
	})
}
