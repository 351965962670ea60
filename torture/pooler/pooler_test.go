package pooler

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/outbox"
	"github.com/posthouse/posthouse/torture/internal/house"
	"github.com/posthouse/posthouse/wire"
)

// The channels, and the phone that fetches from the second.
const (
	called, fetched = "generic", "sms"
	phoneID         = "phone-1"
)

// G1: two servers, one by way of a pgbouncer that keeps a session for a transaction, one by way of one that keeps it for a client. Both are
// killed under load: messages over HTTP and by the outbox, a campaign, what a phone fetches, a limit that both share. Nothing is
// lost, nothing is sent twice without an unknown.
func TestG1PoolersAreKilled(t *testing.T) {
	house.Alone(t)
	dsn := house.Postgres.DSN(t)
	poolers := []*dbtest.Server{dbtest.Pooler(t, dsn, "transaction"), dbtest.Pooler(t, dsn, "session")}
	h := house.Open(t, house.Options{DSN: poolers[0].DSN, JudgeDSN: dsn, Members: 1})
	second := h.Add(t, "")
	second.Env = []string{"POSTHOUSE_DSN=" + poolers[1].DSN + "&pool=session"}
	second.Start(t)

	n, kills := house.Size(120, 20_000), house.Form(2, 60)
	h.PutChannel(t, limited(h))
	h.PutChannel(t, pulled())
	phone := register(t, h)
	h.Campaign(t, wire.CampaignDraft{Name: "spring", Channel: called, Content: &posthouse.Content{Text: "hello"}, OnUnknown: posthouse.Retry}, n)

	living, rest := context.WithCancel(t.Context())
	var beside sync.WaitGroup
	beside.Go(func() { phone.live(living) })
	began, killed := time.Now(), 0
	var load sync.WaitGroup
	load.Go(func() { h.Produce(t, house.Load{Messages: n, Prefix: "phone", Producers: 4, Draft: toPhone}) })
	load.Go(func() { enqueue(t, h, dsn, n) })
	h.Produce(t, house.Load{Messages: n, Producers: 8, Each: func(accepted int) {
		if every := n / (kills + 1); accepted%every == 0 && killed < kills {
			at, p := time.Now(), poolers[killed%len(poolers)]
			killed++
			if err := p.Kill(); err != nil {
				t.Error(err)
			}
			if err := p.Restart(); err != nil {
				t.Error(err)
			}
			h.Fault(t, house.Fault{At: at, Until: time.Now(), Kind: "db_cut", Target: p.Addr, Note: "pgbouncer killed"})
		}
	}})
	load.Wait()
	h.Reached(t, "spring", int64(n))
	h.Settle(t)
	rest()
	beside.Wait()
	h.Judge(t)
	house.Report(t, house.Row{
		Test: "G1", Database: string(house.Postgres), N: killed, Unit: "kills of pgbouncer",
		What:   "pgbouncer of transactions before one server, of sessions before the other, killed under messages, outbox, a campaign and a phone",
		Figure: fmt.Sprintf("lost 0, unexplained 0, of %d; %.0f/s", 4*n, float64(4*n)/time.Since(began).Seconds()),
		Bar:    "lost 0, unexplained 0", Bound: house.Bound(4 * n), Pass: killed == kills,
	})
	if log := h.Members[0].Log(); strings.Contains(log, "prepared statement") {
		t.Errorf("a statement rested on a session:\n%s", log)
	}
}

// limited is a channel whose account both servers share.
func limited(h *house.House) posthouse.Channel {
	ch := h.Channel(called)
	ch.Limits = []posthouse.Limit{{Max: 1000, Per: posthouse.Duration(time.Second)}}
	return ch
}

func pulled() posthouse.Channel {
	ch := posthouse.Channel{Name: fetched, Driver: "pull"}
	ch.Timeout, ch.Tries = posthouse.Duration(2*time.Second), 100
	ch.Backoff = []posthouse.Duration{posthouse.Duration(100 * time.Millisecond)}
	ch.OnUnknown = posthouse.Retry
	return ch
}

