package registry

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/internal/limit"
	"github.com/posthouse/posthouse/internal/store/sqltest"
)

func TestContentionOfOneRow(t *testing.T) {
	for name, dsn := range map[string]func(testing.TB) string{"postgres": dbtest.Postgres, "mariadb": dbtest.MariaDB} {
		for _, n := range []int{1, 2, 4, 8} {
			d := dsn(t)
			windows := []posthouse.Limit{{Max: 1_000_000, Per: posthouse.Duration(time.Minute)}, {Max: 100_000_000, Per: posthouse.Duration(time.Hour)}}
			var wg sync.WaitGroup
			took := make([][]time.Duration, n)
			end := time.Now().Add(5 * time.Second)
			for i := range n {
				l := limit.SQL{Rows: Limits{sqltest.Open(t, d)}}
				wg.Go(func() {
					for time.Now().Before(end) {
						began := time.Now()
						if _, err := l.Take(t.Context(), []limit.Bound{{Key: "default/wecom", Windows: windows}}, 50); err != nil {
							t.Error(err)
							return
						}
						took[i] = append(took[i], time.Since(began))
					}
				})
			}
			wg.Wait()
			all := slices.Concat(took...)
			slices.Sort(all)
			fmt.Printf("%s %d processes: %d calls/s, p50 %v p99 %v max %v\n", name, n, len(all)/5, all[len(all)/2], all[len(all)*99/100], all[len(all)-1])
		}
	}
}
