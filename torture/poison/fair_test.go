package poison

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/server"
	"github.com/posthouse/posthouse/torture/internal/house"
)

// queueDriver takes a while for each send, and notes the order.
type queueDriver struct {
	takes time.Duration
	// fails says whether an attempt is refused for now. Defaults to none.
	fails func(out channel.Outgoing) bool

	mu    sync.Mutex
	order []posthouse.Priority
	waits []time.Duration // of messages whose text is the time they were handed in
}

func (d *queueDriver) describe() channel.Type {
	return channel.Type{
		Name: "queue", Title: "Queue", Doc: "Takes a while and notes the order.", MaxBatch: 1, Window: channel.Forever,
		Open: func(channel.Config, channel.Env) (channel.Driver, error) { return d, nil },
	}
}

// Send notes the send as it begins.
func (d *queueDriver) Send(ctx context.Context, out channel.Outgoing) channel.Result {
	now := time.Now()
	d.mu.Lock()
	d.order = append(d.order, out.Priority)
	if at, err := strconv.ParseInt(out.Content.Text, 10, 64); err == nil {
		d.waits = append(d.waits, now.Sub(time.Unix(0, at)))
	}
	d.mu.Unlock()
	house.Pause(ctx, d.takes)
	if d.fails != nil && d.fails(out) {
		return channel.Result{Class: posthouse.ClassTransient, Code: "LATER"}
	}
	return channel.Result{Class: posthouse.ClassOK}
}

func (d *queueDriver) sent() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.order)
}

