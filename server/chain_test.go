package server_test

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/chain"
	"github.com/posthouse/posthouse/internal/store"
	"github.com/posthouse/posthouse/internal/work"
)

// behindTheBack is what somebody can change of one message: clean, in rows of its own, or waiting. {M} is its id, {D} that of its
// first delivery.
var behindTheBack = []struct{ name, form, sql string }{
	{"the text of a clean one", "clean", "UPDATE posthouse_messages SET content = '{\"text\":\"other\"}' WHERE id = '{M}'"},
	{"the recipient of a clean one", "clean", "UPDATE posthouse_messages SET user_id = 'other' WHERE id = '{M}'"},
	{"the kind of a clean one", "clean", "UPDATE posthouse_messages SET kind = 'other' WHERE id = '{M}'"},
	{"the request of a clean one", "clean", "UPDATE posthouse_sent SET request = 'other' WHERE id = '{D}'"},
	{"the answer of a clean one", "clean", "UPDATE posthouse_sent SET response = 'other' WHERE id = '{D}'"},
	{"the ref of a clean one", "clean", "UPDATE posthouse_sent SET ref = 'other' WHERE id = '{D}'"},
	{"the time of a clean one", "clean", "UPDATE posthouse_sent SET at = at + 1 WHERE id = '{D}'"},
	{"all of a clean one", "clean", "DELETE FROM posthouse_sent WHERE id = '{D}'; DELETE FROM posthouse_messages WHERE id = '{M}'"},
	{"the text", "rows", "UPDATE posthouse_messages SET content = '{\"text\":\"other\"}' WHERE id = '{M}'"},
	{"the payload", "rows", "UPDATE posthouse_messages SET payload = '{}' WHERE id = '{M}'"},
	{"the deadline", "rows", "UPDATE posthouse_messages SET deadline = 4102444800000000 WHERE id = '{M}'"},
	{"the tenant", "rows", "UPDATE posthouse_messages SET tenant = 'other' WHERE id = '{M}'"},
	{"a recipient", "rows", "UPDATE posthouse_settled SET user_id = 'other' WHERE id = '{D}'"},
	{"an address", "rows", "UPDATE posthouse_settled SET address = 'other' WHERE id = '{D}'"},
	{"an idempotency key", "rows", "UPDATE posthouse_settled SET idem_key = 'other' WHERE id = '{D}'"},
	{"when it was made", "rows", "UPDATE posthouse_settled SET created_at = created_at - 1 WHERE id = '{D}'"},
	{"a delivery and its events", "rows", "DELETE FROM posthouse_transitions WHERE delivery = '{D}'; DELETE FROM posthouse_settled WHERE id = '{D}'"},
	{"the request of an event", "rows", "UPDATE posthouse_transitions SET request = 'other' WHERE delivery = '{D}' AND type = 'sent'"},
	{"the answer of an event", "rows", "UPDATE posthouse_transitions SET response = 'other' WHERE delivery = '{D}' AND type = 'sent'"},
	{"the class of an event", "rows", "UPDATE posthouse_transitions SET class = 'transient' WHERE delivery = '{D}' AND type = 'sent'"},
	{"the ref of an event", "rows", "UPDATE posthouse_transitions SET ref = 'other' WHERE delivery = '{D}' AND type = 'sent'"},
	{"the owner of an event", "rows", "UPDATE posthouse_transitions SET owner = 'other' WHERE delivery = '{D}' AND type = 'start'"},
	{"the time of an event", "rows", "UPDATE posthouse_transitions SET at = at - 1 WHERE delivery = '{D}' AND type = 'sent'"},
	{"the token of an event", "rows", "UPDATE posthouse_transitions SET token = token + 1 WHERE delivery = '{D}' AND type = 'sent'"},
	{"the epoch of an event", "rows", "UPDATE posthouse_transitions SET epoch = epoch + 1 WHERE delivery = '{D}' AND type = 'accept'"},
	{"one event", "rows", "DELETE FROM posthouse_transitions WHERE delivery = '{D}' AND type = 'sent'"},
	{"all of it", "rows", "DELETE FROM posthouse_transitions WHERE delivery LIKE '{S}%'; DELETE FROM posthouse_settled WHERE id LIKE '{S}%'; DELETE FROM posthouse_messages WHERE id = '{M}'"},
	{"the policy", "rows", "UPDATE posthouse_settled SET on_unknown = 'assume_sent' WHERE id = '{D}'"},
	{"when it was due", "rows", "UPDATE posthouse_settled SET due_at = due_at + 1 WHERE id = '{D}'"},
	{"what its key is told", "rows", "UPDATE posthouse_idempotency SET answer = '[]' WHERE owner = '{M}'"},
	{"when its key ends", "clean", "UPDATE posthouse_idempotency SET expires_at = 1 WHERE owner = '{M}'"},
	{"its key", "clean", "DELETE FROM posthouse_idempotency WHERE owner = '{M}'"},
	{"its dedup key", "clean", "DELETE FROM posthouse_dedup WHERE message_id = '{M}'"},
	{"when its dedup key ends", "rows", "UPDATE posthouse_dedup SET expires_at = expires_at + 1 WHERE message_id = '{M}'"},
	{"the text of one that waits", "waiting", "UPDATE posthouse_messages SET content = '{\"text\":\"other\"}' WHERE id = '{M}'"},
	{"the recipient of one that waits", "waiting", "UPDATE posthouse_queue SET user_id = 'other' WHERE id = '{D}'"},
	{"all of one that waits", "waiting", "DELETE FROM posthouse_transitions WHERE delivery LIKE '{S}%'; DELETE FROM posthouse_queue WHERE id LIKE '{S}%'; DELETE FROM posthouse_messages WHERE id = '{M}'"},
}

