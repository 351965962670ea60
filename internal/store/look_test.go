package store

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
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
			f.Tenant, f.Limit = "t1", 3
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
		list, next, err := deliveries(work.Filter{Tenant: "t1", Channel: "rare", Look: 5})
		if len(list) != 0 || next == "" || err != nil {
			t.Errorf("a look through 5 rows finds %d, leads on to %q, %v; what it wants lies behind more", len(list), next, err)
		}
		if list, next, err = deliveries(work.Filter{Tenant: "t1", Channel: "rare", Look: 500}); len(list) != 1 || list[0].ID != rare[0] || next != "" || err != nil {
			t.Errorf("a look through all finds %d, leads on to %q, %v", len(list), next, err)
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
