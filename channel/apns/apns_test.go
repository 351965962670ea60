package apns_test

import (
	"context"
	"crypto/tls"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/channel/apns"
	"github.com/posthouse/posthouse/channel/channeltest"
	"github.com/posthouse/posthouse/simulator"
)

func TestContract(t *testing.T) {
	channeltest.Run(t, channeltest.Case{
		Type: apns.Type(), Config: at,
		Address: func(string) string { return "00fc13adff785122b4ad28809a3420982341241421348097878e577c991de8f0" },
		Accept:  channeltest.Reply(200, ``),
		Secrets: []string{key()},
	})
}

// apple is a provider that speaks HTTP/2 alone.
func apple(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewUnstartedServer(handler)
	s.EnableHTTP2 = true
	s.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}, NextProtos: []string{"h2"}}
	s.StartTLS()
	t.Cleanup(s.Close)
	return s.URL
}

func TestANotificationInApplesForm(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var got []string
	url := apple(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		h := r.Header
		got = append(got, strings.Join([]string{r.Proto, r.URL.Path, h.Get("Apns-Topic"), h.Get("Apns-Push-Type"), h.Get("Apns-Priority"), string(body)}, " "))
		if !strings.HasPrefix(h.Get("Authorization"), "bearer ") {
			t.Errorf("authorization is %q", h.Get("Authorization"))
		}
		w.Header().Set("Apns-Id", "EC1BF194-B3B2-424A-89A9-5A918A6E6B5D")
	})
	d := driver(t, at(url), nil)
	if r := d.Send(t.Context(), to("00fc13ad")); r.Class != posthouse.ClassOK || r.Ref != "EC1BF194-B3B2-424A-89A9-5A918A6E6B5D" {
		t.Errorf("got %+v", r)
	}
	low := to("00fc13ad")
	low.Priority, low.Payload, low.Content.Title = posthouse.Low, nil, ""
	if r := driver(t, at(url), map[string]any{"sound": "none"}).Send(t.Context(), low); r.Class != posthouse.ClassOK {
		t.Errorf("got %+v", r)
	}
	want := []string{
		`HTTP/2.0 /3/device/00fc13ad com.example.app alert 10 {"aps":{"alert":{"body":"您有 12.5 元到账","title":"到账"},"sound":"default"},"order":7}`,
		`HTTP/2.0 /3/device/00fc13ad com.example.app alert 5 {"aps":{"alert":{"body":"您有 12.5 元到账"}}}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Many calls at once leave on one connection, each with an end of its own.
func TestManyCallsShareAConnection(t *testing.T) {
	t.Parallel()
	var from sync.Map
	url := apple(t, func(w http.ResponseWriter, r *http.Request) {
		from.Store(r.RemoteAddr, true)
		if strings.HasSuffix(r.URL.Path, "9") {
			reply(w, 410, `{"reason":"Unregistered","timestamp":1700000000000}`)
		}
	})
	d := driver(t, at(url), nil)
	d.Send(t.Context(), to("first"))
	var wg sync.WaitGroup
	for i := range 100 {
		wg.Go(func() {
			token := "device" + string(rune('0'+i%10))
			want := posthouse.ClassOK
			if i%10 == 9 {
				want = posthouse.ClassRecipient
			}
			if r := d.Send(t.Context(), to(token)); r.Class != want || r.Gone != (want == posthouse.ClassRecipient) {
				t.Errorf("%s: %+v", token, r)
			}
		})
	}
	wg.Wait()
	n := 0
	from.Range(func(any, any) bool { n++; return true })
	if n != 1 {
		t.Errorf("%d connections carried them", n)
	}
}

// What may have been read is unknown, and what nobody has read is not.
func TestWhatALostConnectionMeans(t *testing.T) {
	t.Parallel()
	var seen atomic.Int64
	read := apple(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadAll(r.Body)
		seen.Add(1)
		panic(http.ErrAbortHandler)
	})
	if r := driver(t, at(read), nil).Send(t.Context(), to("a")); r.Class != posthouse.ClassUnknown || seen.Load() != 1 {
		t.Errorf("a stream that is reset: %+v after %d arrivals", r, seen.Load())
	}
	hung := make(chan struct{})
	t.Cleanup(func() { close(hung) })
	silent := apple(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadAll(r.Body)
		<-hung
	})
	d := driver(t, at(silent), nil, func(e *channel.Env) { e.Timeout = 300 * time.Millisecond })
	if r := d.Send(t.Context(), to("a")); r.Class != posthouse.ClassUnknown || r.Code != channel.CodeTimeout {
		t.Errorf("no answer: %+v", r)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if r := driver(t, at(read), nil).Send(gone, to("a")); r.Class != posthouse.ClassTransient || seen.Load() != 1 {
		t.Errorf("given up before it left: %+v after %d arrivals", r, seen.Load())
	}
}

func TestApplesReasons(t *testing.T) {
	t.Parallel()
	for reason, c := range map[string]struct {
		status int
		want   channel.Result
	}{
		"Unregistered":                {410, channel.Result{Class: posthouse.ClassRecipient, Gone: true}},
		"BadDeviceToken":              {400, channel.Result{Class: posthouse.ClassRecipient}},
		"PayloadTooLarge":             {413, channel.Result{Class: posthouse.ClassContent}},
		"TopicDisallowed":             {400, channel.Result{Class: posthouse.ClassAccount}},
		"InvalidProviderToken":        {403, channel.Result{Class: posthouse.ClassAccount}},
		"ExpiredProviderToken":        {403, channel.Result{Class: posthouse.ClassAuth}},
		"TooManyRequests":             {429, channel.Result{Class: posthouse.ClassTransient, After: time.Minute}},
		"TooManyProviderTokenUpdates": {429, channel.Result{Class: posthouse.ClassRate, After: 20 * time.Minute}},
		"InternalServerError":         {500, channel.Result{Class: posthouse.ClassUnknown}},
		"ServiceUnavailable":          {503, channel.Result{Class: posthouse.ClassTransient}},
		"SomethingNew":                {400, channel.Result{Class: posthouse.ClassTransient}},
	} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			p := channeltest.NewProvider(t, func(w http.ResponseWriter, _ *http.Request) { reply(w, c.status, `{"reason":"`+reason+`"}`) })
			r := driver(t, at(p.URL), nil).Send(t.Context(), to("a"))
			got := channel.Result{Class: r.Class, After: r.After, Gone: r.Gone}
			if diff := cmp.Diff(c.want, got); diff != "" || r.Code != reason {
				t.Errorf("code %s (-want +got):\n%s", r.Code, diff)
			}
		})
	}
}

func TestABadConfigurationNamesItsField(t *testing.T) {
	t.Parallel()
	for field, value := range map[string]any{"key": "abc", "key_id": "short", "team_id": "lowercase1", "topic": "a, b", "ttl": "721h"} {
		config := at("https://127.0.0.1:1")
		config[field] = value
		if _, problems := apns.Type().Validate(config); len(problems) == 0 || !strings.HasSuffix(problems[0].Path, field) {
			t.Errorf("%s: %+v", field, problems)
		}
	}
}

func TestTheSimulatorTakesWhatIsSigned(t *testing.T) {
	sim := simulator.New(simulator.Options{Log: slog.New(slog.DiscardHandler)})
	if err := sim.Start(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { sim.Stop(t.Context()) })
	res, err := http.Get(sim.URL() + "/apns/AuthKey.p8")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	file, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	ours := map[string]any{"key": string(file), "key_id": "SIMULATED1", "team_id": "SIMULATED2"}
	d := driver(t, at(sim.URL()+"/apns"), ours)
	for token, want := range map[string]posthouse.Class{
		"device-1": posthouse.ClassOK, "fail-recipient": posthouse.ClassRecipient, "always-busy": posthouse.ClassTransient, "lost-answer": posthouse.ClassUnknown,
	} {
		if r := d.Send(t.Context(), to(token)); r.Class != want || r.Gone != (token == "fail-recipient") || want == posthouse.ClassOK && r.Ref == "" {
			t.Errorf("%s: got %+v, want %s", token, r, want)
		}
	}
	if r := driver(t, at(sim.URL()+"/apns"), nil).Send(t.Context(), to("device-2")); r.Class != posthouse.ClassAccount {
		t.Errorf("with another key: %+v", r)
	}
}
