package quiet

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/life"
	"github.com/posthouse/posthouse/internal/rate"
)

// Tenants are those that have quiet hours or caps, by name.
type Tenants interface {
	Attentive(ctx context.Context) (map[string]posthouse.Tenant, error)
}

// Rosters say by which days nobody is on duty.
type Rosters interface {
	Roster(ctx context.Context, tenant, name string) (roster posthouse.Roster, ok bool, err error)
}

// Directory has the people that messages are for, by their ids; one that it does not know is missing.
type Directory interface {
	Profiles(ctx context.Context, tenant string, ids []string) (map[string]posthouse.User, error)
}

// Keeper knows the quiet hours and caps of tenants. One that is nil, or the zero value, knows none.
type Keeper struct {
	// Tenants defaults to none.
	Tenants Tenants
	// Rosters defaults to none: the days off are those of weekends.
	Rosters Rosters
	// Directory says in which zone a person lives. Defaults to none: no person has a zone.
	Directory Directory
	// Log defaults to slog.Default().
	Log *slog.Logger

	parties atomic.Pointer[map[string]party]

	mu        sync.Mutex
	calendars map[calendarKey]calendar
}

// party is what holds for all channels of a tenant.
type party struct {
	hours Hours
	caps  []*Cap
}

type calendarKey struct{ tenant, name string }

type calendar struct {
	roster posthouse.Roster
	found  bool
	read   time.Time
}

// Refresh reads what tenants have set.
func (k *Keeper) Refresh(ctx context.Context) error {
	if k == nil || k.Tenants == nil {
		return nil
	}
	found, err := k.Tenants.Attentive(ctx)
	if err != nil {
		return err
	}
	known := make(map[string]party, len(found))
	for name, t := range found {
		known[name] = party{Of(t.QuietHours), CapsOf(t.Caps)}
	}
	k.parties.Store(&known)
	return nil
}

// followEvery is how soon a change by another process holds here.
const followEvery = 2 * time.Second

