package registry

import (
	"fmt"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/store/sqltest"
	"github.com/posthouse/posthouse/internal/work"
)

// A front keeps its last ten calls, is quiet until one comes, and takes with it what is kept of them.
func TestFrontsAndWhatCameThere(t *testing.T) {
	sqltest.Each(t, func(t *testing.T, db *sqldb.DB) {
		ctx, s, now := t.Context(), Fronts{db}, time.Now()
		for _, name := range []string{"busy", "quiet"} {
			if _, created, err := s.PutFront(ctx, now, posthouse.Front{Tenant: "acme", Name: name, Kind: "json"}, "hash of "+name); err != nil || !created {
				t.Fatalf("making the front %s: %v, %v", name, created, err)
			}
		}
		later := now.Add(time.Hour).Truncate(time.Second)
		var last string
		for i := range 12 {
			last = posthouse.NewID()
			c := work.FrontCall{FrontCall: posthouse.FrontCall{ID: last, At: later.Add(time.Duration(i) * time.Second), Outcome: posthouse.FrontAccepted}, Body: fmt.Sprint("enc:v1:Key:", i)}
			if err := s.AddFrontCalls(ctx, now, "acme", "busy", []work.FrontCall{c}); err != nil {
				t.Fatal(err)
			}
		}
		calls, err := s.FrontCalls(ctx, "acme", "busy")
		if err != nil || len(calls) != 10 || calls[0].ID != last || calls[9].Body != "enc:v1:Key:2" {
			t.Errorf("kept are %d calls, %+v, %v", len(calls), calls, err)
		}
		if list, err := s.QuietFronts(ctx, later); err != nil || len(list) != 1 || list[0].Name != "quiet" || list[0].Tenant != "acme" || !list[0].LastAt.IsZero() {
			t.Errorf("quiet are %+v, %v", list, err)
		}
		if list, err := s.QuietFronts(ctx, now.Add(-time.Hour)); err != nil || len(list) != 0 {
			t.Errorf("fronts that were just made are quiet: %+v, %v", list, err)
		}
		callsAreSealedAnew(t, s, now, calls[0])
		if err := s.DeleteFront(ctx, now, "acme", "busy"); err != nil {
			t.Fatal(err)
		}
		if calls, err = s.FrontCalls(ctx, "acme", "busy"); err != nil || len(calls) != 0 {
			t.Errorf("after its front a call is kept: %+v, %v", calls, err)
		}
		if _, found, err := s.FrontByToken(ctx, "hash of busy"); err != nil || found {
			t.Errorf("a deleted front is found by its token: %v, %v", found, err)
		}
	})
}

// callsAreSealedAnew has one of ten calls sealed with another key, whose id differs in the case of its letters alone.
func callsAreSealedAnew(t *testing.T, s Fronts, now time.Time, one work.FrontCall) {
	t.Helper()
	ctx := t.Context()
	one.Tenant, one.Front = "acme", "busy"
	if err := s.ResealCall(ctx, now, one, "enc:v1:key:anew"); err != nil {
		t.Fatal(err)
	}
	if err := s.ResealCall(ctx, now, one, "enc:v1:key:again"); err != nil { // what it was is gone
		t.Fatal(err)
	}
	list, err := s.SealedCalls(ctx, "enc:v1:key:", "", 100)
	if err != nil || len(list) != 9 {
		t.Errorf("%d calls have another key, %v", len(list), err)
	}
	if rest, err := s.SealedCalls(ctx, "enc:v1:Key:", "", 100); err != nil || len(rest) != 1 || rest[0].ID != one.ID || rest[0].Body != "enc:v1:key:anew" {
		t.Errorf("sealed anew is %+v, %v", rest, err)
	}
}
