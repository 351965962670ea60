package schema

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// Progress is how far the database is with an index that it makes.
type Progress struct {
	Index string
	Phase string // in the database's words
	// Percent is of the phase, 0 where the database counts nothing in it.
	Percent int
}

// Progress asks the database how far it is; ok is false where it makes no index, or does not say.
func (s Schema) Progress(ctx context.Context) (p Progress, ok bool, err error) {
	query := s.db.Dialect.IndexProgress
	if query == "" {
		return Progress{}, false, nil
	}
	err = s.db.Reader.QueryRowContext(ctx, query).Scan(&p.Index, &p.Phase, &p.Percent)
	if errors.Is(err, sql.ErrNoRows) {
		return Progress{}, false, nil
	}
	if err != nil {
		return Progress{}, false, fmt.Errorf("ask how far the database is with an index: %w", err)
	}
	return p, true, nil
}

// progressEvery is how often a migration that takes long says so.
const progressEvery = 5 * time.Second

// telling says now and then in the log that a migration goes on, and how far it is, until it is stopped.
func (s Schema) telling(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		began, tick := time.Now(), time.NewTicker(progressEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			words := []any{"for", time.Since(began).Round(time.Second).String()}
			if p, ok, err := s.Progress(ctx); err == nil && ok {
				words = append(words, "index", p.Index, "phase", p.Phase, "percent", p.Percent)
			}
			s.db.Log.Info("the schema is being migrated", words...)
		}
	}()
	return func() { cancel(); <-ended }
}
