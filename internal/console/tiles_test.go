package console_test

import (
	"context"
	"html"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse/wire"
)

// A tile says how many rows the page has that it leads to.
func TestEachTileCountsWhatItsLinkLists(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	h.api("PUT", "/v1/channels/open", `{"driver":"discard"}`, nil)
	h.api("PUT", "/v1/channels/out", `{"driver":"discard","on_unknown":"hold"}`, nil)
	h.api("POST", "/v1/channels/out/pause", `{}`, nil)
	h.api("POST", "/v1/messages", `{"channel":"out","to":[{"user":"u1"},{"user":"u2"},{"user":"u3"},{"user":"u4"},{"user":"u5"},{"user":"u6"}],"content":{"text":"x"}}`, nil)
	for state, n := range map[string]string{"unknown": "2", "quarantined": "1"} {
		h.exec("UPDATE posthouse_queue SET state = '" + state + "', reason = 'no_answer', attempts = 1, started_at = 1, due_at = 0, lease_until = 0 WHERE id IN (SELECT id FROM posthouse_queue WHERE state = 'pending' LIMIT " + n + ")")
	}
	far := decimal(time.Now().Add(time.Hour).UnixMicro())
	h.exec("INSERT INTO posthouse_outbox (draft, error, failed_at, failures, due_at) VALUES ('nonsense', 'no draft', " + decimal(time.Now().UnixMicro()) + ", 1, " + far + ")")

	h.counted(time.Now())
	page := h.page("operator", "/console/t/default/")
	tiles, _, _ := strings.Cut(page[strings.Index(page, `<dl class="tiles">`):], "</dl>")
	got := map[string]string{}
	for _, m := range regexp.MustCompile(`<a href="([^"]+)">(\d+)</a>`).FindAllStringSubmatch(tiles, -1) {
		link := html.UnescapeString(m[1])
		got[strings.TrimPrefix(link, "/console/t/default/")] = m[2]
		path, part, _ := strings.Cut(link, "#")
		listed := h.page("operator", path)
		if part != "" {
			listed = listed[strings.Index(listed, `id="`+part+`"`):]
			listed, _, _ = strings.Cut(listed, "</table>")
		}
		if rows := rowsOf(listed); decimal(int64(rows)) != m[2] {
			t.Errorf("the tile of %s says %s, and its page lists %d", link, m[2], rows)
		}
	}
	for link, want := range map[string]string{"search?state=pending": "3", "search?state=sending": "0", "attention?state=unknown": "2", "attention?state=quarantined": "1", "channels?state=halted": "1", "outbox": "1", "system#processes": "1"} {
		if got[link] != want {
			t.Errorf("the tile of %s says %q, want %s", link, got[link], want)
		}
	}
	h.shows(page, "4 things need attention", `<span class="count" id="count-attention" title="need attention">3</span>`)
}

// counted waits until what is open was counted after a time.
func (h *house) counted(after time.Time) {
	h.Helper()
	ctx, end := context.WithTimeout(h.Context(), time.Minute)
	defer end()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for o := (wire.Overview{}); ; {
		if h.api("GET", "/v1/overview", "", &o); o.CountedAt.After(after) {
			return
		}
		select {
		case <-ctx.Done():
			h.Fatal("what is open was not counted in a minute")
		case <-tick.C:
		}
	}
}

// rowsOf counts the rows of the tables of a page.
func rowsOf(page string) (n int) {
	for _, part := range strings.Split(page, "<tbody>")[1:] {
		body, _, _ := strings.Cut(part, "</tbody>")
		n += strings.Count(body, "<tr")
	}
	return n
}
