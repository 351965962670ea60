package route

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
)

// people are those whom a step means that has recipients of its own. missing says of what stands for nobody why.
func (r *Router) people(ctx context.Context, n *notification, s *posthouse.RouteStep, now time.Time) (people []posthouse.Recipient, missing []string, err error) {
	var meant []string
	for _, to := range s.To {
		var found []posthouse.Recipient
		var wrong []string
		switch {
		case to.Manager > 0:
			found, wrong, err = r.above(ctx, n, to)
		case to.Role != "":
			found, wrong, err = r.holders(ctx, n, to, now)
		default:
			found, wrong, err = r.named(ctx, n, to, now)
		}
		if err != nil {
			return nil, nil, err
		}
		people, missing = append(people, found...), append(missing, wrong...)
		if to.Manager > 0 {
			continue // else their own managers would be asked for next, a level higher with each step
		}
		for _, one := range found {
			meant = append(meant, one.User)
		}
	}
	for _, user := range meant {
		if user != "" && !slices.Contains(n.Meant, user) {
			n.Meant = append(slices.Clip(n.Meant), user) // what is only judged keeps its own
		}
	}
	return people, missing, nil
}

// named are those for whom a recipient of a step stands now.
func (r *Router) named(ctx context.Context, n *notification, to posthouse.Recipient, now time.Time) (people []posthouse.Recipient, missing []string, err error) {
	people, problems, err := r.Intake.People(ctx, n.Tenant, []posthouse.Recipient{to}, now)
	for _, p := range problems {
		missing = append(missing, p.Message)
	}
	return people, missing, err
}

// holders are those who have a role. A notification keeps those that were found, as it keeps managers. A role that no user has is asked again.
func (r *Router) holders(ctx context.Context, n *notification, to posthouse.Recipient, now time.Time) (people []posthouse.Recipient, missing []string, err error) {
	users := n.Roles[to.Role]
	if len(users) == 0 {
		if people, missing, err = r.named(ctx, n, to, now); err != nil || len(people) == 0 {
			return nil, missing, err
		}
		for _, one := range people {
			users = append(users, one.User)
		}
		kept := maps.Clone(n.Roles) // what is only judged keeps its own
		if kept == nil {
			kept = map[string][]string{}
		}
		kept[to.Role] = users
		n.Roles = kept
		return people, missing, nil
	}
	for _, user := range users {
		people = append(people, posthouse.Recipient{User: user, Type: to.Type})
	}
	return people, nil, nil
}

// above are the managers, some levels up, of those whom a notification means.
func (r *Router) above(ctx context.Context, n *notification, to posthouse.Recipient) (people []posthouse.Recipient, missing []string, err error) {
	users := slices.Clone(n.Meant)
	if len(n.To) > 0 {
		users = users[:0]
		for _, one := range n.To {
			if one.User != "" {
				users = append(users, one.User)
			}
		}
	}
	if len(users) == 0 {
		return nil, []string{"no user is meant whose manager could be told"}, nil
	}
	for range to.Manager {
		if users, missing, err = r.managers(ctx, n, users); err != nil || len(users) == 0 {
			return nil, missing, err
		}
	}
	for _, user := range users {
		people = append(people, posthouse.Recipient{User: user, Type: to.Type})
	}
	return people, missing, nil
}

// managers are the managers of users, each once. A notification keeps those that were found: a directory that changes while its steps go
// on, or begin anew, makes nobody else of them.
func (r *Router) managers(ctx context.Context, n *notification, users []string) (found, missing []string, err error) {
	known, err := r.Directory.Profiles(ctx, n.Tenant, users)
	if err != nil {
		return nil, nil, err
	}
	var above []string
	for _, user := range users {
		above = append(above, known[user].Manager)
	}
	there, err := r.Directory.Profiles(ctx, n.Tenant, slices.DeleteFunc(above, func(id string) bool { return id == "" }))
	if err != nil {
		return nil, nil, err
	}
	kept := maps.Clone(n.Managers)
	if kept == nil {
		kept = map[string]string{}
	}
	for _, user := range users {
		manager := known[user].Manager
		_, exists := there[manager]
		switch {
		case kept[user] != "":
		case manager == "":
			missing = append(missing, fmt.Sprintf("the directory knows no manager of %.80q", user))
			continue
		case !exists:
			missing = append(missing, fmt.Sprintf("the directory does not know %.80q, the manager of %.80q", manager, user))
			continue
		default:
			kept[user] = manager
		}
		if !slices.Contains(found, kept[user]) {
			found = append(found, kept[user])
		}
	}
	n.Managers = kept
	return found, missing, nil
}
