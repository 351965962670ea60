package server

import (
	"cmp"
	"context"
	"net/http"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/intake"
)

// Accept stores messages, all of them or none, and returns what became of each: once it returns without an error, they
// are sent however this process ends. An empty tenant is the default one. A message that was handed in before with the
// same dedup_key is not stored again, and marked as a duplicate.
func (s *Server) Accept(ctx context.Context, tenant string, drafts ...posthouse.Draft) ([]posthouse.Accepted, error) {
	if len(drafts) == 0 {
		return nil, nil
	}
	answer, err := s.engine.Intake.Accept(ctx, intake.Request{Tenant: cmp.Or(tenant, posthouse.DefaultTenant), Drafts: drafts})
	return answer.Accepted, err
}

// PutChannel creates a channel or replaces it, as PUT /v1/channels/{name} does. An empty tenant is the default one.
func (s *Server) PutChannel(ctx context.Context, tenant string, ch posthouse.Channel) (posthouse.Channel, error) {
	stored, _, err := s.channels.Put(ctx, cmp.Or(tenant, posthouse.DefaultTenant), ch)
	return stored, err
}

// Handler serves the API, for a program that listens by itself: see Options.NoListen.
func (s *Server) Handler() http.Handler { return s.handler }
