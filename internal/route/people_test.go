package route

import (
	"context"
	"slices"
	"testing"

	"github.com/posthouse/posthouse"
)

// book is a directory that can change.
type book map[string]string

func (b book) Addresses(context.Context, string, string, []string) (map[string]string, error) {
	return nil, nil
}

func (b book) Profiles(_ context.Context, _ string, users []string) (map[string]posthouse.User, error) {
	found := map[string]posthouse.User{}
	for _, id := range users {
		if manager, known := b[id]; known {
			found[id] = posthouse.User{ID: id, Manager: manager}
		}
	}
	return found, nil
}

// The steps may begin anew while the directory changes. Who was found stays who is told.
func TestANotificationKeepsItsManagers(t *testing.T) {
	t.Parallel()
	directory := book{"u": "m", "m": "top", "other": "", "top": ""}
	r := Router{Directory: directory}
	n := notification{}
	above := func(levels int, want ...string) {
		t.Helper()
		people, missing, err := r.above(t.Context(), &n, posthouse.Recipient{Manager: levels})
		var got []string
		for _, one := range people {
			got = append(got, one.User)
		}
		if err != nil || !slices.Equal(got, want) || (len(got) == 0) != (len(missing) > 0) {
			t.Errorf("%d levels up there are %q, missing %q, %v; want %q", levels, got, missing, err, want)
		}
	}
	above(1)
	n.To = []posthouse.Recipient{{User: "u"}, {Address: "138"}}
	above(3)
	above(1, "m")
	directory["u"] = "other"
	delete(directory, "m")
	above(1, "m")
	above(2, "top")
}
