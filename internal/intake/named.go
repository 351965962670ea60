package intake

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/draft"
	"github.com/posthouse/posthouse/rule"
)

// named puts in place of the rosters and roles that drafts name whoever is on duty at now, or has the role. What cannot be found is a
// problem of its draft, by index. Drafts that name none are left as they are; others are copies.
func (in *Intake) named(ctx context.Context, tenant string, drafts []posthouse.Draft, now time.Time, path func(i int) string) ([]posthouse.Draft, map[int][]posthouse.Problem, error) {
	stands := func(to posthouse.Recipient) bool { return to.User+to.Address == "" && to.Roster+to.Role != "" }
	if !slices.ContainsFunc(drafts, func(d posthouse.Draft) bool { return slices.ContainsFunc(d.To, stands) }) {
		return drafts, nil, nil
	}
	drafts = slices.Clone(drafts)
	problems := map[int][]posthouse.Problem{}
	for i := range drafts {
		p := draft.Problems{Path: path(i)}
		var to []posthouse.Recipient
		for j, one := range drafts[i].To {
			if !stands(one) {
				to = append(to, one)
				continue
			}
			users, err := in.usersOf(ctx, tenant, one, fmt.Sprintf("to[%d]", j), now, &p)
			if err != nil {
				return nil, nil, err
			}
			for _, user := range users {
				to = append(to, posthouse.Recipient{User: user, Type: one.Type})
			}
		}
		if len(p.List) > 0 {
			problems[i] = p.List
			continue
		}
		drafts[i].To = to
	}
	return drafts, problems, nil
}

// usersOf are those for whom a roster or a role stands.
func (in *Intake) usersOf(ctx context.Context, tenant string, to posthouse.Recipient, field string, now time.Time, p *draft.Problems) ([]string, error) {
	if to.Roster != "" && to.Role != "" {
		p.Add(field, "names several things: want a user or an address, or a roster, or a role")
		return nil, nil
	}
	if to.Role != "" {
		if in.o.Roles == nil {
			p.Add(field+".role", "roles are not known here")
			return nil, nil
		}
		found, err := in.o.Roles.UsersOf(ctx, tenant, []string{to.Role})
		if err == nil && len(found[to.Role]) == 0 {
			p.Add(field+".role", "nobody has the role %.80q", to.Role)
		}
		return found[to.Role], err
	}
	if in.o.Rosters == nil {
		p.Add(field+".roster", "rosters are not known here")
		return nil, nil
	}
	roster, found, err := in.o.Rosters.Roster(ctx, tenant, to.Roster)
	if err != nil {
		return nil, err
	}
	if !found {
		p.Add(field+".roster", "there is no roster %.80q", to.Roster)
		return nil, nil
	}
	zone, err := rule.Zone(roster, cmp.Or(in.o.Location, time.UTC).String())
	if err != nil {
		return nil, err
	}
	shift, err := rule.ShiftAt(roster, now.In(zone))
	if err == nil && len(shift.Users) == 0 {
		p.Add(field+".roster", "nobody is on duty by the roster %.80q on %s", to.Roster, shift.Date)
	}
	return shift.Users, err
}
