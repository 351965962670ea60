//go:build long

package schema_test

import (
	"context"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/internal/store/schema"
	"github.com/posthouse/posthouse/internal/store/sqltest"
)

// An index over many rows is made beside those who write: no write waits for it, it says how far it is, and a migration that was killed in
// the midst of it is taken up again. LONG_ROWS says how many open deliveries there are.
func TestAnIndexOverManyRowsKeepsNobodyWaiting(t *testing.T) {
	rows, _ := strconv.Atoi(os.Getenv("LONG_ROWS"))
	rows = max(rows, 1_000_000)
	dsn := dbtest.Postgres(t)
	before := newer(t, dsn, func(name, text string) string {
		if name == "9003_index.sql" {
			return ""
		}
		return text
	})
	if _, err := schema.Of(before).Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	next := newer(t, dsn, asItIs)
	s := schema.Of(next)
	began := time.Now()
	const batch = 250_000
	for first := 1; first <= rows; first += batch {
		last := min(first+batch-1, rows)
		sqltest.Exec(t, next, "INSERT INTO posthouse_queue (id, tenant, channel, user_id, address, state, on_unknown, created_at, updated_at, due_at) "+
			"SELECT lpad(n::text, 26, '0'), 'default', 'generic', 'u' || n % 1000000, '+86139' || n, 'pending', 'hold', n, n, n FROM generate_series("+
			strconv.Itoa(first)+", "+strconv.Itoa(last)+") n")
	}
	t.Logf("%d open deliveries were written in %s", rows, time.Since(began).Round(time.Second))

	sqltest.Exec(t, next, "CHECKPOINT")

	// Somebody writes all the time, a delivery a call, and notes the longest wait.
	writing, end := context.WithCancel(t.Context())
	longest := make(chan time.Duration, 1)
	writes := 0
	go func() {
		var worst time.Duration
		for n := 1; writing.Err() == nil; n = n*7919%rows + 1 {
			began := time.Now()
			_, err := next.Writer.ExecContext(t.Context(), "UPDATE posthouse_queue SET due_at = due_at + 1 WHERE id = lpad("+strconv.Itoa(n)+"::text, 26, '0')")
			if err != nil {
				t.Error(err)
				break
			}
			worst = max(worst, time.Since(began))
			writes++
		}
		longest <- worst
	}()

	// The first try is given up as soon as the server is at the index.
	half, kill := context.WithCancel(t.Context())
	seen := func(stop context.Context) (most int) {
		for stop.Err() == nil {
			p, ok, err := s.Progress(t.Context())
			if err != nil {
				t.Error(err)
				return most
			}
			if ok && p.Index == "posthouse_queue_touched" {
				if most = max(most, p.Percent); most > 0 && stop == half {
					kill()
				}
			}
		}
		return most
	}
	killed := make(chan int, 1)
	go func() { killed <- seen(half) }()
	began = time.Now()
	if _, err := s.Migrate(half); err == nil {
		t.Error("the migration was not killed")
	}
	kill()
	t.Logf("killed after %s at %d %%", time.Since(began).Round(time.Second/10), <-killed)

	whole, done := context.WithCancel(t.Context())
	watched := make(chan int, 1)
	go func() { watched <- seen(whole) }()
	began = time.Now()
	if steps, err := s.Migrate(t.Context()); steps != 1 || err != nil {
		t.Errorf("the second try took %d steps, %v", steps, err)
	}
	took := time.Since(began)
	done()
	if most := <-watched; most == 0 {
		t.Error("nothing was said of how far it is")
	}
	end()
	worst := <-longest
	t.Logf("the rest was migrated in %s; %d writes meanwhile, of which the slowest took %s", took.Round(time.Second/10), writes, worst.Round(time.Millisecond))
	var valid bool
	if err := next.Reader.QueryRowContext(t.Context(), "SELECT indisvalid FROM pg_index WHERE indexrelid = 'posthouse_queue_touched'::regclass").Scan(&valid); err != nil || !valid {
		t.Errorf("the index is valid: %t, %v", valid, err)
	}
}