func toPhone(n int) posthouse.Draft {
	return posthouse.Draft{
		Channel: fetched, To: []posthouse.Recipient{{Address: fmt.Sprintf("+86138%08d", n)}}, Content: &posthouse.Content{Text: "hello"}, Ref: fmt.Sprint(n), Kind: "torture",
	}
}

// enqueue hands messages in as an application does, in its own transaction.
func enqueue(t *testing.T, h *house.House, dsn string, n int) {
	box, err := outbox.New(outbox.Options{Database: outbox.Postgres})
	if err != nil {
		t.Error(err)
		return
	}
	db := dbtest.SQL(t, dsn)
	for i := range n {
		asked := time.Now()
		ids, err := box.Enqueue(t.Context(), db, house.Text(called, i))
		if err != nil {
			t.Error(err)
			return
		}
		h.Tell(t, house.Told{Asked: asked, At: time.Now(), Op: "send", Answer: "accepted", Message: ids[0], Recipients: 1})
	}
}

// phone fetches, sends and reports; what it cannot report it reports again.
type phone struct {
	t    *testing.T
	url  string // of the provider
	apis []*client.Client
}

func register(t *testing.T, h *house.House) phone {
	t.Helper()
	made, err := h.Members[0].Client(t, 3).Agents.Add(t.Context(), posthouse.Agent{ID: phoneID, Channels: []string{fetched}, Limits: []posthouse.Limit{}})
	if err != nil {
		t.Fatal(err)
	}
	p := phone{t: t, url: h.Provider.URL}
	for _, m := range h.Members {
		api, err := client.New(client.Options{URL: "http://" + m.Addr, Key: made.Secret, Tries: 5})
		if err != nil {
			t.Fatal(err)
		}
		p.apis = append(p.apis, api)
	}
	return p
}

func (p phone) live(ctx context.Context) {
	for turn := 0; ctx.Err() == nil; turn++ {
		api := p.apis[turn%len(p.apis)].Handouts
		got, err := api.Claim(ctx, phoneID, wire.Claim{Max: 50, Wait: posthouse.Duration(100 * time.Millisecond)})
		if err != nil || len(got.Handouts) == 0 {
			house.Pause(ctx, 20*time.Millisecond)
			continue
		}
		var holds []wire.Hold
		for _, h := range got.Handouts {
			holds = append(holds, wire.Hold{Delivery: h.Delivery, Token: h.Token})
		}
		started, err := api.Start(ctx, phoneID, holds...)
		if err != nil {
			continue // the leases run out
		}
		p.report(ctx, turn, p.send(got.Handouts, started))
	}
}

func (p phone) send(list []posthouse.Handout, started []wire.HoldResult) (reports []posthouse.AgentReport) {
	for i := range list {
		h := &list[i]
		if !started[i].OK {
			continue
		}
		body, _ := json.Marshal(map[string]string{"id": h.IdemKey, "to": h.Recipient.Address, "text": "hello"}) // texts: cannot fail
		resp, err := http.Post(p.url+"/generic/send", "application/json", bytes.NewReader(body))
		if err != nil {
			p.t.Error(err)
			return reports
		}
		resp.Body.Close()
		reports = append(reports, posthouse.AgentReport{ReportID: posthouse.NewID(), Delivery: h.Delivery, Token: h.Token, Outcome: posthouse.OutcomeSent})
	}
	return reports
}

func (p phone) report(ctx context.Context, turn int, reports []posthouse.AgentReport) {
	for try := turn; len(reports) > 0 && ctx.Err() == nil; try++ {
		if _, err := p.apis[try%len(p.apis)].Handouts.Report(ctx, phoneID, reports...); err == nil {
			return
		}
	}
}
