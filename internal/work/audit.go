package work

import "time"

// AuditFilter selects lines of the audit log, newest first. Tenant is required.
type AuditFilter struct {
	Tenant, Key, Action, Target string
	Since, Until                time.Time
	Cursor                      string
	Limit                       int // 1 to 1000, defaults to 50
}
