package route

import (
	"context"
	"slices"
	"testing"
	"time"

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

func (b book) RolesOf(context.Context, string, []string) (map[string][]string, error) {
	return map[string][]string{"a": {"ops", "lead"}, "b": {"lead"}}, nil
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

// roles are who has one, and can change. All else of an intake is not asked.
type roles struct {
	Intake
	users map[string][]string
}

func (r roles) People(_ context.Context, _ string, to []posthouse.Recipient, _ time.Time) (people []posthouse.Recipient, missing []posthouse.Problem, err error) {
	for _, user := range r.users[to[0].Role] {
		people = append(people, posthouse.Recipient{User: user, Type: to[0].Type})
	}
	if len(people) == 0 {
		missing = []posthouse.Problem{{Message: "nobody has the role"}}
	}
	return people, missing, nil
}

// A role that changes while the steps go on makes nobody else of the people whom the notification meant.
func TestANotificationKeepsThePeopleOfARole(t *testing.T) {
	t.Parallel()
	held := map[string][]string{}
	r := Router{Intake: roles{users: held}, Directory: book{}}
	n := notification{}
	step := &posthouse.RouteStep{To: []posthouse.Recipient{{Role: "ops", Type: "staff"}}}
	meant := func(of *notification, want ...posthouse.Recipient) {
		t.Helper()
		people, missing, err := r.people(t.Context(), of, step, time.Time{})
		if err != nil || !slices.Equal(people, want) || (len(people) == 0) != (len(missing) > 0) {
			t.Errorf("the step means %v, missing %q, %v; want %v", people, missing, err, want)
		}
	}
	meant(&n)
	held["ops"] = []string{"a", "b"}
	judged := n
	meant(&judged, posthouse.Recipient{User: "a", Type: "staff"}, posthouse.Recipient{User: "b", Type: "staff"})
	held["ops"] = []string{"b", "c"}
	meant(&n, posthouse.Recipient{User: "b", Type: "staff"}, posthouse.Recipient{User: "c", Type: "staff"})
	delete(held, "ops")
	meant(&n, posthouse.Recipient{User: "b", Type: "staff"}, posthouse.Recipient{User: "c", Type: "staff"})
}

// A condition asks for the roles that people have now, and of a role whose people the notification has kept, for these.
func TestAConditionKnowsTheKeptPeopleOfARole(t *testing.T) {
	t.Parallel()
	r := Router{Directory: book{"a": ""}}
	people := []posthouse.Recipient{{User: "a"}, {User: "b"}, {Address: "138"}}
	holding := func(n *notification, role string) (users []string) {
		t.Helper()
		profiles, err := r.profiles(t.Context(), n, `"lead" in roles`, people)
		if err != nil {
			t.Fatal(err)
		}
		for _, to := range people {
			person := profiles[to.User]
			yes, err := holds(`"`+role+`" in roles`, &posthouse.Draft{}, to, &person, nil, time.Time{}, false)
			if err != nil {
				t.Fatal(err)
			}
			if yes {
				users = append(users, to.User)
			}
		}
		return users
	}
	if got, want := holding(&notification{}, "ops"), []string{"a"}; !slices.Equal(got, want) {
		t.Errorf("%q have the role now, want %q", got, want)
	}
	kept := &notification{Roles: map[string][]string{"ops": {"b"}}}
	if got, want := holding(kept, "ops"), []string{"b"}; !slices.Equal(got, want) {
		t.Errorf("%q have the role whose people are kept, want %q", got, want)
	}
	if got, want := holding(kept, "lead"), []string{"a", "b"}; !slices.Equal(got, want) {
		t.Errorf("%q have the role that no step has turned to, want %q", got, want)
	}
}
