package builtin_test

import (
	"testing"

	"github.com/posthouse/posthouse/channel"
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
			for _, c := range f.Choices {
				if c.Label == "" || c.LabelZH == "" {
					t.Errorf("the choice %s of the field %s of the driver %s has no label in one of the languages: %+v", c.Value, f.Name, typ.Name, c)
				}
			}
		}
	}
}

// mostInView bounds the fields of a driver's form that stand in view: what few need is folded by groups.
const mostInView = 12

// Each driver's form is one that a person looks through: the fields of a group stand together, nothing that must be filled in is folded away,
// and the rest is short.
func TestEachDriverFoldsWhatFewNeed(t *testing.T) {
	t.Parallel()
	for _, typ := range builtin.Types() {
		seen, last, inView := map[channel.Group]bool{}, channel.Group{}, 0
		for _, f := range typ.Fields {
			switch g := f.Group; {
			case g == (channel.Group{}):
				inView++
			case g.Label == "" || g.LabelZH == "":
				t.Errorf("the group of the field %s of the driver %s lacks one of its languages: %+v", f.Name, typ.Name, g)
			case f.Required:
				t.Errorf("the field %s of the driver %s must be filled in and is folded away", f.Name, typ.Name)
			case g != last && seen[g]:
				t.Errorf("the fields of the group %q of the driver %s do not stand together: see %s", g.Label, typ.Name, f.Name)
			}
			last, seen[f.Group] = f.Group, true
		}
		if inView > mostInView {
			t.Errorf("the form of the driver %s has %d fields in view: want %d at most, the others in groups", typ.Name, inView, mostInView)
		}
	}
}
