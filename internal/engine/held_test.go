package engine

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/limit"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/store/storetest"
)

var aDay = []posthouse.Limit{{Max: 20, Per: posthouse.Duration(24 * time.Hour)}}

// Another process takes all permits of a day for a claim that finds little, and gives them back.
func TestPermitsThatOthersGiveBackAreUsed(t *testing.T) {
	virtual(t, func(r *rig) {
		r.open("c", posthouse.ChannelSettings{Limits: aDay}, idempotent)
		limiter := limit.SQL{Rows: r.store.Limits}
		grant, err := limiter.Take(r.Context(), []limit.Bound{{Key: (state.Key{Tenant: r.tenant, Channel: "c"}).LimitKey(), Windows: aDay}}, 256)
		if err != nil || grant.N != 20 {
			r.Fatal(grant, err)
		}
		id := r.send(text("c", "u1"))[0]
		r.pass(time.Second)
		r.want(id, posthouse.Pending, "", 0)
		if err := limiter.Refund(r.Context(), grant, 19); err != nil {
			r.Fatal(err)
		}
		r.pass(12 * time.Second)
		r.want(id, posthouse.Sent, "", 0)
	})
}

// A channel that is set anew asks while its old self, with a claim under way, still has all permits of the day.
func TestPermitsThatTheChannelItselfGivesBackAreUsed(t *testing.T) {
	virtual(t, func(r *rig) {
		db := &slowClaim{database: storetest.All(r.store), found: make(chan struct{}), goOn: make(chan struct{})}
		r.between(db)
		r.open("c", posthouse.ChannelSettings{Limits: aDay}, idempotent)
		later := text("c", "u2")
		later.NotBefore = time.Now().Add(time.Minute)
		id := r.send(later)[0]
		synctest.Wait()
		r.send(text("c", "u1"))
		<-db.found
		old := r.engine.Routes.route(r.tenant, "c")
		if err := r.engine.Routes.SetChannel(old.Stored, old.Opened); err != nil {
			r.Fatal(err)
		}
		synctest.Wait()
		close(db.goOn)
		r.pass(72 * time.Second)
		r.want(id, posthouse.Sent, "", 0)
	})
}
