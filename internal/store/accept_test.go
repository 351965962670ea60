package store

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
)

func TestAcceptStoresWhatItWasGiven(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		text := `"quoted" 'single' back\slash %_ ? $1 :name 换行` + "\n\t" + `𠮷 👩‍💻`
		e := entry(2, func(e *work.Entry) {
			m := &e.Message
			m.Kind, m.Ref, m.Priority, m.Source, m.Template, m.Version = "订单", "ref 'x'", posthouse.High, "oa", "tmpl", 3
			m.Content = posthouse.Content{Title: text, Text: text}
			m.Payload, m.OnUnknown, m.Trace = []byte(`{"name":"张三"}`), posthouse.Hold, "00-abc-def-01"
			m.TemplateID, m.Reminder, m.Clock = "SE1001", "早会", &posthouse.Clock{Until: time.Now().UTC(), Since: time.Now().UTC()}
			m.Deadline, m.NotBefore = time.Now().UTC().Add(time.Hour).Truncate(time.Microsecond), time.Now().UTC().Truncate(time.Microsecond)
			d := &e.Deliveries[1]
			d.Recipient = posthouse.Recipient{User: text, Address: "张三 <a@b>", Type: "head_office"}
			d.Priority, d.Account, d.ReplayOf, d.OnUnknown = posthouse.High, "acc", m.ID, posthouse.Query
			d.NotBefore, d.Deadline, d.DueAt = m.NotBefore, m.Deadline, m.Deadline
		})
		ids := accept(t, s, e)
		got, recipients, err := s.Messages.Message(t.Context(), "t1", e.Message.ID)
		if err != nil || recipients != 2 {
			t.Fatalf("Message: %d recipients, %v", recipients, err)
		}
		e.Message.CreatedAt = got.CreatedAt
		if diff := cmp.Diff(e.Message, got); diff != "" {
			t.Errorf("message (-want +got):\n%s", diff)
		}
		for i, id := range ids {
			d, err := s.Messages.Delivery(t.Context(), "t1", id)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(e.Deliveries[i], d); diff != "" { // Accept stamped e's deliveries
				t.Errorf("delivery (-want +got):\n%s", diff)
			}
		}
	})
}

func TestMessageWithoutOptionsKeepsNone(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		plain, timed := entry(1), entry(1, func(e *work.Entry) { e.Message.Clock = &posthouse.Clock{Until: time.Now().UTC()} })
		accept(t, s, plain, timed)
		if n := count(t, s, "SELECT COUNT(*) FROM posthouse_messages WHERE options = ''"); n != 1 {
			t.Errorf("%d messages of 2 have no options, want 1", n)
		}
		claimed := map[string]*posthouse.Clock{}
		for _, item := range claim(t, s, 2) {
			claimed[item.Message.ID] = item.Message.Clock
		}
		want := map[string]*posthouse.Clock{plain.Message.ID: nil, timed.Message.ID: timed.Message.Clock}
		if diff := cmp.Diff(want, claimed); diff != "" {
			t.Errorf("clocks of claimed messages (-want +got):\n%s", diff)
		}
	})
}

func TestMessageWhoseOptionsCannotBeReadSaysSo(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		accept(t, s, entry(1))
		tamper(t, s, "UPDATE posthouse_messages SET options = '{'")
		if got := claim(t, s, 1)[0].Message.Unreadable; !strings.Contains(got, "options: ") {
			t.Errorf("Unreadable = %q, want what is wrong with the options", got)
		}
	})
}

