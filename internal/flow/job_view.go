package flow

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/wire"
	"github.com/posthouse/posthouse/workflow"
)

// Job reads one job, also a deleted one.
func (j Jobs) Job(ctx context.Context, tenant, id string) (wire.Job, error) {
	r, err := j.one(ctx, tenant, id)
	if posthouse.CodeOf(err) == posthouse.CodeNotFound {
		r, err = j.byNumber(ctx, tenant, id)
	}
	if err == nil && r.shown() {
		return j.view(ctx, tenant, r)
	}
	if err == nil || posthouse.CodeOf(err) == posthouse.CodeNotFound {
		err = posthouse.Errorf(posthouse.CodeNotFound, "there is no job %.80q", id)
	}
	return wire.Job{}, err
}

// one reads the message or the reminder of an id.
func (j Jobs) one(ctx context.Context, tenant, id string) (*record, error) {
	p, found, err := j.Store.Plan(ctx, tenant, work.PlanReminder, id)
	if err != nil {
		return nil, err
	}
	if !found {
		m, _, err := j.Store.Message(ctx, tenant, id)
		if err != nil {
			return nil, err
		}
		r := &record{id: id, messages: []posthouse.Message{m}, counts: []work.Counts{{}}, createdAt: m.CreatedAt}
		err = j.eachDelivery(ctx, tenant, r.messages, func(d posthouse.Delivery) { r.counts[0][d.State]++ })
		if err != nil {
			return nil, err
		}
		return r, j.addMarks(ctx, tenant, []*record{r})
	}
	list, err := j.find(ctx, tenant, p.Kind, p.Ref)
	for _, r := range list {
		if r.id == id {
			return r, err
		}
	}
	if err != nil {
		return nil, err
	}
	return reminderOf(p) // about nothing that it could be found by
}

// shown reports whether the document has numbers for the job, and so a place for it.
func (r *record) shown() bool {
	d, channel := r.draft()
	_, isJob := workflow.BizTypeOf(d.Kind)
	_, numbered := ChannelCode(channel)
	return isJob && numbered && (r.reminder != nil || r.messages[0].Reminder == "")
}

// draft is what the job was made from, and the channel it goes to.
func (r *record) draft() (d posthouse.Draft, channel string) {
	if r.reminder != nil {
		return r.reminder.Draft, r.reminder.Draft.Channel
	}
	if len(r.messages) == 0 {
		return d, ""
	}
	m := &r.messages[0]
	return posthouse.Draft{Kind: m.Kind, Ref: m.Ref, Source: m.Source, DedupKey: m.DedupKey, Payload: m.Payload, NotBefore: m.NotBefore}, m.Channel
}

// view reads the recipients of a job: of one that comes again those of its last message.
func (j Jobs) view(ctx context.Context, tenant string, r *record) (wire.Job, error) {
	d, channel := r.draft()
	v := wire.Job{
		ID: r.id, Number: r.number, BizID: d.Ref, DedupKey: d.DedupKey, Payload: d.Payload, Recipients: []wire.JobRecipient{},
		CreateBy: d.Source, CreateTime: r.createdAt, NextRunTime: cmp.Or(d.NotBefore, r.createdAt), UpdateTime: r.createdAt,
	}
	biz, _ := workflow.BizTypeOf(d.Kind)
	v.BizType = int(biz)
	v.Channel, _ = ChannelCode(channel)
	if len(v.Payload) == 0 {
		v.Payload = json.RawMessage("{}")
	}
	if r.reminder != nil {
		v.Remark, v.NextRunTime, v.UpdateTime = r.reminder.Error, cmp.Or(r.reminder.NextAt, r.reminder.UpdatedAt), r.reminder.UpdatedAt
	}
	if r.mark.Job != "" {
		v.UpdateBy, v.UpdateTime = r.mark.By, later(v.UpdateTime, r.mark.At)
		if r.mark.Deleted {
			v.DelFlag = 1
		}
	}
	status, err := j.settle(ctx, tenant, r)
	if err != nil {
		return v, err
	}
	v.Status, v.State = int(status), status.String()
	return v, j.addRecipients(ctx, tenant, r, &v)
}

// held is the state of a job of which a delivery is unknown until a person decides, and heldRemark what to do. endedRemark is
// that of a job which was given a status meanwhile.
const (
	held        = "held"
	heldRemark  = "held for a person: nobody knows whether it arrived. Decide with posthouse resolve: sent, not_sent or retry"
	endedRemark = "ended while nobody knew whether it had arrived. Nothing more is sent; posthouse resolve sent or not_sent says what became of it"
)

// whyNot says why a recipient was not told, also where no attempt has failed.
func whyNot(d *posthouse.Delivery) string {
	var why string
	switch d.State {
	case posthouse.Expired:
		why = "its deadline passed before it could be sent"
	case posthouse.Suppressed:
		why = strings.TrimSuffix("a rule said no: "+d.Reason, ": ")
	default:
		return d.Error
	}
	return strings.TrimSuffix(why+": "+d.Error, ": ")
}

func (j Jobs) addRecipients(ctx context.Context, tenant string, r *record, v *wire.Job) error {
	gates, err := j.gates(ctx, tenant, r)
	if err != nil {
		return err
	}
	var next time.Time
	err = j.eachDelivery(ctx, tenant, r.messages[:min(1, len(r.messages))], func(d posthouse.Delivery) {
		to := wire.JobRecipient{
			ID: d.ID, UserID: d.User, Status: int(r.recipientStatus(d.State)), LastError: whyNot(&d), ExternalMsgID: d.ProviderRef,
			UpdateTime: d.UpdatedAt, State: d.State,
		}
		if Status(to.Status) == Succeeded {
			to.LastError = "" // of a try before the one that succeeded
		}
		v.Recipients = append(v.Recipients, to)
		v.RetryCount = max(v.RetryCount, d.Tries)
		v.UpdateTime = later(v.UpdateTime, d.UpdatedAt)
		if due := later(d.DueAt, gates[d.Account]); d.State == posthouse.Pending && !due.IsZero() && (next.IsZero() || due.Before(next)) {
			next = due
		}
		hold(v, d)
	})
	if r.reminder == nil {
		v.NextRunTime = cmp.Or(next, v.NextRunTime)
	}
	for i := 1; i < len(r.messages) && err == nil; i++ { // of earlier rounds only what is held counts
		if r.counts[i][posthouse.Unknown] > 0 {
			err = j.eachDelivery(ctx, tenant, r.messages[i:i+1], func(d posthouse.Delivery) { hold(v, d) })
		}
	}
	return err
}

// hold says that the job waits for a person where one of its deliveries does.
func hold(v *wire.Job, d posthouse.Delivery) {
	if d.State != posthouse.Unknown || !d.DueAt.IsZero() {
		return
	}
	if Status(v.Status) != Waiting {
		v.Remark = cmp.Or(v.Remark, endedRemark)
		return
	}
	v.Remark, v.State = cmp.Or(v.Remark, heldRemark), held
}

// gates are the times when the parked accounts of a job's channel may send again, by account.
func (j Jobs) gates(ctx context.Context, tenant string, r *record) (map[string]time.Time, error) {
	if sum(r.counts, posthouse.Pending) == 0 {
		return nil, nil
	}
	list, err := j.Gates.Gates(ctx, tenant)
	if err != nil {
		return nil, err
	}
	_, channel := r.draft()
	until := map[string]time.Time{}
	for _, g := range list {
		if g.Channel == channel {
			until[g.Account] = g.Until
		}
	}
	return until, nil
}
