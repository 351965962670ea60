package api_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/wire"
)

// A decision about many is counted first, and decides about nothing that was not counted.
func TestADecisionByFilterIsCountedAndConfirmed(t *testing.T) {
	t.Parallel()
	h := with(t)
	ids := h.send("out", "lost1", "lost2", "lost3", "u")
	for _, id := range ids[:3] {
		h.until(id, posthouse.Unknown)
	}
	resolve := func(status int, body string) wire.ResolvedAll {
		t.Helper()
		return read[wire.ResolvedAll](h, h.must(status, "POST", "/v1/deliveries/resolve", body))
	}
	count := resolve(200, `{"channel":"out","outcome":"sent","dry_run":true}`)
	if count.Matched != 3 || !count.DryRun || !strings.HasPrefix(count.Confirm, "3-") || count.Resolved != 0 {
		t.Fatalf("the count is %+v", count)
	}
	for _, none := range []string{
		`{"channel":"later","outcome":"sent","dry_run":true}`, `{"channel":"out","account":"other","outcome":"sent","dry_run":true}`,
		`{"channel":"out","reason":"epoch_hold","outcome":"sent","dry_run":true}`, `{"channel":"out","until":"2020-01-01T00:00:00Z","outcome":"sent","dry_run":true}`,
	} {
		if got := resolve(200, none); got.Matched != 0 || got.Confirm != "" {
			t.Errorf("%s: got %+v, want nothing", none, got)
		}
	}
	h.must(422, "POST", "/v1/deliveries/resolve", `{"channel":"out","outcome":"sent"}`)
	for _, other := range []string{`{"channel":"out","outcome":"not_sent","confirm":"%s"}`, `{"user":"lost1","outcome":"sent","confirm":"%s"}`} {
		h.must(409, "POST", "/v1/deliveries/resolve", fmt.Sprintf(other, count.Confirm))
	}
	// One is decided meanwhile and another becomes unknown: neither is touched.
	h.must(200, "POST", "/v1/deliveries/"+ids[0]+"/resolve", `{"outcome":"not_sent"}`)
	late := h.send("out", "lost4")[0]
	h.until(late, posthouse.Unknown)
	done := resolve(200, fmt.Sprintf(`{"channel":"out","outcome":"sent","confirm":%q}`, count.Confirm))
	if done.Resolved != 2 || done.Matched != 2 || done.Stopped != "" {
		t.Errorf("it decided %+v, want the two that are left of those counted", done)
	}
	for id, want := range map[string]posthouse.State{ids[0]: posthouse.Failed, ids[1]: posthouse.Sent, ids[2]: posthouse.Sent, late: posthouse.Unknown} {
		if got := read[posthouse.Delivery](h, h.must(200, "GET", "/v1/deliveries/"+id, "")).State; got != want {
			t.Errorf("%s is %s, want %s", id, got, want)
		}
	}
	log := read[list[wire.AuditEntry]](h, h.must(200, "GET", "/v1/audit?action=deliveries.resolve&limit=5", "")).Items
	if len(log) != 2 || log[0].Affected != 2 || log[0].KeyName != "admin" || !strings.Contains(string(log[0].Detail), `"channel":"out"`) {
		t.Errorf("the audit log has %+v", log)
	}
}

// More than one part, and every outcome.
func TestADecisionByFilterGoesOnInParts(t *testing.T) {
	t.Parallel()
	h := with(t)
	const n = 1100 // three parts
	var to []string
	for i := range n {
		to = append(to, fmt.Sprintf(`{"user":"lost%d"}`, i))
	}
	for from := 0; from < n; from += 1000 {
		h.must(202, "POST", "/v1/messages", `{"channel":"out","kind":"many","content":{"text":"x"},"to":[`+strings.Join(to[from:min(n, from+1000)], ",")+`]}`)
	}
	count := func(state string) int {
		return read[wire.ResolvedAll](h, h.must(200, "POST", "/v1/deliveries/resolve", `{"kind":"many","outcome":"not_sent","max":5000,"dry_run":true,"states":["`+state+`"]}`)).Matched
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for count("unknown") < n {
		select {
		case <-tick.C:
		case <-h.Context().Done():
			t.Fatalf("%d of %d are unknown", count("unknown"), n)
		}
	}
	confirm := read[wire.ResolvedAll](h, h.must(200, "POST", "/v1/deliveries/resolve", `{"kind":"many","outcome":"not_sent","max":5000,"dry_run":true}`)).Confirm
	done := read[wire.ResolvedAll](h, h.must(200, "POST", "/v1/deliveries/resolve", fmt.Sprintf(`{"kind":"many","outcome":"not_sent","max":5000,"confirm":%q}`, confirm)))
	if done.Resolved != n || done.Matched != n {
		t.Errorf("it decided %+v, want %d", done, n)
	}
	if left := count("unknown"); left != 0 {
		t.Errorf("%d are left", left)
	}
}
