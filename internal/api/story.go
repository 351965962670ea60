package api

import (
	"context"
	"slices"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
)

// storyView is all that is known of a delivery, each part oldest first.
type storyView struct {
	Delivery  posthouse.Delivery  `json:"delivery"`
	Message   posthouse.Message   `json:"message"`
	Events    []posthouse.Event   `json:"events" doc:"Every transition it made."`
	Attempts  []posthouse.Attempt `json:"attempts" doc:"Every try to send it."`
	Received  []work.Line         `json:"receive_log" doc:"The request it came with, where that was one to the SMS front door."`
	HandedOut []work.Line         `json:"send_log" doc:"Each hand-out to an agent, at most the latest 1000."`
	Reported  []work.Line         `json:"report_log" doc:"Each report of an agent, stale ones too, at most the latest 1000."`
}

// story tells a delivery's whole life in one answer.
func (a *api) story(c *call) (answer, error) {
	ctx, tenant, id := c.Context(), c.key.Tenant, c.PathValue("id")
	var v storyView
	var err error
	if v.Delivery, err = a.Store.Delivery(ctx, tenant, id); err != nil {
		return answer{}, err
	}
	if v.Message, _, err = a.Store.Message(ctx, tenant, v.Delivery.Message); err != nil {
		return answer{}, err
	}
	v.Message = hidden(v.Message)
	if v.Events, err = a.Store.Events(ctx, tenant, id); err != nil {
		return answer{}, err
	}
	if v.Attempts, err = a.Store.Attempts(ctx, tenant, id); err != nil {
		return answer{}, err
	}
	for log, into := range map[work.Log]*[]work.Line{work.ReceiveLog: &v.Received, work.SendLog: &v.HandedOut, work.ReportLog: &v.Reported} {
		if *into, err = a.linesOf(c, log, &v); err != nil {
			return answer{}, err
		}
	}
	v.Events, v.Attempts = notNil(v.Events), notNil(v.Attempts)
	return ok(v)
}

// Recalls reads the messages of deliveries; one that is not there is empty. *store.Store satisfies it.
type Recalls interface {
	MessagesOf(ctx context.Context, tenant string, deliveries []posthouse.Delivery) (map[string]posthouse.Message, error)
}

// Veil takes out of lines of the log of reports what agents sent along about sensitive messages, and about those that are
// deleted before the log is: nobody can say any more what they were. None of the former is kept any more, but what was
// kept before lies there until it is pruned.
func Veil(ctx context.Context, store Recalls, tenant string, lines []work.Line) error {
	var said []posthouse.Delivery
	for _, l := range lines {
		if l.Log == work.ReportLog && l.Request != "" {
			said = append(said, posthouse.Delivery{Message: posthouse.MessageID(l.Delivery)})
		}
	}
	if len(said) == 0 {
		return nil
	}
	messages, err := store.MessagesOf(ctx, tenant, said)
	if err != nil {
		return err
	}
	for i := range lines {
		l := &lines[i]
		if m := messages[posthouse.MessageID(l.Delivery)]; l.Log == work.ReportLog && (m.ID == "" || m.Sensitive) {
			l.Request = ""
		}
	}
	return nil
}

// linesOf reads the lines of a log about a delivery, oldest first. Of a sensitive message they have no texts.
func (a *api) linesOf(c *call, log work.Log, v *storyView) ([]work.Line, error) {
	lines, _, err := a.Store.Log(c.Context(), work.LogFilter{Tenant: c.key.Tenant, Log: log, Delivery: v.Delivery.ID, Limit: maxPage})
	if err != nil {
		return nil, err
	}
	slices.Reverse(lines)
	for i := range lines {
		if v.Message.Sensitive {
			lines[i].Content, lines[i].Request, lines[i].Response = "", "", ""
		}
	}
	return notNil(lines), nil
}

// hidden is a message as it may be shown: what is sensitive is not stored in it, and would not be shown if it were.
func hidden(m posthouse.Message) posthouse.Message {
	if m.Sensitive {
		m.Content, m.Payload = posthouse.Content{}, nil
	}
	return m
}

func notNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// logs lists the lines of one of the three logs, newest first.
func (a *api) logs(c *call) (answer, error) {
	f := work.LogFilter{
		Tenant: c.key.Tenant, Log: work.Log(c.query.Get("log")), Delivery: c.query.Get("delivery"), Agent: c.query.Get("agent"),
		Since: c.moment("since"), Until: c.moment("until"), Cursor: c.query.Get("cursor"), Limit: c.number("limit", 1, maxPage),
	}
	if f.Log == "" {
		f.Log = work.ReceiveLog
	}
	if all := []work.Log{work.ReceiveLog, work.SendLog, work.ReportLog}; !slices.Contains(all, f.Log) {
		c.refuse("query.log", "is %.60q: want one of %s", f.Log, words(all))
	}
	if f.Log == work.ReceiveLog && f.Agent != "" {
		c.refuse("query.agent", "does not narrow down the log of requests: no agent has to do with it")
	}
	if err := c.wrong(); err != nil {
		return answer{}, err
	}
	list, next, err := a.Store.Log(c.Context(), f)
	if err == nil {
		err = Veil(c.Context(), a.Store, f.Tenant, list)
	}
	if err != nil {
		return answer{}, err
	}
	return pageOf(list, next)
}

// tallyView counts the deliveries of a pulled channel.
type tallyView struct {
	New        int `json:"new" doc:"Pending, never failed."`
	Retry      int `json:"retry" doc:"Pending, failed before."`
	Processing int `json:"processing" doc:"Handed out."`
	Unknown    int `json:"unknown"`
	Success    int `json:"success" doc:"Sent or delivered, also those deleted since."`
	Failed     int `json:"failed" doc:"Failed, undelivered, expired, cancelled or quarantined, also those deleted since."`
}

// tally counts a pulled channel's deliveries without looking at them.
func (a *api) tally(c *call) (answer, error) {
	ch, err := a.Channels.Get(c.Context(), c.key.Tenant, c.PathValue("name"))
	if err != nil {
		return answer{}, err
	}
	if !a.pulled(ch) {
		return answer{}, posthouse.Errorf(posthouse.CodeConflict, "nobody fetches from the channel %q: only pulled channels are counted", ch.Name)
	}
	n, err := a.Store.Tally(c.Context(), c.key.Tenant, ch.Name)
	if err != nil {
		return answer{}, err
	}
	return ok(tallyView(n))
}