func TestAcceptIsAllOrNothing(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		good, bad := entry(1), entry(3)
		bad.Deliveries[2].State = posthouse.Sent // no delivery begins so
		if _, err := s.Submissions.Accept(t.Context(), at(), []*work.Submission{submit(good, bad)}); err == nil {
			t.Fatal("Accept stores a delivery that begins as sent")
		}
		again := entry(1)
		again.Deliveries[0].ID = good.Deliveries[0].ID
		twice := entry(1)
		twice.Deliveries[0].ID = good.Deliveries[0].ID
		if _, err := s.Submissions.Accept(t.Context(), at(), []*work.Submission{submit(again, twice)}); err == nil {
			t.Fatal("Accept stores one id twice")
		}
		for _, table := range []string{"posthouse_messages", "posthouse_queue", "posthouse_settled", "posthouse_transitions"} {
			if n := count(t, s, "SELECT COUNT(*) FROM "+table); n != 0 {
				t.Errorf("%d rows of %s were left behind", n, table)
			}
		}
	})
}

func TestAcceptKeepsRefusalsAsSuppressedDeliveries(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		e := entry(2)
		e.Deliveries[1].State, e.Deliveries[1].Reason = posthouse.Suppressed, "not_on_duty"
		ids := accept(t, s, e)
		d, err := s.Messages.Delivery(t.Context(), "t1", ids[1])
		if err != nil || d.State != posthouse.Suppressed || d.Reason != "not_on_duty" {
			t.Errorf("delivery = %+v, %v", d, err)
		}
		events, err := s.History.Events(t.Context(), "t1", ids[1])
		if err != nil || len(events) != 1 || events[0].Type != posthouse.EventSuppress || events[0].Reason != "not_on_duty" {
			t.Errorf("events = %+v, %v", events, err)
		}
	})
}

func TestIdempotencyKeyAnswersAsTheFirstTime(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		send := func(key, hash string, change ...func(*work.Submission)) work.Outcome {
			t.Helper()
			sub := submit(entry(1))
			sub.Key, sub.Hash = key, hash
			for _, c := range change {
				c(sub)
			}
			out, err := s.Submissions.Accept(t.Context(), at(), []*work.Submission{sub})
			if err != nil {
				t.Fatal(err)
			}
			return out[0]
		}
		first := send("k", "h1")
		if first.Replayed || first.Err != nil {
			t.Fatalf("first = %+v", first)
		}
		same := send("k", "h1")
		if diff := cmp.Diff(first.Accepted, same.Accepted); !same.Replayed || diff != "" {
			t.Errorf("the same body: replayed %v (-want +got):\n%s", same.Replayed, diff)
		}
		wantCode(t, send("k", "h2").Err, posthouse.CodeKeyReused)
		for name, other := range map[string]work.Outcome{ // evaluated in this order
			"another key":            send("K", "h1"),
			"another endpoint":       send("k", "h1", func(s *work.Submission) { s.Endpoint = "notices" }),
			"another tenant":         send("k", "h1", func(s *work.Submission) { s.Tenant = "t2"; in("t2", "c1")(&s.Entries[0]) }),
			"one that expires":       send("short", "h1", func(s *work.Submission) { s.KeyTTL = -time.Second }),
			"one that expired":       send("short", "h2"),
			"one that came again":    send("short", "h2"),
			"a key of another width": send("ｋ", "h1"),
			"a key with a space":     send("k ", "h1"),
		} {
			if replay := name == "one that came again"; other.Err != nil || other.Replayed != replay {
				t.Errorf("%s: %+v", name, other)
			}
		}
		if n := count(t, s, "SELECT COUNT(*) FROM posthouse_messages"); n != 8 {
			t.Errorf("%d messages, want 8", n)
		}
	})
}