// queueServer is a server of this process with a channel of the driver for each tenant.
func queueServer(t *testing.T, o server.Options, d *queueDriver, inflight int, tenants ...string) *server.Server {
	t.Helper()
	s := serve(t, o, d.describe())
	for _, tenant := range tenants {
		ch := posthouse.Channel{Name: "queue", Driver: "queue"}
		ch.MaxInflight, ch.Tries, ch.Backoff = inflight, 10, []posthouse.Duration{posthouse.Duration(200 * time.Millisecond)}
		if _, err := s.PutChannel(t.Context(), tenant, ch); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// fill accepts messages for many recipients each, until so many deliveries wait.
func fill(t *testing.T, s *server.Server, tenant string, p posthouse.Priority, deliveries int) {
	t.Helper()
	for from := 0; from < deliveries; from += 1000 {
		d := house.Text("queue", from)
		d.Priority, d.To = p, nil
		for i := range min(1000, deliveries-from) {
			d.To = append(d.To, posthouse.Recipient{User: fmt.Sprintf("u%d", from+i)})
		}
		if _, err := s.Accept(t.Context(), tenant, d); err != nil {
			t.Fatal(err)
		}
	}
}

func stop(t *testing.T, s *server.Server) {
	t.Helper()
	if err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestASmallTenantDoesNotWaitBehindABigOne (E5) hands in a message now and then beside another tenant's
// backlog, and measures how long each takes to its driver.
func TestASmallTenantDoesNotWaitBehindABigOne(t *testing.T) {
	house.Alone(t)
	for _, db := range databases(house.Postgres) {
		t.Run(string(db), func(t *testing.T) {
			backlog, messages := house.Size(20_000, 1_000_000), house.Size(20, 60)
			every := time.Duration(house.Form(100, 1000)) * time.Millisecond
			takes := time.Duration(house.Form(10, 2)) * time.Millisecond // a small backlog must outlast the messages on any machine
			dsn, d := db.DSN(t), &queueDriver{takes: takes}
			filler := queueServer(t, server.Options{DSN: dsn, AcceptOnly: true}, d, 50, "big", "small")
			fill(t, filler, "big", posthouse.Normal, backlog)
			stop(t, filler)
			s := queueServer(t, server.Options{DSN: dsn}, d, 50, "big", "small")
			tick := time.NewTicker(every)
			defer tick.Stop()
			for range messages {
				<-tick.C
				draft := house.Text("queue", 1)
				draft.Content.Text = strconv.FormatInt(time.Now().UnixNano(), 10)
				if _, err := s.Accept(t.Context(), "small", draft); err != nil {
					t.Fatal(err)
				}
			}
			house.Until(t, "the small tenant's messages are sent", func() bool {
				d.mu.Lock()
				defer d.mu.Unlock()
				return len(d.waits) == messages
			})
			beside := d.sent() - messages
			stop(t, s)
			slices.Sort(d.waits)
			p99 := d.waits[len(d.waits)*99/100]
			house.Report(t, house.Row{
				Test: "E5", Database: string(db), What: fmt.Sprintf("a tenant hands in a message each %s beside another's backlog of %d", every, backlog), N: messages, Unit: "messages",
				Figure: fmt.Sprintf("p50 %s, p99 %s from the call to its driver; %d of the backlog sent meanwhile", ms(d.waits[len(d.waits)/2]), ms(p99), beside),
				Bar:    "p99 ≤ 1 s in the full form, the backlog outlasts it", Pass: (p99 <= time.Second || !house.Full()) && beside < backlog && beside > 0,
			})
		})
	}
}

func ms(d time.Duration) time.Duration { return d.Round(100 * time.Microsecond) }

// TestEveryPriorityGetsItsShare (E5) drains a channel in which all three priorities wait, and looks at
// the order while they do.
func TestEveryPriorityGetsItsShare(t *testing.T) {
	house.Alone(t)
	for _, db := range databases(house.SQLite) {
		t.Run(string(db), func(t *testing.T) {
			each := house.Size(2_000, 50_000)
			dsn, d := db.DSN(t), &queueDriver{takes: 2 * time.Millisecond}
			filler := queueServer(t, server.Options{DSN: dsn, AcceptOnly: true}, d, 20, "one")
			for _, p := range posthouse.Priorities() {
				fill(t, filler, "one", p, each)
			}
			stop(t, filler)
			s := queueServer(t, server.Options{DSN: dsn}, d, 20, "one")
			looked := each * 3 / 2 // the high ones are used up after each/0.6
			house.Until(t, "enough is sent", func() bool { return d.sent() >= looked })
			stop(t, s)
			counts := map[posthouse.Priority]int{}
			for _, p := range d.order[:looked] {
				counts[p]++
			}
			share := func(p posthouse.Priority) float64 { return 100 * float64(counts[p]) / float64(looked) }
			pass := share(posthouse.High) >= 54 && share(posthouse.Normal) >= 27 && share(posthouse.Low) >= 9
			house.Report(t, house.Row{
				Test: "E5", Database: string(db), What: "high, normal and low wait in one channel, weights 6:3:1", N: looked, Unit: "sends",
				Figure: fmt.Sprintf("high %.1f %%, normal %.1f %%, low %.1f %%", share(posthouse.High), share(posthouse.Normal), share(posthouse.Low)),
				Bar:    "each at least its weight less a tenth", Pass: pass,
			})
		})
	}
}

// TestRetriesDoNotStarve (E6) keeps a channel fuller than it can send while every fifth message is
// refused at first, and compares how long retries and new messages wait beyond their time.
func TestRetriesDoNotStarve(t *testing.T) {
	house.Alone(t)
	for _, db := range databases(house.Postgres) {
		t.Run(string(db), func(t *testing.T) {
			lasts := time.Duration(house.Size(3, 60)) * time.Second
			const part = 20                // messages that are handed in at once
			ahead := house.Form(100, 1000) // that wait at any time
			dsn := db.DSN(t)
			d := &queueDriver{takes: 10 * time.Millisecond, fails: func(out channel.Outgoing) bool {
				n, _ := strconv.Atoi(out.Ref)
				return n%5 == 0 && out.Attempt <= 2
			}}
			s := queueServer(t, server.Options{DSN: dsn}, d, 8, posthouse.DefaultTenant)
			accepted := 0
			for end := time.Now().Add(lasts); time.Now().Before(end); {
				if accepted-d.sent() > ahead {
					house.Pause(t.Context(), 10*time.Millisecond)
					continue
				}
				drafts := make([]posthouse.Draft, part)
				for i := range drafts {
					drafts[i] = house.Text("queue", accepted+i)
				}
				if _, err := s.Accept(t.Context(), posthouse.DefaultTenant, drafts...); err != nil {
					t.Fatal(err)
				}
				accepted += part
			}
			stopped := time.Now()
			stop(t, s)
			fresh, again := waitsOf(t, dsn, stopped)
			oldest, newest := slices.Max(again), slices.Max(fresh)
			house.Report(t, house.Row{
				Test: "E6", Database: string(db), What: fmt.Sprintf("every fifth message is refused twice while %d wait for 8 slots", ahead), N: len(again), Unit: fmt.Sprintf("retries beside %d new messages", len(fresh)),
				Figure: fmt.Sprintf("the oldest retry waited %s beyond its time, the oldest new message %s (median %s and %s)", ms(oldest), ms(newest), ms(median(again)), ms(median(fresh))),
				Bar:    "≤ 2 × new", Pass: oldest <= 2*newest,
			})
		})
	}
}

// waitsOf are how long after their time first and later attempts started, or had waited when the server stopped.
func waitsOf(t *testing.T, dsn string, stopped time.Time) (fresh, again []time.Duration) {
	t.Helper()
	_, err := openStore(t, dsn).History.ExportEvents(t.Context(), "", "", func(e posthouse.Event) error {
		switch {
		case e.Type != posthouse.EventStart:
		case e.Attempt == 1:
			fresh = append(fresh, e.At.Sub(e.Due))
		default:
			again = append(again, e.At.Sub(e.Due))
		}
		return nil
	})
	if err != nil || len(again) == 0 {
		t.Fatalf("%d new starts and %d again, %v", len(fresh), len(again), err)
	}
	rows, err := dbtest.SQL(t, dsn).QueryContext(t.Context(), "SELECT due_at, attempts FROM posthouse_deliveries WHERE state = 'pending'")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var due, attempts int64
		if err := rows.Scan(&due, &attempts); err != nil {
			t.Fatal(err)
		}
		if waits := stopped.Sub(time.UnixMicro(due)); attempts == 0 {
			fresh = append(fresh, waits)
		} else {
			again = append(again, waits)
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return fresh, again
}

func median(list []time.Duration) time.Duration {
	slices.Sort(list)
	return list[len(list)/2]
}
