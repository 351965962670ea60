package console_test

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
)

// A search offers what its newest rows have, with counts; what narrows it stands as chips that take it away again; and it is saved in the
// browser under a name.
func TestASearchOffersWhatThereIs(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	h.waiting("hello")
	h.api("POST", "/v1/messages", `{"channel":"later","to":[{"user":"u2"},{"user":"u3"}],"content":{"text":"x"},"kind":"shift","ref":"1"}`, nil)
	const at = "/console/t/default/search"
	h.shows(h.page("viewer", at), `href="?state=pending">waits <span>3</span>`, `href="?channel=later">later <span>3</span>`, `href="?kind=leave">leave <span>1</span>`, `href="?kind=shift">shift <span>2</span>`, `href="?since=168h"`)
	page := h.page("viewer", at+"?state=pending&kind=shift")
	h.shows(page, `href="?kind=shift" aria-label="Take away State waits"`, `href="?state=pending" aria-label="Take away Kind shift"`, "Clear all")
	if strings.Contains(page, `<dt>State</dt>`) || strings.Contains(page, `<dt>Kind</dt>`) || rowsOf(page) != 2 {
		t.Errorf("what is chosen is offered again, or %d rows are found", rowsOf(page))
	}
	form := url.Values{"name": {"夜里等待的"}, "query": {"state=pending&kind=shift"}, "here": {at}}
	got := h.ask("viewer", at, form)
	cookie, _, _ := strings.Cut(got.header.Get("Set-Cookie"), ";")
	if got.to() != at+"?kind=shift&state=pending" || !strings.HasPrefix(cookie, "posthouse-views=") {
		t.Fatalf("saved: %d, to %q, with %q", got.status, got.to(), cookie)
	}
	with := func(r *http.Request) { r.Header.Add("Cookie", cookie) }
	h.shows(h.page("viewer", at, with), `<a href="?kind=shift&amp;state=pending">★ 夜里等待的</a>`)
	if got := h.ask("viewer", at, url.Values{"drop": {"0"}}, with); !strings.Contains(got.header.Get("Set-Cookie"), "Max-Age=0") {
		t.Errorf("dropped: %q", got.header.Get("Set-Cookie"))
	}
	if got := h.ask("viewer", at, url.Values{"query": {"state=pending"}}); got.status != http.StatusUnprocessableEntity {
		t.Errorf("without a name: %d", got.status)
	}
}

// A number is found in each form that people write it in, wide digits and spaces too.
func TestANumberIsFoundInItsOtherForms(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	h.waiting("hello")
	h.api("POST", "/v1/messages", `{"channel":"later","to":[{"address":"+8613800138002"},{"address":"13900139003"}],"content":{"text":"x"}}`, nil)
	for _, words := range []string{"13800138002", "+8613800138002", "138 0013 8002", "１３８００１３８００２", "+8613900139003", "13900139003"} {
		if page := h.page("viewer", "/console/t/default/search?q="+url.QueryEscape(words)); rowsOf(page) != 1 {
			t.Errorf("%s finds %d", words, rowsOf(page))
		}
	}
}

// facetIn finds the choices that a search offers: the query of each, and how many it says there are.
var facetIn = regexp.MustCompile(`<a href="(\?[^"]*)">[^<]* <span>(\d+)(\+?)</span></a>`)

