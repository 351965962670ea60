package api_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"testing"
)

// TestListsAreBoundedByBytesToo asks for as many as may be of lists whose entries are large, and gets all of them in parts.
func TestListsAreBoundedByBytesToo(t *testing.T) {
	t.Parallel()
	h := with(t)
	const many, most = 300, 5 << 20
	h.write(fmt.Sprintf(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)
		INSERT INTO posthouse_users (tenant, id, addresses, updated_at) SELECT 'default', printf('u%%04d', i), '{"out":"' || hex(zeroblob(10000)) || '"}', 1 FROM n`, many))
	h.write(fmt.Sprintf(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)
		INSERT INTO posthouse_agents (tenant, id, channels, capabilities, limits, state, created_at, updated_at)
		SELECT 'default', printf('a%%04d', i), '["out"]', '{"model":"' || hex(zeroblob(10000)) || '"}', '[]', 'active', 1, 1 FROM n`, many))
	h.write(fmt.Sprintf(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)
		INSERT INTO posthouse_settled (id, tenant, channel, state, on_unknown, last_error, created_at, updated_at)
		SELECT '01M7YB1WZMBNVQWRX67H' || printf('%%02d', i / 100) || printf('%%02d', i %% 100) || '01', 'default', 'out', 'failed', 'hold', hex(zeroblob(10000)), 1, 1 FROM n`, many))
	for _, name := range []string{"users", "agents", "deliveries"} {
		found, cursor := 0, ""
		for parts := 0; ; parts++ {
			got := h.must(200, "GET", "/v1/"+name+"?limit=1000&cursor="+url.QueryEscape(cursor), "")
			if len(got.body) > most {
				t.Errorf("a part of %s has %d bytes, want no more than about %d", name, len(got.body), most)
			}
			page := pageIn(t, got)
			found += len(page.Items)
			if cursor = page.Next; cursor == "" || parts == many {
				break
			}
		}
		if found != many {
			t.Errorf("the parts of %s have %d entries, want %d", name, found, many)
		}
	}
}

func pageIn(t *testing.T, got reply) (page list[json.RawMessage]) {
	t.Helper()
	if err := json.Unmarshal([]byte(got.body), &page); err != nil {
		t.Fatal(err)
	}
	return page
}
