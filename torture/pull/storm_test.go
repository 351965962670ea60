package pull

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/verify"
	"github.com/posthouse/posthouse/torture/internal/house"
	"github.com/posthouse/posthouse/torture/internal/proxy"
)

// TestPhonesLoseNothing: sixteen phones on two servers, over links that lose one request in ten, while
// phones and servers are killed. What phones had begun when they died stays unknown: they must not send it
// twice, and nobody can know.
func TestPhonesLoseNothing(t *testing.T) {
	t.Parallel()
	house.EachDatabase(t, func(t *testing.T, db house.Database) {
		t.Parallel()
		arrivals := newJournal[verify.ArrivalLine](t, "arrivals.jsonl")
		h := house.Open(t, house.Options{DSN: db.DSN(t), Members: db.Several(2), Provider: &house.Provider{Journal: arrivals.path}})
		h.PutChannel(t, pulled())
		s := newSwarm(t, h, arrivals)
		s.release(s.native(h))
		n := house.Size(350, map[house.Database]int{house.SQLite: 7000, house.Postgres: 21_000, house.MariaDB: 7000}[db])
		kills := s.storm(h, n, house.Size(2, 12), func(n int) posthouse.Draft { return text(channelName, n) })
		h.Settle(t, posthouse.Unknown)
		s.end()
		s.judge(h, "phones", db, kills, n, "lease_lost_before_start", "lease_lost_after_start", "stale_result_refused")
	})
}

// TestAppsOfTheFrontDoorLoseNothing: the same over the protocol of the SMS front door, in which a task that is
// handed out counts as started, and is handed to another app when its lease has ended.
func TestAppsOfTheFrontDoorLoseNothing(t *testing.T) {
	t.Parallel()
	house.EachDatabase(t, func(t *testing.T, db house.Database) {
		t.Parallel()
		arrivals := newJournal[verify.ArrivalLine](t, "arrivals.jsonl")
		h := house.Open(t, house.Options{DSN: db.DSN(t), Members: db.Several(2), Provider: &house.Provider{Journal: arrivals.path}, Env: []string{
			"BASIC_AUTH_USERNAME=" + user, "BASIC_AUTH_PASSWORD=" + password, "POSTHOUSE_SMS_TIMEOUT=" + lease.String(), "POSTHOUSE_SMS_RETRY_DELAY=100ms",
			"POSTHOUSE_SMS_MAX_RETRIES=50",
		}})
		s := newSwarm(t, h, arrivals)
		var list []liver
		for i := range phones {
			list = append(list, &app{s.handset(fmt.Sprintf("app-%02d", i+1), i)})
		}
		s.release(list)
		n := house.Size(150, 4000)
		kills := s.storm(h, n, house.Size(2, 8), func(n int) posthouse.Draft { return text("sms", n) })
		h.Settle(t)
		s.end()
		s.judge(h, "apps of the SMS front door", db, kills, n, "lease_lost_after_start", "stale_result_refused")
	})
}

// pulled is the channel that phones fetch from.
func pulled() posthouse.Channel {
	ch := posthouse.Channel{Name: channelName, Driver: "pull"}
	ch.Timeout, ch.Tries = posthouse.Duration(lease), 100
	ch.Backoff = []posthouse.Duration{posthouse.Duration(100 * time.Millisecond)}
	return ch
}

// text is a short message to a number of its own.
func text(channel string, n int) posthouse.Draft {
	return posthouse.Draft{
		Channel: channel, To: []posthouse.Recipient{{Address: fmt.Sprintf("+86138%08d", n)}}, Content: &posthouse.Content{Text: "hello"}, Ref: fmt.Sprint(n), Kind: "torture",
	}
}

// native registers the phones.
func (s *swarm) native(h *house.House) []liver {
	s.t.Helper()
	var list []liver
	for i := range phones {
		id := fmt.Sprintf("phone-%02d", i+1)
		key, err := s.network.register(s.t.Context(), h, id)
		if err != nil {
			s.t.Fatal(err)
		}
		list = append(list, &phone{handset: s.handset(id, i), key: key})
	}
	return list
}

// storm sends messages while phones fetch them, kills servers meanwhile, and says how many were killed. When it
// returns the weather is calm.
func (s *swarm) storm(h *house.House, messages, kills int, draft func(n int) posthouse.Draft) (killed int) {
	s.t.Helper()
	s.network.set(lawless())
	h.Produce(s.t, house.Load{Messages: messages, Producers: 4, Draft: draft, Each: func(accepted int) {
		if every := messages / (kills + 1); accepted%every == 0 && killed < kills {
			m := h.Members[killed%len(h.Members)]
			killed++
			m.Kill(s.t)
			m.Start(s.t)
		}
	}})
	for end := time.Now().Add(time.Minute); s.arrivals.lines() < messages*9/10 && time.Now().Before(end); {
		house.Pause(s.t.Context(), 50*time.Millisecond)
	}
	close(s.calm)
	s.network.set(proxy.Faults{})
	return killed
}

// judge has the checker decide, and prints the row.
func (s *swarm) judge(h *house.House, who string, db house.Database, kills, n int, seen ...string) {
	s.t.Helper()
	if n := int(s.stale.Load()); n > 0 {
		h.Fault(s.t, house.Fault{Kind: "seen", Note: "stale_result_refused", N: n})
	}
	h.Fault(s.t, house.Fault{Kind: "road", N: s.network.lost(), Note: "requests and answers of phones lost"})
	if s.deaths.Load() > 0 {
		h.Fault(s.t, house.Fault{Kind: "kill", Target: "phones", N: int(s.deaths.Load())})
	}
	report := h.Verdict(s.t, "--agents", s.words.path, "--sometimes", strings.Join(seen, ","))
	if report.Verdict != verify.Holds {
		s.t.Errorf("the checker says:\n%s", report.Page())
	}
	t := report.Totals
	house.Report(s.t, house.Row{
		Test: "PULL", Database: string(db), N: n, Unit: "messages",
		What: fmt.Sprintf("%d %s on %s; %d kills of servers, %d of phones, %d requests or answers lost", phones, who, servers(h), kills, s.deaths.Load(), s.network.lost()),
		Figure: fmt.Sprintf("%d lost, %d finished twice, %d opened again, %d copies without a reason (%d with); %d sent, %d failed, %d held as unknown",
			t.Lost, report.Invariant("I13").Count, report.Invariant("I11").Count, t.DuplicatedUnexplained, t.DuplicatedExplained,
			t.States[posthouse.Sent]+t.States[posthouse.Delivered], t.States[posthouse.Failed], t.States[posthouse.Unknown]),
		Bar: "none lost, none finished twice, none opened again; every copy has its reason", Bound: house.Bound(n), Pass: report.Verdict == verify.Holds,
	})
	s.t.Logf("%d claims were found again by their ids", s.recovered.Load())
}

func servers(h *house.House) string {
	if len(h.Members) == 1 {
		return "one server"
	}
	return fmt.Sprintf("%d servers", len(h.Members))
}