// Follow takes over what other processes change, until ctx ends.
func (k *Keeper) Follow(ctx context.Context) {
	tick := time.NewTicker(life.Spread(followEvery))
	defer tick.Stop()
	for {
		if err := k.Refresh(ctx); err != nil && ctx.Err() == nil {
			k.Log.Warn("the quiet hours of tenants cannot be read: those known so far hold", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// of is what a tenant has set.
func (k *Keeper) of(tenant string) party {
	if k == nil {
		return party{}
	}
	if known := k.parties.Load(); known != nil {
		return (*known)[tenant]
	}
	return party{}
}

// Hours are those of all tenants that have any, by their names.
func (k *Keeper) Hours() map[string]Hours {
	hours := map[string]Hours{}
	if k == nil {
		return hours
	}
	if known := k.parties.Load(); known != nil {
		for name := range *known {
			if h := (*known)[name].hours; len(h) > 0 {
				hours[name] = h
			}
		}
	}
	return hours
}

// Caps are those of a tenant: they count what a person gets by all of its channels.
func (k *Keeper) Caps(tenant string) []*Cap { return k.of(tenant).caps }

// Tell reports whether the hours and caps of a tenant, or those of a channel of it, are other ones for messages of a kind than for those of none.
func (k *Keeper) Tell(tenant string, own Hours, caps []*Cap, kind string) bool {
	of := k.of(tenant)
	tells := func(c *Cap) bool { return c.Counts(kind) != c.Counts("") }
	return of.hours.Tell(kind) || own.Tell(kind) || slices.ContainsFunc(of.caps, tells) || slices.ContainsFunc(caps, tells)
}

// Any reports whether a tenant, or a channel of it with hours of its own, has quiet hours.
func (k *Keeper) Any(tenant string, own Hours) bool {
	return len(own) > 0 || len(k.of(tenant).hours) > 0
}

// Named are the people whom hours of a tenant, or those of a channel of it, name: nil for nobody.
func (k *Keeper) Named(tenant string, own Hours) map[string]bool {
	var names map[string]bool
	for _, hours := range []Hours{k.of(tenant).hours, own} {
		for i := range hours {
			for _, name := range hours[i].Users {
				if names == nil {
					names = map[string]bool{}
				}
				names[name] = true
			}
		}
	}
	return names
}

// Until is until when each of some people is left alone by a channel with hours of its own; zero for who is not. Without quiet hours it asks
// nobody, and is nil.
func (k *Keeper) Until(ctx context.Context, tenant string, own Hours, now time.Time, people []Whom) ([]time.Time, error) {
	hours := k.of(tenant).hours
	if len(own) > 0 {
		hours = append(slices.Clip(hours), own...)
	}
	if len(hours) == 0 || len(people) == 0 {
		return nil, nil
	}
	off, err := k.off(ctx, tenant, hours)
	if err != nil {
		return nil, err
	}
	zones, err := k.zones(ctx, tenant, people)
	if err != nil {
		return nil, err
	}
	list := make([]time.Time, len(people))
	for i := range people {
		a := people[i]
		if a.Zone == nil {
			a.Zone = zones[a.User]
		}
		if until, held := hours.Until(now, a, off); held {
			list[i] = until
		}
	}
	return list, nil
}

// keepCalendar is how long a calendar is good that was read.
const keepCalendar = 10 * time.Second

// DayOff reports whether a day is one off by a calendar: a roster whose days without anybody are. Where there is no such roster, it is a weekend's.
func (k *Keeper) DayOff(ctx context.Context, tenant, name string, day time.Time) (bool, error) {
	off, err := k.off(ctx, tenant, Hours{{QuietHours: posthouse.QuietHours{Calendar: name}}})
	if err != nil {
		return false, err
	}
	return off(name, day), nil
}

// off knows the days off of all calendars that hours name.
func (k *Keeper) off(ctx context.Context, tenant string, hours Hours) (Off, error) {
	var known map[string]calendar
	for i := range hours {
		name := hours[i].Calendar
		if _, has := known[name]; name == "" || has || k == nil || k.Rosters == nil {
			continue
		}
		c, err := k.calendar(ctx, calendarKey{tenant, name})
		if err != nil {
			return nil, fmt.Errorf("read the calendar %s of quiet hours: %w", name, err)
		}
		if known == nil {
			known = map[string]calendar{}
		}
		known[name] = c
	}
	return func(name string, day time.Time) bool {
		if c := known[name]; c.found {
			return rate.DayOff(&c.roster, day)
		}
		return Weekends(day)
	}, nil
}

// calendar is a roster as it was read a moment ago at most.
func (k *Keeper) calendar(ctx context.Context, key calendarKey) (calendar, error) {
	k.mu.Lock()
	c, known := k.calendars[key]
	k.mu.Unlock()
	if known && time.Since(c.read) < keepCalendar {
		return c, nil
	}
	c.read = time.Now()
	var err error
	if c.roster, c.found, err = k.Rosters.Roster(ctx, key.tenant, key.name); err != nil {
		return c, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.calendars == nil {
		k.calendars = map[calendarKey]calendar{}
	}
	k.calendars[key] = c
	return c, nil
}

// zones are those of people, by their ids.
func (k *Keeper) zones(ctx context.Context, tenant string, people []Whom) (map[string]*time.Location, error) {
	if k == nil || k.Directory == nil {
		return nil, nil
	}
	var users []string
	for i := range people {
		if people[i].User != "" && people[i].Zone == nil && !people[i].Settled {
			users = append(users, people[i].User)
		}
	}
	slices.Sort(users)
	if users = slices.Compact(users); len(users) == 0 {
		return nil, nil
	}
	profiles, err := k.Directory.Profiles(ctx, tenant, users)
	if err != nil {
		return nil, fmt.Errorf("read the zones of recipients: %w", err)
	}
	zones := make(map[string]*time.Location, len(profiles))
	for id, u := range profiles {
		if zone, err := time.LoadLocation(u.TimeZone); err == nil && u.TimeZone != "" {
			zones[id] = zone
		}
	}
	return zones, nil
}
