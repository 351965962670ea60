package server_test

import (
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
)

// PULL-14: any channel can be pulled, but not turn while somebody would wait for what nobody looks at.
func TestAChannelTurnsOnlyWhileNothingOfItIsOpen(t *testing.T) {
	onEachDatabase(t, func(h *house) {
		ch := posthouse.Channel{Name: "notes", Driver: "discard"}
		ch.Pull = true
		put := func() error { _, _, err := h.api.Channels.Put(h.Context(), ch); return err }
		h.must(put())
		sent, err := h.api.Messages.Send(h.Context(), posthouse.Draft{
			Channel: "notes", To: []posthouse.Recipient{{User: "u1"}}, Content: &posthouse.Content{Text: "hello"},
		})
		h.must(err)
		id := sent.Accepted[0].Deliveries[0].ID
		d, err := h.api.Deliveries.Get(h.Context(), id)
		h.must(err)
		if !d.Pulled || d.OnUnknown != posthouse.Hold {
			t.Errorf("got pulled %v and the policy %s, want a pulled delivery that is held when it is unknown", d.Pulled, d.OnUnknown)
		}
		ch.Pull = false
		if err := put(); posthouse.CodeOf(err) != posthouse.CodeConflict {
			t.Errorf("it was made pushed with an open delivery: %v, want a conflict", err)
		}
		_, err = h.api.Messages.Cancel(h.Context(), sent.Accepted[0].ID)
		h.must(err)
		h.must(put())
	})
}

func TestWhatAPulledChannelMayBeSet(t *testing.T) {
	t.Parallel()
	h := open(t, databases[0].dsn(t))
	every := posthouse.Duration(time.Minute)
	for name, c := range map[string]struct {
		settings posthouse.ChannelSettings
		want     string
	}{
		"a lease of a day":       {posthouse.ChannelSettings{Pull: true, Timeout: posthouse.Duration(24 * time.Hour)}, ""},
		"a lease too long":       {posthouse.ChannelSettings{Pull: true, Timeout: posthouse.Duration(25 * time.Hour)}, "timeout"},
		"a lease too short":      {posthouse.ChannelSettings{Pull: true, Timeout: posthouse.Duration(time.Millisecond)}, "timeout"},
		"needs":                  {posthouse.ChannelSettings{Pull: true, Needs: map[string]string{"operator": "cmcc"}}, ""},
		"needs of a pushed one":  {posthouse.ChannelSettings{Needs: map[string]string{"operator": "cmcc"}}, "needs"},
		"runs":                   {posthouse.ChannelSettings{Pull: true, Every: &every}, "every"},
		"an agent that is asked": {posthouse.ChannelSettings{Pull: true, OnUnknown: posthouse.Query}, "on_unknown"},
	} {
		_, _, err := h.api.Channels.Put(t.Context(), posthouse.Channel{Name: "notes", Driver: "discard", ChannelSettings: c.settings})
		if c.want == "" && err != nil || c.want != "" && (posthouse.CodeOf(err) != posthouse.CodeInvalid || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: got %v, want a problem with %q", name, err, c.want)
		}
	}
}
