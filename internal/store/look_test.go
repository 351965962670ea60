package store

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

// A list that looks through few rows for a page has short pages and leads on; at its end it has had what a list without a bound has.
func TestAListThatLooksThroughFewRowsLosesNothing(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		rare := accept(t, s, entry(1, aged(50*time.Hour), in("t1", "rare"), named("rare", "")))
		var entries []work.Entry
		for n := range 12 {
			entries = append(entries, entry(1+n%2, aged(time.Duration(40-n)*time.Hour), named("order", "")))
		}
		accept(t, s, entries[:6]...)
		settle(t, s, posthouse.EventFail, posthouse.Failed)
		accept(t, s, entries[6:9]...)
		settle(t, s, posthouse.EventSent, posthouse.Sent)
		accept(t, s, entries[9:]...)
		deliveryID := func(d posthouse.Delivery) string { return d.ID }
		deliveries := func(f work.Filter) ([]posthouse.Delivery, string, error) {
			return s.Messages.Deliveries(t.Context(), f)
		}
		for _, f := range []work.Filter{
			{Channel: "rare"}, {Kind: "rare"}, {Channel: "c1"}, {States: []posthouse.State{posthouse.Pending}}, {States: []posthouse.State{posthouse.Sent}},
			{States: []posthouse.State{posthouse.Failed}}, {States: []posthouse.State{posthouse.Failed}, Channel: "c1"}, {States: []posthouse.State{posthouse.Failed, posthouse.Expired}},
			{States: []posthouse.State{posthouse.Delivered}}, {States: []posthouse.State{posthouse.Unknown}}, {States: []posthouse.State{posthouse.Sent, posthouse.Pending}, Channel: "c1"}, {},
		} {
			f.Tenant, f.Sight, f.Limit = "t1", work.SeeAll(), 3
			want := pages(t, f, deliveries, deliveryID)
			f.Look = 2
			if diff := cmp.Diff(want, pages(t, f, deliveries, deliveryID)); diff != "" {
				t.Errorf("%+v (-all +looked):\n%s", f, diff)
			}
			messages := func(f work.Filter) ([]work.Summary, string, error) { return s.Messages.Messages(t.Context(), f) }
			messageID := func(m work.Summary) string { return m.Message.ID }
			got := pages(t, f, messages, messageID)
			f.Look = 0
			if diff := cmp.Diff(pages(t, f, messages, messageID), got); diff != "" {
				t.Errorf("messages of %+v (-all +looked):\n%s", f, diff)
			}
		}
		list, next, err := deliveries(work.Filter{Sight: work.SeeAll(), Tenant: "t1", Channel: "rare", Look: 5})
		if len(list) != 0 || next == "" || err != nil {
			t.Errorf("a look through 5 rows finds %d, leads on to %q, %v; what it wants lies behind more", len(list), next, err)
		}
		if list, next, err = deliveries(work.Filter{Sight: work.SeeAll(), Tenant: "t1", Channel: "rare", Look: 500}); len(list) != 1 || list[0].ID != rare[0] || next != "" || err != nil {
			t.Errorf("a look through all finds %d, leads on to %q, %v", len(list), next, err)
		}
	})
}

