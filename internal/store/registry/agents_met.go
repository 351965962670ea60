package registry

import (
	"context"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

// MeetAgent stores an agent that nobody has registered, and that has no key: whoever knows a shared password can invent
// any number of them. So those that were not heard of for a time and hold nothing go, and beyond so many that are left
// there is no other. One that a person paused stays: gone, it would come back unpaused.
func (s Agents) MeetAgent(ctx context.Context, now time.Time, a posthouse.Agent, most int, unseen time.Duration) (posthouse.Agent, error) {
	const step = 100
	err := s.db.Change(ctx, now, "make room for an agent", func(t *sqldb.Tx) error {
		at, err := t.Now()
		if err != nil {
			return err
		}
		before := at - unseen.Microseconds()
		gone, err := sqldb.All(t.Query, sqldb.Word, "SELECT id FROM posthouse_agents WHERE tenant = ? AND key_id = '' AND state = ? AND last_seen_at < ? AND updated_at < ? ORDER BY id LIMIT ?",
			a.Tenant, posthouse.AgentActive, before, before, step)
		for i := 0; i < len(gone) && err == nil; i++ {
			err = forgetAgent(t, a.Tenant, gone[i])
		}
		if err != nil {
			return err
		}
		left, _, err := sqldb.First(t.Query, sqldb.Number, "SELECT COUNT(*) FROM posthouse_agents WHERE tenant = ? AND key_id = ''", a.Tenant)
		if err == nil && left >= int64(most) {
			return posthouse.Errorf(posthouse.CodeForbidden, "%d apps that nobody registered are known already: register this one with a key of its own, or delete others", left)
		}
		return err
	})
	if err != nil {
		return a, err
	}
	return s.AddAgent(ctx, now, a)
}

// forgetAgent deletes an agent that holds nothing.
func forgetAgent(t *sqldb.Tx, tenant, id string) error {
	held, _, err := sqldb.First(t.Query, sqldb.Number, "SELECT COUNT(*) FROM posthouse_queue WHERE state = 'sending' AND lease_until > 0 AND tenant = ? AND lease_owner = ?", tenant, work.Owner(id))
	if err != nil || held > 0 {
		return err
	}
	_, err = t.Exec("DELETE FROM posthouse_agents WHERE tenant = ? AND id = ? AND key_id = ''", tenant, id)
	return err
}
