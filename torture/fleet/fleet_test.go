package fleet

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/simulator"
	"github.com/posthouse/posthouse/torture/internal/house"
)

var messages = flag.Int("fleet.messages", 200_000, "how many `MESSAGES` the long form sends")

// size is how much a run does.
type size struct {
	accounts, weak  int // weak ones bear less than their windows say
	messages, kills int
	people          int
	base            float64           // calls a second of an account, 0 for none: it is learned
	windows         []posthouse.Limit // of each account, as it is configured
	markdown        []posthouse.Limit // of each account's Markdown
	bears           []simulator.Limit // what the provider counts of an account
	weakBears       []simulator.Limit
}

func per(n int, d time.Duration) posthouse.Limit {
	return posthouse.Limit{Max: n, Per: posthouse.Duration(d)}
}

func bears(n int, d time.Duration) simulator.Limit {
	return simulator.Limit{Max: n, Per: posthouse.Duration(d)}
}

// sizes are those of the short form and of the long one. A second's window is the one that the way to the provider
// blurs: the provider bears more in it than is configured, and no more in the others.
//
// An account's hour must hold what it sends, a quarter more than the mean at the busiest, and what kills cost it: 32 permits of
// a lease for each of them. One that has used it up rightly waits for the next hour, and the test would not.
func sizes() size {
	if house.Full() {
		return size{
			accounts: 250, weak: 20, messages: *messages, kills: 12, people: 20_000,
			windows:   []posthouse.Limit{per(8, time.Second), per(300, time.Minute), per(1_500, time.Hour), per(5_000, 24*time.Hour)},
			markdown:  []posthouse.Limit{per(4, time.Second)},
			bears:     []simulator.Limit{bears(16, time.Second), bears(315, time.Minute), bears(1_500, time.Hour), bears(5_000, 24*time.Hour)},
			weakBears: []simulator.Limit{bears(3, time.Second)},
		}
	}
	return size{
		accounts: 12, messages: 1_500, kills: 2, people: 500, base: 25,
		windows:  []posthouse.Limit{per(30, time.Second), per(400, time.Minute), per(1_500, time.Hour), per(5_000, 24*time.Hour)},
		markdown: []posthouse.Limit{per(15, time.Second)},
		bears:    []simulator.Limit{bears(60, time.Second), bears(420, time.Minute), bears(1_500, time.Hour), bears(5_000, 24*time.Hour)},
	}
}

// TestFLEET has servers send by many accounts of WeCom while they are killed. Nothing is lost, nothing is told twice without an
// unknown, no window of an account or a member is overstepped, and the provider punishes no account twice in an hour. (FLEET-3,
// FLEET-5, FLEET-9, FLEET-12)
func TestFLEET(t *testing.T) {
	house.Alone(t)
	databases := []house.Database{house.SQLite}
	if house.Full() {
		databases = []house.Database{house.Postgres, house.MariaDB}
	}
	for _, db := range databases {
		t.Run(string(db), func(t *testing.T) { run(t, db, sizes()) })
	}
}

func run(t *testing.T, db house.Database, s size) {
	h := house.Open(t, house.Options{DSN: db.DSN(t), Members: db.Several(2)})
	h.Provider.Behave(t, "wecom", punishing(s))
	h.PutChannel(t, wecom(h, s))
	enlist(t, h, s)

	began, killed := time.Now(), 0
	var load sync.WaitGroup
	t.Cleanup(load.Wait) // where a kill ends the test
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(busiest(h.Provider.Arrivals(t)))
		}
	})
	load.Go(func() {
		h.Produce(t, house.Load{Messages: s.messages, Draft: func(n int) posthouse.Draft { return draft(n, s) }})
	})
	for n := range s.kills {
		house.UntilMore(t, "arrivals", int64((n+1)*s.messages/(s.kills+1)), func() int64 { return arrived(t, h) })
		victims := rand.Perm(len(h.Members))[:1+rand.IntN(len(h.Members))]
		for _, v := range victims {
			h.Members[v].Kill(t)
			killed++
		}
		for _, v := range victims {
			h.Members[v].Start(t)
		}
	}
	load.Wait()
	h.Settle(t)
	took := time.Since(began)
	report := h.Judge(t)
	found := look(h.Provider.Arrivals(t), s)
	house.Report(t, house.Row{
		Test: "FLEET", Database: string(db), N: s.messages, Unit: "messages",
		What: fmt.Sprintf("%d servers send by %d accounts of WeCom in four windows each, %d kills; the provider counts each account's windows and punishes, and %d accounts bear less than is configured", len(h.Members), s.accounts, killed, s.weak),
		Figure: fmt.Sprintf("lost %d, unexplained copies %d; windows overstepped %d, members' messages dropped %d; %d accounts punished (%d of them bear what is configured), twice in an hour %d; %.2f %% of calls refused; by %d accounts, %.0f messages/s",
			report.Totals.Lost, report.Totals.DuplicatedUnexplained, found.over, found.dropped, found.punished, found.strong, found.twice, found.refusedShare(), found.accounts, float64(s.messages)/took.Seconds()),
		Bar: "lost 0, unexplained 0, overstepped 0, dropped 0, punished twice 0", Bound: house.Bound(s.messages),
		Pass: found.over == 0 && found.dropped == 0 && found.twice == 0 && found.accounts == s.accounts,
	})
}