// Deliveries are found by their address or their provider's id, wherever they stand, each once, and of the states that are asked for.
func TestDeliveriesAreFoundByAddressAndProvidersID(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		to := func(user, address string) func(*work.Entry) {
			return func(e *work.Entry) { e.Deliveries[0].User, e.Deliveries[0].Address = user, address }
		}
		sent := accept(t, s, entry(1, to("u1", "13900000001")), entry(1, to("u2", "ref-sent")), entry(1, to("u3", "13900000003")))
		for _, item := range claim(t, s, 1000) {
			record(t, s, sentClean(item.Delivery))
		}
		failed := accept(t, s, entry(1, to("u1", "13900000001")))
		settle(t, s, posthouse.EventFail, posthouse.Failed)
		waits := accept(t, s, entry(1, to("u1", "13900000001")), entry(1, to("u4", "13900000004")))
		for id, ref := range map[string]string{sent[0]: "p-1", sent[1]: "ref-sent", sent[2]: "p-3"} {
			err := s.DB.Change(t.Context(), time.Now(), "say what its provider calls it", func(t *sqldb.Tx) error {
				n, err := t.Exec("UPDATE posthouse_sent SET ref = ? WHERE id = ?", ref, id)
				if err == nil && n != 1 {
					err = fmt.Errorf("%d rows of %s are clean", n, id)
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		for _, c := range []struct {
			known  string
			states []posthouse.State
			want   []string
		}{
			{"13900000001", nil, []string{waits[0], failed[0], sent[0]}}, {"13900000001", []posthouse.State{posthouse.Pending}, waits[:1]},
			{"13900000001", []posthouse.State{posthouse.Sent}, sent[:1]}, {"13900000001", []posthouse.State{posthouse.Failed}, failed},
			{"ref-sent", nil, sent[1:2]}, {"ref-sent", []posthouse.State{posthouse.Sent}, sent[1:2]}, {"ref-sent", []posthouse.State{posthouse.Pending}, nil},
			{"p-3", []posthouse.State{posthouse.Sent, posthouse.Pending}, sent[2:]}, {"nobody", nil, nil},
		} {
			list, _, err := s.Messages.Deliveries(t.Context(), work.Filter{Sight: work.SeeAll(), Tenant: "t1", KnownAs: c.known, States: c.states, Look: 100})
			var got []string
			for _, d := range list {
				got = append(got, d.ID)
			}
			slices.Sort(got)
			want := slices.Sorted(slices.Values(c.want))
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("%s in %s: %v, %v; want %v", c.known, c.states, got, err, want)
			}
		}
	})
}

// Users are found by what somebody would type of them, and not any more when it changes.
func TestUsersAreFoundByTheirWords(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		put := func(users ...posthouse.User) {
			t.Helper()
			if err := s.Users.PutUsers(t.Context(), at(), "t1", users); err != nil {
				t.Fatal(err)
			}
		}
		put(posthouse.User{ID: "sun.li", Name: "孙丽 Lily Sun", Roles: []string{"b", "a"}, Addresses: map[string]string{"sms": "13800138000", "mail": "Lily@Example.com"}},
			posthouse.User{ID: "u2", Name: "李雷", Roles: []string{"c"}}, posthouse.User{ID: "u3", Name: "孙"})
		finds := func(text string, want ...string) {
			t.Helper()
			list, err := s.Users.FindUsers(t.Context(), "t1", text, 10)
			var got []string
			for _, u := range list {
				got = append(got, u.ID)
			}
			if slices.Sort(got); err != nil || !slices.Equal(got, want) {
				t.Errorf("%q finds %q, %v; want %q", text, got, err, want)
			}
		}
		for text, want := range map[string][]string{
			"孙": {"sun.li", "u3"}, "丽": {"sun.li"}, "LILY": {"sun.li"}, "sun": {"sun.li"}, "li": {"sun.li"}, "138001": {"sun.li"}, "lily@example.com": {"sun.li"}, "雷": {"u2"}, "u": {"u2", "u3"},
			"ily": nil, "8000": nil, "%": nil, "": nil, " 孙丽 ": {"sun.li"},
		} {
			finds(text, want...)
		}
		if list, err := s.Users.FindUsers(t.Context(), "t1", "孙", 1); len(list) != 1 || list[0].ID != "u3" || err != nil {
			t.Errorf("the one whom 孙 fits best is %+v, %v", list, err)
		}
		for tenant, want := range map[string]int{"t1": 1, "t2": 0} {
			if list, err := s.Users.UsersAt(t.Context(), tenant, []string{"lily@example.COM", "nobody", ""}); len(list) != want || err != nil || want > 0 && list[0].Addresses["sms"] != "13800138000" {
				t.Errorf("at an address of %s are %+v, %v", tenant, list, err)
			}
		}
		put(posthouse.User{ID: "sun.li", Name: "王芳"})
		if err := s.Users.DeleteUser(t.Context(), "t1", "u3"); err != nil {
			t.Fatal(err)
		}
		finds("孙")
		finds("13800138000")
		finds("芳", "sun.li")
		if list, err := s.Users.FindUsers(t.Context(), "t2", "王", 10); len(list) != 0 || err != nil {
			t.Errorf("another tenant finds %+v, %v", list, err)
		}
	})
}
