package sms_test

import (
	"encoding/json"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/simulator"
)

// simulated starts a simulator that has the driver's secret.
func simulated(t *testing.T) (*simulator.Simulator, string) {
	t.Helper()
	sim := simulator.New(simulator.Options{Log: slog.New(slog.DiscardHandler), SMSSecret: secret})
	if err := sim.Start(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { sim.Stop(t.Context()) })
	return sim, sim.URL()
}

func TestTheSimulatorTakesWhatIsSigned(t *testing.T) {
	for name, config := range map[string]func(string) map[string]any{"sms_aliyun": aliyunAt, "sms_tencent": tencentAt} {
		t.Run(name, func(t *testing.T) {
			sim, url := simulated(t)
			d := driver(t, config(url+"/"+name), nil)
			for _, c := range []struct {
				to   string
				want []posthouse.Class
			}{
				{"+8613800138000", []posthouse.Class{posthouse.ClassOK}},
				{"+85251234567", []posthouse.Class{posthouse.ClassOK}},
				{"+8613900000001", []posthouse.Class{posthouse.ClassRecipient}},
				{"+8613900000002", []posthouse.Class{posthouse.ClassContent}},
				{"+8613900000003", []posthouse.Class{posthouse.ClassTransient, posthouse.ClassTransient, posthouse.ClassOK}},
				{"+8613900000006", []posthouse.Class{posthouse.ClassRate, posthouse.ClassOK}},
				{"+8613900000009", []posthouse.Class{posthouse.ClassUnknown}},
				{"+8613900000010", []posthouse.Class{posthouse.ClassUnknown}},
			} {
				out := to(c.to)[0]
				for try, want := range c.want {
					if r := d.Send(t.Context(), out); r.Class != want {
						t.Errorf("%s, attempt %d: %s (%s: %s), want %s", c.to, try+1, r.Class, r.Code, r.Error, want)
					}
				}
			}
			mixed := to("+8613800138001", "+8613900000001", "+85251234568", "+8613800138002")
			want := []posthouse.Class{posthouse.ClassOK, posthouse.ClassRecipient, posthouse.ClassOK, posthouse.ClassOK}
			if got := classes(d.SendBatch(t.Context(), mixed)); !slices.Equal(got, want) {
				t.Errorf("of four at once: got %q, want %q", got, want)
			}
			for i, out := range mixed {
				if n := sim.Count(name, out.IdemKey); i != 1 && n.Taken != 1 {
					t.Errorf("%s was taken %d times", out.Recipient.Address, n.Taken)
				}
			}
			wrong := driver(t, config(url+"/"+name), map[string]any{"secret": "another"})
			if r := wrong.Send(t.Context(), to("+8613800138000")[0]); r.Class != posthouse.ClassAccount {
				t.Errorf("with another secret: %+v", r)
			}
		})
	}
}

// The provider's own host names find the simulator too, as its programs call it.
func TestTheSimulatorIsFoundByHost(t *testing.T) {
	sim, at := simulated(t)
	for host, name := range map[string]string{"dysmsapi.aliyuncs.com": "sms_aliyun", "sms.tencentcloudapi.com": "sms_tencent"} {
		r := httptest.NewRequest(http.MethodPost, at+"/", strings.NewReader("{}"))
		r.Host = host
		w := httptest.NewRecorder()
		sim.ServeHTTP(w, r)
		if all := sim.Arrivals(simulator.Filter{Provider: name}); len(all) != 1 || all[0].Code != simulator.Unauthorized {
			t.Errorf("%s: arrivals %+v, want one that is not signed", host, all)
		}
	}
}

func TestTheSimulatorTellsWhatBecameOfMessages(t *testing.T) {
	for name, config := range map[string]func(string) map[string]any{"sms_aliyun": aliyunAt, "sms_tencent": tencentAt} {
		sim, url := simulated(t)
		d := driver(t, config(url+"/"+name), map[string]any{"receipts": true})
		heard := make(chan channel.Heard, 10)
		door := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			h, err := d.(channel.Receiver).Receive(channel.Callback{Method: r.Method, Query: r.URL.Query(), Header: r.Header, Body: body})
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			io.WriteString(w, h.Answer)
			heard <- h
		}))
		t.Cleanup(door.Close)
		if err := sim.CallBack(t.Context(), name, simulator.Callback{URL: door.URL}); err != nil {
			t.Fatal(err)
		}
		got := map[string]bool{}
		for _, number := range []string{"+8613800138000", "+8613900000021", "+8613900000022", "+85251234567"} {
			r := d.Send(t.Context(), to(number)[0])
			if r.Class != posthouse.ClassOK || r.Await == 0 {
				t.Fatalf("%s: %+v", number, r)
			}
			if number == "+8613900000022" {
				continue
			}
			report := (<-heard).Reports[0]
			if report.Ref != r.Ref || report.Address != "" && report.Address != number {
				t.Errorf("%s: got %+v, want a report of %s", name, report, r.Ref)
			}
			got[number] = report.Delivered
		}
		if want := map[string]bool{"+8613800138000": true, "+8613900000021": false, "+85251234567": true}; !maps.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
}

// A number gets one code a minute; who asks again is told to wait, and the code is not lost.
func TestTheSimulatorKeepsTheLimitOfCodes(t *testing.T) {
	_, url := simulated(t)
	d := driver(t, aliyunAt(url+"/sms_aliyun"), map[string]any{"template_id": "SMS_CODE1"})
	first, again := d.Send(t.Context(), to("+8613800138000")[0]), d.Send(t.Context(), to("+8613800138000")[0])
	if first.Class != posthouse.ClassOK || again.Class != posthouse.ClassTransient || again.Code != "isv.BUSINESS_LIMIT_CONTROL" || again.After.Minutes() != 1 {
		t.Errorf("got %+v and %+v", first, again)
	}
}

func TestTheSimulatorCalls(t *testing.T) {
	sim, url := simulated(t)
	out := to("+8613800138000")[0]
	out.Content = posthouse.Content{Type: posthouse.VoiceContent, Media: []posthouse.Media{{ID: "TTS_7"}}}
	if r := driver(t, aliyunAt(url+"/sms_aliyun"), nil).Send(t.Context(), out); r.Class != posthouse.ClassOK || r.Ref == "" {
		t.Errorf("got %+v", r)
	}
	all := sim.Arrivals(simulator.Filter{Provider: "sms_aliyun"})
	b, _ := json.Marshal(all)
	if len(all) != 1 || all[0].Title != "TTS_7" || all[0].Text != "amount: 12.5\nname: 王芳" {
		t.Errorf("got %s", b)
	}
}
