package store

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/layout"
	"github.com/posthouse/posthouse/internal/store/page"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/wire"
)

const tenantColumns = "name, note, quota, created_at, updated_at, language"

// byThings finds a tenant that nobody has made by what it has.
const byThings = "SELECT tenant FROM posthouse_api_keys WHERE tenant = ? UNION SELECT tenant FROM posthouse_channels WHERE tenant = ?"

func readTenant(scan sqldb.Scanner) (posthouse.Tenant, error) {
	var t posthouse.Tenant
	var quota string
	var created, updated int64
	err := scan(&t.Name, &t.Note, &quota, &created, &updated, &t.Language)
	if err == nil && quota != "" {
		var said tenantSays
		err = json.Unmarshal([]byte(quota), &said)
		t.Quota, t.QuietHours, t.Caps, t.MandatoryKinds, t.OptionalKinds = said.Quota, said.QuietHours, said.Caps, said.Mandatory, said.Optional
	}
	t.CreatedAt, t.UpdatedAt = sqldb.TimeOf(created), sqldb.TimeOf(updated)
	return t, err
}

// Tenants lists the tenants by name: those that were made, and those that have keys or channels.
func (s Tenants) Tenants(ctx context.Context, cursor string, limit int) (list []posthouse.Tenant, next string, err error) {
	after, err := page.Key("tenants", cursor)
	if err != nil {
		return nil, "", err
	}
	size := page.Size(limit)
	names, err := sqldb.All(s.db.Reads(ctx), sqldb.Word, `SELECT name FROM (SELECT name FROM posthouse_tenants WHERE name > ?
		UNION SELECT tenant FROM posthouse_api_keys WHERE tenant > ? UNION SELECT tenant FROM posthouse_channels WHERE tenant > ?) parties ORDER BY name LIMIT ?`, after, after, after, size+1)
	names, next = page.Cut(names, size, "tenants", func(name string) string { return name })
	if err != nil || len(names) == 0 {
		return nil, "", s.db.Coded(err, "list the tenants")
	}
	made := map[string]posthouse.Tenant{}
	err = s.db.Look(ctx, "SELECT "+tenantColumns+" FROM posthouse_tenants WHERE name >= ? AND name <= ?", []any{names[0], names[len(names)-1]}, func(scan sqldb.Scanner) error {
		t, err := readTenant(scan)
		made[t.Name] = t
		return err
	})
	for _, name := range names {
		t := made[name]
		t.Name = name
		list = append(list, t)
	}
	return list, next, s.db.Coded(err, "list the tenants")
}

// Tenant reads one tenant; an error of code not_found says that there is none.
func (s Tenants) Tenant(ctx context.Context, name string) (posthouse.Tenant, error) {
	t, found, err := sqldb.First(s.db.Reads(ctx), readTenant, "SELECT "+tenantColumns+" FROM posthouse_tenants WHERE name = ?", name)
	if err == nil && !found {
		_, found, err = sqldb.First(s.db.Reads(ctx), sqldb.Word, byThings, name, name)
		t.Name = name
	}
	if err == nil && !found {
		return t, noTenant(name)
	}
	return t, s.db.Coded(err, "read a tenant")
}

func noTenant(name string) error {
	return posthouse.Errorf(posthouse.CodeNotFound, "there is no tenant %.80q", name)
}

// PutTenant stores what people say of a tenant, and returns it as it stands.
func (s Tenants) PutTenant(ctx context.Context, now time.Time, in posthouse.Tenant) (posthouse.Tenant, error) {
	quota, err := tenantText(in)
	if err != nil {
		return in, err
	}
	err = s.db.Change(ctx, now, "store a tenant", func(t *sqldb.Tx) error {
		if err := t.Serialize(); err != nil {
			return err
		}
		at, err := t.Now()
		if err != nil {
			return err
		}
		old, found, err := sqldb.First(t.Query, readTenant, "SELECT "+tenantColumns+" FROM posthouse_tenants WHERE name = ?", in.Name)
		if err != nil {
			return err
		}
		tag := old.Tag()
		if !found {
			if tag, err = s.unmade(t, in.Name); err != nil {
				return err
			}
		}
		if err := work.OnlyOf(ctx).Check("tenant", in.Name, tag); err != nil {
			return err
		}
		at = max(at, sqldb.Micros(old.UpdatedAt)+1) // each state has a tag of its own
		in.CreatedAt, in.UpdatedAt = sqldb.TimeOf(at), sqldb.TimeOf(at)
		if !found {
			_, err = t.Exec("INSERT INTO posthouse_tenants ("+tenantColumns+") VALUES ("+sqldb.Marks(6)+")", in.Name, in.Note, quota, at, at, in.Language)
			return err
		}
		in.CreatedAt = old.CreatedAt
		_, err = t.Exec("UPDATE posthouse_tenants SET note = ?, quota = ?, updated_at = ?, language = ? WHERE name = ?", in.Note, quota, at, in.Language, in.Name)
		return err
	})
	return in, err
}

