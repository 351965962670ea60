package console_test

import (
	"bytes"
	"database/sql"
	"encoding/csv"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/console"
	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/server"
)

// statements are those that a PostgreSQL server was asked to execute, as its log has them.
type statements struct {
	testing.TB
	dsn  string
	db   *sql.DB
	file string
	from int // how far the log was read
}

// logged is a server that logs every statement with its parameters.
func logged(t *testing.T) *statements {
	server := dbtest.Own(t, dbtest.Options{Kind: dbtest.KindPostgres, Args: []string{
		"-c", "log_statement=all", "-c", "logging_collector=on", "-c", "log_destination=csvlog", "-c", "log_filename=all.log", "-c", "log_rotation_size=0", "-c", "log_rotation_age=0",
	}})
	dsn, _, err := server.Database()
	if err != nil {
		t.Fatal(err)
	}
	s := &statements{TB: t, dsn: dsn}
	if s.db, err = sql.Open("pgx", dsn); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.db.Close() })
	if err := s.db.QueryRowContext(t.Context(), "SHOW data_directory").Scan(&s.file); err != nil {
		t.Fatal(err)
	}
	s.file = filepath.Join(s.file, "log", "all.csv")
	return s
}

// prepared is what the driver calls a statement, which says nothing.
var prepared = regexp.MustCompile(`^execute [^:]*: `)

// about are the statements since it was last called whose parameters hold a text, but not another one: the program looks after what
// is its own meanwhile.
func (s *statements) about(text, not string) (list []string) {
	s.Helper()
	mark := posthouse.NewID()
	if _, err := s.db.ExecContext(s.Context(), "SELECT '"+mark+"'"); err != nil {
		s.Fatal(err)
	}
	for s.Context().Err() == nil { // the log comes after what it tells of
		all, err := os.ReadFile(s.file)
		if err != nil {
			s.Fatal(err)
		}
		list = nil
		rows := csv.NewReader(bytes.NewReader(all[s.from : bytes.LastIndexByte(all, '\n')+1]))
		for row, err := rows.Read(); err == nil; row, err = rows.Read() { // a line that is half written is read anew
			const message, detail = 13, 14 // columns of the server's log
			if strings.Contains(row[message], mark) {
				s.from += int(rows.InputOffset())
				return list
			}
			if strings.Contains(row[detail], "'"+text+"'") && !strings.Contains(row[detail], "'"+not+"'") {
				list = append(list, prepared.ReplaceAllString(row[message], ""))
			}
		}
	}
	s.Fatal("the log does not come")
	return nil
}

// A thing of another tenant and one that is not there are looked for by the same statements, in the same order, and answered by the
// same page: neither what is said nor how long it takes tells one from the other.
func TestAnotherTenantsThingsAreLookedForLikeThoseThatAreNotThere(t *testing.T) {
	t.Parallel()
	log := logged(t)
	h := open(t, false, func(o *server.Options) { o.DSN = log.dsn })
	id := h.waiting("hello")
	h.api("POST", "/v1/campaigns", `{"name":"spring","channel":"later","content":{"text":"x"}}`, nil)
	h.api("PUT", "/v1/rosters/night", `{"days":{"1":["u1"]}}`, nil)
	h.api("PUT", "/v1/templates/duty", `{"text":"Duty: ${name}"}`, nil)
	h.phone("phone-1")
	things := map[string]string{"deliveries": id, "messages": posthouse.MessageID(id), "channels": "later", "campaigns": "spring", "rosters": "night", "templates": "duty", "phones": "phone-1"}
	seen := 0
	ask := func(method, path string) reply {
		var form url.Values
		if method == http.MethodPost {
			form = url.Values{"state": {"pending"}, "reason": {"r"}, "outcome": {"sent"}, "to": {"u"}, "text": {"x"}, "do": {"date"}, "date": {"2099-01-01"}, "users": {"u"}, "step": {"store"}}
		}
		return h.ask("other", "/console/t/other/"+path, form)
	}
	for _, a := range console.Addresses() {
		folder, _, _ := strings.Cut(a[1], "/")
		theirs := things[folder]
		if theirs == "" || !strings.Contains(a[1], "{") {
			continue
		}
		none := "0" + theirs[1:]
		var answers [2]reply
		var asked [2][]string
		for i, thing := range []string{theirs, none} {
			log.about("", "")
			answers[i] = ask(a[0], strings.NewReplacer("{id}", thing, "{name}", thing).Replace(a[1]))
			answers[i].body = strings.ReplaceAll(answers[i].body, thing, "THING")
			asked[i] = log.about(thing, posthouse.DefaultTenant)
		}
		if answers[0].status != answers[1].status || clicks.ReplaceAllString(answers[0].body, "") != clicks.ReplaceAllString(answers[1].body, "") {
			t.Errorf("%s %s answers %d for another tenant's and %d for none:\n%s\n%s", a[0], a[1], answers[0].status, answers[1].status, answers[0].body, answers[1].body)
		}
		if !slices.Equal(asked[0], asked[1]) {
			t.Errorf("%s %s: for another tenant's\n%s\nfor none\n%s", a[0], a[1], strings.Join(asked[0], "\n"), strings.Join(asked[1], "\n"))
		}
		if answers[0].status == http.StatusNotFound {
			seen += len(asked[0])
		}
	}
	if seen < 30 {
		t.Errorf("only %d statements were seen", seen)
	}
}

