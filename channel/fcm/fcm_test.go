package fcm_test

import (
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/channel/channeltest"
	"github.com/posthouse/posthouse/channel/fcm"
	"github.com/posthouse/posthouse/simulator"
)

// gives answers a call for an access token, and reports whether it was one.
func gives(w http.ResponseWriter, r *http.Request) bool {
	if !strings.HasSuffix(r.URL.Path, "/token") {
		return false
	}
	reply(w, 200, `{"access_token":"an-access-token-of-ours","expires_in":3599,"token_type":"Bearer"}`)
	return true
}

// accepts answers as Google does.
const accepted = `{"name":"projects/an-app-1/messages/0:1500415314455276%31bd1c9631bd1c96"}`

func TestContract(t *testing.T) {
	channeltest.Run(t, channeltest.Case{
		Type: fcm.Type(), Config: at, Aside: gives,
		Address: func(string) string { return "dGVzdC10b2tlbg:APA91bExample_-1" },
		Same:    []string{" dGVzdC10b2tlbg:APA91bExample_-1\n"},
		Accept:  channeltest.Reply(200, accepted),
		Secrets: []string{account(), "an-access-token-of-ours"},
	})
}

func TestAMessageInGooglesForm(t *testing.T) {
	t.Parallel()
	provider := func(t *testing.T) *channeltest.Provider {
		return channeltest.NewProvider(t, func(w http.ResponseWriter, r *http.Request) {
			if !gives(w, r) {
				reply(w, 200, accepted)
			}
		})
	}
	for name, c := range map[string]struct {
		set    map[string]any
		change func(*channel.Outgoing)
		want   string
	}{
		"a notification with data": {want: `{"message":{"data":{"order":"7","tags":"[\"a\"]"},"notification":{"body":"您有 12.5 元到账","title":"到账"},"token":"tok"}}`},
		"in a hurry, by a channel of the app": {
			set:    map[string]any{"notification_channel": "orders", "ttl": "1h"},
			change: func(o *channel.Outgoing) { o.Priority, o.Payload, o.Content.Title = posthouse.High, nil, "" },
			want:   `{"message":{"android":{"notification":{"channel_id":"orders"},"priority":"HIGH","ttl":"3600s"},"notification":{"body":"您有 12.5 元到账"},"token":"tok"}}`,
		},
		"data alone": {
			set:  map[string]any{"data_only": true},
			want: `{"message":{"data":{"body":"您有 12.5 元到账","order":"7","tags":"[\"a\"]","title":"到账"},"token":"tok"}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := provider(t)
			out := to("tok")
			if c.change != nil {
				c.change(&out)
			}
			r := driver(t, at(p.URL), c.set).Send(t.Context(), out)
			if r.Class != posthouse.ClassOK || r.Ref != "0:1500415314455276%31bd1c9631bd1c96" {
				t.Errorf("got %+v", r)
			}
			all := p.Arrivals()
			last := all[len(all)-1]
			if last.Target != "/v1/projects/an-app-1/messages:send" || last.Header.Get("Authorization") != "Bearer an-access-token-of-ours" {
				t.Errorf("it was posted to %s with %q", last.Target, last.Header.Get("Authorization"))
			}
			if diff := cmp.Diff(c.want, string(last.Body)); diff != "" {
				t.Errorf("the body (-want +got):\n%s", diff)
			}
		})
	}
}

func TestGooglesCodes(t *testing.T) {
	t.Parallel()
	fault := func(status, message, code string) string {
		return `{"error":{"code":0,"message":"` + message + `","status":"` + status + `","details":[{"@type":"type.googleapis.com/google.firebase.fcm.v1.FcmError","errorCode":"` + code + `"}]}}`
	}
	for name, c := range map[string]struct {
		status int
		body   string
		own    map[string]posthouse.Class
		want   channel.Result
	}{
		"a removed app":            {status: 404, body: fault("NOT_FOUND", "Requested entity was not found.", "UNREGISTERED"), want: channel.Result{Class: posthouse.ClassRecipient, Code: "UNREGISTERED", Gone: true}},
		"another project's token":  {status: 403, body: fault("PERMISSION_DENIED", "SenderId mismatch", "SENDER_ID_MISMATCH"), want: channel.Result{Class: posthouse.ClassRecipient, Code: "SENDER_ID_MISMATCH"}},
		"no token of a device":     {status: 400, body: fault("INVALID_ARGUMENT", "The registration token is not a valid FCM registration token", "INVALID_ARGUMENT"), want: channel.Result{Class: posthouse.ClassRecipient, Code: "INVALID_ARGUMENT"}},
		"a content it cannot read": {status: 400, body: fault("INVALID_ARGUMENT", "Invalid value at 'message.android.ttl'", "INVALID_ARGUMENT"), want: channel.Result{Class: posthouse.ClassContent, Code: "INVALID_ARGUMENT"}},
		"too many":                 {status: 429, body: fault("RESOURCE_EXHAUSTED", "Quota exceeded", "QUOTA_EXCEEDED"), want: channel.Result{Class: posthouse.ClassRate, Code: "QUOTA_EXCEEDED", After: time.Minute}},
		"busy":                     {status: 503, body: fault("UNAVAILABLE", "The service is currently unavailable.", "UNAVAILABLE"), want: channel.Result{Class: posthouse.ClassTransient, Code: "UNAVAILABLE"}},
		"an error of its own":      {status: 500, body: fault("INTERNAL", "Internal error encountered.", "INTERNAL"), want: channel.Result{Class: posthouse.ClassUnknown, Code: "INTERNAL"}},
		"out of time":              {status: 504, body: fault("DEADLINE_EXCEEDED", "Deadline exceeded", ""), want: channel.Result{Class: posthouse.ClassUnknown, Code: "DEADLINE_EXCEEDED"}},
		"a failure nobody knows":   {status: 500, body: fault("NEWLY_MADE", "?", ""), want: channel.Result{Class: posthouse.ClassUnknown, Code: "NEWLY_MADE"}},
		"a refusal nobody knows":   {status: 400, body: fault("NEWLY_MADE", "?", ""), want: channel.Result{Class: posthouse.ClassTransient, Code: "NEWLY_MADE"}},
		"Apple's key":              {status: 401, body: fault("UNAUTHENTICATED", "Auth error from APNS or Web Push Service", "THIRD_PARTY_AUTH_ERROR"), want: channel.Result{Class: posthouse.ClassAccount, Code: "THIRD_PARTY_AUTH_ERROR"}},
		"no such project":          {status: 404, body: `{"error":{"code":404,"message":"Requested entity was not found.","status":"NOT_FOUND"}}`, want: channel.Result{Class: posthouse.ClassAccount, Code: "NOT_FOUND"}},
		"no answer of its own":     {status: 502, body: `<html>`, want: channel.Result{Class: posthouse.ClassUnknown, Code: "HTTP_502"}},
		"200 without a name":       {status: 200, body: `{}`, want: channel.Result{Class: posthouse.ClassUnknown}},
		"a code of the channel's":  {status: 404, body: fault("NOT_FOUND", "gone", "UNREGISTERED"), own: map[string]posthouse.Class{"UNREGISTERED": posthouse.ClassTransient}, want: channel.Result{Class: posthouse.ClassTransient, Code: "UNREGISTERED"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := channeltest.NewProvider(t, func(w http.ResponseWriter, r *http.Request) {
				if !gives(w, r) {
					reply(w, c.status, c.body)
				}
			})
			r := driver(t, at(p.URL), nil, func(e *channel.Env) { e.Codes = c.own }).Send(t.Context(), to("tok"))
			got := channel.Result{Class: r.Class, Code: r.Code, After: r.After, Gone: r.Gone}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s\n%s", diff, r.Error)
			}
		})
	}
}

// A token that Google has withdrawn is fetched anew, once.
func TestAWithdrawnTokenIsFetchedAnew(t *testing.T) {
	t.Parallel()
	sends := 0
	p := channeltest.NewProvider(t, func(w http.ResponseWriter, r *http.Request) {
		if gives(w, r) {
			return
		}
		if sends++; sends == 1 {
			reply(w, 401, `{"error":{"code":401,"message":"Request had invalid authentication credentials.","status":"UNAUTHENTICATED"}}`)
			return
		}
		reply(w, 200, accepted)
	})
	// The provider gives the very token again that it has refused: it is not used a second time.
	if r := driver(t, at(p.URL), nil).Send(t.Context(), to("tok")); r.Class != posthouse.ClassAuth || sends != 1 {
		t.Errorf("got %+v after %d sends", r, sends)
	}
}

func TestAClockThatIsOffIsNamed(t *testing.T) {
	t.Parallel()
	p := channeltest.NewProvider(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Date", time.Now().Add(-20*time.Minute).UTC().Format(http.TimeFormat))
		reply(w, 400, `{"error":"invalid_grant","error_description":"Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe."}`)
	})
	r := driver(t, at(p.URL), nil).Send(t.Context(), to("tok"))
	if r.Class != posthouse.ClassLocal || r.Code != "CLOCK_OFF" || !strings.Contains(r.Error, "20m") || !strings.Contains(r.Error, "NTP") {
		t.Errorf("got %+v", r)
	}
}

func TestABadConfigurationNamesItsField(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		set  map[string]any
		path string
	}{
		"no JSON":     {map[string]any{"service_account": "-----BEGIN PRIVATE KEY-----"}, "service_account"},
		"no key":      {map[string]any{"service_account": `{"project_id":"p","client_email":"e"}`}, "service_account"},
		"a wrong key": {map[string]any{"service_account": `{"project_id":"p","client_email":"e","private_key":"x"}`}, "service_account"},
		"a project":   {map[string]any{"project_id": "../x"}, "project_id"},
		"dots":        {map[string]any{"project_id": ".."}, "project_id"},
		"too long":    {map[string]any{"ttl": "700h"}, "ttl"},
	} {
		config := at("http://127.0.0.1:1")
		for k, v := range c.set {
			config[k] = v
		}
		if _, problems := fcm.Type().Validate(config); len(problems) == 0 || !strings.HasSuffix(problems[0].Path, c.path) {
			t.Errorf("%s: %+v, want a problem of %s", name, problems, c.path)
		}
	}
}

// simulated is a driver for the simulator's project.
func simulated(t *testing.T) (*simulator.Simulator, channel.Driver) {
	t.Helper()
	sim := simulator.New(simulator.Options{Log: slog.New(slog.DiscardHandler)})
	if err := sim.Start(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { sim.Stop(t.Context()) })
	res, err := http.Get(sim.URL() + "/fcm/service-account.json")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	file, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return sim, driver(t, map[string]any{"service_account": string(file), "url": sim.URL() + "/fcm", "token_url": sim.URL() + "/fcm/token"}, nil)
}

func TestTheSimulatorTakesWhatIsSigned(t *testing.T) {
	sim, d := simulated(t)
	for token, want := range map[string]posthouse.Class{
		"device-1": posthouse.ClassOK, "fail-recipient": posthouse.ClassRecipient, "refuse-content": posthouse.ClassContent,
		"always-busy": posthouse.ClassTransient, "too-fast": posthouse.ClassRate, "lost-answer": posthouse.ClassUnknown,
	} {
		if r := d.Send(t.Context(), to(token)); r.Class != want || r.Gone != (token == "fail-recipient") {
			t.Errorf("%s: got %+v, want %s", token, r, want)
		}
	}
	if all := sim.Arrivals(simulator.Filter{Provider: "fcm", User: "device-1"}); len(all) != 1 || all[0].Title != "到账" || all[0].Text != "您有 12.5 元到账" {
		t.Errorf("arrived: %+v", all)
	}
	other := driver(t, at(sim.URL()+"/fcm"), nil)
	if r := other.Send(t.Context(), to("device-2")); r.Class != posthouse.ClassAccount {
		t.Errorf("with another account: %+v", r)
	}
	if r := d.(channel.Tester).Test(t.Context()); r.Class != posthouse.ClassOK {
		t.Errorf("the test says %+v", r)
	}
}
