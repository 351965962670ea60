package engine

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/store/storetest"
)

// FLOW-7, FLOW-8: numbers are those of the moment of sending, in the text and in the payload.
func TestALateMessageShowsTheNumbersOfItsSending(t *testing.T) {
	virtual(t, func(r *rig) {
		r.open("c", posthouse.ChannelSettings{}, idempotent)
		r.keep(posthouse.Template{Name: "orbit", Title: "${remainMin}", Text: "${remainMin} min to ${name}"})
		begin := time.Now()
		id := r.send(posthouse.Draft{Channel: "c", Template: "orbit", Payload: []byte(`{"name":"entry"}`), To: []posthouse.Recipient{{User: "u1"}},
			NotBefore: begin.Add(time.Hour), Clock: &posthouse.Clock{Until: begin.Add(2 * time.Hour)}})[0]
		accepted, _, err := r.store.Messages.Message(r.Context(), r.tenant, posthouse.MessageID(id))
		if err != nil || accepted.Content.Text != "60 min to entry" || string(accepted.Payload) != `{"name":"entry"}` {
			r.Errorf("the message was accepted as %+v (%v), want its text as of not_before, its payload as it came", accepted, err)
		}
		r.keep(posthouse.Template{Name: "orbit", Text: "a later version"})
		r.stop() // nothing can be sent for 90 minutes
		r.pass(90 * time.Minute)
		r.restart()
		r.open("c", posthouse.ChannelSettings{}, idempotent)
		r.pass(10 * time.Second)
		r.want(id, posthouse.Sent, "", 0)
		out := r.provider.sends[0]
		if out.Content.Title != "30" || out.Content.Text != "30 min to entry" || string(out.Payload) != `{"name":"entry","remainMin":30}` {
			r.Errorf("sent %+v with %s, want 30 minutes", out.Content, out.Payload)
		}
	})
}

func TestARetryIsFilledAnew(t *testing.T) {
	virtual(t, func(r *rig) {
		r.open("c", posthouse.ChannelSettings{}, idempotent)
		r.provider.answer = func(out channel.Outgoing) channel.Result {
			if out.Attempt < 3 {
				return channel.Result{Class: posthouse.ClassTransient}
			}
			return channel.Result{Class: posthouse.ClassOK}
		}
		r.keep(posthouse.Template{Name: "late", Text: "over by ${overtime}, not ${originalMaxDuration}"})
		r.send(posthouse.Draft{Channel: "c", Template: "late", Payload: []byte(`{"maxDuration":30}`), To: []posthouse.Recipient{{User: "u1"}},
			Clock: &posthouse.Clock{Since: time.Now().Add(-time.Minute)}})
		r.pass(5 * time.Minute)
		var got []string
		for _, out := range r.provider.sends { // after 1 and 3 minutes
			got = append(got, out.Content.Text+" "+string(out.Payload))
		}
		want := []string{
			`over by 1, not 30 {"originalMaxDuration":30,"overtime":1}`,
			`over by 2, not 30 {"originalMaxDuration":30,"overtime":2}`,
			`over by 5, not 30 {"originalMaxDuration":30,"overtime":5}`,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			r.Error(diff)
		}
	})
}

func TestAMessageWhoseTemplateIsGoneIsQuarantined(t *testing.T) {
	virtual(t, func(r *rig) {
		r.open("c", posthouse.ChannelSettings{}, idempotent)
		clock := &posthouse.Clock{Until: time.Now().Add(time.Hour)}
		for _, c := range []struct{ again, want string }{
			{"", `version 1 of the template "t", which has to be filled anew, is gone`},
			{"${other}", `the template "t" cannot be filled anew: payload.other the template needs a value here`},
		} {
			r.keep(posthouse.Template{Name: "t", Text: "${remainMin}"})
			id := r.send(posthouse.Draft{Channel: "c", Template: "t", Clock: clock, NotBefore: time.Now().Add(2 * time.Minute), To: []posthouse.Recipient{{User: "u1"}}})[0]
			if err := r.store.Templates.DeleteTemplate(r.Context(), r.tenant, "t"); err != nil {
				r.Fatal(err)
			}
			if c.again != "" {
				r.keep(posthouse.Template{Name: "t", Text: c.again})
			}
			r.pass(5 * time.Minute)
			if d := r.want(id, posthouse.Quarantined, state.ReasonTemplate, 0); !strings.Contains(d.Error, c.want) {
				r.Errorf("got %q, want %q", d.Error, c.want)
			}
		}
		if n := len(r.provider.sends); n != 0 {
			r.Errorf("%d messages were sent", n)
		}
	})
}

// mute is a store whose templates cannot be read for a while.
type mute struct {
	database
	until time.Time
	reads atomic.Int64
}

func (m *mute) Template(ctx context.Context, tenant, name string, version int) (posthouse.Template, error) {
	if version > 0 {
		m.reads.Add(1)
	}
	if version > 0 && time.Now().Before(m.until) {
		return posthouse.Template{}, errors.New("no answer")
	}
	return m.database.Template(ctx, tenant, name, version)
}

func TestAMessageWhoseTemplateCannotBeReadIsGivenBack(t *testing.T) {
	virtual(t, func(r *rig) {
		silent := &mute{database: storetest.All(r.store), until: time.Now().Add(10 * time.Second)}
		r.between(silent)
		r.open("c", posthouse.ChannelSettings{}, idempotent)
		r.keep(posthouse.Template{Name: "t", Text: "${remainMin}"})
		id := r.send(posthouse.Draft{Channel: "c", Template: "t", Clock: &posthouse.Clock{Until: time.Now().Add(time.Hour)}, To: []posthouse.Recipient{{User: "u1"}}})[0]
		r.pass(5 * time.Second)
		r.want(id, posthouse.Pending, state.ReasonDatabase, 0)
		r.pass(time.Minute)
		if d := r.want(id, posthouse.Sent, "", 0); d.Attempts != 1 {
			r.Errorf("%d attempts, want the one that was made", d.Attempts)
		}
		if n := silent.reads.Load(); n > 11 {
			r.Errorf("the template was read %d times in ten seconds", n)
		}
	})
}

func TestTemplatesAreRememberedForAWhile(t *testing.T) {
	virtual(t, func(r *rig) {
		counted := &mute{database: storetest.All(r.store)}
		r.between(counted)
		r.open("c", posthouse.ChannelSettings{}, idempotent)
		r.keep(posthouse.Template{Name: "t", Text: "${remainMin}"})
		d := posthouse.Draft{Channel: "c", Template: "t", Clock: &posthouse.Clock{Until: time.Now().Add(time.Hour)}, To: []posthouse.Recipient{{User: "u1"}}}
		for range 20 {
			r.send(d)
			r.pass(time.Millisecond) // two that begin at once may both find it unread
		}
		r.pass(time.Second)
		if n := counted.reads.Load(); n != 1 || len(r.provider.sends) != 20 {
			r.Errorf("%d reads for %d sends, want 1 for 20", n, len(r.provider.sends))
		}
	})
}
