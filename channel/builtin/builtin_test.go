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

func TestEachDriverDescribesItselfInBothLanguages(t *testing.T) {
	t.Parallel()
	for _, typ := range builtin.Types() {
		if typ.TitleZH == "" || typ.DocZH == "" {
			t.Errorf("the driver %s has no title or doc in Chinese: %q, %q", typ.Name, typ.TitleZH, typ.DocZH)
		}
		for _, f := range typ.Fields {
			if f.LabelZH == "" || (f.Help == "") != (f.HelpZH == "") {
				t.Errorf("the field %s of the driver %s lacks one of its languages: %+v", f.Name, typ.Name, f)
			}
		}
	}
}
