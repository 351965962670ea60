package store

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/page"
	"github.com/posthouse/posthouse/internal/work"
)

func named(kind, ref string) func(*work.Entry) {
	return func(e *work.Entry) { e.Message.Kind, e.Message.Ref = kind, ref }
}

// pages reads a list to its end and returns the ids in the order they came.
func pages[T any](t *testing.T, f work.Filter, list func(work.Filter) ([]T, string, error), id func(T) string) (ids []string) {
	t.Helper()
	for range 100 {
		part, next, err := list(f)
		if err != nil {
			t.Fatal(err)
		}
		if len(part) > f.Limit {
			t.Errorf("a page of %d has %d", f.Limit, len(part))
		}
		for _, v := range part {
			ids = append(ids, id(v))
		}
		if f.Cursor = next; next == "" {
			return ids
		}
	}
	t.Error("the list has no end")
	return ids
}

func newestFirst(ids ...string) []string {
	list := slices.Clone(ids)
	slices.Sort(list)
	slices.Reverse(list)
	return list
}

func TestListsFilterAndPageOverBothTables(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		sent := accept(t, s, entry(3, named("order", "1")), entry(2, named("order", "2")))
		settle(t, s, posthouse.EventSent, posthouse.Sent)
		failed := accept(t, s, entry(2, named("order", "1")))
		settle(t, s, posthouse.EventFail, posthouse.Failed)
		other := accept(t, s, entry(2, in("t1", "c2")))
		cut := time.Now()
		for time.Now().UnixMilli() == cut.UnixMilli() { // the next id is of a later millisecond
		}
		cut = time.UnixMilli(cut.UnixMilli() + 1)
		open := accept(t, s, entry(3, named("order", "1")))
		accept(t, s, entry(1, in("t2", "c1"), named("order", "1")))
		tamper(t, s, "UPDATE posthouse_queue SET tries = 1 WHERE id = ?", other[0])
		mine := slices.Concat(sent, failed, other, open)
		user1 := func(ids []string) (list []string) {
			for _, id := range ids {
				if posthouse.DeliveryNumber(id) == 1 {
					list = append(list, id)
				}
			}
			return list
		}
		for name, c := range map[string]struct {
			filter work.Filter
			want   []string
		}{
			"all":              {work.Filter{Sight: work.SeeAll()}, mine},
			"a channel":        {work.Filter{Sight: work.SeeAll(), Channel: "c2"}, other},
			"a kind":           {work.Filter{Sight: work.SeeAll(), Kind: "order"}, slices.Concat(sent, failed, open)},
			"a kind and ref":   {work.Filter{Sight: work.SeeAll(), Kind: "order", Ref: "1"}, slices.Concat(sent[:3], failed, open)},
			"a ref and space":  {work.Filter{Sight: work.SeeAll(), Ref: "1 "}, nil},
			"a ref alone":      {work.Filter{Sight: work.SeeAll(), Ref: "2"}, sent[3:]},
			"a user":           {work.Filter{Sight: work.SeeAll(), User: "u1"}, user1(mine)},
			"an open state":    {work.Filter{Sight: work.SeeAll(), States: []posthouse.State{posthouse.Pending}}, slices.Concat(other, open)},
			"tried before":     {work.Filter{Sight: work.SeeAll(), States: []posthouse.State{posthouse.Pending, posthouse.Failed}, Tried: work.TriedBefore}, slices.Concat(failed, other[:1])},
			"never tried":      {work.Filter{Sight: work.SeeAll(), States: []posthouse.State{posthouse.Pending}, Tried: work.NeverTried}, slices.Concat(other[1:], open)},
			"a settled state":  {work.Filter{Sight: work.SeeAll(), States: []posthouse.State{posthouse.Failed}}, failed},
			"states of both":   {work.Filter{Sight: work.SeeAll(), States: []posthouse.State{posthouse.Failed, posthouse.Pending}, Kind: "order"}, slices.Concat(failed, open)},
			"a state not ours": {work.Filter{Sight: work.SeeAll(), States: []posthouse.State{"' OR 1=1 --"}}, nil},
			"since":            {work.Filter{Sight: work.SeeAll(), Since: cut}, open},
			"until":            {work.Filter{Sight: work.SeeAll(), Until: cut}, slices.Concat(sent, failed, other)},
			"all at once":      {work.Filter{Sight: work.SeeAll(), Channel: "c1", Kind: "order", Ref: "1", User: "u1", Since: cut, States: []posthouse.State{posthouse.Pending}}, open[:1]},
			"nothing":          {work.Filter{Sight: work.SeeAll(), Channel: "c9"}, nil},
		} {
			for _, limit := range []int{2, 3, 1000} {
				f := c.filter
				f.Tenant, f.Limit = "t1", limit
				got := pages(t, f, func(f work.Filter) ([]posthouse.Delivery, string, error) {
					return s.Messages.Deliveries(t.Context(), f)
				}, func(d posthouse.Delivery) string { return d.ID })
				if diff := cmp.Diff(newestFirst(c.want...), got, cmpEmpty); diff != "" {
					t.Errorf("deliveries by %s, pages of %d (-want +got):\n%s", name, limit, diff)
				}
				messages := newestFirst(c.want...)
				for i := range messages {
					messages[i] = posthouse.MessageID(messages[i])
				}
				got = pages(t, f, func(f work.Filter) ([]work.Summary, string, error) { return s.Messages.Messages(t.Context(), f) },
					func(m work.Summary) string { return m.Message.ID })
				if diff := cmp.Diff(slices.Compact(messages), got, cmpEmpty); diff != "" {
					t.Errorf("messages by %s, pages of %d (-want +got):\n%s", name, limit, diff)
				}
			}
		}
	})
}

