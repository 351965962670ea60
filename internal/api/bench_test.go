package api_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"runtime/pprof"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/posthouse/posthouse/internal/store/sqltest"
	"github.com/posthouse/posthouse/server"
)

// BenchmarkPostMessages is one accept over HTTP with 64 producers: bare, and with an Idempotency-Key each, as the Go client sends. A profile tells what
// the clients of the same process take: go tool pprof -tags.
func BenchmarkPostMessages(b *testing.B) {
	for name, dsn := range map[string]func(testing.TB) string{"sqlite": sqltest.Ready.SQLite, "postgres": sqltest.Ready.Postgres} {
		for _, keyed := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s/keyed=%t", name, keyed), func(b *testing.B) {
				h := with(b, func(o *server.Options) { o.AcceptOnly, o.DSN = true, dsn(b) })
				var n atomic.Int64
				b.SetParallelism(64 / 2)
				b.ReportAllocs()
				b.ResetTimer()
				b.RunParallel(func(pb *testing.PB) {
					pprof.Do(context.Background(), pprof.Labels("side", "client"), func(ctx context.Context) {
						for pb.Next() {
							if err := h.post(ctx, keyed, &n); err != nil {
								b.Error(err)
								return
							}
						}
					})
				})
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "accepts/s")
			})
		}
	}
}

func (h *house) post(ctx context.Context, keyed bool, n *atomic.Int64) error {
	const body = `{"channel":"later","to":[{"user":"u1001","type":"branch"}],"content":{"title":"Duty","text":"You are on duty tomorrow."},"kind":"duty","ref":"2026-10-01"}`
	req, _ := http.NewRequestWithContext(ctx, "POST", h.url+"/v1/messages", strings.NewReader(body))
	req.Header.Set("Authorization", "Bearer "+h.keys["send"])
	req.Header.Set("Content-Type", "application/json")
	if keyed {
		req.Header.Set("Idempotency-Key", fmt.Sprint(n.Add(1)))
	}
	res, err := h.http.Do(req)
	if err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, res.Body) // or the connection is not used again
	res.Body.Close()
	if res.StatusCode != http.StatusAccepted {
		return fmt.Errorf("answered %s", res.Status)
	}
	return nil
}
