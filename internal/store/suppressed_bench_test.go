package store

import (
	"fmt"
	"testing"

	"github.com/posthouse/posthouse"
)

// BenchmarkSuppressed is what a claim pays for suppressions: its addresses are looked up, one or 256 of them, where nobody is
// suppressed and where many are, of whom it meets none.
func BenchmarkSuppressed(b *testing.B) {
	const many = 100_000
	ask := func(b *testing.B, s *Store, batch int) {
		list := make([]string, batch)
		for i := 0; b.Loop(); i++ {
			for k := range list {
				list[k] = fmt.Sprintf("o6_bmjrPTlm6_2sgVt7hM%08d", (i*batch+k)*7919%100_000_000)
			}
			if _, err := s.Suppressions.Suppressed(b.Context(), at(), "t1", "mp", list); err != nil {
				b.Fatal(err)
			}
		}
	}
	for _, db := range databases {
		b.Run(db.name, func(b *testing.B) {
			s := openTest(b, db.dsn(b))
			for _, among := range []int{0, many} {
				for first := 0; first < among; first += 1000 {
					rows := make([]posthouse.Suppression, 1000)
					for i := range rows {
						address := fmt.Sprintf("o6_bmjrPTlm6_2sgVt7hM%08dx", (first+i)*101%100_000_000)
						rows[i] = posthouse.Suppression{Tenant: "t1", Address: address, Channel: "mp", Source: posthouse.SuppressedByImport}
					}
					if err := s.Suppressions.Suppress(b.Context(), at(), rows); err != nil {
						b.Fatal(err)
					}
				}
				for _, batch := range []int{1, 256} {
					b.Run(fmt.Sprintf("among=%d/%d", among, batch), func(b *testing.B) { ask(b, s, batch) })
				}
			}
		})
	}
}
