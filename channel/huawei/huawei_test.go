package huawei_test

import (
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/channel/channeltest"
	"github.com/posthouse/posthouse/channel/huawei"
	"github.com/posthouse/posthouse/simulator"
)

const accepted = `{"code":"80000000","msg":"Success","requestId":"157440955549500001002006"}`

func TestContract(t *testing.T) {
	channeltest.Run(t, channeltest.Case{
		Type: huawei.Type(), Config: at,
		Address: func(string) string { return "IQAAAACy0PEuAAAexample" },
		Accept:  channeltest.Reply(200, accepted),
		Secrets: []string{account()},
	})
}

func TestANotificationToMany(t *testing.T) {
	t.Parallel()
	p := channeltest.NewProvider(t, func(w http.ResponseWriter, _ *http.Request) { reply(w, 200, accepted) })
	d := driver(t, at(p.URL), map[string]any{"test": true, "ttl": "1h"})
	for _, r := range d.SendBatch(t.Context(), to("a", "b")) {
		if r.Class != posthouse.ClassOK || r.Ref != "157440955549500001002006" {
			t.Errorf("got %+v", r)
		}
	}
	all := p.Arrivals()
	if len(all) != 1 || all[0].Target != "/v3/100000001/messages:send" || all[0].Header.Get("Push-Type") != "0" || strings.Count(all[0].Header.Get("Authorization"), ".") != 2 {
		t.Fatalf("arrived: %+v", all)
	}
	want := `{"payload":{"notification":{"body":"您有 12.5 元到账","category":"WORK","clickAction":{"actionType":0,"data":{"order":7}},"title":"到账"}},"pushOptions":{"testMessage":true,"ttl":3600},"target":{"token":["a","b"]}}`
	if diff := cmp.Diff(want, string(all[0].Body)); diff != "" {
		t.Errorf("the body (-want +got):\n%s", diff)
	}
}

func TestHuaweisCodes(t *testing.T) {
	t.Parallel()
	type classes = []posthouse.Class
	same := func(c posthouse.Class) classes { return classes{c, c} }
	for name, c := range map[string]struct {
		status int
		body   string
		want   classes
	}{
		"one token is illegal":    {200, `{"code":"80100000","msg":"{\"success\":1,\"failure\":1,\"illegal_tokens\":[\"b\"]}","requestId":"1"}`, classes{posthouse.ClassOK, posthouse.ClassRecipient}},
		"some, and it says none":  {200, `{"code":"80100000","msg":"partly","requestId":"1"}`, same(posthouse.ClassUnknown)},
		"all tokens are illegal":  {200, `{"code":"80300007","msg":"All the tokens are invalid"}`, same(posthouse.ClassRecipient)},
		"no right":                {200, `{"code":"80300002","msg":"no permission"}`, same(posthouse.ClassAccount)},
		"a word that is not said": {200, `{"code":"80100016","msg":"sensitive"}`, same(posthouse.ClassContent)},
		"too fast":                {503, `{"code":"80300013","msg":"flow control"}`, same(posthouse.ClassRate)},
		"the token is refused":    {401, `{"code":"80200001","msg":"auth"}`, same(posthouse.ClassAuth)},
		"an error of its own":     {500, `{"code":"81000001","msg":"internal"}`, same(posthouse.ClassUnknown)},
		"200 without a code":      {200, `ok`, same(posthouse.ClassUnknown)},
		"503 without a code":      {503, ``, same(posthouse.ClassTransient)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := channeltest.NewProvider(t, func(w http.ResponseWriter, _ *http.Request) { reply(w, c.status, c.body) })
			var got classes
			for _, r := range driver(t, at(p.URL), nil).SendBatch(t.Context(), to("a", "b")) {
				got = append(got, r.Class)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func TestAClockThatIsOffIsNamed(t *testing.T) {
	t.Parallel()
	p := channeltest.NewProvider(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Date", time.Now().Add(-2*time.Hour).UTC().Format(http.TimeFormat))
		reply(w, 401, `{"code":"80200003","msg":"expired"}`)
	})
	if r := driver(t, at(p.URL), nil).Send(t.Context(), to("a")[0]); r.Class != posthouse.ClassLocal || r.Code != "CLOCK_OFF" {
		t.Errorf("got %+v", r)
	}
}

func TestANotificationNeedsATitle(t *testing.T) {
	t.Parallel()
	if problems := huawei.Type().Content(channel.Config{}, posthouse.Content{Text: "x"}); len(problems) != 1 || problems[0].Path != "content.title" {
		t.Errorf("got %+v", problems)
	}
}

func TestTheSimulatorTakesWhatIsSigned(t *testing.T) {
	sim := simulator.New(simulator.Options{Log: slog.New(slog.DiscardHandler)})
	if err := sim.Start(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { sim.Stop(t.Context()) })
	res, err := http.Get(sim.URL() + "/huawei/service-account.json")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	file, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	d := driver(t, map[string]any{"service_account": string(file), "url": sim.URL() + "/huawei"}, nil)
	var got []posthouse.Class
	for _, r := range d.SendBatch(t.Context(), to("device-1", "fail-recipient", "device-2")) {
		got = append(got, r.Class)
	}
	if want := []posthouse.Class{posthouse.ClassOK, posthouse.ClassRecipient, posthouse.ClassOK}; !slices.Equal(got, want) {
		t.Errorf("of three: %v, want %v", got, want)
	}
	for token, want := range map[string]posthouse.Class{"fail-recipient-2": posthouse.ClassRecipient, "refuse-content": posthouse.ClassContent, "too-fast": posthouse.ClassRate} {
		if r := d.Send(t.Context(), to(token)[0]); r.Class != want {
			t.Errorf("%s: got %+v, want %s", token, r, want)
		}
	}
	other := driver(t, at(sim.URL()+"/huawei"), nil)
	if r := other.Send(t.Context(), to("device-3")[0]); r.Class != posthouse.ClassAuth {
		t.Errorf("with another account: %+v", r)
	}
}
