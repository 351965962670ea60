package api_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/posthouse/posthouse/server"
)

// BenchmarkPostMessages is one accept over HTTP on SQLite, with 64 producers: bare, and with an
// Idempotency-Key each, as the Go client sends.
func BenchmarkPostMessages(b *testing.B) {
	for _, keyed := range []bool{false, true} {
		b.Run(fmt.Sprintf("keyed=%t", keyed), func(b *testing.B) {
			h := with(b, func(o *server.Options) { o.AcceptOnly = true })
			const body = `{"channel":"later","to":[{"user":"u1001","type":"branch"}],"content":{"title":"Duty","text":"You are on duty tomorrow."},"kind":"duty","ref":"2026-10-01"}`
			var n atomic.Int64
			b.SetParallelism(64 / 2)
			b.ReportAllocs()
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					req, _ := http.NewRequestWithContext(context.Background(), "POST", h.url+"/v1/messages", strings.NewReader(body))
					req.Header.Set("Authorization", "Bearer "+h.keys["send"])
					req.Header.Set("Content-Type", "application/json")
					if keyed {
						req.Header.Set("Idempotency-Key", fmt.Sprint(n.Add(1)))
					}
					res, err := h.http.Do(req)
					if err != nil || res.StatusCode != 202 {
						b.Error(res, err)
						return
					}
					_, _ = io.Copy(io.Discard, res.Body) // or the connection is not used again
					res.Body.Close()
				}
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "accepts/s")
		})
	}
}
