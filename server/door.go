package server

import (
	"cmp"
	"context"
	"net/http"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/intake"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/wire"
)

// Accept stores messages, all of them or none, and returns what became of each: once it returns without an error, they
// are sent however this process ends. An empty tenant is the default one. A message that was handed in before with the
// same dedup_key is not stored again, and marked as a duplicate.
func (s *Server) Accept(ctx context.Context, tenant string, drafts ...posthouse.Draft) ([]posthouse.Accepted, error) {
	if len(drafts) == 0 {
		return nil, nil
	}
	answer, err := s.engine.Intake.Accept(ctx, intake.Request{Caller: work.Program(), Tenant: cmp.Or(tenant, posthouse.DefaultTenant), Drafts: drafts})
	return answer.Accepted, err
}

// PutChannel creates a channel or replaces it, as PUT /v1/channels/{name} does. An empty tenant is the default one.
func (s *Server) PutChannel(ctx context.Context, tenant string, ch posthouse.Channel) (posthouse.Channel, error) {
	tenant = cmp.Or(tenant, posthouse.DefaultTenant)
	before, _ := s.channels.Get(ctx, tenant, ch.Name)
	stored, created, err := s.channels.Put(ctx, tenant, ch)
	if err == nil {
		s.book().Write(ctx, putEntry(tenant, ch.Name, byProgram), changeOf(before, stored, created))
	}
	return stored, err
}

// Where a change came from that no request asked for.
const (
	atStart   = "start"
	byProgram = "program"
)

func putEntry(tenant, name, source string) wire.AuditEntry {
	return wire.AuditEntry{Tenant: tenant, Source: source, Action: "channels.put", Target: name}
}

// changeOf is a channel before and after, masked as both are.
func changeOf(before, after posthouse.Channel, created bool) map[string]any {
	if created {
		return map[string]any{"after": after}
	}
	return map[string]any{"before": before, "after": after}
}

// Handler serves the API, for a program that listens by itself: see Options.NoListen.
func (s *Server) Handler() http.Handler { return s.handler }
