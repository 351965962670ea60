package builtin_test

import (
	"testing"

	"github.com/posthouse/posthouse/channel/builtin"
)

func TestEachDriverIsFoundByItsName(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, want := range builtin.Types() {
		got, ok := builtin.Lookup(want.Name)
		if !ok || got.Title != want.Title || seen[want.Name] {
			t.Errorf("Lookup(%q) = %q, %t; want %q, once", want.Name, got.Title, ok, want.Title)
		}
		seen[want.Name] = true
	}
	if _, ok := builtin.Lookup("no_such_driver"); ok {
		t.Error("a driver that does not exist is found")
	}
}
