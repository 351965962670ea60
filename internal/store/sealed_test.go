package store

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
)

// sealedUntil is a sensitive message: its content stands apart.
func sealedUntil(at time.Time) func(*work.Entry) {
	return func(e *work.Entry) {
		e.Message.Sensitive, e.Message.Content = true, posthouse.Content{}
		e.Sealed = &work.Sealed{Message: e.Message.ID, Tenant: e.Message.Tenant, Body: "sealed:" + e.Message.ID, ForgetAt: at}
	}
}

// K3: a sensitive content is stored with its message, and forgotten by itself.
func TestSealedContentGoesWhenItsTimeHasCome(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		kept, gone := entry(1, sealedUntil(time.Now().Add(time.Hour))), entry(1, sealedUntil(time.Now().Add(-time.Second)))
		ids := accept(t, s, kept, gone, entry(1))
		m, _, err := s.Messages.Message(t.Context(), "t1", kept.Message.ID)
		if err != nil || !m.Sensitive || !m.Content.IsZero() {
			t.Errorf("message = %+v, %v", m, err)
		}
		messages := []string{kept.Message.ID, gone.Message.ID, posthouse.MessageID(ids[2]), "管理员"}
		handOut(t, s, wish(1, claimID("x")))
		if n, err := s.Contents.Forget(t.Context(), at(), 100); n != 1 || err != nil {
			t.Errorf("Forget = %d, %v; want 1", n, err)
		}
		got, err := s.Contents.Sealed(t.Context(), "t1", messages)
		if diff := cmp.Diff(map[string]string{kept.Message.ID: "sealed:" + kept.Message.ID}, got); err != nil || diff != "" {
			t.Errorf("sealed: %v (-want +got):\n%s", err, diff)
		}
		if got, err = s.Contents.Sealed(t.Context(), "t2", messages); err != nil || len(got) != 0 {
			t.Errorf("another tenant reads %v, %v", got, err)
		}
	})
}

func TestClaimIDsAreForgottenInTheEnd(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		accept(t, s, entry(2, pulled))
		handOut(t, s, wish(1, claimID("old")))
		tamper(t, s, "UPDATE posthouse_agent_claims SET expires_at = 1")
		handOut(t, s, wish(1, claimID("young")))
		if n, err := s.Contents.Forget(t.Context(), at(), 100); n != 0 || err != nil {
			t.Errorf("Forget = %d, %v; want no sealed contents", n, err)
		}
		if n := count(t, s, "SELECT COUNT(*) FROM posthouse_agent_claims WHERE claim_id = 'young'"); n != 1 || count(t, s, "SELECT COUNT(*) FROM posthouse_agent_claims") != 1 {
			t.Errorf("%d young claims are left, want that one alone", n)
		}
	})
}

func TestReplayOfASensitiveMessageEndsWithItsContent(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		until := time.Now().Add(time.Hour).UTC().Truncate(time.Microsecond)
		ids := append(accept(t, s, entry(1, sealedUntil(until))), accept(t, s, entry(1, sealedUntil(until)))...)
		settle(t, s, posthouse.EventFail, posthouse.Failed)
		tamper(t, s, "DELETE FROM posthouse_sealed WHERE message = ?", posthouse.MessageID(ids[1]))
		list, err := s.Submissions.AddReplay(t.Context(), at(), "t1", ids, false)
		if err != nil || list[0].Err != nil {
			t.Fatal(list, err)
		}
		if d, err := s.Messages.Delivery(t.Context(), "t1", list[0].ID); err != nil || !d.Deadline.Equal(until) {
			t.Errorf("the deadline of its replay is %v, %v; want %v", d.Deadline, err, until)
		}
		wantCode(t, list[1].Err, posthouse.CodeConflict)
	})
}

// A channel can turn from pushed to pulled while it has nothing open: what ended before is replayed the new way.
func TestReplayGoesTheWayItsChannelGoesNow(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		ids := accept(t, s, entry(1))
		settle(t, s, posthouse.EventFail, posthouse.Failed)
		ch := posthouse.Channel{Tenant: "t1", Name: "c1", Driver: "console", ChannelSettings: posthouse.ChannelSettings{Pull: true}}
		if _, _, err := s.Channels.PutChannel(t.Context(), at(), ch); err != nil {
			t.Fatal(err)
		}
		list, err := s.Submissions.AddReplay(t.Context(), at(), "t1", ids, false)
		if err != nil || list[0].Err != nil {
			t.Fatal(list, err)
		}
		if got := idsOf(handOut(t, s, wish(9)).Items); len(got) != 1 || got[0] != list[0].ID {
			t.Errorf("handed out %v, want %s", got, list[0].ID)
		}
		wantTally(t, s, work.Tally{Processing: 1})
	})
}
