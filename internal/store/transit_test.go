package store

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/transition"
	"github.com/posthouse/posthouse/internal/work"
)

func TestRecordMovesADeliveryAndWritesItsEvents(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		accept(t, s, entry(1))
		d := claim(t, s, 1)[0].Delivery
		c := step(d, posthouse.EventSent, posthouse.Sent)
		c.After.ProviderRef, c.After.LeaseOwner, c.After.LeaseUntil = "ref-1", "", time.Time{}
		c.Events[0].Class, c.Events[0].Code, c.Events[0].Ref, c.Events[0].Request, c.Events[0].Response = posthouse.ClassOK, "0", "ref-1", "{…}", "好"
		record(t, s, c)

		got, err := s.Messages.Delivery(t.Context(), "t1", d.ID)
		want := c.After
		want.Version, want.UpdatedAt = 3, got.UpdatedAt
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("delivery: %v (-want +got):\n%s", err, diff)
		}
		attempts, _, err := s.History.AttemptPage(t.Context(), "t1", d.ID, "", 0)
		if err != nil || len(attempts) != 1 {
			t.Fatalf("attempts = %+v, %v", attempts, err)
		}
		a := attempts[0]
		wantAttempt := posthouse.Attempt{
			Number: 1, Delivery: d.ID, Channel: "c1", Token: 1, Owner: "w1", StartedAt: d.StartedAt, FinishedAt: a.FinishedAt,
			Duration: a.FinishedAt.Sub(d.StartedAt), Class: posthouse.ClassOK, Code: "0", Ref: "ref-1", Request: "{…}", Response: "好",
			From: posthouse.Pending, To: posthouse.Sent,
		}
		if diff := cmp.Diff(wantAttempt, a); diff != "" || a.FinishedAt.Before(a.StartedAt) {
			t.Errorf("attempt (-want +got):\n%s", diff)
		}
	})
}

// The state machine holds over every path there is between states that are open.
func TestEventsChainWithoutGaps(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		id := accept(t, s, entry(1))[0]
		d := claim(t, s, 1)[0].Delivery
		twice := step(d, posthouse.EventAmbiguous, posthouse.Unknown)
		twice.Events = append(twice.Events, posthouse.Event{Type: posthouse.EventResend, To: posthouse.Pending, Token: d.Token})
		twice.After.State, twice.After.Tries = posthouse.Pending, 1
		record(t, s, twice)
		d = claim(t, s, 1)[0].Delivery
		if d.Token != 2 || d.Attempts != 2 || d.IdemKey != id {
			t.Errorf("second claim = %+v", d)
		}
		record(t, s, step(d, posthouse.EventFail, posthouse.Failed))
		_, err := s.Queue.Revise(t.Context(), at(), work.Selection{Tenant: "t1", IDs: []string{id}}, func(_ time.Time, found []posthouse.Delivery) []work.Change {
			return []work.Change{step(found[0], posthouse.EventEvidence, posthouse.Delivered)}
		})
		if err != nil {
			t.Fatal(err)
		}
		wantChain(t, s, id, "accept start ambiguous resend start fail evidence")
		events := inPages(t, 2, func(cursor string) ([]posthouse.Event, string, error) {
			return s.History.EventPage(t.Context(), "t1", id, cursor, 2)
		})
		attempts := inPages(t, 1, func(cursor string) ([]posthouse.Attempt, string, error) {
			return s.History.AttemptPage(t.Context(), "t1", id, cursor, 1)
		})
		if len(events) != 7 || events[6].Version != 7 || len(attempts) != 2 || attempts[0].Class != posthouse.ClassUnknown || attempts[1].To != posthouse.Failed {
			t.Errorf("in pages there are the events %+v and the attempts %+v", events, attempts)
		}
	})
}

// inPages reads a list to its end, in pages of at most so many.
func inPages[T any](t *testing.T, most int, page func(cursor string) ([]T, string, error)) (all []T) {
	t.Helper()
	for cursor := ""; ; {
		list, next, err := page(cursor)
		if err != nil || len(list) == 0 || len(list) > most {
			t.Fatalf("behind %q there are %d entries, %v; want 1 to %d", cursor, len(list), err, most)
		}
		if all, cursor = append(all, list...), next; next == "" {
			return all
		}
	}
}

// wantChain checks a delivery's events against the state machine and its row.
func wantChain(t *testing.T, s *Store, id, want string) {
	t.Helper()
	d, err := s.Messages.Delivery(t.Context(), "t1", id)
	if err != nil {
		t.Fatal(err)
	}
	events, err := s.History.Events(t.Context(), "t1", id)
	if err != nil {
		t.Fatal(err)
	}
	got, state, last := "", posthouse.State(""), time.Time{}
	for i, e := range events {
		got += " " + string(e.Type)
		if e.Version != int64(i+1) || e.From != state || !transition.Legal(e.From, e.Type, e.To) || e.At.Before(last) {
			t.Errorf("event %d = %+v after state %q at %v", i, e, state, last)
		}
		state, last = e.To, e.At
	}
	if got != " "+want {
		t.Errorf("events of %s =%s, want %s", id, got, want)
	}
	if state != d.State || int64(len(events)) != d.Version {
		t.Errorf("the row is %s, version %d; its %d events end in %s", d.State, d.Version, len(events), state)
	}
}

