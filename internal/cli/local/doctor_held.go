package local

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/posthouse/posthouse/internal/store"
)

// examineHeld finds fault with what a new epoch holds: nobody is told by it until a person has looked.
func examineHeld(ctx context.Context, s *store.Store) (out []finding) {
	for _, of := range []struct {
		name  string
		count func(ctx context.Context) (byTenant map[string]int, err error)
		says  func(n int) string
	}{
		{"notifications", s.Plans.HeldNotifications, func(n int) string {
			return fmt.Sprintf("%d held since the database was restored, and no step begins until a person has looked: posthouse notification list --held, then notification resume or end", n)
		}},
		{"reminders", s.Plans.HeldReminders, func(n int) string {
			return fmt.Sprintf("%d held since the database was restored, and nothing is sent until a person has looked: posthouse remind list --held, then remind resume or end", n)
		}},
	} {
		held, err := of.count(ctx)
		if err != nil {
			out = append(out, finding{of.name, false, err.Error()})
			continue
		}
		for _, tenant := range slices.Sorted(maps.Keys(held)) {
			if n := held[tenant]; n > 0 {
				out = append(out, finding{of.name + ofTenant(tenant), false, of.says(n)})
			}
		}
	}
	return out
}