// forms are the messages that are changed.
var forms = map[string]posthouse.Draft{
	"clean":   {Channel: "out", To: []posthouse.Recipient{{User: "u1"}}, Content: &posthouse.Content{Text: "hello"}},
	"rows":    {Channel: "out", To: []posthouse.Recipient{{User: "u1"}, {User: "u2"}}, Content: &posthouse.Content{Text: "hello"}},
	"waiting": {Channel: "later", To: []posthouse.Recipient{{User: "u1"}, {User: "u2"}}, Content: &posthouse.Content{Text: "hello"}},
}

// Every change behind the program's back of what the chain has sealed is found, on each database, and at the message that it is of.
func TestTheHashChainFindsEveryChange(t *testing.T) {
	onEachDatabase(t, func(h *house) {
		h.put(posthouse.Channel{Name: "out", Driver: "discard"})
		h.put(posthouse.Channel{Name: "later", Driver: "discard"})
		_, err := h.api.Channels.Pause(h.Context(), "later", "for the test")
		h.must(err)
		ids := make([]string, len(behindTheBack)+1)
		open := 0
		for i := range ids {
			form := "rows" // one that nobody changes
			if i < len(behindTheBack) {
				form = behindTheBack[i].form
			}
			if form == "waiting" {
				open += 2
			}
			draft := forms[form]
			draft.DedupKey = fmt.Sprint(i)
			accepted, err := h.api.Messages.Send(h.Context(), draft)
			h.must(err)
			ids[i] = accepted.Accepted[0].ID
		}
		h.eventually("all is sent", func() bool {
			return h.number("SELECT COUNT(*) FROM posthouse_deliveries WHERE state <> 'sent'") == open
		})
		db, err := store.Open(h.Context(), store.Options{DSN: h.dsn, Log: slog.New(slog.DiscardHandler)})
		h.must(err)
		defer db.Close()
		sealer := chain.Sealer{Book: db.Chain, After: time.Millisecond, Keep: -1, Log: slog.New(slog.DiscardHandler)}
		h.must(sealer.Seal(h.Context(), time.Now().Add(time.Hour)))
		if found := h.changed(db, ""); len(found) != 0 {
			h.Fatalf("nothing was changed, and it finds %v", found)
		}
		for i, e := range behindTheBack {
			id := ids[i]
			text := strings.NewReplacer("{M}", id, "{D}", posthouse.DeliveryID(id, 1), "{S}", id[:22]).Replace(e.sql)
			for _, statement := range strings.Split(text, "; ") {
				result, err := h.db.ExecContext(h.Context(), statement)
				h.must(err)
				if n, _ := result.RowsAffected(); n == 0 {
					h.Errorf("%s: %s changed nothing", e.name, statement)
				}
			}
		}
		found := h.changed(db, "")
		for i, e := range behindTheBack {
			if found[ids[i]] == "" {
				h.Errorf("it does not find that somebody changed %s (%s)", e.name, ids[i])
			}
		}
		if len(found) != len(behindTheBack) {
			h.Errorf("%d changes were made, and it finds %v", len(behindTheBack), found)
		}
	})
}