// cmpEmpty makes no difference between no list and an empty one.
var cmpEmpty = cmp.Transformer("empty", func(list []string) string { return strings.Join(list, "\n") })

func TestMessagesCountTheirDeliveriesByState(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		accept(t, s, entry(3))
		items := claim(t, s, 2)
		record(t, s, step(items[0].Delivery, posthouse.EventSent, posthouse.Sent), step(items[1].Delivery, posthouse.EventFail, posthouse.Failed))
		accept(t, s, entry(1))
		list, _, err := s.Messages.Messages(t.Context(), work.Filter{Sight: work.SeeAll(), Tenant: "t1"})
		if err != nil || len(list) != 2 {
			t.Fatal(list, err)
		}
		want := []work.Counts{{posthouse.Pending: 1}, {posthouse.Sent: 1, posthouse.Failed: 1, posthouse.Pending: 1}}
		if diff := cmp.Diff(want, []work.Counts{list[0].Counts, list[1].Counts}); diff != "" || list[1].Recipients != 3 {
			t.Errorf("counts (-want +got):\n%s", diff)
		}
		depths, err := s.Queue.Depths(t.Context())
		if err != nil || len(depths) != 1 || depths[0].Lane != lane || depths[0].State != posthouse.Pending || depths[0].Count != 2 || depths[0].Oldest.IsZero() {
			t.Errorf("Depths = %+v, %v", depths, err)
		}
		settled, err := s.Queue.Counts(t.Context(), "t1", time.Now().Add(-time.Minute))
		wantSettled := []work.Settled{{Channel: "c1", State: posthouse.Failed, Count: 1}, {Channel: "c1", State: posthouse.Sent, Count: 1}}
		if diff := cmp.Diff(wantSettled, settled); err != nil || diff != "" {
			t.Errorf("Counts: %v (-want +got):\n%s", err, diff)
		}
	})
}

func TestOpenDeliveriesAreFoundByRefAndMessage(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		done := accept(t, s, entry(2, named("order", "1")))
		settle(t, s, posthouse.EventSent, posthouse.Sent)
		open := accept(t, s, entry(2, named("order", "1")), entry(1, named("order", "1")))
		other := accept(t, s, entry(1, named("order", "2")))
		got, err := s.Messages.ByRef(t.Context(), work.Filter{Sight: work.SeeAll(), Tenant: "t1", Kind: "order", Ref: "1"})
		slices.Sort(got)
		if diff := cmp.Diff(open, got); err != nil || diff != "" {
			t.Errorf("ByRef: %v (-want +got):\n%s", err, diff)
		}
		got, err = s.Messages.OpenOf(t.Context(), "t1", []string{posthouse.MessageID(done[0]), posthouse.MessageID(other[0]), "no id"})
		if diff := cmp.Diff(other, got); err != nil || diff != "" {
			t.Errorf("OpenOf: %v (-want +got):\n%s", err, diff)
		}
	})
}

