package flow

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/simulator"
	"github.com/posthouse/posthouse/torture/internal/house"
)

// What happens to calls: the share of answers lost, and of calls refused.
const (
	lostShare    = 0.01
	refusedShare = 0.02
	crowd        = 500 // recipients of the large jobs
)

// TestJobsReachEverybody is the acceptance of the workflow notices: two servers on one MariaDB, jobs of 1
// to 20 recipients and some of 500, a gateway that loses answers and refuses calls. Nobody is told twice
// without an unknown, nobody is forgotten, by the event log and the gateway's journal.
func TestJobsReachEverybody(t *testing.T) {
	house.Alone(t)
	h := house.Open(t, house.Options{DSN: house.MariaDB.DSN(t), Members: 2})
	people(t, h)
	h.Provider.Behave(t, "dingtalk", simulator.Behaviour{Faults: faults()})
	h.PutChannel(t, gateway(h))

	sizes, total := jobs(house.Size(2_000, 200_000), house.Form(2, 50))
	began := time.Now()
	accepted := h.Produce(t, house.Load{Messages: len(sizes), Draft: func(n int) posthouse.Draft { return job(n, sizes[n-1]) }})
	h.Settle(t)
	took := time.Since(began)
	report := h.Judge(t)

	arrivals := h.Provider.Arrivals(t)
	told, again, lost, refused := map[string]int{}, 0, 0, 0
	calls := map[string]map[string]bool{} // of a message, by the gateway's id
	for _, a := range arrivals {
		switch a.Answer {
		case simulator.Refused:
			refused++
			continue
		case simulator.Lost:
			lost++
		}
		if told[a.Key]++; told[a.Key] > 1 {
			again++
		}
		id := posthouse.MessageID(a.Key)
		if calls[id] == nil {
			calls[id] = map[string]bool{}
		}
		calls[id][a.ID] = true
	}
	if len(told) != total {
		t.Errorf("%d of %d recipients were told", len(told), total)
	}
	if again > lost {
		t.Errorf("%d recipients were told again, although only %d answers were lost", again, lost)
	}
	house.Report(t, house.Row{
		Test: "FLOW", Database: "mariadb", What: "two servers, jobs to a gateway, 1 % of answers lost, 2 % of calls refused", N: total, Unit: "deliveries",
		Figure: fmt.Sprintf("%d jobs, lost %d, unexplained %d; %d answers lost, %d told again, each after an unknown; %d refused; jobs of %d: %s; %.0f deliveries/s",
			len(accepted), report.Totals.Lost, report.Totals.DuplicatedUnexplained, lost, again, refused, crowd, callsOf(accepted, sizes, calls), float64(total)/took.Seconds()),
		Bar: "nobody forgotten, nobody twice without an unknown", Bound: house.Bound(total),
		Pass: lost > 0 && refused > 0,
	})
}

// faults loses and refuses the shares, and in any case one of each.
func faults() []simulator.Fault {
	list := []simulator.Fault{{Kind: simulator.CutAfter, Times: 1}, {Kind: simulator.Business, Code: simulator.Busy, Times: 1}}
	refused := house.Share(simulator.Business, refusedShare)
	refused.Code = simulator.Busy
	return append(list, house.Share(simulator.CutAfter, lostShare), refused)
}

// people puts everybody into the directory: the gateway knows them by other names than we do.
func people(t *testing.T, h *house.House) {
	t.Helper()
	users := make([]posthouse.User, crowd)
	for i := range users {
		users[i] = posthouse.User{ID: fmt.Sprint("u", i), Addresses: map[string]string{"dingtalk": fmt.Sprint("staff", i)}}
	}
	if _, err := h.Members[0].Client(t, 3).Users.Put(t.Context(), users...); err != nil {
		t.Fatal(err)
	}
}

// gateway is the channel: no key is known there, so what may have arrived is sent again under an unknown.
func gateway(h *house.House) posthouse.Channel {
	ch := posthouse.Channel{Name: "dingtalk", Driver: "dingtalk", Config: map[string]any{
		"baseUrl": h.Provider.URL + "/dingtalk/send", "agentId": "agent", "corpId": "corp",
	}}
	ch.OnUnknown, ch.Tries = posthouse.Retry, 100
	ch.Backoff = []posthouse.Duration{posthouse.Duration(200 * time.Millisecond)}
	return ch
}

// jobs says how many recipients each job has: of so many in all, some of a whole crowd.
func jobs(deliveries, crowds int) (sizes []int, total int) {
	random := rand.New(rand.NewPCG(1, 2))
	for range crowds {
		sizes = append(sizes, crowd)
	}
	for left := deliveries - crowds*crowd; left > 0; {
		n := min(1+random.IntN(20), left)
		sizes = append(sizes, n)
		left -= n
	}
	random.Shuffle(len(sizes), func(i, j int) { sizes[i], sizes[j] = sizes[j], sizes[i] })
	return sizes, deliveries
}

func job(n, size int) posthouse.Draft {
	d := posthouse.Draft{
		Channel: "dingtalk", Kind: "node_done", Ref: fmt.Sprint(n), DedupKey: fmt.Sprintf("1_%d_%d_1", n, n),
		Content: &posthouse.Content{Title: "进入下一节点", Text: fmt.Sprintf("任务 %d 需要处理", n)},
	}
	for i := range size {
		d.To = append(d.To, posthouse.Recipient{User: fmt.Sprint("u", (n+i)%crowd)})
	}
	return d
}

// callsOf says how many calls the large jobs took.
func callsOf(accepted map[int]string, sizes []int, calls map[string]map[string]bool) string {
	jobs, all := 0, 0
	for n, id := range accepted {
		if sizes[n-1] == crowd {
			jobs++
			all += len(calls[id])
		}
	}
	return fmt.Sprintf("%d calls for %d", all, jobs)
}
