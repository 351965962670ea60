package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/store/reading"
	"github.com/posthouse/posthouse/internal/verify"
)

// verify has the checker that users have judge the same journals: it must find what the judge finds,
// and no more.
func (w *world) verify() {
	events := w.events()
	in := verify.Inputs{
		Events: all(events, func(posthouse.Event) bool { return true }),
		Client: journal(w.client), Sink: journal(w.arrivalLines()), Limiter: journal(w.permit), Agents: journal(w.agentLines),
		Channels: w.channelList(), Stored: w.stored(), AtRest: true, Rows: w.rows, References: w.references, Epoch: w.epochNow(),
	}
	if w.campaign != nil {
		in.Campaigns = w.campaign.judged
	}
	w.check(in)
	for _, c := range w.channels { // each channel's provider has another memory
		if c.window == 0 || c.window == channel.Forever {
			continue
		}
		mine := map[string]bool{}
		for _, d := range w.deliveries() {
			mine[d.ID] = d.Channel == c.name
		}
		w.check(verify.Inputs{Events: all(events, func(e posthouse.Event) bool { return mine[e.Delivery] }), KeyWindow: c.window, AtRest: true})
	}
}

func (w *world) check(in verify.Inputs) {
	in.Sometimes = []string{"none"} // the sightings are for all seeds together
	report, err := verify.Check(context.Background(), in)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, i := range report.Invariants {
		for _, v := range i.Violations {
			w.fail(strings.Join(v.Excerpt, "\n"), "verify: %s, %s: %s: %s", i.ID, i.Name, v.Subject, v.What)
		}
	}
}

// rows are what is stored beside the log.
func (w *world) rows(yield func(verify.Stored, error) bool) {
	err := w.store.History.Holdings(context.Background(), func(h reading.Holding) error {
		if !yield(verify.Stored(h), nil) {
			return io.EOF
		}
		return nil
	})
	if err != nil && !errors.Is(err, io.EOF) {
		w.t.Fatal(err)
	}
}

// references are the rows that name messages.
func (w *world) references(yield func(verify.Reference, error) bool) {
	err := w.store.History.KeyHolders(context.Background(), func(k reading.KeyHolder) error {
		yield(verify.Reference{Name: k.Name, Message: k.Message, Missing: !k.Found, Wrong: k.Wrong}, nil)
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) epochNow() int64 {
	n, err := w.store.Epochs.Epoch(context.Background())
	if err != nil {
		w.t.Fatal(err)
	}
	return n
}

// events is the log, with the policies that were wanted: a rise of the epoch leaves everything that
// may have been sent to a person, and the log says no other policy for what came before it either.
func (w *world) events() (list []posthouse.Event) {
	wanted := map[string]posthouse.Policy{}
	for _, d := range w.deliveries() {
		wanted[d.ID] = w.policy(d)
	}
	if _, err := w.store.History.ExportEvents(context.Background(), "", "", func(e posthouse.Event) error {
		e.Policy = wanted[e.Delivery]
		list = append(list, e)
		return nil
	}); err != nil {
		w.t.Fatal(err)
	}
	return list
}

// all are the events that are wanted.
func all(events []posthouse.Event, wanted func(posthouse.Event) bool) iter.Seq2[posthouse.Event, error] {
	return func(yield func(posthouse.Event, error) bool) {
		for _, e := range events {
			if wanted(e) && !yield(e, nil) {
				return
			}
		}
	}
}

// journal writes lines as the checker reads them.
func journal[T any](lines []T) io.Reader {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	for _, l := range lines {
		_ = enc.Encode(l) // plain values: cannot fail
	}
	return &b
}

func (w *world) arrivalLines() (lines []verify.ArrivalLine) {
	for i, a := range w.provider.arrivals {
		answer := verify.ArrivalRefused
		if a.class == posthouse.ClassOK {
			answer = verify.ArrivalLost
			if a.told {
				answer = verify.ArrivalAccepted
			}
		}
		lines = append(lines, verify.ArrivalLine{
			Seq: int64(i + 1), At: a.at, Provider: a.out.Channel, Key: a.out.IdemKey, User: addressee(a.out), Answer: answer, Repeat: a.repeat,
		})
	}
	return lines
}

func (w *world) channelList() (list []posthouse.Channel) {
	for _, c := range w.channels {
		list = append(list, posthouse.Channel{Tenant: posthouse.DefaultTenant, Name: c.name, ChannelSettings: c.settings})
	}
	return list
}

// stored counts what the database holds.
func (w *world) stored() map[string]map[posthouse.State]int {
	counts := map[posthouse.State]int{}
	for _, d := range w.deliveries() {
		counts[d.State]++
	}
	return map[string]map[posthouse.State]int{posthouse.DefaultTenant: counts}
}
