package console_test

import (
	"net/http"
	"strings"
	"testing"
)

// The first page that somebody sees loads at most 150 kB together with all that it asks for, and pages without a chart load less.
func TestWhatAFirstViewLoads(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	h.waiting("hello")
	sizes := map[string]int{}
	for _, path := range []string{"", "search"} {
		page := h.page("admin", "/console/t/default/"+path)
		sum := len(page)
		for _, part := range strings.Split(page, `"/console/assets/`)[1:] {
			file, _, _ := strings.Cut(part, `"`)
			got := h.ask("", "/console/assets/"+file, nil, func(r *http.Request) { r.Header.Set("Accept-Encoding", "gzip") })
			if got.status != http.StatusOK || got.header.Get("Content-Encoding") != "gzip" {
				t.Errorf("%s: %d", file, got.status)
			}
			sum += len(got.body)
		}
		sizes[path] = sum
	}
	if sizes[""] > 150_000 || sizes["search"] >= sizes[""] || sizes["search"] < 20_000 {
		t.Errorf("the overview loads %d bytes, the search %d", sizes[""], sizes["search"])
	}
}
