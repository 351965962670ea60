package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/internal/store"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/server"
)

// copiedPage is what a list answers, with the header that says of when it is.
type copiedPage struct {
	asOf string
	ids  []string
	next string
}

// lists reads a page of messages, of nothing older than asOf where that is not empty.
func (h *house) lists(path, asOf string) copiedPage {
	h.Helper()
	req, err := http.NewRequestWithContext(h.Context(), http.MethodGet, h.url+path, nil)
	h.must(err)
	req.Header.Set("Authorization", "Bearer "+h.key)
	if asOf != "" {
		req.Header.Set("Posthouse-As-Of", asOf)
	}
	res, err := http.DefaultClient.Do(req)
	h.must(err)
	defer res.Body.Close()
	var page struct {
		Items []posthouse.Message
		Next  string
	}
	h.must(json.NewDecoder(res.Body).Decode(&page))
	if res.StatusCode != http.StatusOK {
		h.Fatalf("GET %s: %s", path, res.Status)
	}
	out := copiedPage{asOf: res.Header.Get("Posthouse-As-Of"), next: page.Next}
	for _, m := range page.Items {
		out.ids = append(out.ids, m.ID)
	}
	return out
}

// hands hands in a message and returns its id, and what the answer says of when it is.
func (h *house) hands(text string) (id, asOf string) {
	h.Helper()
	body := fmt.Sprintf(`{"channel":"copied","to":[{"address":"ops@example.com"}],"content":{"text":%q}}`, text)
	req, err := http.NewRequestWithContext(h.Context(), http.MethodPost, h.url+"/v1/messages", strings.NewReader(body))
	h.must(err)
	req.Header.Set("Authorization", "Bearer "+h.key)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	h.must(err)
	defer res.Body.Close()
	var out bytes.Buffer
	_, err = out.ReadFrom(res.Body)
	h.must(err)
	var sent struct{ ID string }
	if err := json.Unmarshal(out.Bytes(), &sent); err != nil || res.StatusCode != http.StatusAccepted || sent.ID == "" {
		h.Fatalf("POST /v1/messages: %s: %s", res.Status, out.String())
	}
	return sent.ID, res.Header.Get("Posthouse-As-Of")
}

// logged reports whether the log has a text.
func (h *house) logged(text string) bool { return strings.Contains(h.log.tail(2000), text) }