// unmade is the tag of a tenant that has no row: one whose keys and channels alone make it one, empty where there is no such either.
func (s Tenants) unmade(t *sqldb.Tx, name string) (string, error) {
	_, found, err := sqldb.First(t.Query, sqldb.Word, byThings, name, name)
	if err != nil || !found {
		return "", err
	}
	return posthouse.Tenant{}.Tag(), nil
}

// tenantSays is the document in the column quota: the quota, and what was added to it since.
type tenantSays struct {
	posthouse.Quota
	QuietHours []posthouse.QuietHours `json:"quiet_hours,omitempty"`
	Caps       []posthouse.Cap        `json:"caps,omitempty"`
	Mandatory  []string               `json:"mandatory_kinds,omitempty"`
	Optional   []string               `json:"optional_kinds,omitempty"`
}

// tenantText is how that is kept: empty for nothing.
func tenantText(t posthouse.Tenant) (string, error) {
	said := tenantSays{t.Quota, t.QuietHours, t.Caps, t.MandatoryKinds, t.OptionalKinds}
	if !said.Any() && len(said.QuietHours)+len(said.Caps)+len(said.Mandatory)+len(said.Optional) == 0 {
		return "", nil
	}
	text, err := json.Marshal(said)
	return string(text), err
}

// Holds counts what a tenant has, of each up to wire.HoldsAtMost: a page that shows it must not read a million rows.
func (s Tenants) Holds(ctx context.Context, name string) (wire.TenantHolds, error) {
	now, err := s.db.Now(ctx)
	if err != nil {
		return wire.TenantHolds{}, err
	}
	h, err := s.holds(s.db.Reads(ctx), name, sqldb.Micros(now))
	return h, s.db.Coded(err, "count what a tenant has")
}

func (s Tenants) holds(from sqldb.Lookup, name string, now int64) (h wire.TenantHolds, err error) {
	both := []any{name, name}
	for _, part := range []struct {
		n    *int
		from string // and where
		args []any
	}{
		{&h.Open, "posthouse_queue WHERE tenant = ?", []any{name}},
		{&h.Open, "posthouse_due WHERE tenant = ?", []any{name}},
		{&h.Open, layout.StillFlying(s.db.Dialect) + " AND m.tenant = ?", []any{name}},
		{&h.Outbox, "posthouse_outbox WHERE tenant = ?", []any{name}},
		// Notifications and collections that are not over are found by their state, among many that do not.
		{&h.Plans, "posthouse_plans WHERE tenant = ? AND type IN ('" + string(work.PlanNotification) + "', '" + string(work.PlanCollection) + "') AND state IN ('waiting', 'leaving') AND state <> ''", []any{name}},
		{&h.Plans, "posthouse_plans WHERE tenant = ? AND type IN ('" + string(work.PlanReminder) + "', '" + string(work.PlanTask) + "', '" + string(work.PlanDecision) + "') AND next_at > 0", []any{name}},
		{&h.Campaigns, "posthouse_campaigns WHERE tenant = ? AND finished_at = 0", []any{name}},
		{&h.Audiences, "posthouse_audiences WHERE tenant = ?", []any{name}},
		{&h.Subscriptions, "posthouse_subscriptions WHERE tenant = ?", []any{name}},
		{&h.Keys, "posthouse_api_keys WHERE tenant = ? AND revoked_at = 0 AND (expires_at = 0 OR expires_at > ?)", []any{name, now}},
		{&h.Channels, "posthouse_channels WHERE tenant = ?", []any{name}},
		{&h.Agents, "posthouse_agents WHERE tenant = ?", []any{name}},
		{&h.Templates, "posthouse_templates t WHERE tenant = ? AND version = (SELECT MAX(version) FROM posthouse_templates l WHERE l.tenant = ? AND l.name = t.name)", both},
		{&h.Rosters, "posthouse_rosters WHERE tenant = ?", []any{name}},
		{&h.Users, "posthouse_users WHERE tenant = ?", []any{name}},
	} {
		n, _, err := sqldb.First(from, sqldb.Number, fmt.Sprintf("SELECT COUNT(*) FROM (SELECT 1 AS one FROM %s LIMIT %d) h", part.from, wire.HoldsAtMost), part.args...)
		if err != nil {
			return h, err
		}
		*part.n = min(*part.n+int(n), wire.HoldsAtMost)
	}
	return h, nil
}

