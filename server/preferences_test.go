package server_test

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/wire"
)

// chooses stores what a user wants.
func (h *house) chooses(user string, p wire.PutPreferences) {
	h.Helper()
	_, err := h.api.Users.Choose(h.Context(), user, p)
	h.must(err)
}

// What a user has switched off is not sent from the answer on, by a message or by a route, unless it is mandatory or critical. A channel that is
// switched off leads to the next step, a kind ends the notification.
func TestPeopleChooseWhatTheyGet(t *testing.T) {
	ways(t, func(h *house, p *scripted) {
		_, err := h.api.Users.Put(h.Context(), posthouse.User{ID: "u1", Addresses: map[string]string{"a": "a1", "b": "b1", "c": "c1"}}, posthouse.User{ID: "u2"})
		h.must(err)
		_, err = h.api.Tenants.Put(h.Context(), posthouse.DefaultTenant, wire.PutTenant{MandatoryKinds: []string{"alarm"}})
		h.must(err)
		_, err = h.api.Users.Choose(h.Context(), "u1", wire.PutPreferences{Off: []posthouse.Unwanted{{}, {Kind: "alarm"}, {Channel: "zz"}}, Prefer: []string{"b", "b"}})
		for _, want := range []string{"off[0]: names nothing", `off[1].kind: "alarm" is mandatory`, `off[2].channel: there is no channel "zz"`, `prefer[1]: "b" is named twice`} {
			if err == nil || !strings.Contains(err.Error(), want) {
				h.Errorf("got %v: want %q in it", err, want)
			}
		}
		if _, err = h.api.Users.Choose(h.Context(), "nobody", wire.PutPreferences{}); posthouse.CodeOf(err) != posthouse.CodeNotFound {
			h.Errorf("of a user whom the directory does not know: %v", err)
		}
		h.chooses("u1", wire.PutPreferences{Off: []posthouse.Unwanted{{Kind: "news"}, {Channel: "a"}, {Kind: "report", Channel: "b"}}, Prefer: []string{"c"}})

		sends := func(kind, channel, user string, critical bool) posthouse.Delivery {
			h.Helper()
			sent, err := h.api.Messages.Send(h.Context(), posthouse.Draft{Channel: channel, Kind: kind, Critical: critical, Content: &posthouse.Content{Text: kind}, To: []posthouse.Recipient{{User: user}}})
			h.must(err)
			id := posthouse.DeliveryID(sent.Accepted[0].ID, 1)
			var d posthouse.Delivery
			h.eventually(kind+" on "+channel+" has settled", func() bool { d = h.delivery(id); return !d.State.Open() })
			return d
		}
		for _, c := range []struct {
			kind, channel, user string
			critical            bool
			state               posthouse.State
			reason              string
		}{
			{"news", "b", "u1", false, posthouse.Suppressed, "preference"},
			{"other", "a", "u1", false, posthouse.Suppressed, "preference_channel"},
			{"report", "b", "u1", false, posthouse.Suppressed, "preference_channel"},
			{"report", "c", "u1", false, posthouse.Sent, ""},
			{"alarm", "a", "u1", false, posthouse.Sent, ""},
			{"news", "a", "u1", true, posthouse.Sent, ""},
			{"news", "a", "u2", false, posthouse.Sent, ""},
		} {
			if d := sends(c.kind, c.channel, c.user, c.critical); d.State != c.state || d.Reason != c.reason {
				h.Errorf("%+v: got %s (%s)", c, d.State, d.Reason)
			}
		}

		h.way("w", posthouse.Route{Steps: []posthouse.RouteStep{step("a"), step("b")}})
		h.way("own", posthouse.Route{Steps: []posthouse.RouteStep{{Channels: []string{"a", "b", "c"}, Own: true}}})
		told := func(route, kind string, state posthouse.NotificationState) posthouse.Notification {
			h.Helper()
			sent, err := h.api.Messages.Send(h.Context(), posthouse.Draft{Route: route, Kind: kind, Content: &posthouse.Content{Text: kind}, To: []posthouse.Recipient{{User: "u1"}}})
			h.must(err)
			return h.turns(posthouse.DeliveryID(sent.Accepted[0].ID, 1), state)
		}
		if n := told("w", "news", posthouse.NotificationNotTold); n.Reason != "preference" || len(n.Deliveries) > 0 {
			h.Errorf("of a kind that is switched off: %+v", n)
		}
		if n := told("w", "other", posthouse.NotificationTold); len(n.Deliveries) != 1 || n.Deliveries[0].Channel != "b" || n.Steps[0].Skipped != "preference" {
			h.Errorf("past a channel that is switched off: %+v", n)
		}
		if n := told("own", "other", posthouse.NotificationTold); len(n.Deliveries) != 1 || n.Deliveries[0].Channel != "c" {
			h.Errorf("by the channel that is preferred: %+v", n.Deliveries)
		}
		h.chooses("u1", wire.PutPreferences{Off: []posthouse.Unwanted{{Channel: "a"}, {Channel: "b"}, {Channel: "c"}}})
		if n := told("own", "other", posthouse.NotificationNotTold); n.Reason != "preference" {
			h.Errorf("to a user who wants no channel of the route: %+v", n)
		}
		h.chooses("u1", wire.PutPreferences{Nothing: true})
		if n := told("own", "other", posthouse.NotificationNotTold); n.Reason != "preference" {
			h.Errorf("to a user who wants nothing: %+v", n)
		}
		told("own", "alarm", posthouse.NotificationTold)
		h.chooses("u1", wire.PutPreferences{})
		told("w", "news", posthouse.NotificationTold)
	})
}

