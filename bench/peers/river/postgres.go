package river

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"github.com/posthouse/posthouse/bench/trial"
)

// connections is enough for 64 producers, the fetcher and the completer.
const connections = 80

// OpenPostgres opens River on a PostgreSQL database.
func OpenPostgres(ctx context.Context, dsn string) (trial.Queue, error) {
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, err
	}
	config.MaxConns = connections
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	return Open[pgx.Tx](ctx, riverpgxv5.New(pool), postgres{pool})
}

type postgres struct{ pool *pgxpool.Pool }

func (p postgres) Settle(ctx context.Context) error {
	_, err := p.pool.Exec(ctx, "ANALYZE river_job")
	return err
}

func (p postgres) Left(ctx context.Context) (n int, err error) {
	err = p.pool.QueryRow(ctx, LeftStatement).Scan(&n)
	return n, err
}

func (p postgres) Close() error {
	p.pool.Close()
	return nil
}
