package engine

import (
	"errors"
	"log/slog"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/internal/intake"
	"github.com/posthouse/posthouse/internal/limit"
	"github.com/posthouse/posthouse/internal/store"
	"github.com/posthouse/posthouse/internal/store/storetest"
	"github.com/posthouse/posthouse/internal/work"
)

// A place that is taken over stops its engine, and with it its channels go. A request that came in just before is told where to go, and not that
// its channel is none: a caller gives up a message that is invalid.
func TestAPlaceThatStopsSaysWhereToGo(t *testing.T) {
	t.Parallel()
	log := slog.New(slog.DiscardHandler)
	st, err := store.Open(t.Context(), store.Options{DSN: dbtest.SQLite(t), Log: log})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	if _, err := st.Schema.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	var away error
	e, err := New(Options{Stores: parts(storetest.All(st)), Rosters: st.Rosters, Limiter: limit.SQL{Rows: st.Limits}, Log: log, Elsewhere: func() error { return away }})
	if err != nil {
		t.Fatal(err)
	}
	accept := func() error {
		_, err := e.Intake.Accept(t.Context(), intake.Request{
			Tenant: posthouse.DefaultTenant, Caller: work.Caller{Sight: work.SeeAll()},
			Drafts: []posthouse.Draft{{Channel: "desk", To: []posthouse.Recipient{{User: "li.na"}}, Content: &posthouse.Content{Text: "hello"}}},
		})
		return err
	}
	if err := accept(); posthouse.CodeOf(err) != posthouse.CodeInvalid {
		t.Errorf("at a place that sends: %v", err)
	}
	away = &posthouse.Error{Code: posthouse.CodeUnavailable, Message: "the place b holds the database now", Cause: work.ErrElsewhere}
	if err := accept(); !errors.Is(err, work.ErrElsewhere) {
		t.Errorf("at a place that stops: %v", err)
	}
}