// What a choice counts is what it lists: beside the other filters, and of a list that goes on at least as many.
func TestAChoiceCountsWhatItLists(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	id := h.waiting("hello")
	for n, kind := range []string{"demo", "demo", "notice"} {
		h.api("POST", "/v1/messages", `{"channel":"later","to":[{"user":"u2"},{"user":"u3"}],"content":{"text":"x"},"kind":"`+kind+`","ref":"`+strconv.Itoa(n)+`"}`, nil)
	}
	h.api("POST", "/v1/messages/"+posthouse.MessageID(id)+"/cancel", "", nil)
	const at = "/console/t/default/search"
	var followed int
	for _, query := range []string{"", "?state=cancelled", "?state=pending", "?channel=later&state=pending", "?kind=demo", "?reason=cancelled", "?since=1h&state=cancelled"} {
		for _, c := range facetIn.FindAllStringSubmatch(h.page("viewer", at+query), -1) {
			to := html.UnescapeString(c[1])
			if got := rowsOf(h.page("viewer", at+to)); strconv.Itoa(got) != c[2] || c[3] != "" {
				t.Errorf("%s offers %s with %s%s, which lists %d", query, to, c[2], c[3], got)
			}
			followed++
		}
	}
	if followed < 15 {
		t.Errorf("only %d choices were offered", followed)
	}
	var to []string
	for i := range 250 {
		to = append(to, `{"user":"m`+strconv.Itoa(i)+`"}`)
	}
	h.api("POST", "/v1/messages", `{"channel":"later","kind":"many","to":[`+strings.Join(to, ",")+`],"content":{"text":"x"}}`, nil)
	h.shows(h.page("viewer", at+"?state=pending"), `href="?kind=many&amp;state=pending">many <span>200+</span>`, "counted among the newest")
}

// A reason is asked for by its word in each language and by its code, a channel in other letters and by its title; one that is not there is said
// to be none.
func TestAFilterTakesWhatPeopleRead(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	id := h.waiting("hello")
	h.api("PUT", "/v1/channels/fleet", `{"driver":"discard","title":"柜台"}`, nil)
	h.api("POST", "/v1/messages/"+posthouse.MessageID(id)+"/cancel", "", nil)
	h.exec("UPDATE posthouse_settled SET state = 'failed', reason = 'content' WHERE id = '" + id + "'")
	const at = "/console/t/default/search"
	for query, want := range map[string]int{
		"reason=content": 1, "reason=" + url.QueryEscape("内容被拒"): 1, "reason=other": 0, "channel=LATER": 1, "channel=later": 1, "channel=nowhere": 0, "channel=fleet": 0, "channel=" + url.QueryEscape("柜台"): 0,
	} {
		page := h.page("viewer", at+"?"+query, chinese)
		if got := rowsOf(page); got != want {
			t.Errorf("%s finds %d, want %d", query, got, want)
		}
		if csv := h.ask("viewer", at+".csv?"+query, nil); strings.Contains(csv.body, id) != (want > 0) {
			t.Errorf("%s: the file has %q", query, csv.body)
		}
		if strings.Contains(page, "请确认编号") {
			t.Errorf("%s speaks of an id that nobody has asked for", query)
		}
	}
	page := h.page("viewer", at+"?reason=content", chinese)
	h.shows(page, `name="reason" value="内容被拒" list="reasons"`, `<option value="内容被拒">`, `<option value="超过截止时间">`)
	h.shows(h.page("viewer", at+"?channel=nowhere", chinese), "没有这个渠道", "nowhere")
	if page := h.page("viewer", at+"?channel="+url.QueryEscape("柜台")); strings.Contains(page, "There is no channel") {
		t.Error("a channel that has sent nothing is called none")
	}
	h.shows(h.page("viewer", "/console/t/default/attention?state=failed&channel=Later&reason="+url.QueryEscape("内容被拒"), chinese), id, `value="内容被拒"`)
}

// What is done with those that are chosen stands in a bar beside how many are; of what can only be sent again nobody has to say that.
func TestWhatIsDoneWithManyStandsInABar(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	id := h.waiting("hello")
	h.api("POST", "/v1/messages/"+posthouse.MessageID(id)+"/cancel", "", nil)
	h.exec("UPDATE posthouse_settled SET state = 'failed', reason = 'content' WHERE id = '" + id + "'")
	page := h.page("operator", "/console/t/default/attention?state=failed")
	h.shows(page, `<div class="acts">`, `<output data-picked="id"`, `<b>0</b> / 1</output>`, `<input type="hidden" name="outcome" value="replay">`)
	if page := h.page("viewer", "/console/t/default/attention?state=failed"); strings.Contains(page, `class="acts"`) {
		t.Error("a viewer is offered what is not the viewer's")
	}
}