// A real standby of PostgreSQL, in whose place the primary answers where it must.
func TestListsAreReadFromAReplica(t *testing.T) {
	t.Parallel()
	primary := dbtest.Own(t, dbtest.Options{Kind: dbtest.KindPostgres})
	standby, err := primary.Standby(dbtest.StandbyOptions{Args: []string{"-c", "max_standby_streaming_delay=0"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := standby.Kill(); err != nil {
			t.Error(err)
		}
		if err := standby.Stop(); err != nil {
			t.Error(err)
		}
	})
	h := open(t, primary.DSN, func(o *server.Options) { o.ReadDSN = standby.DSN })
	_, err = h.program.PutChannel(t.Context(), "", posthouse.Channel{Name: "copied", Driver: "discard"})
	h.must(err)

	first, _ := h.hands("first")
	h.eventually("the replica lists the first message", func() bool {
		l := h.lists("/v1/messages", "")
		return l.asOf != "" && strings.Join(l.ids, " ") == first
	})

	// It stands still: what comes now it has not.
	h.must(standby.Do("SELECT pg_wal_replay_pause()"))
	h.eventually("it stands still", func() bool {
		state, err := standby.Ask("SELECT pg_get_wal_replay_pause_state()")
		return err == nil && state == "paused"
	})
	second, asOf := h.hands("second")
	if l := h.lists("/v1/messages", ""); strings.Join(l.ids, " ") != first {
		t.Errorf("a list from the replica has %q, want the first message alone", l.ids)
	}
	own := h.lists("/v1/messages", asOf)
	if strings.Join(own.ids, " ") != second+" "+first {
		t.Errorf("a list as of the own write has %q, want both messages", own.ids)
	}
	if turned := h.lists("/v1/messages?limit=1", asOf); turned.next == "" || len(turned.ids) != 1 {
		t.Errorf("a page of one: %+v", turned)
	} else if rest := h.lists("/v1/messages?limit=1&cursor="+turned.next, ""); strings.Join(rest.ids, " ") != first {
		t.Errorf("the page behind a message that the replica does not have is %q, want the first", rest.ids)
	}
	if status, m := h.call(http.MethodGet, "/v1/messages/"+second, "", ""); status != http.StatusOK {
		t.Errorf("the message that was just handed in: %d %v, want it as by the primary", status, m)
	}
	h.must(standby.Do("SELECT pg_wal_replay_resume()"))
	h.eventually("the replica has come as far", func() bool {
		return strings.Join(h.lists("/v1/messages", "").ids, " ") == second+" "+first
	})

	t.Run("a query that it cancels", func(t *testing.T) { cancelled(t, primary, standby) })
	t.Run("what is none", func(t *testing.T) { refused(t, primary, standby) })
	h.passive(standby, second)

	h.must(standby.Kill())
	third, _ := h.hands("third")
	h.eventually("the primary answers in its place", func() bool {
		return strings.Join(h.lists("/v1/messages", "").ids, " ") == third+" "+second+" "+first
	})
	h.eventually("the log says so", func() bool { return h.logged("the replica does not answer lists, the database does: it is away") })
	for _, c := range h.program.Readiness(t.Context()) {
		if c.Name == "read replica" && (c.OK || !c.Optional) {
			t.Errorf("readiness: %+v, want it away and optional", c)
		}
	}
}

// passive starts a server on the standby: it shows what there is, and waits for a promotion.
func (h *house) passive(standby *dbtest.Server, id string) {
	h.Helper()
	b := h.second("b", standby.DSN)
	if ready, is := b.stance(); ready != http.StatusServiceUnavailable || is.Active || is.Holder != nil {
		h.Errorf("a server on a standby: %d %+v", ready, is)
	}
	if m, err := b.api.Messages.Get(h.Context(), id); err != nil || m.ID != id {
		h.Errorf("a look at a standby: %+v, %v", m, err)
	}
	if _, err := b.api.Messages.Send(h.Context(), posted); posthouse.CodeOf(err) != posthouse.CodeUnavailable || !strings.Contains(err.Error(), "not ready yet") {
		h.Errorf("a message for a standby: %v", err)
	}
	h.must(b.stop(h.Context()))
}

// cancelled has the replica cancel a query, so that it can go on following. The primary answers it.
func cancelled(t *testing.T, primary, standby *dbtest.Server) {
	t.Helper()
	s, err := store.Open(t.Context(), store.Options{DSN: primary.DSN})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	r, err := s.OpenReplica(t.Context(), standby.DSN)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	done, end := context.WithCancel(t.Context())
	var locks sync.WaitGroup
	locks.Go(func() {
		for done.Err() == nil {
			if err := primary.Do("BEGIN; LOCK TABLE posthouse_meta IN ACCESS EXCLUSIVE MODE; COMMIT"); err != nil {
				t.Error(err)
				return
			}
		}
	})
	defer locks.Wait()
	defer end()
	list, err := sqldb.All(r.DB.Reads(t.Context()), sqldb.Word, "SELECT name || pg_sleep(CASE WHEN pg_is_in_recovery() THEN 30 ELSE 0 END)::text FROM posthouse_meta WHERE name = 'epoch'")
	if err != nil || len(list) != 1 {
		t.Errorf("%q, %v: want the answer of the primary", list, err)
	}
	if r.DB.FellBack().IsZero() {
		t.Error("the replica answered: it was to cancel the query")
	}
}

// refused has starts that name what is no replica of the database.
func refused(t *testing.T, primary, standby *dbtest.Server) {
	t.Helper()
	stranger := strings.Replace(standby.DSN, "/posthouse?", "/postgres?", 1)
	for name, c := range map[string]struct{ dsn, read, want string }{
		"the primary itself":   {primary.DSN, primary.DSN, "takes writes"},
		"another installation": {primary.DSN, stranger, "another installation"},
		"SQLite":               {dbtest.SQLite(t), "sqlite:copy.db", "SQLite has no replicas"},
		"another database":     {primary.DSN, "mysql://a:b@127.0.0.1/c", "of that very database"},
	} {
		s, err := server.New(t.Context(), server.Options{DSN: c.dsn, ReadDSN: c.read, NoListen: true, Keyring: keyring, StateDir: t.TempDir(), Announce: func(string) {}})
		if err == nil {
			err = errors.Join(errors.New("it starts"), s.Stop(t.Context()))
		}
		if !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want it to say %q", name, err, c.want)
		}
	}
}
