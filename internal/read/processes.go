package read

import (
	"context"
	"time"

	"github.com/posthouse/posthouse/internal/upkeep"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/wire"
)

// Present are the processes that have said that they work on the database, and what time it is by the clock of their times.
type Present interface {
	Processes(ctx context.Context) (list []work.Process, now time.Time, err error)
}

// Epochs says how often the database was restored, promoted or cloned.
type Epochs interface {
	Epoch(ctx context.Context) (int64, error)
}

// Processes reads which processes work on the database. Both of its fields are required.
type Processes struct {
	Present Present
	Epochs  Epochs
}

// Processes lists those of the last day, those that began first before the others.
func (p Processes) Processes(ctx context.Context) ([]wire.Process, error) {
	rows, now, err := p.Present.Processes(ctx)
	if err != nil {
		return nil, err
	}
	epoch, err := p.Epochs.Epoch(ctx)
	if err != nil {
		return nil, err
	}
	list := make([]wire.Process, len(rows))
	for i, r := range rows {
		list[i] = wire.Process{
			ID: r.ID, Host: r.Host, Version: r.Version, Schema: r.Schema, Epoch: r.Epoch, Stale: r.Epoch != epoch, Key: r.Key, Keyring: r.Keyring, AcceptOnly: r.AcceptOnly, Untrusted: r.Untrusted,
			StartedAt: r.Started, SeenAt: r.Seen, Gone: now.Sub(r.Seen) > upkeep.Silent,
		}
	}
	return list, nil
}
