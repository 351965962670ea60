package agent

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/simulator"
)

func TestPaperHoldsALineForEachMessageAndNoSecret(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	p := Paper(&out)
	p.Send(t.Context(), Text{To: "13800138000", Text: "a <b> & c", Key: "d1"})
	p.Send(t.Context(), Text{To: "13800138000", Text: "验证码123456", Key: "d2", Sensitive: true})
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], `"text":"a <b> & c"`) || !json.Valid([]byte(lines[1])) {
		t.Errorf("got %q, want two lines of JSON", out.String())
	}
	if strings.Contains(out.String(), "123456") || !strings.Contains(lines[1], "(9 characters, sensitive)") {
		t.Errorf("got %q, want the sensitive text hidden", lines[1])
	}
}

func TestASimulatedPhoneTellsWhatCameOfIt(t *testing.T) {
	t.Parallel()
	sim := httptest.NewServer(simulator.New(simulator.Options{Log: quiet()}))
	t.Cleanup(sim.Close)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for number, want := range map[string]Result{
		"13800138000": {Outcome: posthouse.OutcomeSent},
		"13900000001": {Outcome: posthouse.OutcomeNotSent, Code: "unknown_user", Final: true},
		"13900000002": {Outcome: posthouse.OutcomeNotSent, Code: "refused_content", Final: true},
		"13900000004": {Outcome: posthouse.OutcomeNotSent, Code: "busy"},
		"13900000005": {Outcome: posthouse.OutcomeNotSent, Code: "too_fast"},
		"13900000006": {Outcome: posthouse.OutcomeNotSent, Code: "http_429"},
		"13900000009": {Outcome: posthouse.OutcomeUnknown, Code: "no_answer"},
		"13900000010": {Outcome: posthouse.OutcomeUnknown, Code: "no_answer"},
	} {
		got := Simulated(sim.URL+"/", "phone-1", client).Send(t.Context(), Text{To: number, Text: "hello", Key: number})
		if (got.Ref != "") != (want.Outcome == posthouse.OutcomeSent) || (got.Error == "") != (want.Outcome == posthouse.OutcomeSent) {
			t.Errorf("%s: got %+v, want an id or else a reason", number, got)
		}
		if got.Ref, got.Error = "", ""; got != want {
			t.Errorf("%s: got %+v, want %+v", number, got, want)
		}
	}
	sim.Close()
	if got := Simulated(sim.URL, "phone-1", client).Send(t.Context(), Text{To: "13800138000", Text: "hello"}); got.Outcome != posthouse.OutcomeNotSent {
		t.Errorf("without a phone: got %+v, want it not sent", got)
	}
}

func TestAFlakyPhoneFailsByItsShares(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	p := Flaky(Paper(&out), 0.3, 0.2, 7)
	got := map[posthouse.Outcome]int{}
	for range 2000 {
		got[p.Send(t.Context(), Text{To: "1", Text: "x"}).Outcome]++
	}
	left := strings.Count(out.String(), "\n") - got[posthouse.OutcomeSent]
	if n := got[posthouse.OutcomeNotSent]; n < 500 || n > 700 {
		t.Errorf("%d of 2000 were not sent, want about 600", n)
	}
	if n := got[posthouse.OutcomeUnknown]; n < 300 || n > 500 || left < n/4 || left > n*3/4 {
		t.Errorf("%d of 2000 are unknown and %d of them left, want about 400 and half of them", n, left)
	}
	if plain := Paper(&out); Flaky(plain, 0, 0, 1) != plain {
		t.Error("a phone that does not fail by chance is wrapped")
	}
}
