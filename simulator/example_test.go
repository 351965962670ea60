package simulator_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/posthouse/posthouse/simulator"
)

// send posts to our fake 天元 and says how it was answered.
func send(url, user, key string) string {
	body := fmt.Sprintf(`{"touser":%q,"content":"Please check the ledger.","msgId":%q}`, user, key)
	res, err := http.Post(url+"/tianyuan/api/message/send", "application/json", strings.NewReader(body))
	if err != nil {
		return "no answer"
	}
	defer res.Body.Close()
	return res.Status
}

// A started simulator takes messages on real HTTP and shows what arrived.
func Example() {
	ctx := context.Background()
	sim := simulator.New(simulator.Options{})
	if err := sim.Start(ctx, ""); err != nil {
		fmt.Println(err)
		return
	}
	defer sim.Stop(ctx)

	fmt.Println(send(sim.URL(), "u1", "d-1"))
	fmt.Println(send(sim.URL(), "lost-answer", "d-2"))
	fmt.Println(send(sim.URL(), "lost-answer", "d-2"))
	for _, a := range sim.Arrivals(simulator.Filter{}) {
		fmt.Println(a.Seq, a.User, a.Answer, a.Duplicate)
	}
	// Output:
	// 200 OK
	// no answer
	// 200 OK
	// 1 u1 accepted false
	// 2 lost-answer lost false
	// 3 lost-answer accepted true
}

// Faults strike by probability, by recipient or a number of times.
func ExampleSimulator_Behave() {
	sim := simulator.New(simulator.Options{})
	server := httptest.NewServer(sim)
	defer server.Close()

	err := sim.Behave("tianyuan", simulator.Behaviour{Faults: []simulator.Fault{
		{Kind: simulator.ServerError, Times: 1},
		{Kind: simulator.RateLimited, Recipient: "branch-*", RetryAfter: 5},
	}})
	fmt.Println(err)
	fmt.Println(send(server.URL, "u1", "d-1"))
	fmt.Println(send(server.URL, "u1", "d-1"))
	fmt.Println(send(server.URL, "branch-7", "d-2"))

	err = sim.Behave("tianyuan", simulator.Behaviour{Faults: []simulator.Fault{{Kind: "slwo"}}})
	fmt.Println(err)
	// Output:
	// <nil>
	// 503 Service Unavailable
	// 200 OK
	// 429 Too Many Requests
	// the behaviour cannot be used: faults[0].kind: "slwo" is not a kind of fault; allowed are latency, rate_limited, server_error, business, cut_before, cut_after, garbage, hang, redirect
}

// Count answers how often one delivery arrived: the question of every test
// about lost and doubled messages.
func ExampleSimulator_Count() {
	sim := simulator.New(simulator.Options{})
	server := httptest.NewServer(sim)
	defer server.Close()

	for range 3 {
		send(server.URL, "busy-twice", "d-1")
	}
	count := sim.Count("tianyuan", "d-1")
	fmt.Println(count.Arrivals, count.Taken)
	// Output: 3 1
}
