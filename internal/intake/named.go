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
	shift, found, err := in.shiftOf(ctx, tenant, to.Roster, now)
	switch {
	case err != nil:
		return nil, err
	case !found:
		p.Add(field+".roster", "there is no roster %.80q", to.Roster)
	case len(shift.Users) == 0:
		p.Add(field+".roster", "nobody is on duty by the roster %.80q on %s", to.Roster, shift.Date)
	}
	return shift.Users, nil
}

// shiftOf is the shift of a roster at a time.
func (in *Intake) shiftOf(ctx context.Context, tenant, name string, at time.Time) (shift rule.Shift, found bool, err error) {
	roster, found, err := in.o.Rosters.Roster(ctx, tenant, name)
	if err != nil || !found {
		return shift, found, err
	}
	zone, err := rule.Zone(roster, cmp.Or(in.o.Location, time.UTC).String())
	if err != nil {
		return shift, true, err
	}
	shift, err = rule.ShiftAt(roster, at.In(zone))
	return shift, true, err
}

// manned are recipients without the rosters by which nobody is on duty at a time or that there are not, and without the roles that nobody has.
// Warnings tell of them: there may be somebody by then.
func (in *Intake) manned(ctx context.Context, tenant string, to []posthouse.Recipient, at time.Time) (rest []posthouse.Recipient, warnings []posthouse.Problem, err error) {
	for i, one := range to {
		field, why, err := in.vacant(ctx, tenant, one, at)
		switch {
		case err != nil:
			return nil, nil, err
		case why == "":
			rest = append(rest, one)
		default:
			warnings = append(warnings, posthouse.Problem{Path: fmt.Sprintf("draft.to[%d].%s", i, field), Message: why})
		}
	}
	return rest, warnings, nil
}

// vacant says why a roster or a role stands for nobody at a time, and the field that names it; nothing where it stands for somebody or is none.
func (in *Intake) vacant(ctx context.Context, tenant string, one posthouse.Recipient, at time.Time) (field, why string, err error) {
	p := draft.Problems{}
	p.Recipient("to", &one)
	switch {
	case one.User+one.Address != "" || len(p.List) > 0: // what is wrong with it is found with all else
	case one.Roster != "" && in.o.Rosters != nil:
		shift, found, err := in.shiftOf(ctx, tenant, one.Roster, at)
		if err == nil && !found {
			return "roster", fmt.Sprintf("there is no roster %.80q: nothing is sent at that moment, unless there is one by then. posthouse roster set stores it", one.Roster), nil
		}
		if err == nil && len(shift.Users) == 0 {
			return "roster", fmt.Sprintf("nobody is on duty by the roster %.80q on %s: nothing is sent at that moment, unless somebody is by then. posthouse roster override fills the day", one.Roster, shift.Date), nil
		}
		return "", "", err
	case one.Role != "" && in.o.Roles != nil:
		found, err := in.o.Roles.UsersOf(ctx, tenant, []string{one.Role})
		if err == nil && len(found[one.Role]) == 0 {
			return "role", fmt.Sprintf("nobody has the role %.80q: nothing is sent at that moment, unless somebody has by then. posthouse user change --role gives it", one.Role), nil
		}
		return "", "", err
	}
	return "", "", nil
}
