package client_test

import (
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/wire"
)

// What was read is stored over nothing that somebody else has stored meanwhile.
func TestStoringOverWhatWasRead(t *testing.T) {
	t.Parallel()
	h := open(t)
	ctx := t.Context()
	if _, err := h.Rosters.Put(client.IfNew(ctx), posthouse.Roster{Name: "night", Days: map[string][]string{"1": {"li.na"}}}); err != nil {
		t.Fatal(err)
	}
	mine, err := h.Rosters.Get(ctx, "night")
	if err != nil {
		t.Fatal(err)
	}
	theirs := mine
	theirs.HandOver = "08:30"
	if _, err := h.Rosters.Put(client.IfMatch(ctx, mine.Tag()), theirs); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Rosters.Put(client.IfMatch(ctx, mine.Tag()), mine); posthouse.CodeOf(err) != posthouse.CodeChanged {
		t.Errorf("over what somebody else has stored: %v", err)
	}
	if _, err := h.Rosters.Put(client.IfNew(ctx), mine); posthouse.CodeOf(err) != posthouse.CodeChanged {
		t.Errorf("as a new one: %v", err)
	}
	look, err := h.Users.Replace(ctx, true, posthouse.User{ID: "a"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.Users.Put(ctx, posthouse.User{ID: "b"}); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Users.Replace(client.IfMatch(ctx, look.Replaced.Tag), false, posthouse.User{ID: "a"}); posthouse.CodeOf(err) != posthouse.CodeChanged {
		t.Errorf("a directory that somebody else has changed is replaced: %v", err)
	}
}

// Single dates of a roster are changed while the rest stays.
func TestOverridingADate(t *testing.T) {
	t.Parallel()
	h := open(t)
	ctx := t.Context()
	if _, err := h.Rosters.Put(ctx, posthouse.Roster{Name: "night", Days: map[string][]string{"1": {"li.na"}}}); err != nil {
		t.Fatal(err)
	}
	got, err := h.Rosters.Override(ctx, "night", wire.Override{Dates: map[string][]string{"2099-01-01": {"zhao.min"}}})
	if got = whole(h, got, err); len(got.Changed) != 1 || got.Changed[0].After[0] != "zhao.min" {
		t.Errorf("Override: %+v", got)
	}
	if r, err := h.Rosters.Get(ctx, "night"); err != nil || len(r.Days) != 1 || len(r.Overrides) != 1 {
		t.Errorf("the roster is %+v, %v", r, err)
	}
}
