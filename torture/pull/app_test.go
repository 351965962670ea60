package pull

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/verify"
	"github.com/posthouse/posthouse/torture/internal/house"
)

// The pair that senders and apps of the front door share.
const (
	user     = "gateway"
	password = "Kj4-no-one-guesses-this"
)

// app is a phone that speaks the protocol of the SMS front door.
type app struct{ *handset }

// task is what an app is handed.
type task struct {
	ID    string `json:"task_id"`
	Phone string `json:"phone_number"`
}

// live fetches, sends and reports until it dies, and then forgets what it had in hand.
func (a *app) live(ctx context.Context) {
	for a.on(ctx) {
		asked := time.Now()
		var list []task
		err := a.ask(ctx, http.MethodGet, fmt.Sprintf("/api/v1/sms/tasks/pending?limit=%d&app_id=%s", 1+a.rng.IntN(10), a.id), nil, &list)
		if a.complain(err); err != nil || len(list) == 0 {
			house.Pause(ctx, 50*time.Millisecond)
			continue
		}
		for _, t := range list {
			a.word(asked, verify.OpClaim, t.ID, 0, "", "", verify.AnswerHanded)
		}
		for _, t := range list {
			if ctx.Err() != nil {
				return
			}
			a.report(ctx, t, a.send(ctx, t.ID, t.Phone))
		}
	}
}

// ask is one request to any of the servers. The answer comes in an envelope.
func (a *app) ask(ctx context.Context, method, path string, in, out any) error {
	var envelope struct {
		Data json.RawMessage `json:"data"`
	}
	err := a.network.call(ctx, a.rng.IntN(1<<10), method, path, in, &envelope, func(r *http.Request) { r.SetBasicAuth(user, password) })
	if err != nil || out == nil {
		return err
	}
	return json.Unmarshal(envelope.Data, out)
}

// report says what became of a task until it is answered, sometimes twice, and sometimes contradicts itself. Apps
// know no receipts, and no doubt: what may have left they count as failed.
func (a *app) report(ctx context.Context, t task, outcome posthouse.Outcome) {
	switch outcome {
	case posthouse.OutcomeUnknown:
		return // it says nothing at all, and the lease runs out
	case posthouse.OutcomeDelivered:
		outcome = posthouse.OutcomeSent
	}
	if !a.reportOnce(ctx, t, outcome) {
		return
	}
	if a.chance(150) {
		a.reportOnce(ctx, t, outcome)
	}
	if outcome == posthouse.OutcomeSent && a.chance(60) {
		a.reportOnce(ctx, t, posthouse.OutcomeNotSent)
	}
}

// reportOnce hands a report in until it is answered; a dead app does not.
func (a *app) reportOnce(ctx context.Context, t task, outcome posthouse.Outcome) bool {
	in := map[string]any{"task_id": t.ID, "app_id": a.id, "status": 2}
	if outcome == posthouse.OutcomeNotSent {
		in["status"], in["error_message"], in["should_retry"] = 3, "no signal", true
	}
	for ctx.Err() == nil {
		asked := time.Now()
		err := a.ask(ctx, http.MethodPost, "/api/v1/sms/report", in, nil)
		a.complain(err)
		answer := verify.AnswerUnknown
		if status := (*statusError)(nil); err == nil {
			answer = verify.AnswerOK
		} else if errors.As(err, &status) && status.status == http.StatusConflict {
			answer = verify.AnswerRefused
		}
		if a.word(asked, verify.OpReport, t.ID, 0, "", outcome, answer); answer != verify.AnswerUnknown {
			return true
		}
		house.Pause(ctx, 20*time.Millisecond)
	}
	return false
}
