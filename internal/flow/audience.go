package flow

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/draft"
	"github.com/posthouse/posthouse/workflow"
)

// maxAudience bounds the recipients of one notice: what one commit takes.
const maxAudience = draft.MostRecipients

// Resolver finds out who people are. An error puts the event off: its sender repeats it.
type Resolver interface {
	Resolve(ctx context.Context, q workflow.Question) (workflow.Audience, error)
}

// Directory resolves roles by the directory that the product keeps.
type Directory struct {
	Users interface {
		// UsersOf lists who has roles: by role, a role that nobody has is missing.
		UsersOf(ctx context.Context, tenant string, roles []string) (map[string][]string, error)
	}
}

// Resolve looks all roles up at once.
func (d Directory) Resolve(ctx context.Context, q workflow.Question) (workflow.Audience, error) {
	var out workflow.Audience
	users := slices.Clone(q.Users)
	if len(q.Roles) > 0 {
		byRole, err := d.Users.UsersOf(ctx, q.Tenant, q.Roles)
		if err != nil {
			return out, err
		}
		for _, role := range q.Roles {
			if len(byRole[role]) == 0 {
				out.Vacant = append(out.Vacant, role)
			}
			users = append(users, byRole[role]...)
		}
	}
	for _, user := range distinct(users) {
		out.To = append(out.To, posthouse.Recipient{User: user})
	}
	return out, nil
}

// addressed leaves out whom a channel cannot reach, and says why: nobody else is to go untold for one of them. It says so
// once for all of them, with the first one's reason: a crowd without numbers is one thing to mend.
func (f *Flow) addressed(ctx context.Context, tenant, channel string, to []posthouse.Recipient, say func(why string)) ([]posthouse.Recipient, error) {
	why, err := f.o.Post.Misaddressed(ctx, tenant, channel, to)
	if err != nil || len(why) == 0 {
		return to, err
	}
	var left []posthouse.Recipient
	var names []string
	var reason string
	for i, r := range to {
		if why[i] == "" {
			left = append(left, r)
			continue
		}
		names, reason = append(names, strconv.Quote(cmp.Or(r.User, r.Address))), cmp.Or(reason, why[i])
	}
	who, whose := strings.Join(names[:min(len(names), maxNames)], ", "), "the address"
	if more := len(names) - maxNames; more > 0 {
		who += fmt.Sprintf(" and %d more", more)
	}
	if len(names) > 1 {
		whose += " of the first"
	}
	say(fmt.Sprintf("%s cannot be told on %s: %s %s", who, channel, whose, reason))
	return left, nil
}

// maxNames bounds the people whom a warning names.
const maxNames = 5

// resolve asks who an audience is, and leaves out whoever is not told.
func resolve(ctx context.Context, r Resolver, tenant, task, kind string, to audience) (workflow.Audience, error) {
	found, err := r.Resolve(ctx, workflow.Question{Tenant: tenant, Task: task, Purpose: kind, Nodes: to.nodes, Roles: to.roles, Users: to.users})
	if err != nil {
		return found, err
	}
	if to.without != "" {
		found.To = slices.DeleteFunc(slices.Clone(found.To), func(r posthouse.Recipient) bool { return r.User == to.without })
	}
	return found, nil
}
