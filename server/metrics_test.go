package server_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/server"
	"github.com/posthouse/posthouse/simulator"
)

// scrape reads the metrics at an address, with a token where there is one.
func scrape(h *house, url, token string) (status int, text string) {
	h.Helper()
	req, err := http.NewRequestWithContext(h.Context(), http.MethodGet, url, nil)
	h.must(err)
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := http.DefaultClient.Do(req)
	h.must(err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	h.must(err)
	return res.StatusCode, string(body)
}

func TestCountersBeginAtZeroAndEndWithTheirChannel(t *testing.T) {
	t.Parallel()
	h := open(t, dbtest.SQLite(t), func(o *server.Options) { o.Version = "v1.2.3" })
	h.put(hook(h))
	_, text := scrape(h, h.url+"/metrics", "")
	for _, want := range []string{
		`posthouse_message_send_total{channel="hook",outcome="ok",type="text"} 0`, `posthouse_message_send_total{channel="hook",outcome="quarantine",type="text"} 0`,
		`posthouse_accepts_total{channel="hook",state="pending"} 0`, `posthouse_account_refusals_total{channel="hook",class="auth"} 0`,
		`posthouse_limiter_refusals_total{channel="hook"} 0`, `posthouse_plans_total{outcome="failed",type="reminder"} 0`,
		`posthouse_agent_reports_total{answer="stale",outcome="sent"} 0`, `posthouse_lease_losses_total 0`,
		`posthouse_channel_state{channel="hook",state="open",tenant="default"} 1`, `posthouse_channel_state{channel="hook",state="paused",tenant="default"} 0`,
		`posthouse_build_info{database="sqlite",goversion=`, `version="v1.2.3"} 1`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the metrics lack %s", want)
		}
	}
	sent, err := h.api.Messages.Send(t.Context(), posthouse.Draft{Channel: "hook", To: []posthouse.Recipient{{User: "u1"}}, Content: &posthouse.Content{Text: "hello"}})
	h.must(err)
	h.stands(sent.Accepted[0].Deliveries[0].ID, posthouse.Sent)
	h.eventually("it is counted", func() bool {
		return h.metric(`posthouse_message_send_total{channel="hook",outcome="ok",type="text"}`) == 1
	})
	h.must(h.api.Channels.Delete(t.Context(), "hook"))
	if _, text = scrape(h, h.url+"/metrics", ""); strings.Contains(text, `channel="hook"`) {
		t.Errorf("the channel is gone, its series are not:\n%s", text)
	}
}

func TestMetricsAreServedWhereAndToWhomTheSettingsSay(t *testing.T) {
	t.Parallel()
	s, err := server.New(t.Context(), server.Options{
		DSN: dbtest.SQLite(t), Addr: "127.0.0.1:0", Keyring: keyring, Announce: func(string) {}, MetricsAddr: "127.0.0.1:0", MetricsToken: "scraped",
	})
	h := &house{T: t}
	h.must(err)
	h.end(s.Stop)
	h.must(s.Start(t.Context()))
	for _, c := range []struct {
		url, token string
		want       int
	}{
		{s.URL() + "/metrics", "scraped", 404}, {s.MetricsURL(), "scraped", 200}, {s.MetricsURL(), "guessed", 401}, {s.MetricsURL(), "", 401},
		{strings.TrimSuffix(s.MetricsURL(), "metrics") + "v1/channels", "scraped", 404},
	} {
		if got, text := scrape(h, c.url, c.token); got != c.want || (got == 200) != strings.Contains(text, "posthouse_build_info") {
			t.Errorf("%s with the token %q: got %d", c.url, c.token, got)
		}
	}
	off := open(t, dbtest.SQLite(t), func(o *server.Options) { o.MetricsAddr = server.MetricsOff })
	if got, _ := scrape(off, off.url+"/metrics", ""); got != 404 {
		t.Errorf("metrics that are off answer %d", got)
	}
}

func TestWhatStopsAChannelIsShown(t *testing.T) {
	onEachDatabase(t, func(h *house) {
		is := func(want posthouse.ChannelState, reason string) {
			h.Helper()
			h.eventually("the channel is "+string(want), func() bool {
				list, err := h.api.Channels.List(h.Context())
				h.must(err)
				return len(list) == 1 && list[0].State == want && strings.Contains(list[0].StateReason, reason)
			})
			for _, s := range posthouse.ChannelStates() {
				value := h.metric(`posthouse_channel_state{channel="hook",state="` + string(s) + `",tenant="default"}`)
				if (value == 1) != (s == want) {
					h.Errorf("the metric of %s is %v while the channel is %s", s, value, want)
				}
			}
			status, answer := h.call(http.MethodGet, "/readyz", "", "")
			if named := len(answer["checks"].([]any)) == 2; status != http.StatusOK || named != (want != posthouse.ChannelOpen) {
				h.Errorf("while it is %s, /readyz answers %d %v", want, status, answer)
			}
		}
		h.put(hook(h))
		is(posthouse.ChannelOpen, "")
		_, err := h.api.Channels.Pause(h.Context(), "hook", "the provider moves")
		h.must(err)
		is(posthouse.ChannelPaused, "the provider moves")
		_, err = h.api.Channels.Resume(h.Context(), "hook")
		h.must(err)
		h.behave("webhook", simulator.Fault{Kind: simulator.RateLimited, RetryAfter: 3600})
		_, err = h.api.Messages.Send(h.Context(), posthouse.Draft{Channel: "hook", To: []posthouse.Recipient{{User: "u1"}}, Content: &posthouse.Content{Text: "hello"}})
		h.must(err)
		is(posthouse.ChannelParked, "refuses the account: rate")
		parked, err := h.api.Channels.Get(h.Context(), "hook")
		h.must(err)
		if strings.Contains(parked.StateReason, "until") || !parked.StateUntil.After(time.Now()) {
			h.Errorf("it is parked %q until %s, want until when as a time of its own, so that it is shown in the reader's zone", parked.StateReason, parked.StateUntil)
		}
		_, err = h.api.Channels.Resume(h.Context(), "hook")
		h.must(err)
		_, err = h.db.ExecContext(h.Context(), spoilt["a driver that does not exist"])
		h.must(err)
		is(posthouse.ChannelBroken, "telepathy")
	})
}