// Callers with one key at once make one message and hear the same.
func TestOneKeyOfManyCallersAtOnceMakesOneMessage(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		const callers, keys = 64, 3
		answers := make([][keys]work.Outcome, callers)
		var wg sync.WaitGroup
		for c := range callers {
			wg.Go(func() {
				for k := range keys {
					sub := submit(entry(1))
					sub.Key, sub.Hash = fmt.Sprint("k", (k+c)%keys), "h"
					out, err := s.Submissions.Accept(t.Context(), at(), []*work.Submission{sub})
					if err != nil {
						t.Error(err)
						return
					}
					answers[c][(k+c)%keys] = out[0]
				}
			})
		}
		wg.Wait()
		for k := range keys {
			fresh := 0
			for c := range callers {
				if !answers[c][k].Replayed {
					fresh++
				}
				if diff := cmp.Diff(answers[0][k].Accepted, answers[c][k].Accepted); diff != "" {
					t.Fatalf("key %d: callers hear different answers:\n%s", k, diff)
				}
			}
			if fresh != 1 {
				t.Errorf("key %d: %d callers were first", k, fresh)
			}
		}
		if n := count(t, s, "SELECT COUNT(*) FROM posthouse_messages"); n != keys {
			t.Errorf("%d messages, want %d", n, keys)
		}
	})
}

func TestDedupKeyHoldsWithinItsScopeAndWindow(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		send := func(with ...func(*work.Entry)) posthouse.Accepted {
			t.Helper()
			e := entry(1, append([]func(*work.Entry){func(e *work.Entry) { e.Message.DedupKey = "d" }}, with...)...)
			out, err := s.Submissions.Accept(t.Context(), at(), []*work.Submission{submit(e)})
			if err != nil || out[0].Err != nil {
				t.Fatal(err, out[0].Err)
			}
			return out[0].Accepted[0]
		}
		window := func(d time.Duration) func(*work.Entry) { return func(e *work.Entry) { e.DedupWindow = d } }
		first := send()
		if other := send(func(e *work.Entry) { e.Message.DedupKey = "d " }); other.DuplicateOf != "" {
			t.Errorf("another key: %+v", other)
		}
		if again := send(); again.DuplicateOf != first.ID || len(again.Deliveries) != 0 {
			t.Errorf("within the window: %+v, want a duplicate of %s", again, first.ID)
		}
		if other := send(in("t1", "c2")); other.DuplicateOf != "" {
			t.Errorf("on another channel: %+v", other)
		}
		if other := send(in("t2", "c1")); other.DuplicateOf != "" {
			t.Errorf("of another tenant: %+v", other)
		}
		send(in("t1", "c3"), window(-time.Second))
		reused := send(in("t1", "c3"))
		if reused.DuplicateOf != "" {
			t.Errorf("after the window: %+v", reused)
		}
		if again := send(in("t1", "c3")); again.DuplicateOf != reused.ID {
			t.Errorf("in the second window: %+v, want a duplicate of %s", again, reused.ID)
		}
	})
}

func TestDedupKeyTwiceInOneRequestMakesOneMessage(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		dedup := func(e *work.Entry) { e.Message.DedupKey = "d" }
		out, err := s.Submissions.Accept(t.Context(), at(), []*work.Submission{submit(entry(1, dedup), entry(1)), submit(entry(1, dedup))})
		if err != nil {
			t.Fatal(err)
		}
		first := out[0].Accepted[0]
		if second := out[1].Accepted[0]; first.DuplicateOf != "" || second.DuplicateOf != first.ID {
			t.Errorf("first %+v, second %+v", first, second)
		}
		if n := count(t, s, "SELECT COUNT(*) FROM posthouse_messages"); n != 2 {
			t.Errorf("%d messages, want 2", n)
		}
	})
}

func TestManyDedupKeysAtOnceNeverDeadlock(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		const callers, keys = 16, 20
		var wg sync.WaitGroup
		for c := range callers {
			wg.Go(func() {
				var entries []work.Entry
				for k := range keys {
					entries = append(entries, entry(1, func(e *work.Entry) { e.Message.DedupKey = fmt.Sprint((k + c) % keys) }))
				}
				if _, err := s.Submissions.Accept(t.Context(), at(), []*work.Submission{submit(entries...)}); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if n := count(t, s, "SELECT COUNT(*) FROM posthouse_messages"); n != keys {
			t.Errorf("%d messages, want %d", n, keys)
		}
	})
}
