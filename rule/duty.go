package rule

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
)

// The recipient types that the duty rule knows by more than one name.
const (
	HeadOffice = "head_office" // also 总行
	Branch     = "branch"      // also 分行
)

// The duty rule's reasons and the code of its warning (DUTY-3, DUTY-4).
const (
	ReasonNotOnDuty     = "not_on_duty"
	ReasonNotConfigured = "duty_schedule_not_configured"
	CodeNotConfigured   = "DUTY_SCHEDULE_NOT_CONFIGURED"
)

// DefaultRoster is the roster that the duty rule asks unless its settings name another.
const DefaultRoster = "duty"

// Rosters finds duty rosters; ok is false where a tenant has none of the name.
type Rosters interface {
	Roster(ctx context.Context, tenant, name string) (roster posthouse.Roster, ok bool, err error)
}

// duty tells recipients of its types only while they are on duty, and everybody
// else always (DUTY-2 to DUTY-4).
type duty struct {
	roster string
	types  []string
	zone   string
	asks   Rosters
	zones  sync.Map // name → *time.Location: loading one reads the zone file each time
}

func openDuty(s posthouse.RuleSettings, env Env) (Rule, []posthouse.Problem) {
	d := &duty{roster: s.Roster, zone: env.TimeZone, asks: env.Rosters}
	if d.roster == "" {
		d.roster = DefaultRoster
	}
	var problems []posthouse.Problem
	for _, name := range slices.Sorted(maps.Keys(s.Options)) {
		problems = append(problems, posthouse.Problem{Path: "options." + name, Message: "the duty rule has no options: its settings are roster and recipients"})
	}
	for i, t := range s.Recipients {
		if t == "" {
			problems = append(problems, posthouse.Problem{
				Path:    fmt.Sprintf("recipients[%d]", i),
				Message: "an empty recipient type; name one such as " + HeadOffice,
			})
		}
		d.types = append(d.types, RecipientType(t))
	}
	if len(d.types) == 0 {
		d.types = []string{HeadOffice}
	}
	return d, problems
}

// RecipientType is the one name of a recipient type: 总行 is head_office and
// 分行 is branch; every other name is its own.
func RecipientType(name string) string {
	switch name {
	case "总行":
		return HeadOffice
	case "分行":
		return Branch
	}
	return name
}

// Judge allows a recipient of another type, and one who is on duty now.
func (d *duty) Judge(ctx context.Context, s Subject) (Verdict, error) {
	if !slices.Contains(d.types, RecipientType(s.Recipient.Type)) {
		return Verdict{}, nil
	}
	roster, ok, err := d.asks.Roster(ctx, s.Tenant, d.roster)
	if err != nil {
		return Verdict{}, fmt.Errorf("look up the roster %q: %w", d.roster, err)
	}
	if !ok {
		return notConfigured(fmt.Sprintf("there is no roster %q", d.roster)), nil
	}
	zone, err := d.location(roster)
	if err != nil {
		return Verdict{}, err
	}
	shift, err := ShiftAt(roster, s.Now.In(zone))
	if err != nil {
		return Verdict{}, err
	}
	return d.verdict(shift, s.Recipient.User), nil
}

func (d *duty) verdict(shift Shift, user string) Verdict {
	switch {
	case shift.Source == SourceNone:
		return notConfigured(fmt.Sprintf("the roster %q has nobody for %s and no override", d.roster, shift.day()))
	case slices.Contains(shift.Users, user):
		return Verdict{}
	}
	return Verdict{
		Decision: Skip, Reason: ReasonNotOnDuty,
		Detail: fmt.Sprintf("user %q is not on duty on %s (roster %q)", user, shift.day(), d.roster),
	}
}

func notConfigured(detail string) Verdict {
	return Verdict{Decision: Skip, Reason: ReasonNotConfigured, Detail: detail, Warn: true, Code: CodeNotConfigured}
}

// location is Zone, remembered.
func (d *duty) location(roster posthouse.Roster) (*time.Location, error) {
	if zone, ok := d.zones.Load(roster.TimeZone); ok {
		return zone.(*time.Location), nil
	}
	zone, err := Zone(roster, d.zone)
	if err != nil {
		return nil, err
	}
	d.zones.Store(roster.TimeZone, zone)
	return zone, nil
}