// I22: a member of a campaign who is a user of the directory, by the address or the id, gets nothing that the user has switched off, by the same
// words as a message, and also while the campaign runs. Mandatory kinds come all the same. Who is no user has no preferences.
func TestMembersOfCampaignsChooseWhatTheyGet(t *testing.T) {
	ways(t, func(h *house, p *scripted) {
		_, err := h.api.Users.Put(h.Context(), posthouse.User{ID: "u1", Addresses: map[string]string{"a": "A1"}}, posthouse.User{ID: "u2"},
			posthouse.User{ID: "u3", Name: "a5"}, posthouse.User{ID: "u4", Addresses: map[string]string{"b": "a6"}}, posthouse.User{ID: "a7", Addresses: map[string]string{"a": "elsewhere"}},
			posthouse.User{ID: "twin1", Addresses: map[string]string{"a": "a8"}}, posthouse.User{ID: "twin2", Addresses: map[string]string{"a": "a8"}})
		h.must(err)
		_, err = h.api.Tenants.Put(h.Context(), posthouse.DefaultTenant, wire.PutTenant{MandatoryKinds: []string{"alarm"}})
		h.must(err)
		for _, user := range []string{"u1", "u3", "u4", "a7", "twin2"} {
			h.chooses(user, wire.PutPreferences{Off: []posthouse.Unwanted{{Kind: "news"}}})
		}
		h.chooses("u2", wire.PutPreferences{Off: []posthouse.Unwanted{{Channel: "a"}}})
		runs := func(name, kind string) wire.Campaign {
			h.Helper()
			_, err := h.api.Campaigns.Create(h.Context(), wire.CampaignDraft{Name: name, Channel: "a", Kind: kind, Content: &posthouse.Content{Text: kind}, SegmentSize: 5})
			h.must(err)
			_, err = h.api.Campaigns.Import(h.Context(), name, client.Part{Final: true}, strings.NewReader("address\nA1\na1\nu2\na3\na5\na6\na7\na8\n"))
			h.must(err)
			_, err = h.api.Campaigns.Start(h.Context(), name, false)
			h.must(err)
			var c wire.Campaign
			h.eventually(name+" is done", func() bool {
				c, err = h.api.Campaigns.Get(h.Context(), name)
				h.must(err)
				return c.State == posthouse.CampaignDone
			})
			return c
		}
		c := runs("spring", "news")
		if c.Progress.Suppressed != 3 || c.Progress.Sent != 5 {
			h.Errorf("news: %+v, want 3 suppressed and 5 sent", c.Progress)
		}
		for address, want := range map[string]string{
			"A1": "suppressed PREFERENCE its recipient has switched off the kind news", "u2": "suppressed PREFERENCE_CHANNEL its recipient does not want it by this channel",
			"a8": "suppressed PREFERENCE its recipient has switched off the kind news", "a1": "sent", "a3": "sent", "a5": "sent", "a6": "sent", "a7": "sent",
		} {
			m, err := h.api.Campaigns.Who(h.Context(), "spring", address)
			h.must(err)
			got := m.Outcome
			if m.Reason != nil {
				got += " " + m.Reason.Code + " " + m.Reason.Error
			}
			if got != want {
				h.Errorf("%s is %q, want %q", address, got, want)
			}
		}
		var out strings.Builder
		h.must(h.api.Campaigns.Export(h.Context(), &out, "spring", "csv", "suppressed"))
		if !strings.Contains(out.String(), "u2,suppressed,PREFERENCE_CHANNEL") || strings.Count(out.String(), "\n") != 4 {
			h.Errorf("who got nothing:\n%s", out.String())
		}
		if c := runs("drill", "alarm"); c.Progress.Suppressed != 0 || c.Progress.Sent != 8 {
			h.Errorf("a mandatory kind: %+v, want all 8 sent", c.Progress)
		}
		h.chooses("u1", wire.PutPreferences{})
		if c := runs("summer", "news"); c.Progress.Suppressed != 2 {
			h.Errorf("after one has chosen otherwise: %+v, want 2 suppressed", c.Progress)
		}
	})
}