func TestStaleResultIsRefusedAndTheRestOfItsBatchHolds(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		ids := accept(t, s, entry(3))
		items := claim(t, s, 3)
		stale := items[1].Delivery
		record(t, s, step(stale, posthouse.EventRetry, posthouse.Pending)) // as the rescuer, or another holder
		var changes []work.Change
		for _, item := range items {
			changes = append(changes, step(item.Delivery, posthouse.EventSent, posthouse.Sent))
		}
		refused, err := s.Queue.Record(t.Context(), at(), func(time.Time) []work.Change { return slices.Clone(changes) })
		if diff := cmp.Diff([]string{stale.ID}, refused); err != nil || diff != "" {
			t.Errorf("refused: %v\n%s", err, diff)
		}
		for _, id := range ids {
			if id == stale.ID {
				wantChain(t, s, id, "accept start retry")
			} else {
				wantChain(t, s, id, "accept start sent")
			}
		}
		refused, err = s.Queue.Record(t.Context(), at(), func(time.Time) []work.Change { return slices.Clone(changes) })
		if err != nil || len(refused) != 3 {
			t.Errorf("the same results again: refused %v, %v; want all", refused, err)
		}
	})
}

func TestGuardLooksAtVersionTokenAndState(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		accept(t, s, entry(1))
		d := claim(t, s, 1)[0].Delivery
		for name, change := range map[string]func(*posthouse.Delivery){
			"version": func(d *posthouse.Delivery) { d.Version-- },
			"token":   func(d *posthouse.Delivery) { d.Token++ },
			"state":   func(d *posthouse.Delivery) { d.State = posthouse.Pending },
			"id":      func(d *posthouse.Delivery) { d.ID = posthouse.DeliveryID(d.Message, 9) },
		} {
			for _, to := range []posthouse.State{posthouse.Cancelled, posthouse.Sending} {
				before := d
				change(&before)
				event := posthouse.EventCancel
				if to == posthouse.Sending {
					if event = posthouse.EventCancelRequest; before.State == posthouse.Pending {
						event = posthouse.EventClaim
					}
				}
				refused, err := s.Queue.Record(t.Context(), at(), func(time.Time) []work.Change {
					return []work.Change{step(before, event, to)}
				})
				if err != nil || len(refused) != 1 {
					t.Errorf("another %s to %s: refused %v, %v", name, to, refused, err)
				}
			}
		}
		wantChain(t, s, d.ID, "accept start")
	})
}

func TestIllegalTransitionIsNotWritten(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		id := accept(t, s, entry(1))[0]
		d, err := s.Messages.Delivery(t.Context(), "t1", id)
		if err != nil {
			t.Fatal(err)
		}
		noEvent := step(d, posthouse.EventCancel, posthouse.Cancelled)
		noEvent.Events = nil
		elsewhere := step(d, posthouse.EventCancel, posthouse.Cancelled)
		elsewhere.After.State = posthouse.Expired
		for name, c := range map[string]work.Change{
			"pending to sent":       step(d, posthouse.EventSent, posthouse.Sent),
			"no event":              noEvent,
			"another state's event": elsewhere,
		} {
			if _, err := s.Queue.Record(t.Context(), at(), func(time.Time) []work.Change { return []work.Change{c} }); err == nil {
				t.Errorf("%s was written", name)
			}
		}
		wantChain(t, s, id, "accept")
	})
}

func TestReviseFindsWhatIsOverdue(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		late := each(func(d *posthouse.Delivery) { d.Deadline = time.Now().Add(-time.Second) })
		expired := accept(t, s, entry(1, late))[0]
		lost := accept(t, s, entry(1))[0]
		held := accept(t, s, entry(1))[0]
		asked := accept(t, s, entry(1, each(func(d *posthouse.Delivery) { d.OnUnknown = posthouse.Query })))[0]
		for _, item := range claim(t, s, 10) {
			if item.Delivery.ID == held || item.Delivery.ID == asked {
				c := step(item.Delivery, posthouse.EventAmbiguous, posthouse.Unknown)
				c.After.DueAt = time.Now().Add(-time.Second)
				record(t, s, c)
			}
		}
		accept(t, s, entry(1)) // neither
		tamper(t, s, "UPDATE posthouse_queue SET lease_until = 1 WHERE id = ?", lost)
		for due, want := range map[work.Due]string{work.PastDeadline: expired, work.LeaseLost: lost, work.HoldOver: held, work.QueryDue: asked} {
			for since, want := range map[time.Time][]string{{}: {want}, time.Now().Add(-500 * time.Millisecond): nil} {
				var got []string
				_, err := s.Queue.Revise(t.Context(), at(), work.Selection{Due: due, Max: 10, Since: since}, func(_ time.Time, found []posthouse.Delivery) []work.Change {
					got = nil
					for _, d := range found {
						got = append(got, d.ID)
					}
					return nil
				})
				if diff := cmp.Diff(want, got); err != nil || diff != "" {
					t.Errorf("%s since %s: %v (-want +got):\n%s", due, since, err, diff)
				}
			}
		}
	})
}

