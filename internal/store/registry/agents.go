package registry

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/page"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

// Agents are the apps that fetch messages.
type Agents struct{ db *sqldb.DB }

const agentColumns = "tenant, id, name, channels, capabilities, limits, state, reason, key_id, app, last_seen_at, created_at, updated_at"

func readAgent(scan sqldb.Scanner) (posthouse.Agent, error) {
	var a posthouse.Agent
	var channels, capabilities, limits string
	var seen, created, updated int64
	err := scan(&a.Tenant, &a.ID, &a.Name, &channels, &capabilities, &limits, &a.State, &a.Reason, &a.Key, &a.App, &seen, &created, &updated)
	a.LastSeenAt, a.CreatedAt, a.UpdatedAt = sqldb.TimeOf(seen), sqldb.TimeOf(created), sqldb.TimeOf(updated)
	for _, f := range []struct {
		text string
		into any
	}{{channels, &a.Channels}, {capabilities, &a.Capabilities}, {limits, &a.Limits}} {
		if err == nil && f.text != "" {
			if err = json.Unmarshal([]byte(f.text), f.into); err != nil {
				err = fmt.Errorf("agent %q cannot be read: %w", a.ID, err)
			}
		}
	}
	if limits == "" {
		a.Limits = posthouse.AgentLimits()
	}
	return a, err
}

// agentTexts are the columns channels, capabilities and limits. Limits that are null are the usual ones,
// whatever these become.
func agentTexts(a *posthouse.Agent) (channels, capabilities, limits string) {
	text := func(v any) string {
		b, _ := json.Marshal(v) // texts and numbers: cannot fail
		return string(b)
	}
	channels = text(append([]string{}, a.Channels...))
	if len(a.Capabilities) > 0 {
		capabilities = text(a.Capabilities)
	}
	if a.Limits != nil {
		limits = text(a.Limits)
	}
	return channels, capabilities, limits
}

// AddAgent stores an agent that is new. It is a conflict where there is one of this id.
func (s Agents) AddAgent(ctx context.Context, now time.Time, a posthouse.Agent) (posthouse.Agent, error) {
	channels, capabilities, limits := agentTexts(&a)
	if a.State == "" {
		a.State = posthouse.AgentActive
	}
	err := s.db.Change(ctx, now, "store an agent", func(t *sqldb.Tx) error {
		at, err := t.Now()
		if err != nil {
			return err
		}
		_, err = t.Exec("INSERT INTO posthouse_agents ("+agentColumns+") VALUES ("+sqldb.Marks(13)+")", a.Tenant, a.ID, a.Name,
			channels, capabilities, limits, string(a.State), a.Reason, a.Key, a.App, sqldb.Micros(a.LastSeenAt), at, at)
		return err
	})
	if s.db.Taken(err) {
		return a, posthouse.Errorf(posthouse.CodeConflict, "there is an agent %q already", a.ID)
	}
	if err != nil {
		return a, err
	}
	return s.Agent(ctx, a.Tenant, a.ID)
}

// PutAgent changes what people decide about an agent: name, channels, capabilities, limits and its key.
func (s Agents) PutAgent(ctx context.Context, now time.Time, a posthouse.Agent) (posthouse.Agent, error) {
	channels, capabilities, limits := agentTexts(&a)
	err := s.ofAgent(ctx, now, a.Tenant, a.ID, "name = ?, channels = ?, capabilities = ?, limits = ?, key_id = ?",
		a.Name, channels, capabilities, limits, a.Key)
	if err != nil {
		return a, err
	}
	return s.Agent(ctx, a.Tenant, a.ID)
}

// SetAgentState pauses, drains or activates an agent.
func (s Agents) SetAgentState(ctx context.Context, now time.Time, tenant, id string, state posthouse.AgentState, reason string) error {
	if state == posthouse.AgentActive {
		reason = ""
	}
	return s.ofAgent(ctx, now, tenant, id, "state = ?, reason = ?", string(state), reason)
}

