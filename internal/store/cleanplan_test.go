package store

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/internal/work"
)

// planStep is a step of a plan, as EXPLAIN (ANALYZE, FORMAT JSON) shows it.
type planStep struct {
	Node    string     `json:"Node Type"`
	Rows    float64    `json:"Actual Rows"`
	Loops   float64    `json:"Actual Loops"`
	Removed float64    `json:"Rows Removed by Filter"`
	Joined  float64    `json:"Rows Removed by Join Filter"`
	Plans   []planStep `json:"Plans"`
}

// touched is the most rows that one step of a plan went over.
func (p planStep) touched() float64 {
	most := (p.Rows + p.Removed + p.Joined) * p.Loops
	for _, sub := range p.Plans {
		most = max(most, sub.touched())
	}
	return most
}

// The hot connections know nested loops alone, so a join of a claim's rows with themselves would cost their square.
func TestAClaimOfManyGoesOverEachOnce(t *testing.T) {
	t.Parallel()
	const n = 200
	s := openTest(t, dbtest.Postgres(t))
	for range n {
		accept(t, s, entry(1))
	}
	b := &boarding{
		Claim: work.Claim{Lane: lane, Max: n, Owner: "w1", Lease: time.Minute, Epoch: 1}, known: s.Queue.fresh.first(lane, n/2, at()),
		made: &flight{id: posthouse.NewID(), owner: "w1", epoch: 1},
	}
	var text string
	err := s.DB.Writer.QueryRowContext(t.Context(), s.DB.Text("EXPLAIN (ANALYZE, FORMAT JSON) "+flyTexts[true]), b.flyArgs(true)...).Scan(&text)
	if err != nil {
		t.Fatal(err)
	}
	var plans []struct{ Plan planStep }
	if err := json.Unmarshal([]byte(text), &plans); err != nil {
		t.Fatal(err)
	}
	if got := plans[0].Plan.touched(); got < n || got > 2*n {
		t.Errorf("a step of a claim of %d went over %v rows:\n%s", n, got, text)
	}
	wantRows(t, s, map[string]int64{"posthouse_due": 0, "posthouse_flights": 1})
}