// openText counts a tenant's deliveries that are not settled.
func (s Tenants) openText(name string) (string, []any) {
	return "SELECT (SELECT COUNT(*) FROM posthouse_queue WHERE tenant = ?) + (SELECT COUNT(*) FROM posthouse_due WHERE tenant = ?)" +
		" + (SELECT COUNT(*) FROM " + layout.StillFlying(s.db.Dialect) + " AND m.tenant = ?)", []any{name, name, name}
}

// configured are the tables of what a tenant's people have set up, with what the program notes beside it.
var configured = []string{
	"posthouse_api_keys", "posthouse_channels", "posthouse_accounts", "posthouse_gates", "posthouse_tallies", "posthouse_agents", "posthouse_agent_claims",
	"posthouse_templates", "posthouse_routes", "posthouse_digests", "posthouse_presets", "posthouse_sms_texts", "posthouse_default_sms", "posthouse_rosters", "posthouse_roster_days", "posthouse_roster_entries",
	"posthouse_users", "posthouse_user_roles", "posthouse_user_words", "posthouse_plans", "posthouse_notify_marks", "posthouse_segments", "posthouse_member_refs", "posthouse_campaigns", "posthouse_audiences",
	"posthouse_subscriptions", "posthouse_dead_letters", "posthouse_callbacks", "posthouse_fronts", "posthouse_front_calls", "posthouse_media", "posthouse_lines", "posthouse_person_roles", "posthouse_suppressions", "posthouse_preferences",
}

// RemoveTenant deletes a tenant that has nothing; with all, it deletes what is set up with it: keys, channels, agents,
// texts, rosters, users, audiences, subscriptions, reminders and tasks. Open deliveries, rows of the outbox and campaigns that go on are
// never deleted: one that has some stays. What is settled stays until its time is over, and so does the audit log.
func (s Tenants) RemoveTenant(ctx context.Context, now time.Time, name string, all bool) error {
	return s.db.Change(ctx, now, "remove a tenant", func(t *sqldb.Tx) error {
		if err := t.Serialize(); err != nil {
			return err
		}
		at, err := t.Now()
		if err != nil {
			return err
		}
		holds, err := s.holds(t.Query, name, at)
		if err == nil {
			err = removable(name, holds, all)
		}
		if err != nil {
			return err
		}
		for _, text := range []string{
			"DELETE FROM posthouse_charges WHERE key_id IN (SELECT id FROM posthouse_api_keys WHERE tenant = ?)",
			"DELETE FROM posthouse_media_parts WHERE media IN (SELECT id FROM posthouse_media WHERE tenant = ?)",
			"DELETE FROM posthouse_audience_blocks WHERE audience IN (SELECT id FROM posthouse_audiences WHERE tenant = ?)",
			"DELETE FROM posthouse_audience_blocks WHERE audience IN (SELECT id FROM posthouse_campaigns WHERE tenant = ?)",
		} {
			if _, err := t.Exec(text, name); err != nil {
				return err
			}
		}
		gone, err := t.Exec("DELETE FROM posthouse_tenants WHERE name = ?", name)
		for _, table := range configured {
			if err == nil {
				var n int64
				n, err = t.Exec("DELETE FROM "+table+" WHERE tenant = ?", name)
				gone += n
			}
		}
		if err == nil && gone == 0 {
			err = noTenant(name)
		}
		return err
	})
}

// removable says what of a tenant is in the way of its removal.
func removable(name string, h wire.TenantHolds, all bool) error {
	var what string
	var has []string
	for _, p := range h.Parts() {
		if p.N > 0 {
			has = append(has, fmt.Sprintf("%d %s", p.N, p.Name))
		}
	}
	switch {
	case h.Open+h.Outbox+h.Campaigns > 0:
		what = "cancel what is open or wait until it is settled" // deleting it would lose messages
	case len(has) > 0 && !all:
		what = "delete them first, or force it, which deletes them too"
	default:
		return nil
	}
	return posthouse.Errorf(posthouse.CodeConflict, "the tenant %.80q has %s: %s", name, strings.Join(has, ", "), what)
}
