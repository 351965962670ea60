package server

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/limit"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/web"
	"github.com/posthouse/posthouse/wire"
)

// Check is one part of what the server needs for its work.
type Check struct {
	Name string
	OK   bool
	// Detail says what is wrong, or what was found.
	Detail string
	// Optional parts are named when they fail, but the server stays ready: the others go on.
	Optional bool
	// State is a channel's, and empty for other parts: one that a person has paused is no fault.
	State posthouse.ChannelState
}

// Readiness says whether the server can do its work, part by part, with the channels of all tenants.
func (s *Server) Readiness(ctx context.Context) []Check {
	parts, channels := s.readiness(ctx)
	return append(parts, channelChecks(channels)...)
}

// readiness are the parts of the server, and the channels of all tenants.
func (s *Server) readiness(ctx context.Context) (parts []Check, channels []posthouse.Channel) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	var redis chan Check
	if s.redis != nil { // asked beside the database, which may take all the time there is
		redis = make(chan Check, 1)
		go func() { redis <- redisCheck(ctx, s.redis) }()
	}
	checks := []Check{{Name: "database", OK: true, Detail: s.store.DB.Database()}}
	if err := s.store.DB.Ping(ctx); err != nil {
		checks[0].OK, checks[0].Detail = false, whyAway(err)
	} else if s.store.DB.Full(time.Now()) {
		checks[0].OK, checks[0].Detail = false, "the database has no room"
	}
	checks = append(checks, s.place.check()...)
	if redis != nil {
		checks = append(checks, <-redis)
	}
	if s.replica != nil {
		checks = append(checks, s.replica.check())
	}
	if s.engine.Outdated() {
		checks = append(checks, Check{Name: "schema", Detail: "the database was upgraded for newer programs than this process: start a newer one in its place"})
	} else if s.engine.Stale() {
		checks = append(checks, Check{Name: "epoch", Detail: "the database was restored under this process: restart it"})
	}
	if n := s.engine.Unreadable(); n > 0 {
		checks = append(checks, Check{Name: "queue", Optional: true, Detail: fmt.Sprintf("%d deliveries have a state or priority that is not known: the log names their channels", n)})
	}
	list, err := s.channels.All(ctx)
	if err != nil {
		return checks, nil // the database's own check says so
	}
	return checks, list
}

// redisCheck names a Redis that is away. The limits hold without it.
func redisCheck(ctx context.Context, redis *limit.Redis) Check {
	if err := redis.Ping(ctx); err != nil {
		return Check{Name: "redis", Detail: "it does not answer: the database alone holds the limits of channels, and each process its own of requests", Optional: true}
	}
	return Check{Name: "redis", OK: true, Optional: true}
}

// whyAway is what anybody may know of a database that cannot be worked with.
func whyAway(err error) string {
	var coded *posthouse.Error
	if errors.As(err, &coded) {
		return coded.Message
	}
	return sqldb.NoAnswer
}

// channelChecks name the channels that do not send now. The others go on, so the server is ready.
func channelChecks(list []posthouse.Channel) []Check {
	var out []Check
	for _, ch := range list {
		if ch.State != posthouse.ChannelOpen {
			detail := strings.TrimSuffix(string(ch.State)+": "+ch.StateReason, ": ")
			if !ch.StateUntil.IsZero() {
				detail += " until " + ch.StateUntil.UTC().Format(time.RFC3339)
			}
			out = append(out, Check{Name: "channel " + ch.Tenant + "/" + ch.Name, Detail: detail, Optional: true, State: ch.State})
		}
	}
	return out
}

// checks is Readiness for /readyz. Who has a key learns of the channels that it sees, a stranger how many of all do not send.
func (s *Server) checks(ctx context.Context, who posthouse.Key) []wire.Check {
	list, channels := s.readiness(ctx)
	if who.ID == "" || web.Permit(who, web.Use{Scope: posthouse.ScopeRead, Sight: true}) != nil {
		list = append(list, counted(channels)...)
	} else {
		sight := web.SightOf(who)
		list = append(list, channelChecks(slices.DeleteFunc(channels, func(ch posthouse.Channel) bool { return ch.Tenant != who.Tenant || !sight.Channel(ch.Name) }))...)
	}
	out := make([]wire.Check, len(list))
	for i, c := range list {
		out[i] = wire.Check(c)
	}
	return out
}

// counted says how many channels do not send now, and names none.
func counted(list []posthouse.Channel) []Check {
	count := map[posthouse.ChannelState]int{}
	for _, ch := range list {
		count[ch.State]++
	}
	var words []string
	for _, state := range posthouse.ChannelStates() {
		if n := count[state]; n > 0 && state != posthouse.ChannelOpen {
			words = append(words, fmt.Sprintf("%d %s", n, state))
		}
	}
	if len(words) == 0 {
		return nil
	}
	return []Check{{Name: "channels", Optional: true, Detail: fmt.Sprintf("%d of %d do not send now: %s; a key names those of its tenant", len(list)-count[posthouse.ChannelOpen], len(list), strings.Join(words, ", "))}}
}

// unsafe names the database's unsafe settings.
func unsafe(ctx context.Context, db *sqldb.DB) ([]wire.Setting, error) {
	found, err := db.Doctor(ctx)
	out := make([]wire.Setting, len(found))
	for i, f := range found {
		out[i] = wire.Setting(f)
	}
	return out, err
}