// A campaign that waits for the end of quiet hours goes on within seconds where they are taken away.
func TestACampaignGoesOnWhenQuietHoursAreTakenAway(t *testing.T) {
	ways(t, func(h *house, p *scripted) {
		at := func(hours int) string { return time.Now().UTC().Add(time.Duration(hours) * time.Hour).Format("15:04") }
		settings := atOnce(20 * time.Millisecond)
		settings.QuietHours = []posthouse.QuietHours{{From: at(-2), To: at(8), TimeZone: "UTC"}}
		ch := h.put(posthouse.Channel{Name: "night", Driver: "scripted", ChannelSettings: settings})
		_, err := h.api.Campaigns.Create(h.Context(), wire.CampaignDraft{Name: "spring", Channel: "night", Content: &posthouse.Content{Text: "news"}, SegmentSize: 2})
		h.must(err)
		_, err = h.api.Campaigns.Import(h.Context(), "spring", client.Part{Final: true}, strings.NewReader("address\na1\na2\na3\n"))
		h.must(err)
		_, err = h.api.Campaigns.Start(h.Context(), "spring", true)
		h.must(err)
		h.eventually("both segments wait", func() bool {
			return h.number("SELECT COUNT(*) FROM posthouse_segments WHERE reason = 'quiet_hours'") == 2
		})
		if n := len(p.on("night")); n != 0 {
			h.Errorf("%d were sent to in quiet hours", n)
		}
		ch.QuietHours = nil
		h.put(ch)
		h.eventually("the campaign is done", func() bool {
			c, err := h.api.Campaigns.Get(h.Context(), "spring")
			h.must(err)
			return c.State == posthouse.CampaignDone && c.Progress.Sent == 3
		})
	})
}

