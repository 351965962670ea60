package lksms

import (
	"fmt"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/cli/retold"
	"github.com/posthouse/posthouse/internal/phone"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
)

// The statuses of a task in the document.
const (
	pending = iota
	processing
	success
	failed
)

// Results that the old server wrote by itself.
const (
	lostAndRetried = "处理超时，自动重试"
	lostForGood    = "处理超时，超过最大重试次数"
	triesUsedUp    = "超过最大重试次数: "
)

// The old server's times, where it had no settings for them.
const (
	lease      = 30 * time.Minute
	retryDelay = 5 * time.Minute
)

// maxRetries bounds the retries that are told: each is three events, and nobody reads more.
const maxRetries = 100

// owner is who made the attempts of which nobody knows who made them.
const owner = "import"

// phone is a number in E.164, or as it was written where it is none.
func (r *run) phone(t *Table, text string) string {
	number, err := phone.Parse(text, r.Region)
	if err != nil {
		t.Odd["whose phone number does not exist, kept as written"]++
		return text
	}
	return number.E164
}

// task tells a row in our words. Its events are those that must have been: the row knows how often it was
// retried, when it began and when it ended, and the time between is shared out evenly.
func (r *run) task(t *Table, row work.LksmsTask) work.Imported {
	if row.Retries > maxRetries {
		t.Odd[fmt.Sprintf("with more than %d retries, of which so many are kept", maxRetries)]++
		row.Retries = maxRetries
	}
	created, updated := r.times(row.CreatedAt, row.UpdatedAt)
	end := updated
	for _, at := range []time.Time{meant(row.ReportedAt), meant(row.SentAt)} {
		if row.Status >= success && !at.Before(created) {
			end = at
		}
	}
	id := idOf(row.CreatedAt, row.UpdatedAt, r.Tenant, r.Channel, row.ID)
	h := &history{
		step: end.Sub(created) / time.Duration(2*max(row.Retries, 0)+2),
		History: retold.History{Delivery: posthouse.Delivery{
			ID: posthouse.DeliveryID(id, 1), Message: id, Tenant: r.Tenant, Channel: r.Channel, Pulled: true, Priority: posthouse.Normal,
			OnUnknown: posthouse.Retry, Epoch: r.epoch, CreatedAt: created, UpdatedAt: created,
		}},
	}
	d := &h.Delivery
	d.IdemKey, d.Address = d.ID, r.phone(t, row.Phone)
	h.To(posthouse.EventAccept, posthouse.Pending, "imported", created)
	for n := range row.Retries {
		last := row.Status == pending && n == row.Retries-1
		h.retry(last && row.Result == lostAndRetried, last, row.Result, end)
	}
	h.finish(row, end)
	return work.Imported{
		Message: posthouse.Message{
			ID: id, Tenant: r.Tenant, Channel: r.Channel, Kind: Kind, Ref: row.ID, Source: row.Source, Priority: posthouse.Normal,
			Content: posthouse.Content{Text: row.Content}, DedupKey: work.FormerKey(row.ID), CreatedAt: created,
		},
		Deliveries: []posthouse.Delivery{h.Delivery}, Events: h.Events,
	}
}

// history is what became of a task.
type history struct {
	retold.History
	step time.Duration
}

// retry is a hand-out that failed, or was lost, and was put back. Of the last one the text is known.
func (h *history) retry(lost, last bool, text string, end time.Time) {
	d := &h.Delivery
	begun := d.UpdatedAt.Add(h.step)
	at := begun.Add(h.step)
	due := at
	if !last {
		text = ""
	} else {
		at, due = end, end.Add(retryDelay)
	}
	h.Start(owner, begun, until(lost, begun, at))
	d.Tries++
	if lost {
		h.End(posthouse.EventLeaseLost, posthouse.Unknown, state.ReasonLeaseLost, posthouse.ClassUnknown, "", at)
		h.To(posthouse.EventResend, posthouse.Pending, string(posthouse.ClassUnknown), at)
	} else {
		h.End(posthouse.EventRetry, posthouse.Pending, string(posthouse.ClassTransient), posthouse.ClassTransient, text, at)
	}
	d.DueAt = due
	h.Events[len(h.Events)-1].Due = due
}

// until is when the lease of an attempt ended: that of a lost one as it was found lost.
func until(lost bool, begun, found time.Time) time.Time {
	if lost {
		return found
	}
	return begun.Add(lease)
}

// finish leads to where the task stands.
func (h *history) finish(row work.LksmsTask, end time.Time) {
	d := &h.Delivery
	switch row.Status {
	case pending:
		if d.DueAt.IsZero() {
			d.DueAt = d.CreatedAt
			h.Events[0].Due = d.DueAt
		}
		return
	case processing:
		h.Start(work.Owner(row.App), end, end.Add(lease)) // its app may still report
		return
	}
	begun := d.UpdatedAt.Add(h.step)
	by := owner
	if row.App != "" {
		by = work.Owner(row.App)
	}
	h.Start(by, begun, until(row.Status == failed && row.Result == lostForGood, begun, end))
	d.DueAt = time.Time{}
	if row.Status == success {
		h.End(posthouse.EventSent, posthouse.Sent, "", posthouse.ClassOK, "", end)
		return
	}
	d.Tries++
	text, usedUp := strings.CutPrefix(row.Result, triesUsedUp)
	switch {
	case row.Result == lostForGood:
		h.End(posthouse.EventLeaseLost, posthouse.Unknown, state.ReasonLeaseLost, posthouse.ClassUnknown, "", end)
		h.To(posthouse.EventHoldTimeout, posthouse.Failed, state.ReasonTriesUsedUp, end)
	case usedUp:
		h.End(posthouse.EventFail, posthouse.Failed, state.ReasonTriesUsedUp, posthouse.ClassTransient, text, end)
	default:
		h.End(posthouse.EventFail, posthouse.Failed, state.ReasonNoRetry, posthouse.ClassTransient, row.Result, end)
	}
}
