package demo

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/simulator"
)

// The demo's fleet: so many accounts of one channel, what they are handed, and how often a look is taken at their rates.
const (
	fleetChannel  = "fleet"
	fleetAccounts = 12
	fleetMessages = 300
	fleetLooks    = 5
	fleetEvery    = time.Second
)

// AccountRow is how fast an account went, at each look.
type AccountRow struct {
	Account string               `json:"account"`
	Rates   []float64            `json:"rates"` // calls a second
	Why     posthouse.RateReason `json:"why,omitempty"`
}

// playFleet has a dozen accounts of WeCom find out how fast each may go. One bears a call a second, which nobody has told
// Posthouse; others take what it cannot.
func playFleet(ctx context.Context, c *client.Client, sim *simulator.Simulator) ([]AccountRow, error) {
	second := posthouse.Duration(time.Second)
	err := sim.Behave("wecom", simulator.Behaviour{Accounts: []simulator.AccountLimit{
		{Accounts: "1000012", Windows: []simulator.Limit{{Max: 1, Per: second}}, Lockout: 60 * second},
		{Windows: []simulator.Limit{{Max: 20, Per: second}}},
	}})
	if err == nil {
		err = furnishFleet(ctx, c, sim.URL())
	}
	for n := 0; n < fleetMessages && err == nil; n += 100 {
		list := make([]posthouse.Draft, 100)
		for i := range list {
			list[i] = draft(fleetChannel, fmt.Sprint("member-", n+i))
		}
		_, err = c.Messages.Send(ctx, list...)
	}
	if err != nil {
		return nil, fmt.Errorf("send by a fleet: %w", err)
	}
	return watchFleet(ctx, c)
}

func furnishFleet(ctx context.Context, c *client.Client, url string) error {
	ch := posthouse.Channel{Name: fleetChannel, Driver: "wecom", ChannelSettings: quick(3), Config: map[string]any{"corp_id": "ww-demo", "url": url + "/wecom", "batch": 1}}
	ch.Accounts, ch.Rate = true, &posthouse.RateSettings{}
	if _, _, err := c.Channels.Put(ctx, ch); err != nil {
		return err
	}
	var lines strings.Builder
	for i := range fleetAccounts {
		fmt.Fprintf(&lines, `{"name": "app-%02d", "config": {"agent_id": %d, "secret": "demo"}}`+"\n", i+1, 1_000_001+i)
	}
	_, err := c.Accounts.Import(ctx, fleetChannel, "application/x-ndjson", []byte(lines.String()), false)
	return err
}

// watchFleet looks at the rates as they move.
func watchFleet(ctx context.Context, c *client.Client) ([]AccountRow, error) {
	rows := make([]AccountRow, fleetAccounts)
	at := map[string]int{}
	for i := range rows {
		rows[i].Account = fmt.Sprintf("app-%02d", i+1)
		at[rows[i].Account] = i
	}
	tick := time.NewTicker(fleetEvery)
	defer tick.Stop()
	for look := 0; look < fleetLooks; {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return rows, ctx.Err()
		}
		rates, err := c.Channels.Rates(ctx, fleetChannel)
		if err != nil {
			return rows, err
		}
		if len(rates) == 0 {
			continue // nothing has begun yet
		}
		for i := range rows {
			rows[i].Rates = append(rows[i].Rates, 0)
		}
		for _, r := range rates {
			row := &rows[at[r.Account]]
			row.Rates[look], row.Why = r.Rate, r.Reason
		}
		look++
	}
	return rows, nil
}

// fleetTable are the rows as a table shows them.
func fleetTable(rows []AccountRow, w *words) (head []string, lines [][]string) {
	head = []string{w.fleetHead[0]}
	for i := range fleetLooks {
		head = append(head, (time.Duration(i+1) * fleetEvery).String())
	}
	head = append(head, w.fleetHead[1])
	for _, r := range rows {
		line := []string{r.Account}
		for _, rate := range r.Rates {
			line = append(line, fmt.Sprintf("%.1f", rate))
		}
		lines = append(lines, append(line, string(r.Why)))
	}
	return head, lines
}