// clicks are what tells one drawing of a form from another.
var clicks = regexp.MustCompile(`name="(click|once)" value="[^"]*"`)

// No filter, cursor or search leads from one tenant to what another has.
func TestNoFilterLeadsToAnotherTenant(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	ids := []string{h.waiting("secret-of-ours"), h.waiting("secret-of-ours")}
	h.api("POST", "/v1/campaigns", `{"name":"spring-of-ours","channel":"later","content":{"text":"secret-of-ours"}}`, nil)
	h.api("POST", "/v1/campaigns", `{"name":"summer-of-ours","channel":"later","content":{"text":"x"}}`, nil)
	h.api("PUT", "/v1/rosters/night-of-ours", `{"days":{"1":["u1"]}}`, nil)
	h.api("PUT", "/v1/users", `{"users":[{"id":"u1","name":"secret-of-ours","addresses":{"later":"address-of-ours"}},{"id":"u2-of-ours"}]}`, nil)
	h.phone("phone-1-of-ours")
	h.phone("phone-2-of-ours")
	cursors := []string{ids[0], posthouse.MessageID(ids[0]), "spring-of-ours"}
	for _, list := range []string{"deliveries", "messages", "campaigns", "users", "agents", "audit", "channels"} {
		var page struct{ Next string }
		h.api("GET", "/v1/"+list+"?limit=1", "", &page)
		if page.Next == "" {
			t.Errorf("the list of %s has one page", list)
		}
		cursors = append(cursors, page.Next)
	}
	shows := func(path string) {
		t.Helper()
		got := h.ask("other", "/console/t/other/"+path, nil)
		asked, _ := url.QueryUnescape(path)
		for _, ours := range append([]string{"of-ours", `href="/console/t/default`}, ids...) {
			if strings.Contains(got.body, ours) && !strings.Contains(asked, ours) {
				t.Errorf("%s shows %q:\n%s", path, ours, got.body)
			}
		}
		if got.status >= http.StatusInternalServerError {
			t.Errorf("%s: %d", path, got.status)
		}
	}
	for _, a := range console.Addresses() {
		if a[0] != http.MethodGet || strings.Contains(a[1], "{") && a[1] != "{$}" {
			continue
		}
		page := strings.TrimSuffix(a[1], "{$}")
		shows(page)
		for _, cursor := range cursors {
			shows(page + "?" + url.Values{"cursor": {cursor}}.Encode())
			shows(page + "?" + url.Values{"cursor": {cursor}, "state": {"pending"}, "channel": {"later"}, "q": {"u1"}}.Encode())
		}
		for _, filter := range []string{"q", "user", "address", "ref", "channel", "campaign", "account", "reason", "kind", "state", "lacks", "find", "key", "action", "target", "template", "roster"} {
			for _, value := range []string{"u1", "later", "4711", "pending", "unknown", "leave/4711", ids[0], posthouse.MessageID(ids[0]), "*", "person:admin"} {
				shows(page + "?" + url.Values{filter: {value}}.Encode())
			}
		}
	}
}