// punishing is a provider that loses some answers, takes its time, and refuses an account that is too fast for a minute, and
// for an hour where it is again (channels of WeCom's application messages, 45009).
func punishing(s size) simulator.Behaviour {
	minute, hour := posthouse.Duration(time.Minute), posthouse.Duration(time.Hour)
	ms := posthouse.Duration(time.Millisecond)
	b := simulator.Behaviour{
		Faults:   []simulator.Fault{house.Share(simulator.CutAfter, 0.003), {Kind: simulator.Latency, Latency: 20 * ms, Jitter: 15 * ms}},
		Accounts: []simulator.AccountLimit{{Windows: s.bears, Lockout: minute, Relapse: hour}},
	}
	if s.weak > 0 {
		b.Accounts = append([]simulator.AccountLimit{{Accounts: weakAgents + "*", Windows: s.weakBears, Lockout: minute, Relapse: hour}}, b.Accounts...)
	}
	return b
}

// The agent ids of strong and weak accounts begin with these.
const (
	strongAgents = "1"
	weakAgents   = "9"
)

func wecom(h *house.House, s size) posthouse.Channel {
	ch := posthouse.Channel{Name: "wecom", Driver: "wecom", Config: map[string]any{"corp_id": "ww1", "url": h.Provider.URL + "/wecom", "batch": 20}}
	ch.Accounts = true
	ch.AccountLimits = s.windows
	ch.TypeLimits = map[posthouse.ContentType][]posthouse.Limit{posthouse.MarkdownContent: s.markdown}
	ch.Limits = []posthouse.Limit{per(10_000, time.Second), per(200_000, time.Minute)} // the corporation's own would be the first to hold
	ch.Rate = &posthouse.RateSettings{Base: s.base}
	ch.MaxInflight = 32
	ch.OnUnknown, ch.Tries = posthouse.Retry, 100
	ch.Backoff = []posthouse.Duration{posthouse.Duration(200 * time.Millisecond)}
	return ch
}

// enlist imports the accounts: one in ten is of the pool vip.
func enlist(t *testing.T, h *house.House, s size) {
	t.Helper()
	type line struct {
		Name   string         `json:"name"`
		Pools  []string       `json:"pools,omitempty"`
		Config map[string]any `json:"config"`
	}
	var list []line
	for i := range s.accounts {
		prefix := strongAgents
		if i < s.weak {
			prefix = weakAgents
		}
		one := line{Name: fmt.Sprintf("app-%03d", i), Config: map[string]any{"agent_id": json.Number(fmt.Sprintf("%s%06d", prefix, i)), "secret": fmt.Sprint("s-", i)}}
		if i%10 == 9 {
			one.Pools = []string{"vip"}
		}
		list = append(list, one)
	}
	body, err := json.Marshal(map[string]any{"accounts": list})
	if err == nil {
		_, err = h.Members[0].Client(t, 3).Accounts.Import(t.Context(), "wecom", "application/json", body, false)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// draft is a message: of ten, one says the same as others and may share their calls, one is for the pool vip, two are
// Markdown; of a hundred two are in a line.
func draft(n int, s size) posthouse.Draft {
	d := house.Text("wecom", n)
	d.To = []posthouse.Recipient{{User: fmt.Sprint("m", n%s.people)}}
	d.Content = &posthouse.Content{Text: fmt.Sprintf("order %d has left", n)}
	switch n % 10 {
	case 0:
		d.Content.Text = fmt.Sprintf("the notice of hour %d", n/1000)
	case 3:
		if n%20 == 3 {
			d.Pool = "vip"
		}
	case 5, 6:
		d.Content = &posthouse.Content{Type: posthouse.MarkdownContent, Text: fmt.Sprintf("%s order %d", markdown, n)}
	case 7:
		if n%50 == 7 {
			d.OrderingKey = fmt.Sprint("line-", n%s.people)
		}
	}
	return d
}

// markdown begins each Markdown text.
const markdown = "**new**"

// arrived is how many messages have come to the provider so far.
func arrived(t *testing.T, h *house.House) int64 {
	t.Helper()
	resp, err := http.Get(h.Provider.URL + "/stats")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var st simulator.Status
	if err := json.NewDecoder(resp.Body).Decode(&st); err != nil {
		t.Fatal(err)
	}
	return st.Totals.Accepted + st.Totals.Lost
}
