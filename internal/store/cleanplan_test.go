package store

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/internal/store/layout"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

// planStep is a step of a plan, as EXPLAIN (ANALYZE, FORMAT JSON) shows it.
type planStep struct {
	Node    string     `json:"Node Type"`
	Table   string     `json:"Relation Name"`
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
		made: &flight{Flight: layout.Flight{ID: posthouse.NewID(), Owner: "w1", Epoch: 1}},
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

// partitions adds the partitions that a plan has gone into.
func (p planStep) partitions(to map[string]bool) map[string]bool {
	if strings.HasPrefix(p.Table, "posthouse_messages_") && p.Loops > 0 {
		to[p.Table] = true
	}
	for _, sub := range p.Plans {
		sub.partitions(to)
	}
	return to
}

// A hot statement goes into the partitions of its ids and no other, also when it was prepared for all of them.
func TestHotStatementsGoIntoFewPartitions(t *testing.T) {
	t.Parallel()
	s := openTest(t, dbtest.Postgres(t))
	for ago := 90 * day; ago >= 0; ago -= 10 * day {
		partitionsBefore(t, s, ago, 90*day)
	}
	all := 0
	for _, h := range slotsOf(t, s) {
		if h.Table == "posthouse_messages" {
			all++
		}
	}
	var ids []string
	for range 20 {
		ids = append(ids, posthouse.MessageID(accept(t, s, entry(1))[0]))
	}
	accept(t, s, entry(2))
	among, args := s.DB.Dialect.Among("id", ids)
	b := &boarding{Claim: work.Claim{Lane: lane, Max: 100, Owner: "w1", Lease: time.Minute, Epoch: 1}, made: &flight{Flight: layout.Flight{ID: posthouse.NewID(), Owner: "w1", Epoch: 1}}}
	for _, c := range []struct {
		name, text string
		args       []any
	}{
		{"claim, clean", flyTexts[true], b.flyArgs(true)},
		{"claim", claimTexts[claimForm{}], []any{lane.Tenant, lane.Channel, sqldb.PriorityNumber(lane.Priority), string(lane.Pin), 0, "", int64(math.MaxInt64), "1", 100, 1, "w1", 1, ""}},
		{"look-up by ids", "SELECT id FROM posthouse_messages WHERE " + among, args},
		{"record, expanded", fmt.Sprintf(expandSole, among), args},
	} {
		text, plan := genericPlan(t, s, c.text, c.args)
		if got := plan.partitions(map[string]bool{}); len(got) != 1 || all < 9 {
			t.Errorf("%s goes into %d of %d partitions: %v\n%s", c.name, len(got), all, got, text)
		}
	}
}

// genericPlan runs a statement as the hot connections do, which plan it once for all values.
func genericPlan(t *testing.T, s *Store, query string, args []any) (text string, plan planStep) {
	t.Helper()
	conn, err := s.DB.Writer.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	values := make([]string, len(args))
	for i, a := range args {
		switch v := a.(type) {
		case string:
			values[i] = "'" + v + "'"
		case []string:
			values[i] = "'{" + strings.Join(v, ",") + "}'"
		default:
			values[i] = fmt.Sprint(v)
		}
	}
	if _, err := conn.ExecContext(t.Context(), "PREPARE hot AS "+s.DB.Text(query)); err != nil {
		t.Fatalf("%v: %s", err, query)
	}
	err = conn.QueryRowContext(t.Context(), "EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE hot ("+strings.Join(values, ", ")+")").Scan(&text)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.ExecContext(t.Context(), "DEALLOCATE hot"); err != nil {
		t.Fatal(err)
	}
	var plans []struct{ Plan planStep }
	if err := json.Unmarshal([]byte(text), &plans); err != nil {
		t.Fatal(err)
	}
	return text, plans[0].Plan
}
