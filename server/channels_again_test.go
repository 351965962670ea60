package server_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/server"
)

// A channel that another process deletes and makes again has the version that it had before: what it says now counts
// all the same.
func TestAChannelThatWasMadeAgainIsTakenOver(t *testing.T) {
	t.Parallel()
	for _, d := range databases[1:] { // several servers
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			places := make(chan string, 10_000)
			provider := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { places <- r.URL.Path }))
			defer provider.Close()
			dsn := d.dsn(t)
			h, other := open(t, dsn), open(t, dsn, func(o *server.Options) { o.AcceptOnly = true })
			at := func(place string) posthouse.Channel {
				ch := hook(h)
				ch.Config["url"] = provider.URL + place
				return ch
			}
			send := func() (place string) {
				_, err := h.api.Messages.Send(t.Context(), posthouse.Draft{Channel: "hook", To: []posthouse.Recipient{{User: "u1"}}, Content: &posthouse.Content{Text: "hello"}})
				h.must(err)
				return <-places
			}
			h.put(at("/old"))
			if got := send(); got != "/old" {
				t.Fatalf("a message went to %s, want /old", got)
			}
			h.eventually("all is settled", func() bool {
				return h.number("SELECT COUNT(*) FROM posthouse_deliveries WHERE state IN ('pending', 'sending')") == 0
			})
			h.must(other.api.Channels.Delete(t.Context(), "hook"))
			if got := other.put(at("/new")); got.Version != 1 {
				t.Fatalf("the channel that was made again has version %d, want 1", got.Version)
			}
			h.eventually("messages go to the new place", func() bool { return send() == "/new" })
		})
	}
}

// A pause that a colleague has set since a channel was read is not ended by who has not seen it: the write is for the channel as it was read.
func TestAResumeEndsThePauseThatWasRead(t *testing.T) {
	onEachDatabase(t, func(h *house) {
		h.put(hook(h))
		read, err := h.api.Channels.Pause(t.Context(), "hook", "first")
		h.must(err)
		_, err = h.api.Channels.Pause(t.Context(), "hook", "do not resume")
		h.must(err)
		if _, err := h.api.Channels.Resume(client.IfMatch(t.Context(), read.Tag()), "hook"); posthouse.CodeOf(err) != posthouse.CodeChanged {
			t.Errorf("an old page resumes: %v", err)
		}
		now, err := h.api.Channels.Get(t.Context(), "hook")
		h.must(err)
		if !now.Paused || now.PauseReason != "do not resume" {
			t.Errorf("it is paused: %v, for %q", now.Paused, now.PauseReason)
		}
		now, err = h.api.Channels.Resume(client.IfMatch(t.Context(), now.Tag()), "hook")
		if h.must(err); now.Paused {
			t.Error("who has read the pause does not end it")
		}
		if _, err := h.api.Channels.Resume(client.IfMatch(t.Context(), read.Tag()), "nowhere"); posthouse.CodeOf(err) != posthouse.CodeNotFound {
			t.Errorf("a channel that is not there: %v", err)
		}
	})
}