func TestReviseSeesOnlyItsTenantAndReturnsWhatStands(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		ids := accept(t, s, entry(2))
		cancel := func(_ time.Time, found []posthouse.Delivery) (list []work.Change) {
			for _, d := range found[:min(1, len(found))] {
				list = append(list, step(d, posthouse.EventCancel, posthouse.Cancelled))
			}
			return list
		}
		after, err := s.Queue.Revise(t.Context(), at(), work.Selection{Tenant: "t2", IDs: ids}, cancel)
		if len(after) != 0 || err != nil {
			t.Errorf("another tenant revises %v, %v", after, err)
		}
		after, err = s.Queue.Revise(t.Context(), at(), work.Selection{Tenant: "t1", IDs: append(ids, "管理员", "")}, cancel)
		if err != nil || len(after) != 2 || after[0].State != posthouse.Cancelled || after[0].Version != 2 || after[1].State != posthouse.Pending {
			t.Errorf("after = %+v, %v", after, err)
		}
	})
}

// Claims, results, cancels and rescues of the same rows.
func TestConcurrentTransitionsKeepEveryChainWhole(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		ids := accept(t, s, entry(40))
		var wg sync.WaitGroup
		for w := range 6 {
			wg.Go(func() {
				for range 15 {
					var changes []work.Change
					for _, item := range claimAny(t, s) {
						event, to := posthouse.EventRetry, posthouse.Pending
						if item.Delivery.Attempts > 3 {
							event, to = posthouse.EventSent, posthouse.Sent
						}
						changes = append(changes, step(item.Delivery, event, to))
					}
					_, err := s.Queue.Record(t.Context(), at(), func(time.Time) []work.Change { return slices.Clone(changes) })
					if err != nil {
						t.Error(err)
					}
					_, err = s.Queue.Revise(t.Context(), at(), work.Selection{Tenant: "t1", IDs: ids[w*6 : w*6+3]}, func(_ time.Time, found []posthouse.Delivery) (list []work.Change) {
						for _, d := range found {
							if d.State == posthouse.Pending && d.Attempts > 2 {
								list = append(list, step(d, posthouse.EventCancel, posthouse.Cancelled))
							} else if d.State == posthouse.Sending {
								list = append(list, step(d, posthouse.EventLeaseLost, posthouse.Unknown))
							} else if d.State == posthouse.Unknown {
								list = append(list, step(d, posthouse.EventResend, posthouse.Pending))
							}
						}
						return list
					})
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		chains := map[string]int64{}
		_, err := s.History.ExportEvents(t.Context(), "", "", func(e posthouse.Event) error {
			chains[e.Delivery]++
			if e.Version != chains[e.Delivery] {
				return fmt.Errorf("event %+v is number %d", e, chains[e.Delivery])
			}
			return nil
		})
		if err != nil || len(chains) != len(ids) {
			t.Fatalf("%d chains, %v", len(chains), err)
		}
		for _, id := range ids {
			d, err := s.Messages.Delivery(t.Context(), "t1", id)
			if err != nil || d.Version != chains[id] {
				t.Errorf("%s has version %d and %d events, %v", id, d.Version, chains[id], err)
			}
		}
	})
}

func claimAny(t *testing.T, s *Store) []work.Item {
	items, err := s.Queue.Claim(t.Context(), at(), work.Claim{Lane: lane, Max: 9, Owner: "w", Lease: time.Minute, Epoch: 1})
	if err != nil {
		t.Error(err)
	}
	return items
}

func TestOneFailingWriteDoesNotFailThoseItSharesACommitWith(t *testing.T) {
	t.Parallel()
	s := openTest(t, "sqlite:"+t.TempDir()+"/x.db")
	broken := errors.New("broken")
	var wg sync.WaitGroup
	errs := make([]error, 40)
	gate := make(chan struct{})
	wg.Go(func() { _ = s.Queue.change(t.Context(), at(), "wait", func(*tx) error { <-gate; return nil }) })
	for i := range errs {
		wg.Go(func() {
			errs[i] = s.Queue.change(t.Context(), at(), "write", func(x *tx) error {
				if _, err := x.Exec("INSERT INTO posthouse_meta (name, value) VALUES (?, '')", fmt.Sprint("row", i)); err != nil {
					return err
				}
				if i%10 == 3 {
					return broken
				}
				return nil
			})
		})
	}
	close(gate)
	wg.Wait()
	for i, err := range errs {
		if wrong := i%10 == 3; wrong != errors.Is(err, broken) || (!wrong && err != nil) {
			t.Errorf("write %d = %v", i, err)
		}
	}
	if n := count(t, s, "SELECT COUNT(*) FROM posthouse_meta WHERE name LIKE 'row%'"); n != 36 {
		t.Errorf("%d rows were stored, want 36", n)
	}
}
