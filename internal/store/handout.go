package store

import (
	"context"
	"errors"
	"time"

	"github.com/posthouse/posthouse/internal/work"
)

// errUnbuilt marks what is being built.
var errUnbuilt = errors.New("not built yet")

// HandOut claims for an agent, writes the claim where it has an id, and the log of hand-outs.
func (s *Store) HandOut(ctx context.Context, now time.Time, h work.HandOut) (work.HandedOut, error) {
	return work.HandedOut{}, errUnbuilt
}

// Renew makes leases last from now. What the owner does not hold with that token is left out of the answer.
func (s *Store) Renew(ctx context.Context, now time.Time, tenant, owner string, holds []work.Hold, lease time.Duration) ([]work.Renewed, error) {
	return nil, errUnbuilt
}

// Report writes what agents say and what follows from it, in one transaction. decide is called for each
// report whose id is new, with its delivery locked as the reports before it have left it. It sets the
// report's Answer and returns the change, nil for none. The answer has the reports in order.
func (s *Store) Report(ctx context.Context, now time.Time, list []work.Report,
	decide func(now time.Time, r *work.Report, known work.Known) *work.Change) ([]work.Report, error) {
	return nil, errUnbuilt
}

// Sealed reads the sealed contents of messages, those that are not forgotten.
func (s *Store) Sealed(ctx context.Context, tenant string, messages []string) (map[string]string, error) {
	return nil, errUnbuilt
}

// Tally says how many deliveries of a pulled channel there are of each kind. It does not look at them.
func (s *Store) Tally(ctx context.Context, tenant, channel string) (work.Tally, error) {
	return work.Tally{}, errUnbuilt
}
