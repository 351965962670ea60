package server_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/server"
)

// A database that is upgraded for newer programs alone, while this one is at work: it says so, accepts and begins nothing more, and is not started on
// it again. One that is upgraded and works with this program changes nothing.
func TestAServerWhoseDatabaseIsUpgradedForNewerOnesAcceptsNothing(t *testing.T) {
	t.Parallel()
	for _, d := range databases {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			dsn, folder := d.dsn(t), t.TempDir()
			h := open(t, dsn, func(o *server.Options) { o.StateDir = folder })
			_, _, err := h.api.Channels.Put(t.Context(), posthouse.Channel{Name: "sink", Driver: "discard"})
			h.must(err)
			change := func(statement string) {
				_, err := h.db.ExecContext(t.Context(), statement)
				h.must(err)
			}
			change("INSERT INTO posthouse_schema_version (version_id, is_applied) VALUES (9999, TRUE)")
			if d.name != "sqlite" { // which one server has
				h.must(starts(t, server.Options{DSN: dsn, Keyring: keyring}))
			}
			draft := posthouse.Draft{Channel: "sink", To: []posthouse.Recipient{{Address: "a"}}, Content: &posthouse.Content{Text: "hello"}}
			_, err = h.api.Messages.Send(t.Context(), draft)
			h.must(err)
			change("UPDATE posthouse_meta SET value = '9999' WHERE name = 'works_with'")
			h.eventually("/readyz says that the database was upgraded", func() bool {
				status, answer := h.call(http.MethodGet, "/readyz", "", "")
				return status == http.StatusServiceUnavailable && strings.Contains(fmt.Sprint(answer["checks"]), "upgraded for newer programs")
			})
			_, err = h.api.Messages.SendOnce(t.Context(), "again", draft)
			if posthouse.CodeOf(err) != posthouse.CodeUnavailable || !strings.Contains(err.Error(), "upgraded for newer programs") {
				t.Errorf("a message is answered %v, want that the database was upgraded", err)
			}
			h.must(h.stop(context.WithoutCancel(t.Context())))
			if err := starts(t, server.Options{DSN: dsn, Keyring: keyring, StateDir: folder}); err == nil || !strings.Contains(err.Error(), "use a newer posthouse") {
				t.Errorf("the next start: %v, want it refused", err)
			}
		})
	}
}
