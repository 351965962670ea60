package engine

import (
	"context"
	"io"
	"log/slog"
	"sync/atomic"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/internal/intake"
	"github.com/posthouse/posthouse/internal/limit"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/store"
	"github.com/posthouse/posthouse/internal/store/storetest"
	"github.com/posthouse/posthouse/internal/work"
)

// counted is a provider that accepts everything at once.
type counted struct {
	n    atomic.Int64
	want int64
	done chan struct{}
}

func (c *counted) Send(context.Context, channel.Outgoing) channel.Result {
	if c.n.Add(1) == c.want {
		close(c.done)
	}
	return channel.Result{Class: posthouse.ClassOK}
}

// BenchmarkFlow is a message's whole way through the engine, accepts in batches: ns for each
// message, on each database.
func BenchmarkFlow(b *testing.B) {
	for _, db := range []struct {
		name string
		dsn  func(testing.TB) string
	}{{"sqlite", dbtest.SQLite}, {"postgres", dbtest.Postgres}, {"mariadb", dbtest.MariaDB}} {
		b.Run(db.name, func(b *testing.B) {
			log := slog.New(slog.NewTextHandler(io.Discard, &slog.HandlerOptions{Level: slog.LevelError}))
			ctx := context.Background()
			st, err := store.Open(ctx, store.Options{DSN: db.dsn(b), Log: log})
			if err != nil {
				b.Fatal(err)
			}
			defer st.Close()
			if _, err := st.Schema.Migrate(ctx); err != nil {
				b.Fatal(err)
			}
			e, err := New(Options{Stores: parts(storetest.All(st)), Rosters: st.Rosters, Limiter: limit.SQL{Rows: st.Limits}, Log: log})
			if err != nil {
				b.Fatal(err)
			}
			if err := e.Start(ctx); err != nil {
				b.Fatal(err)
			}
			defer e.Stop(ctx)
			c := &counted{want: int64(b.N), done: make(chan struct{})}
			ch := posthouse.Channel{Tenant: posthouse.DefaultTenant, Name: "c", ChannelSettings: posthouse.ChannelSettings{MaxInflight: 1000}}
			if err := e.Routes.SetChannel(ch, state.Opened{Driver: c, Window: channel.Forever}); err != nil {
				b.Fatal(err)
			}
			b.ResetTimer()
			for left := b.N; left > 0; {
				n := min(left, 500)
				drafts := make([]posthouse.Draft, n)
				for i := range drafts {
					drafts[i] = text("c", "u")
				}
				if _, err := e.Intake.Accept(ctx, intake.Request{Caller: work.Program(), Tenant: posthouse.DefaultTenant, Drafts: drafts}); err != nil {
					b.Fatal(err)
				}
				left -= n
			}
			<-c.done
		})
	}
}
