package agent

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/wire"
)

// native speaks the protocol below /v1/agents.
type native struct {
	client *client.Client
	o      Options
}

func newNative(o Options) (*native, error) {
	c, err := client.New(client.Options{URL: o.URL, Key: o.Key, HTTP: o.HTTP, Tries: 1}) // Run repeats, and says so
	if err != nil {
		return nil, err
	}
	return &native{c, o}, nil
}

// atOnce is the least wait after an answer that was empty, came at once, and does not say why.
const atOnce = time.Second

func (n *native) claim(ctx context.Context, id string) (claimed, error) {
	asked := time.Now()
	out, err := n.client.Handouts.Claim(ctx, n.o.ID, wire.Claim{
		ID: id, Max: n.o.Max, Wait: posthouse.Duration(n.o.Wait), Capabilities: n.o.Capabilities, App: n.o.App,
	})
	if err != nil {
		return claimed{}, err
	}
	got := claimed{reason: out.Reason, after: out.RetryAfter()}
	now := time.Now()
	if len(out.Handouts) == 0 && got.after == 0 && now.Sub(asked) < n.o.Wait/2 {
		got.after = atOnce
	}
	for _, h := range out.Handouts {
		lease := time.Duration(h.LeaseMillis) * time.Millisecond
		got.tasks = append(got.tasks, &task{
			delivery: h.Delivery, token: h.Token, key: h.IdemKey, started: h.Started,
			text:  Text{cmp.Or(h.Recipient.Address, h.Recipient.User), cmp.Or(h.Content.Text, h.Content.Title), h.IdemKey, h.Sensitive},
			lease: lease, until: now.Add(lease),
		})
	}
	return got, nil
}

func (n *native) received(ctx context.Context, texts []wire.ReceivedText) ([]wire.ReceivedResult, error) {
	return n.client.Handouts.Received(ctx, n.o.ID, texts...)
}

func holdsOf(tasks []*task) []wire.Hold {
	out := make([]wire.Hold, len(tasks))
	for i, t := range tasks {
		out[i] = wire.Hold{Delivery: t.delivery, Token: t.token}
	}
	return out
}

func (n *native) start(ctx context.Context, t *task) (refused string, err error) {
	answers, err := n.client.Handouts.Start(ctx, n.o.ID, holdsOf([]*task{t})...)
	switch {
	case err != nil:
		return "", err
	case len(answers) != 1:
		return "", fmt.Errorf("a start got %d answers", len(answers))
	case !answers[0].OK:
		return cmp.Or(answers[0].Reason, "the server does not say why"), nil
	}
	return "", nil
}

func (n *native) renew(ctx context.Context, tasks []*task) error {
	asked := time.Now()
	answers, err := n.client.Handouts.Renew(ctx, n.o.ID, holdsOf(tasks)...)
	if err != nil {
		return err
	}
	for i, a := range answers {
		if a.OK && i < len(tasks) {
			lease := time.Duration(a.LeaseMillis) * time.Millisecond
			tasks[i].until = asked.Add(lease)
		}
	}
	return nil
}

func (n *native) giveBack(ctx context.Context, tasks []*task, reason string) error {
	_, err := n.client.Handouts.GiveBack(ctx, n.o.ID, reason, holdsOf(tasks)...)
	return err
}

func (n *native) report(ctx context.Context, list []posthouse.AgentReport) ([]posthouse.ReportResult, error) {
	answers, err := n.client.Handouts.Report(ctx, n.o.ID, list...)
	if err != nil {
		return nil, err
	}
	results := make([]posthouse.ReportResult, len(answers))
	for i, a := range answers {
		results[i] = a.Result
	}
	return results, nil
}
