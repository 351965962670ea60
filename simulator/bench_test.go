package simulator

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// nobody is a client that does not look at the answer.
type nobody struct{ header http.Header }

func (n nobody) Header() http.Header         { return n.header }
func (n nobody) WriteHeader(int)             {}
func (n nobody) Write(b []byte) (int, error) { return len(b), nil }

var benchBody = `{"touser":"u1","title":"Duty","content":"` + strings.Repeat("x", 200) + `","msgId":"01JD3Z5V6W7X8Y9Z0A1B%06d"}`

// BenchmarkAccept is what a message costs without the network.
func BenchmarkAccept(b *testing.B) {
	for name, o := range map[string]Options{"memory": {}, "journal": {Journal: io.Discard}} {
		b.Run(name, func(b *testing.B) {
			sim := New(o)
			req := httptest.NewRequest("POST", "/tianyuan/api/message/send", nil)
			b.ReportAllocs()
			for i := range b.N {
				req.Body = io.NopCloser(strings.NewReader(fmt.Sprintf(benchBody, i)))
				sim.ServeHTTP(nobody{http.Header{}}, req)
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "messages/s")
		})
	}
}

// BenchmarkHTTP is the same over the loopback, with many clients of net/http.
func BenchmarkHTTP(b *testing.B) {
	sim := New(Options{})
	if err := sim.Start(b.Context(), ""); err != nil {
		b.Fatal(err)
	}
	defer sim.Stop(b.Context())
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	url := sim.URL() + "/tianyuan/api/message/send"
	b.SetParallelism(16)
	b.RunParallel(func(pb *testing.PB) {
		for i := 0; pb.Next(); i++ {
			res, err := client.Post(url, "application/json", bytes.NewReader(fmt.Appendf(nil, benchBody, i)))
			if err != nil {
				b.Error(err)
				return
			}
			_, _ = io.Copy(io.Discard, res.Body)
			res.Body.Close()
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "messages/s")
}