func TestDeliveriesOfAMessageComeInOrder(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		ids := accept(t, s, entry(7))
		items := claim(t, s, 3)
		record(t, s, step(items[1].Delivery, posthouse.EventSent, posthouse.Sent))
		accept(t, s, entry(2))
		got := pages(t, work.Filter{Sight: work.SeeAll(), Limit: 3}, func(f work.Filter) ([]posthouse.Delivery, string, error) {
			return s.Messages.DeliveriesOf(t.Context(), "t1", posthouse.MessageID(ids[0]), f.Cursor, f.Limit)
		}, func(d posthouse.Delivery) string { return d.ID })
		if diff := cmp.Diff(ids, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if none, _, err := s.Messages.DeliveriesOf(t.Context(), "t1", ids[0], "", 10); len(none) != 0 || err != nil {
			t.Errorf("a delivery taken for a message has %d, %v", len(none), err)
		}
	})
}

func TestExportGoesThroughTheWholeLogAndOn(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		first := accept(t, s, entry(3, each(func(d *posthouse.Delivery) { d.Deadline = time.UnixMicro(4e15).UTC() })))
		settle(t, s, posthouse.EventSent, posthouse.Sent)
		accept(t, s, entry(1, in("t2", "c1")))
		second := accept(t, s, entry(1))
		export := func(tenant, cursor string) (keys []string, next string) {
			next, err := s.History.ExportEvents(t.Context(), tenant, cursor, func(e posthouse.Event) error {
				keys = append(keys, fmt.Sprint(e.Delivery, " ", e.Version, " ", e.Type))
				if e.Message != posthouse.MessageID(e.Delivery) || e.Idem != e.Delivery || e.Policy != posthouse.Retry || (tenant != "" && e.Tenant != tenant) {
					t.Errorf("event %+v is not filled in", e)
				}
				if slices.Contains(first, e.Delivery) && e.Deadline.UnixMicro() != 4e15 {
					t.Errorf("deadline = %v", e.Deadline)
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			return keys, next
		}
		var want []string
		for _, id := range first {
			want = append(want, id+" 1 accept", id+" 2 start", id+" 3 sent")
		}
		want = append(want, second[0]+" 1 accept")
		got, cursor := export("t1", "")
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("tenant t1 (-want +got):\n%s", diff)
		}
		if everything, _ := export("", ""); len(everything) != len(want)+1 {
			t.Errorf("all tenants have %d events, want %d", len(everything), len(want)+1)
		}
		third := accept(t, s, entry(1))
		if more, _ := export("t1", cursor); !cmp.Equal(more, []string{third[0] + " 1 accept"}) {
			t.Errorf("from the cursor on: %v", more)
		}
	})
}

func TestCursorRefusesWhatItDidNotMake(t *testing.T) {
	t.Parallel()
	good := page.Cursor("users", "张三")
	if key, err := page.Key("users", good); key != "张三" || err != nil {
		t.Errorf("keyOf = %q, %v", key, err)
	}
	tampered := []byte(good)
	tampered[8] ^= 1
	for name, cursor := range map[string]string{
		"another list's": page.Cursor("messages", "张三"), "tampered": string(tampered), "cut": good[:len(good)-3],
		"no base64": "?", "short": "AAAA", "not text": page.Cursor("users", "\xff"),
	} {
		_, err := page.Key("users", cursor)
		wantCode(t, err, posthouse.CodeInvalid)
		if t.Failed() {
			t.Fatalf("a cursor that is %s", name)
		}
	}
	_, err := page.ID("messages", page.Cursor("messages", "张三"))
	wantCode(t, err, posthouse.CodeInvalid)
}

