package console_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
)

// The log is found by what its lines show: people by name and title, keys by name and id, actions by their words, in the language of the page.
func TestTheAuditLogIsFoundByWhatItShows(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	const at = "/console/t/default/"
	h.api("PUT", "/v1/people/operator", `{"title":"王伟","roles":{"default":"operator"}}`, nil)
	h.api("PUT", "/v1/channels/out", `{"driver":"discard"}`, nil)
	if got := h.ask("operator", at+"channels/out/pause", url.Values{"reason": {"maintenance"}}); got.status/100 != 3 {
		t.Fatalf("the pause: %d\n%s", got.status, got.body)
	}
	var keys struct{ Items []posthouse.Key }
	h.api("GET", "/v1/keys", "", &keys)
	for _, e := range []struct {
		filter, text string
		want, not    string // actions of lines
	}{
		{"key", "operator", "channels.pause", "channels.put"}, {"key", "王伟", "channels.pause", "channels.put"}, {"key", "person:operator", "channels.pause", "channels.put"},
		{"key", "test", "channels.put", "channels.pause"}, {"key", keys.Items[0].ID, "channels.put", "channels.pause"},
		{"action", "保存渠道", "channels.put", "channels.pause"}, {"action", "渠道", "channels.put", "people.put"}, {"action", "暂停", "channels.pause", "channels.put"}, {"action", "channels.put", "channels.put", "channels.pause"},
	} {
		page := h.page("admin", at+"audit?"+url.Values{e.filter: {e.text}}.Encode(), chinese)
		_, page, _ = strings.Cut(page, "</search>")
		if !strings.Contains(page, "<code>"+e.want+"</code>") || strings.Contains(page, "<code>"+e.not+"</code>") {
			t.Errorf("%s %q: want lines of %s, and none of %s:\n%s", e.filter, e.text, e.want, e.not, page)
		}
	}
	page := h.page("admin", at+"audit", chinese)
	h.shows(page, `<option value="channels.put" label="保存渠道"></option>`, `<label>从<input type="datetime-local"`, `<label>早于<input type="datetime-local"`)
	h.exec("UPDATE posthouse_audit SET key_id = '', key_name = 'the shared pair', action = 'sms_templates.create' WHERE action = 'channels.put'") // as by an SMS sender's own API
	if page := h.page("admin", at+"audit", chinese); strings.Contains(page, "共用账号 ()") || !strings.Contains(page, `<span class="who-did">共用账号</span>`) || !strings.Contains(page, "新建短信模板") {
		t.Errorf("a change by a key that has no id:\n%s", page)
	}
	if strings.Contains(page, "没有更多记录") {
		t.Error("a line without values says that there are no more lines")
	}
}