// changed is what the chain finds, by what it is about.
func (h *house) changed(db *store.Store, head string) map[string]string {
	h.Helper()
	found := map[string]string{}
	_, err := chain.Check(h.Context(), db.Chain, time.Now().Add(time.Hour), head, func(f chain.Finding) error {
		if f.What != "" {
			found[f.Subject] = f.What
		}
		return nil
	})
	h.must(err)
	return found
}

// The chain itself cannot be changed or cut without that being seen, where its last link is kept elsewhere.
func TestTheHashChainFindsChangesOfItself(t *testing.T) {
	onEachDatabase(t, func(h *house) {
		h.put(posthouse.Channel{Name: "out", Driver: "discard"})
		db, err := store.Open(h.Context(), store.Options{DSN: h.dsn, Log: slog.New(slog.DiscardHandler)})
		h.must(err)
		defer db.Close()
		sealer := chain.Sealer{Book: db.Chain, After: 24 * time.Hour, Keep: -1, Log: slog.New(slog.DiscardHandler)} // the first pass alone
		for i := range 4 {
			_, err := h.api.Messages.Send(h.Context(), forms["clean"])
			h.must(err)
			h.eventually("it is sent", func() bool { return h.number("SELECT COUNT(*) FROM posthouse_sent") == i+1 })
			h.must(sealer.Seal(h.Context(), time.Now().Add(25*time.Hour)))
		}
		last, _, err := db.Chain.LastCheckpoint(h.Context(), chain.AnyPass)
		h.must(err)
		if last.Seq != 4 {
			h.Fatalf("the last link is %+v, want the fourth", last)
		}
		head := chain.Head(last)
		if found := h.changed(db, head); len(found) != 0 {
			h.Fatalf("nothing was changed, and it finds %v", found)
		}
		for _, c := range []struct {
			what, edit, undo, head, subject string
		}{
			{"a body", "UPDATE posthouse_checkpoints SET body = CONCAT(body, 'x') WHERE seq = 2", "UPDATE posthouse_checkpoints SET body = SUBSTR(body, 1, LENGTH(body) - 1) WHERE seq = 2", "", "link 2"},
			{"a hash", "UPDATE posthouse_checkpoints SET keep = 1 WHERE seq = 2", "UPDATE posthouse_checkpoints SET keep = -1 WHERE seq = 2", "", "link 2"},
			{"a hash and the next", "UPDATE posthouse_checkpoints SET hash = body_hash WHERE seq = 3", "UPDATE posthouse_checkpoints SET hash = (SELECT prev FROM (SELECT prev FROM posthouse_checkpoints WHERE seq = 4) p) WHERE seq = 3", "", "link 3"},
			{"its end, which somebody kept", "DELETE FROM posthouse_checkpoints WHERE seq = 4", "", head, "link " + head},
			{"a link", "DELETE FROM posthouse_checkpoints WHERE seq = 2", "", "", "link 3"},
		} {
			_, err := h.db.ExecContext(h.Context(), c.edit)
			h.must(err)
			if found := h.changed(db, c.head); found[c.subject] == "" {
				h.Errorf("%s was changed: it finds %v, want something of %s", c.what, found, c.subject)
			}
			if c.undo != "" {
				_, err := h.db.ExecContext(h.Context(), c.undo)
				h.must(err)
			}
		}
	})
}

// Two processes that seal do not disturb each other: one of them is told that the other was first.
func TestALinkIsAddedBehindTheLastOneAlone(t *testing.T) {
	onEachDatabase(t, func(h *house) {
		db, err := store.Open(h.Context(), store.Options{DSN: h.dsn, Log: slog.New(slog.DiscardHandler)})
		h.must(err)
		defer db.Close()
		first := work.Checkpoint{Seq: 1, At: time.Now().UTC(), Hash: "a", BodyHash: "b"}
		h.must(db.Chain.AddCheckpoint(h.Context(), time.Now(), first, ""))
		for _, next := range []work.Checkpoint{{Seq: 1, Hash: "c"}, {Seq: 2, Hash: "c", Prev: "other"}, {Seq: 3, Hash: "c", Prev: "a"}} {
			if err := db.Chain.AddCheckpoint(h.Context(), time.Now(), next, ""); posthouse.CodeOf(err) != posthouse.CodeConflict {
				h.Errorf("%+v behind %+v: got %v, want a conflict", next, first, err)
			}
		}
	})
}