// What one tenant stores, another neither reads nor changes.
func TestTenantsSeeNothingOfEachOther(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		ctx := t.Context()
		open := accept(t, s, entry(2, named("k", "r")))
		message := posthouse.MessageID(open[0])
		failed := accept(t, s, entry(1, in("t1", "c1"), named("k", "r")))
		record(t, s, step(mustClaim(t, s, failed[0]), posthouse.EventFail, posthouse.Failed))
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		_, _, err := s.Channels.PutChannel(ctx, at(), posthouse.Channel{Tenant: "t1", Name: "c1", Driver: "console"})
		must(err)
		_, err = s.Templates.PutTemplate(ctx, at(), posthouse.Template{Tenant: "t1", Name: "x", Text: "x"})
		must(err)
		_, err = s.Rosters.PutRoster(ctx, at(), posthouse.Roster{Tenant: "t1", Name: "x", Days: map[string][]string{"1": {"u"}}})
		must(err)
		must(s.Users.PutUsers(ctx, at(), "t1", []posthouse.User{{ID: "u", Addresses: map[string]string{"c1": "a"}}}))
		must(s.Keys.AddKey(ctx, at(), posthouse.Key{ID: "k1", Tenant: "t1", Name: "x", Scope: posthouse.ScopeRead}, "h"))
		must(s.Gates.SetGate(ctx, at(), work.Gate{Tenant: "t1", Channel: "c1", Class: posthouse.ClassAuth}, time.Hour))
		before := snapshot(t, s)

		const other = "t2"
		for name, missing := range map[string]func() error{
			"Message":        func() error { _, _, err := s.Messages.Message(ctx, other, message); return err },
			"Delivery":       func() error { _, err := s.Messages.Delivery(ctx, other, open[0]); return err },
			"Events":         func() error { _, err := s.History.Events(ctx, other, open[0]); return err },
			"Attempts":       func() error { _, _, err := s.History.AttemptPage(ctx, other, open[0], "", 0); return err },
			"Channel":        func() error { _, err := s.Channels.Channel(ctx, other, "c1"); return err },
			"DeleteChannel":  func() error { return s.Channels.DeleteChannel(ctx, at(), other, "c1") },
			"PauseChannel":   func() error { return s.Channels.PauseChannel(ctx, at(), other, "c1", true, "", time.Time{}) },
			"Template":       func() error { _, err := s.Templates.Template(ctx, other, "x", 0); return err },
			"DeleteTemplate": func() error { return s.Templates.DeleteTemplate(ctx, other, "x") },
			"DeleteRoster":   func() error { return s.Rosters.DeleteRoster(ctx, other, "x") },
			"User":           func() error { _, err := s.Users.User(ctx, other, "u"); return err },
			"DeleteUser":     func() error { return s.Users.DeleteUser(ctx, other, "u") },
			"RevokeKey":      func() error { return s.Keys.RevokeKey(ctx, at(), other, "k1") },
			"AddReplay": func() error {
				list, err := s.Submissions.AddReplay(ctx, at(), other, failed, false)
				if err == nil {
					err = list[0].Err
				}
				return err
			},
		} {
			if err := missing(); posthouse.CodeOf(err) != posthouse.CodeNotFound {
				t.Errorf("%s of another tenant = %v, want not_found", name, err)
			}
		}
		f := work.Filter{Sight: work.SeeAll(), Tenant: other}
		byUser := work.Filter{Sight: work.SeeAll(), Tenant: other, User: "u1", Kind: "k", Ref: "r"}
		for name, empty := range map[string]func() (int, error){
			"DeliveriesOf": func() (int, error) {
				l, _, err := s.Messages.DeliveriesOf(ctx, other, message, "", 10)
				return len(l), err
			},
			"Deliveries":   func() (int, error) { l, _, err := s.Messages.Deliveries(ctx, f); return len(l), err },
			"Deliveries 2": func() (int, error) { l, _, err := s.Messages.Deliveries(ctx, byUser); return len(l), err },
			"Messages":     func() (int, error) { l, _, err := s.Messages.Messages(ctx, f); return len(l), err },
			"Messages 2":   func() (int, error) { l, _, err := s.Messages.Messages(ctx, byUser); return len(l), err },
			"ByRef": func() (int, error) {
				l, err := s.Messages.ByRef(ctx, work.Filter{Sight: work.SeeAll(), Tenant: other, Kind: "k", Ref: "r"})
				return len(l), err
			},
			"OpenOf":    func() (int, error) { l, err := s.Messages.OpenOf(ctx, other, []string{message}); return len(l), err },
			"Counts":    func() (int, error) { l, err := s.Queue.Counts(ctx, other, time.Time{}); return len(l), err },
			"Channels":  func() (int, error) { l, err := s.Channels.Channels(ctx, other); return len(l), err },
			"Gates":     func() (int, error) { l, err := s.Gates.Gates(ctx, other); return len(l), err },
			"ClearGate": func() (int, error) { return 0, s.Gates.ClearGate(ctx, other, "c1", "*") },
			"Templates": func() (int, error) { l, _, err := s.Templates.Templates(ctx, other, "", 0); return len(l), err },
			"Rosters":   func() (int, error) { l, _, err := s.Rosters.Rosters(ctx, other, "", 0); return len(l), err },
			"Roster":    func() (int, error) { r, _, err := s.Rosters.Roster(ctx, other, "x"); return len(r.Days), err },
			"Users":     func() (int, error) { l, _, err := s.Users.Users(ctx, other, "", 10); return len(l), err },
			"Addresses": func() (int, error) { m, err := s.Users.Addresses(ctx, other, "c1", []string{"u"}); return len(m), err },
			"Keys":      func() (int, error) { l, _, err := s.Keys.Keys(ctx, other, "", 0); return len(l), err },
			"Stopped": func() (int, error) {
				l, err := s.Messages.Stopped(ctx, other, posthouse.Failed, 10)
				return len(l), err
			},
			"Claim": func() (int, error) {
				l, err := s.Queue.Claim(ctx, at(), work.Claim{Lane: work.Lane{Tenant: other, Channel: "c1", Priority: posthouse.Normal}, Max: 9, Epoch: 1})
				return len(l), err
			},
			"Revise": func() (int, error) {
				l, err := s.Queue.Revise(ctx, at(), work.Selection{Tenant: other, IDs: open}, func(_ time.Time, found []posthouse.Delivery) []work.Change {
					if len(found) > 0 {
						t.Errorf("Revise shows %+v", found)
					}
					return nil
				})
				return len(l), err
			},
			"ExportEvents": func() (n int, err error) {
				_, err = s.History.ExportEvents(ctx, other, "", func(posthouse.Event) error { n++; return nil })
				return n, err
			},
		} {
			if n, err := empty(); n != 0 || err != nil {
				t.Errorf("%s of another tenant = %d, %v; want nothing", name, n, err)
			}
		}
		if diff := cmp.Diff(before, snapshot(t, s)); diff != "" {
			t.Errorf("the other tenant changed something:\n%s", diff)
		}
	})
}

