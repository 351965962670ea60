package agent

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
)

// work sends what is held, one after another, as a phone does, until all of it is done with or the app stops.
func (a *App) work(ctx context.Context) error {
	for len(a.held) > 0 {
		if !pause(ctx, time.Until(a.last.Add(a.o.Pace))) {
			return nil
		}
		if err := a.hold(ctx); err != nil {
			return err
		}
		if err := a.handle(ctx, a.held[0]); err != nil {
			return err
		}
		a.held = a.held[1:]
		if err := a.tell(ctx); err != nil {
			return err
		}
	}
	return a.journal.claiming("") // all of it is done with: the next claim is a new one
}

// hold makes leases last longer before they are nearly over.
func (a *App) hold(ctx context.Context) error {
	t := a.held[0]
	if left := time.Until(t.until); left <= 0 || left > t.lease/3 {
		return nil
	}
	if err := a.server.renew(ctx, a.held); err != nil {
		return fmt.Errorf("renew: %w", err)
	}
	return nil
}

// giveBack returns what had no turn. Where the server does not hear of it, its leases end by themselves.
func (a *App) giveBack(ctx context.Context) error {
	var rest []*task
	for _, t := range a.held {
		a.sent.Given++
		if !t.once {
			rest = append(rest, t)
			continue
		}
		err := a.finish(t, Result{Outcome: posthouse.OutcomeNotSent, Code: "stopped", Error: "the agent stopped before it sent this"})
		if err != nil {
			return err
		}
	}
	a.held = nil
	if len(rest) > 0 {
		if err := a.server.giveBack(ctx, rest, "the agent stops"); err != nil {
			return fmt.Errorf("give back %d deliveries: %w", len(rest), err)
		}
	}
	return a.journal.claiming("")
}

// handle takes one message to its end: sent, or known to have been, or not ours any more.
func (a *App) handle(ctx context.Context, t *task) error {
	if t.over(time.Now()) {
		return a.late(t)
	}
	if !t.started {
		starting, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTime)
		refused, err := a.server.start(starting, t)
		cancel()
		if err != nil {
			return fmt.Errorf("start: %w", err)
		}
		if refused != "" {
			a.o.Log.Info("it is not to be sent any more", "delivery", t.delivery, "reason", refused)
			return a.journal.drops(t)
		}
		t.started = true
	}
	if a.journal.wasSent(t.key) {
		a.sent.Known++
		a.o.Log.Info("it was sent before and is not sent again", "delivery", t.delivery)
		return a.finish(t, Result{Outcome: posthouse.OutcomeSent})
	}
	if err := a.journal.starts(t); err != nil {
		return err
	}
	a.last = time.Now()
	r := a.send(ctx, t)
	a.count(t, r)
	return a.finish(t, r)
}

// late is for what had its turn after its lease: it may be another's.
func (a *App) late(t *task) error {
	a.o.Log.Warn("its lease ended before its turn", "delivery", t.delivery)
	if !t.once {
		return a.journal.drops(t)
	}
	return a.finish(t, Result{Outcome: posthouse.OutcomeNotSent, Code: "late", Error: "the lease ended before it was sent"})
}

// send tells the phone. A stop of the app does not stop a send.
func (a *App) send(ctx context.Context, t *task) Result {
	until := time.Now().Add(a.o.SendTimeout)
	if t.until.Before(until) {
		until = t.until
	}
	sending, cancel := context.WithDeadline(context.WithoutCancel(ctx), until)
	defer cancel()
	return a.o.Phone.Send(sending, t.text)
}

func (a *App) count(t *task, r Result) {
	switch r.Outcome {
	case posthouse.OutcomeNotSent:
		a.sent.NotSent++
	case posthouse.OutcomeUnknown:
		a.sent.Unknown++
	default:
		a.sent.Sent++
	}
	about := []any{"delivery", t.delivery}
	if r.Error != "" {
		about = append(about, "code", r.Code, "error", r.Error)
	}
	a.o.Log.Info("message "+string(r.Outcome), about...)
}

// finish writes down what came of a message, to be told.
func (a *App) finish(t *task, r Result) error {
	report := posthouse.AgentReport{
		ReportID: posthouse.NewID(), Delivery: t.delivery, Token: t.token,
		Outcome: r.Outcome, Code: r.Code, Error: cut(r.Error), Ref: r.Ref,
	}
	if r.Final {
		report.Retry = new(false)
	}
	return a.journal.ends(t.key, report)
}

// maxError is how much of an error's text is kept and reported, in characters: the server keeps no more.
const maxError = 500

func cut(text string) string {
	if list := []rune(text); len(list) > maxError {
		return string(list[:maxError])
	}
	return text
}

// tellAtOnce is how many reports one call holds.
const tellAtOnce = 100

// tell reports what the server has not been told.
func (a *App) tell(ctx context.Context) error {
	for {
		list := a.journal.untold()
		if len(list) == 0 {
			return nil
		}
		list = list[:min(len(list), tellAtOnce)]
		results, err := a.server.report(ctx, list)
		if len(list) > 1 && unreadable(err) { // one of them is: which?
			list = list[:1]
			results, err = a.server.report(ctx, list)
		}
		if unreadable(err) {
			a.o.Log.Error("the server cannot read a report; it is dropped", "delivery", list[0].Delivery, "error", err)
			results, err = []posthouse.ReportResult{resultRefused}, nil
		}
		if err != nil {
			return fmt.Errorf("report: %w", err)
		}
		if err := a.told(list, results); err != nil {
			return err
		}
	}
}

func (a *App) told(list []posthouse.AgentReport, results []posthouse.ReportResult) error {
	if len(results) != len(list) {
		return fmt.Errorf("report: %d reports got %d answers", len(list), len(results))
	}
	for i, r := range list {
		if slices.Contains([]posthouse.ReportResult{posthouse.ReportStale, posthouse.ReportMissing, posthouse.ReportReused}, results[i]) {
			a.sent.Stale++
			a.o.Log.Warn("a report came too late to count", "delivery", r.Delivery, "outcome", string(r.Outcome), "answer", string(results[i]))
		}
		if err := a.journal.toldOf(r.ReportID); err != nil {
			return err
		}
	}
	return nil
}
