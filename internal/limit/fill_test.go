package limit_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/limit"
	"github.com/posthouse/posthouse/internal/limit/limittest"
)

// How full windows are is seen without taking anything: by who holds them to the permit, by others as the holder has reserved them, and
// by everybody to the permit once the lease is over. One that is full says when it opens.
func TestHowFullWindowsAre(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		table := new(rows)
		holder, other := leased(t, table), leased(t, table)
		second, minute, hour := per(3, time.Second), per(100, time.Minute), per(5, time.Hour)
		account := limit.Bound{Key: "account", Lease: true, Windows: []posthouse.Limit{second, minute}}
		channel := limit.Bound{Key: "channel", Windows: []posthouse.Limit{hour}}
		untouched := limit.Bound{Key: "untouched", Windows: []posthouse.Limit{hour}}
		fills := func(of *limit.Leased) [][]limit.Fill {
			t.Helper()
			got, err := of.Fills(t.Context(), []limit.Bound{untouched, account, channel})
			if err != nil {
				t.Fatal(err)
			}
			return got
		}
		if g, err := holder.Take(t.Context(), []limit.Bound{account, channel}, 3); err != nil || g.N != 3 {
			t.Fatal(g, err)
		}
		limittest.Pause(t.Context(), 400*time.Millisecond)
		want := [][]limit.Fill{{{Limit: hour}}, {{Limit: second, Used: 3, Opens: 600 * time.Millisecond}, {Limit: minute, Used: 3}}, {{Limit: hour, Used: 3}}}
		if diff := cmp.Diff(want, fills(holder), whenGranted); diff != "" {
			t.Errorf("its holder (-want +got):\n%s", diff)
		}
		if got := fills(other)[1]; got[0].Used < 3 || got[0].Opens <= 0 || got[0].Opens > 4*time.Second || got[1].Used < 3 {
			t.Errorf("another sees %+v, want the second full until the lease ends", got)
		}
		if g, err := holder.Take(t.Context(), []limit.Bound{channel}, 5); err != nil || g.N != 2 {
			t.Fatal(g, err)
		}
		limittest.Pause(t.Context(), 10*time.Second)
		want = [][]limit.Fill{{{Limit: hour}}, {{Limit: second}, {Limit: minute, Used: 3}}, {{Limit: hour, Used: 5, Opens: time.Hour - 10*time.Second - 400*time.Millisecond}}}
		for name, of := range map[string]*limit.Leased{"its holder": holder, "another": other} {
			if diff := cmp.Diff(want, fills(of), whenGranted); diff != "" {
				t.Errorf("after the lease %s (-want +got):\n%s", name, diff)
			}
		}
		if g, err := holder.Take(t.Context(), []limit.Bound{account}, 3); err != nil || g.N != 3 {
			t.Errorf("having looked, it was granted %+v, %v", g, err)
		}
	})
}

var whenGranted = cmpopts.IgnoreFields(limit.Fill{}, "Granted")

// When the last permit was granted is seen, though it came back since, and though others were refused: by who keeps its states in memory as in rows.
func TestWhenTheLastPermitWasGranted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		memory, table := limit.NewMemory(), limit.SQL{Rows: new(rows)}
		bound := []limit.Bound{{Key: "k", Windows: []posthouse.Limit{per(2, time.Hour)}}}
		for name, of := range map[string]interface {
			limit.Limiter
			Fills(ctx context.Context, bounds []limit.Bound) ([][]limit.Fill, error)
		}{"memory": memory, "rows": table} {
			take := func(want, granted int) limit.Grant {
				t.Helper()
				limittest.Pause(t.Context(), time.Second)
				g, err := of.Take(t.Context(), bound, want)
				if err != nil || g.N != granted {
					t.Fatal(name, g, err)
				}
				return g
			}
			granted := func() time.Time {
				t.Helper()
				fills, err := of.Fills(t.Context(), bound)
				if err != nil {
					t.Fatal(name, err)
				}
				return fills[0][0].Granted
			}
			first := take(1, 1)
			if got := granted(); !got.Equal(first.At) {
				t.Errorf("%s: granted at %v, want %v", name, got, first.At)
			}
			held := take(1, 1)
			if err := of.Refund(t.Context(), held, 1); err != nil {
				t.Fatal(name, err)
			}
			if got := granted(); !got.Equal(held.At) {
				t.Errorf("%s: with the last one given back, granted at %v, want %v", name, got, held.At)
			}
			last := take(1, 1)
			take(1, 0)
			if got := granted(); !got.Equal(last.At) {
				t.Errorf("%s: after a refusal granted at %v, want %v", name, got, last.At)
			}
		}
	})
}
