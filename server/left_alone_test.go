package server_test

import (
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
)

// A cap counts what a person gets, on each database: what the provider refused is given back, and what is critical goes. In quiet hours nothing
// starts: it waits for their end, and what is too late by then is suppressed at once.
func TestPeopleAreLeftAlone(t *testing.T) {
	ways(t, func(h *house, p *scripted) {
		capped, quiet := atOnce(20*time.Millisecond), atOnce(20*time.Millisecond)
		capped.Tries, capped.Caps = 1, []posthouse.Cap{{Max: 2, Per: posthouse.Duration(24 * time.Hour), Kinds: []string{"news"}, Then: posthouse.CapSuppress}}
		at := func(hours int) string { return time.Now().UTC().Add(time.Duration(hours) * time.Hour).Format("15:04") }
		quiet.QuietHours = []posthouse.QuietHours{{From: at(-2), To: at(8), TimeZone: "UTC"}}
		h.put(posthouse.Channel{Name: "a", Driver: "scripted", ChannelSettings: capped})
		h.put(posthouse.Channel{Name: "b", Driver: "scripted", ChannelSettings: quiet})
		p.answers("a", func(out channel.Outgoing) channel.Result {
			if out.Content.Text == "refused" {
				return channel.Result{Class: posthouse.ClassRecipient}
			}
			return channel.Result{Class: posthouse.ClassOK}
		})
		becomes := func(d posthouse.Draft, state posthouse.State, reason string) posthouse.Delivery {
			h.Helper()
			d.To = []posthouse.Recipient{{User: "ann"}}
			id := h.hand(d).Deliveries[0].ID
			h.eventually("a message of "+d.Channel+" is "+string(state)+" "+reason, func() bool {
				now := h.delivery(id)
				return now.State == state && (reason == "" || now.Reason == reason)
			})
			return h.delivery(id)
		}
		says := func(text string) *posthouse.Content { return &posthouse.Content{Text: text} }
		becomes(posthouse.Draft{Channel: "a", Kind: "news", Content: says("refused")}, posthouse.Failed, "")
		becomes(posthouse.Draft{Channel: "a", Kind: "news", Content: says("one")}, posthouse.Sent, "")
		becomes(posthouse.Draft{Channel: "a", Kind: "news", Content: says("two")}, posthouse.Sent, "")
		if d := becomes(posthouse.Draft{Channel: "a", Kind: "news", Content: says("three")}, posthouse.Suppressed, "capped"); d.Attempts != 0 {
			h.Errorf("beyond the cap it was tried %d times", d.Attempts)
		}
		becomes(posthouse.Draft{Channel: "a", Kind: "news", Critical: true, Content: says("critical")}, posthouse.Sent, "")
		becomes(posthouse.Draft{Channel: "a", Kind: "bill", Content: says("another kind")}, posthouse.Sent, "")

		end := time.Now().UTC().Add(8 * time.Hour).Truncate(time.Minute)
		if d := becomes(posthouse.Draft{Channel: "b", Content: says("waits")}, posthouse.Pending, "quiet_hours"); d.Attempts != 0 || d.DueAt.Before(end.Add(-time.Minute)) || d.DueAt.After(end.Add(2*time.Hour)) {
			h.Errorf("it is due at %s after %d attempts, and the hours end at %s", d.DueAt, d.Attempts, end)
		}
		becomes(posthouse.Draft{Channel: "b", Deadline: end.Add(-time.Hour), Content: says("too late")}, posthouse.Suppressed, "quiet_hours")
		becomes(posthouse.Draft{Channel: "b", Critical: true, Content: says("critical")}, posthouse.Sent, "")
		if came := p.texts("b"); len(came) != 1 || came[0] != "critical" {
			h.Errorf("in quiet hours %q came", came)
		}
	})
}