// The page behind the link changes nothing until its form is sent, and nothing once the links are revoked.
func TestAPersonChoosesByTheLink(t *testing.T) {
	waysAt(t, "https://push.example.com/", func(h *house, p *scripted) {
		h.put(posthouse.Channel{Name: "a", Driver: "scripted", ChannelSettings: atOnce(20 * time.Millisecond)})
		_, err := h.api.Users.Put(h.Context(), posthouse.User{ID: "u1", Name: "Li Na", Addresses: map[string]string{"a": "a1"}})
		h.must(err)
		_, err = h.api.Tenants.Put(h.Context(), posthouse.DefaultTenant, wire.PutTenant{MandatoryKinds: []string{"alarm"}, OptionalKinds: []string{"news", "report"}})
		h.must(err)
		h.way("w", posthouse.Route{Steps: []posthouse.RouteStep{step("a")}})
		sent, err := h.api.Messages.Send(h.Context(), posthouse.Draft{Route: "w", Kind: "shift", Content: &posthouse.Content{Text: "hello ${preferences_url}"}, To: []posthouse.Recipient{{User: "u1"}}})
		h.must(err)
		h.turns(posthouse.DeliveryID(sent.Accepted[0].ID, 1), posthouse.NotificationTold)
		link, is := strings.CutPrefix(p.texts("a")[0], "hello https://push.example.com")
		if !is {
			h.Fatalf("the text is %q", p.texts("a"))
		}
		ask := func(method string, form url.Values) (int, string) {
			h.Helper()
			r, err := http.NewRequestWithContext(h.Context(), method, h.url+link, strings.NewReader(form.Encode()))
			h.must(err)
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			r.Header.Set("Accept-Language", "en")
			answer, err := http.DefaultClient.Do(r)
			h.must(err)
			defer answer.Body.Close()
			text, err := io.ReadAll(answer.Body)
			h.must(err)
			return answer.StatusCode, string(text)
		}
		prefers := func() posthouse.Preferences {
			h.Helper()
			got, err := h.api.Users.Preferences(h.Context(), "u1")
			h.must(err)
			got.UpdatedAt = time.Time{}
			return got
		}
		status, text := ask("GET", nil)
		for _, want := range []string{"Li Na", `value="news" checked`, `value="alarm" checked disabled`, `value="shift" checked`, `name="channel" value="a" checked`, "“Unsubscribe” in a mail"} {
			if status != 200 || !strings.Contains(text, want) {
				h.Errorf("the page (%d) lacks %q:\n%s", status, want, text)
			}
		}
		_, err = h.api.Users.Put(h.Context(), posthouse.User{ID: "u1", Name: "Li Na", Language: "zh-CN", Addresses: map[string]string{"a": "a1"}})
		h.must(err)
		if _, text := ask("GET", nil); !strings.Contains(text, `lang="zh`) { // as the person reads, whatever the browser
			h.Errorf("the page of who reads Chinese is\n%s", text)
		}
		_, err = h.api.Users.Put(h.Context(), posthouse.User{ID: "u1", Name: "Li Na", Addresses: map[string]string{"a": "a1"}})
		h.must(err)
		if status, _ := ask("POST", url.Values{"List-Unsubscribe": {"One-Click"}}); status != 400 {
			h.Errorf("a form of another make: got %d", status)
		}
		if diff := cmp.Diff(posthouse.Preferences{User: "u1"}, prefers()); diff != "" {
			h.Errorf("before the form is sent (-want +got):\n%s", diff)
		}
		had := url.Values{"form": {"1"}, "had_kind": {"news", "report", "alarm", "shift", "made-up"}, "had_channel": {"a"}, "kind": {"report", "shift"}, "channel": {"a"}}
		if status, text := ask("POST", had); status != 200 || !strings.Contains(text, "Saved.") || strings.Contains(text, `value="news" checked`) {
			h.Errorf("the form is answered by %d:\n%s", status, text)
		}
		if diff := cmp.Diff(posthouse.Preferences{User: "u1", Off: []posthouse.Unwanted{{Kind: "news"}}, By: posthouse.PreferredByLink}, prefers()); diff != "" {
			h.Errorf("after it (-want +got):\n%s", diff)
		}
		if status, _ := ask("POST", had); status != 200 {
			h.Errorf("the same once more: %d", status)
		}
		log, err := h.api.Audit.List(h.Context(), client.AuditFilter{Target: "u1", Key: "preferences:link"})
		if h.must(err); len(log.Items) != 1 || log.Items[0].Action != "users.put" || !strings.Contains(string(log.Items[0].Detail), `"off":[{"kind":"news"}]`) {
			h.Errorf("the audit log has %+v", log.Items)
		}
		// A page that was drawn before news was switched off, on which a is: what nobody has touched stays.
		stale := url.Values{"form": {"1"}, "seen": {"1"}, "had_kind": {"news", "report"}, "was_kind": {"news", "report"}, "kind": {"news"}, "had_channel": {"a"}, "was_channel": {"a"}, "channel": {"a"}}
		if status, _ := ask("POST", stale); status != 200 {
			h.Errorf("a page that was open: %d", status)
		}
		if diff := cmp.Diff([]posthouse.Unwanted{{Kind: "news"}, {Kind: "report"}}, prefers().Off); diff != "" {
			h.Errorf("after a page that was open (-want +got):\n%s", diff)
		}
		h.must(h.api.Users.RevokePreferencesLinks(h.Context(), "u1"))
		if status, text := ask("POST", had); status != 404 || !strings.Contains(text, "not valid") {
			h.Errorf("a link that was revoked: %d %s", status, text)
		}
		fresh, err := h.api.Users.PreferencesLink(h.Context(), "u1")
		h.must(err)
		link = strings.TrimPrefix(fresh.URL, "https://push.example.com")
		if status, _ := ask("GET", nil); status != 200 {
			h.Errorf("a link that was made since: %d", status)
		}
	})
}
