package local

import (
	"context"
	"fmt"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store"
	"github.com/posthouse/posthouse/internal/web"
	"github.com/posthouse/posthouse/wire"
)

// noted writes to the audit log what a command did to the database without a server.
func noted(ctx context.Context, s *store.Store, tenant, action, target string, affected int) error {
	now := time.Now()
	err := s.Audit.AddAudit(ctx, now, wire.AuditEntry{
		ID: posthouse.NewID(), Tenant: tenant, At: now.UTC(), Source: "command", Action: action, Target: target, Affected: affected,
	}, web.DefaultAuditKeep)
	if err != nil {
		return fmt.Errorf("it is done, but is not in the audit log: %w", err)
	}
	return nil
}
