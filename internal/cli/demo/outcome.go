package demo

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
)

// Row is what became of one recipient.
type Row struct {
	Scene     string          `json:"scene"`
	Channel   string          `json:"channel"`
	Recipient string          `json:"recipient"`
	State     posthouse.State `json:"state"`
	// Outcome is the state, or retried for what was sent after a failure.
	Outcome     string `json:"outcome"`
	Attempts    int    `json:"attempts"`
	Why         string `json:"why,omitempty"`
	ProviderRef string `json:"provider_ref,omitempty"`
	Delivery    string `json:"delivery"`

	policy posthouse.Policy
	zh     string // the scene's other name
}

// outcomeRetried is the outcome of a delivery that was sent after a failure.
const outcomeRetried = "retried"

// settle looks until every delivery is settled, or patience ends.
func settle(ctx context.Context, s *stage, say *voice) ([]Row, error) {
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	var rows []Row
	for {
		seen, open, err := look(waiting, s)
		if err == nil {
			rows = seen
			say.progress(len(rows)-open, len(rows))
		}
		if err == nil && open == 0 {
			return rows, nil
		}
		select {
		case <-tick.C:
			continue
		case <-waiting.Done():
		}
		if ctx.Err() != nil {
			return rows, ctx.Err()
		}
		if err != nil && len(rows) == 0 {
			return nil, fmt.Errorf("look at the messages: %w", err)
		}
		return rows, unsettled(rows)
	}
}

// look reads every delivery.
func look(ctx context.Context, s *stage) (rows []Row, open int, err error) {
	for _, sent := range s.sent {
		m, err := s.client.Messages.Get(ctx, sent.message)
		if err != nil {
			return nil, 0, err
		}
		for _, d := range m.Deliveries {
			row, err := rowOf(ctx, s.client, sent.scene, d)
			if err != nil {
				return nil, 0, err
			}
			// Of this channel's messages the provider says whether they arrived.
			if !d.State.Settled(d.OnUnknown) || d.Channel == cloudChannel && d.State == posthouse.Sent {
				open++
			}
			rows = append(rows, row)
		}
	}
	return rows, open, nil
}

func rowOf(ctx context.Context, c *client.Client, sc *scene, d posthouse.Delivery) (Row, error) {
	r := Row{
		Scene: sc.en, zh: sc.zh, Channel: d.Channel, Recipient: cmp.Or(d.User, d.Address), State: d.State, Outcome: string(d.State), Attempts: d.Attempts,
		ProviderRef: d.ProviderRef, Delivery: d.ID, policy: d.OnUnknown, Why: because(d),
	}
	if d.State != posthouse.Sent || d.Attempts < 2 {
		return r, nil
	}
	r.Outcome = outcomeRetried
	attempts, err := c.Deliveries.Attempts(ctx, d.ID)
	if err != nil {
		return r, err
	}
	for _, a := range attempts {
		if a.Class != posthouse.ClassOK && a.Class != "" {
			r.Why = "after " + a.Code + ": " + a.Error
		}
	}
	return r, nil
}

// because is a delivery's reason and last error in one line.
func because(d posthouse.Delivery) string {
	switch {
	case d.State == posthouse.Sent, d.State == posthouse.Delivered:
		return ""
	case d.Reason == "":
		return d.Error
	case d.Error == "":
		return d.Reason
	}
	return d.Reason + ": " + d.Error
}
