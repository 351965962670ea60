package posthouse

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/bench/trial"
	"github.com/posthouse/posthouse/wire"
)

// OpenFleet opens it as everybody else reaches it, with a channel that sends by 500 accounts: each has four windows that never
// hold it up, and a rate that follows what the provider answers.
func OpenFleet(ctx context.Context, dsn string) (trial.Queue, error) {
	q, err := open(ctx, dsn)
	if err != nil {
		return nil, err
	}
	q.fleet, q.accept = true, q.acceptMany
	if _, err := q.server.PutChannel(ctx, posthouse.DefaultTenant, q.channel()); err != nil {
		return nil, err
	}
	var accounts []map[string]string
	for i := range 500 {
		accounts = append(accounts, map[string]string{"name": fmt.Sprintf("account-%03d", i)})
	}
	return q, q.call(ctx, http.MethodPut, "/v1/channels/"+channelName+"/accounts", map[string]any{"accounts": accounts}, http.StatusOK)
}

// asFleet has a channel send by accounts. 500 of them may send 20,000 a second.
func asFleet(ch *posthouse.Channel) {
	per := func(n int, d time.Duration) posthouse.Limit {
		return posthouse.Limit{Max: n, Per: posthouse.Duration(d)}
	}
	ch.Accounts, ch.MaxInflight = true, 64
	ch.AccountLimits = []posthouse.Limit{per(40, time.Second), per(2_400, time.Minute), per(100_000, time.Hour), per(1_000_000, 24*time.Hour)}
	ch.Rate = &posthouse.RateSettings{Base: 40}
}

// acceptMany hands all messages of a call in by one request.
func (q *Queue) acceptMany(ctx context.Context, drafts []posthouse.Draft) error {
	return q.call(ctx, http.MethodPost, "/v1/messages", wire.Send{Messages: drafts}, http.StatusAccepted)
}

// call calls the API.
func (q *Queue) call(ctx context.Context, method, path string, in any, want int) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, method, q.server.URL()+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+q.key)
	resp, err := q.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if resp.StatusCode != want {
		return fmt.Errorf("status %d: %s", resp.StatusCode, text)
	}
	return err
}
