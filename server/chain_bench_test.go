package server_test

import (
	"context"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/chain"
	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/internal/store"
	"github.com/posthouse/posthouse/server"
)

// BenchmarkSeal seals messages that were sent clean, all four times, and compares them once. The figures are for one message:
// ns to seal and to check it, and the bytes of the chain.
func BenchmarkSeal(b *testing.B) {
	for _, d := range databases {
		b.Run(d.name, func(b *testing.B) {
			dsn := d.dsn(b)
			const messages = 20_000
			fill(b, dsn, messages)
			db, err := store.Open(b.Context(), store.Options{DSN: dsn, Log: slog.New(slog.DiscardHandler)})
			if err != nil {
				b.Fatal(err)
			}
			defer db.Close()
			sql := dbtest.SQL(b, dsn)
			for b.Loop() {
				if _, err := sql.ExecContext(b.Context(), "DELETE FROM posthouse_checkpoints"); err != nil {
					b.Fatal(err)
				}
				sealer := chain.Sealer{Book: db.Chain, After: time.Millisecond, Keep: -1, Log: slog.New(slog.DiscardHandler)}
				began := time.Now()
				if err := sealer.Seal(b.Context(), time.Now().Add(time.Hour)); err != nil {
					b.Fatal(err)
				}
				sealed := time.Now()
				if _, err := chain.Check(b.Context(), db.Chain, time.Now(), "", func(chain.Finding) error { return nil }); err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(sealed.Sub(began).Nanoseconds())/messages, "ns-to-seal/message")
				b.ReportMetric(float64(time.Since(sealed).Nanoseconds())/messages, "ns-to-check/message")
			}
			var size int
			if err := sql.QueryRowContext(b.Context(), "SELECT SUM(LENGTH(body)) + 300 * COUNT(*) FROM posthouse_checkpoints").Scan(&size); err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(size)/messages, "B/message")
		})
	}
}

// fill has so many messages sent.
func fill(b *testing.B, dsn string, messages int) {
	b.Helper()
	s, err := server.New(b.Context(), server.Options{DSN: dsn, Addr: "127.0.0.1:0", Keyring: keyring, Log: slog.New(slog.DiscardHandler), Output: io.Discard})
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := s.Stop(context.WithoutCancel(b.Context())); err != nil {
			b.Error(err)
		}
	}()
	if err := s.Start(b.Context()); err != nil {
		b.Fatal(err)
	}
	if _, err := s.PutChannel(b.Context(), "", posthouse.Channel{Name: "out", Driver: "discard"}); err != nil {
		b.Fatal(err)
	}
	drafts := make([]posthouse.Draft, 1000)
	for i := range drafts {
		drafts[i] = posthouse.Draft{Channel: "out", To: []posthouse.Recipient{{User: "u"}}, Content: &posthouse.Content{Text: "hello"}}
	}
	for range messages / len(drafts) {
		if _, err := s.Accept(b.Context(), "", drafts...); err != nil {
			b.Fatal(err)
		}
	}
	db := dbtest.SQL(b, dsn)
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for n := 0; n < messages; <-tick.C {
		if err := db.QueryRowContext(b.Context(), "SELECT COUNT(*) FROM posthouse_sent").Scan(&n); err != nil {
			b.Fatal(err)
		}
	}
}