// mustClaim claims one delivery, whatever else is due.
func mustClaim(t *testing.T, s *Store, id string) posthouse.Delivery {
	t.Helper()
	tamper(t, s, "UPDATE posthouse_queue SET due_at = 1 WHERE id = ?", id)
	items := claim(t, s, 1)
	if len(items) != 1 || items[0].Delivery.ID != id {
		t.Fatalf("claimed %+v, want %s", items, id)
	}
	return items[0].Delivery
}

// snapshot counts the rows of every table, with what would show a change.
func snapshot(t *testing.T, s *Store) map[string]int64 {
	t.Helper()
	all := map[string]int64{}
	for table, column := range map[string]string{
		"messages": "created_at", "queue": "version", "settled": "version", "events": "version", "channels": "version",
		"gates": "until_at", "templates": "version", "rosters": "updated_at", "roster_days": "1", "roster_entries": "position",
		"users": "updated_at", "api_keys": "revoked_at",
	} {
		all[table] = count(t, s, "SELECT COUNT(*) FROM posthouse_"+table)
		all[table+" sum"] = count(t, s, "SELECT COALESCE(SUM("+column+"), 0) FROM posthouse_"+table)
	}
	return all
}

// FLEET-13: lists are narrowed to what an account sent, clean deliveries among it, and to what is pinned to it.
func TestListsOfAnAccount(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		var sent []string
		for _, account := range []string{"a", "b", "a"} {
			id := accept(t, s, entry(1))[0]
			items, err := s.Queue.Claim(t.Context(), at(), work.Claim{
				Lane: work.Lane{Tenant: "t1", Channel: "c1", Priority: posthouse.Normal}, Max: 1, By: []work.Share{{Account: account, Max: 1}}, Owner: "me", Lease: time.Minute, Epoch: 1,
			})
			if err != nil || len(items) != 1 {
				t.Fatalf("%d were claimed, %v", len(items), err)
			}
			record(t, s, step(items[0].Delivery, posthouse.EventSent, posthouse.Sent))
			if account == "a" {
				sent = append(sent, id)
			}
		}
		pinned := accept(t, s, entry(2, each(func(d *posthouse.Delivery) { d.Account, d.Pinned = "a", true })))
		for _, limit := range []int{1, 100} {
			f := work.Filter{Sight: work.SeeAll(), Tenant: "t1", Account: "a", Limit: limit}
			got := pages(t, f, func(f work.Filter) ([]posthouse.Delivery, string, error) {
				return s.Messages.Deliveries(t.Context(), f)
			},
				func(d posthouse.Delivery) string { return d.ID })
			if diff := cmp.Diff(newestFirst(slices.Concat(sent, pinned)...), got, cmpEmpty); diff != "" {
				t.Errorf("deliveries, pages of %d (-want +got):\n%s", limit, diff)
			}
			got = pages(t, f, func(f work.Filter) ([]work.Summary, string, error) { return s.Messages.Messages(t.Context(), f) },
				func(m work.Summary) string { return m.Message.ID })
			want := []string{posthouse.MessageID(pinned[0]), posthouse.MessageID(sent[1]), posthouse.MessageID(sent[0])}
			if diff := cmp.Diff(want, got, cmpEmpty); diff != "" {
				t.Errorf("messages, pages of %d (-want +got):\n%s", limit, diff)
			}
		}
	})
}