// ofAgent changes one agent, or says not_found.
func (s Agents) ofAgent(ctx context.Context, now time.Time, tenant, id, sets string, args ...any) error {
	return s.db.Change(ctx, now, "change an agent", func(t *sqldb.Tx) error {
		at, err := t.Now()
		if err != nil {
			return err
		}
		n, err := t.Exec("UPDATE posthouse_agents SET "+sets+", version = version + 1, updated_at = ? WHERE tenant = ? AND id = ?", slices.Concat(args, []any{at, tenant, id})...)
		if err == nil && n == 0 {
			return noAgent(id)
		}
		return err
	})
}

func noAgent(id string) error {
	return posthouse.Errorf(posthouse.CodeNotFound, "there is no agent %q", id)
}

// Agent reads one agent, or says not_found.
func (s Agents) Agent(ctx context.Context, tenant, id string) (posthouse.Agent, error) {
	a, found, err := sqldb.First(s.db.Reads(ctx), readAgent, "SELECT "+agentColumns+" FROM posthouse_agents WHERE tenant = ? AND id = ?", tenant, id)
	if err == nil && !found {
		return a, noAgent(id)
	}
	return a, s.db.Coded(err, "read an agent")
}

// Agents lists a tenant's agents by id, a page at a time.
func (s Agents) Agents(ctx context.Context, tenant, cursor string, limit int) (list []posthouse.Agent, next string, err error) {
	after, err := page.Key("agents", cursor)
	if err != nil {
		return nil, "", err
	}
	size := page.Size(limit)
	list, err = sqldb.All(s.db.Reads(ctx), readAgent, "SELECT "+agentColumns+" FROM posthouse_agents WHERE tenant = ? AND id > ? ORDER BY id LIMIT ?", tenant, after, size+1)
	if err != nil {
		return nil, "", s.db.Coded(err, "list the agents")
	}
	list, next = page.Cut(list, size, "agents", func(a posthouse.Agent) string { return a.ID })
	return list, next, nil
}

// DeleteAgent takes an agent away. It is a conflict while it holds anything.
func (s Agents) DeleteAgent(ctx context.Context, now time.Time, tenant, id string) error {
	return s.db.Change(ctx, now, "delete an agent", func(t *sqldb.Tx) error {
		held, _, err := sqldb.First(t.Query, sqldb.Number, "SELECT COUNT(*) FROM posthouse_queue WHERE state = 'sending' AND lease_until > 0 AND tenant = ? AND lease_owner = ?",
			tenant, work.Owner(id))
		if err != nil {
			return err
		}
		if held > 0 {
			return posthouse.Errorf(posthouse.CodeConflict, "agent %q holds %d deliveries: drain it and wait, or reassign them", id, held)
		}
		n, err := t.Exec("DELETE FROM posthouse_agents WHERE tenant = ? AND id = ?", tenant, id)
		if err == nil && n == 0 {
			return noAgent(id)
		}
		return err
	})
}

// SeenAgents notes when agents were last heard of. One that is not stored is passed over.
func (s Agents) SeenAgents(ctx context.Context, now time.Time, list []work.Seen) error {
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b work.Seen) int { // in one order for all processes
		return strings.Compare(a.Tenant+"/"+a.Agent, b.Tenant+"/"+b.Agent)
	})
	return s.db.Change(ctx, now, "note which agents were heard of", func(t *sqldb.Tx) error {
		for _, seen := range list {
			_, err := t.Exec(`UPDATE posthouse_agents SET last_seen_at = CASE WHEN last_seen_at < ? THEN ? ELSE last_seen_at END,
				app = CASE WHEN ? <> '' THEN ? ELSE app END WHERE tenant = ? AND id = ?`,
				sqldb.Micros(seen.At), sqldb.Micros(seen.At), seen.App, seen.App, seen.Tenant, seen.Agent)
			if err != nil {
				return err
			}
		}
		return nil
	})
}
