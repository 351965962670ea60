package api_test

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
)

// listed are the ids of all items of a list, page by page.
func (h *house) listed(path string) (ids []string, pages int) {
	h.Helper()
	for cursor := ""; ; {
		at := path
		if cursor != "" {
			at += "&cursor=" + url.QueryEscape(cursor)
		}
		page := read[list[struct{ ID string }]](h, h.must(200, "GET", at, ""))
		pages++
		for _, item := range page.Items {
			ids = append(ids, item.ID)
		}
		if cursor = page.Next; cursor == "" {
			return ids, pages
		}
	}
}

func TestListsAreNarrowedDownByEachFilter(t *testing.T) {
	t.Parallel()
	h := with(t)
	post := func(body string) string {
		return read[posthouse.Accepted](t, h.must(202, "POST", "/v1/messages", body)).Deliveries[0].ID
	}
	a := post(`{"channel":"later","to":[{"user":"u1"}],"content":{"text":"x"},"kind":"order","ref":"7"}`)
	b := post(`{"channel":"later","to":[{"user":"u2"}],"content":{"text":"x"},"kind":"order","ref":"8"}`)
	c := post(`{"channel":"out","to":[{"user":"refused"}],"content":{"text":"x"},"kind":"bill","ref":"7"}`)
	h.until(c, posthouse.Failed)
	all := []string{c, b, a} // newest first
	for query, want := range map[string][]string{
		"":                           all,
		"channel=later":              {b, a},
		"kind=order":                 {b, a},
		"ref=7":                      {c, a},
		"kind=order&ref=7":           {a},
		"user=u2":                    {b},
		"state=failed":               {c},
		"state=pending":              {b, a},
		"state=failed,pending":       all,
		"state=failed&state=sent":    {c},
		"since=2020-01-01T00:00:00Z": all,
		"until=2020-01-01T00:00:00Z": nil,
		"since=2020-01-01T00:00:00%2B08:00&until=2199-01-01T00:00:00Z": all,
		"channel=none": nil, "user=' OR 1=1 --": nil,
	} {
		query = strings.ReplaceAll(query, " ", "%20")
		if got, _ := h.listed("/v1/deliveries?" + query); !slices.Equal(got, want) {
			t.Errorf("deliveries?%s: got %v, want %v", query, got, want)
		}
		var messages []string
		for _, d := range want {
			messages = append(messages, posthouse.MessageID(d))
		}
		if got, _ := h.listed("/v1/messages?" + query); !slices.Equal(got, messages) {
			t.Errorf("messages?%s: got %v, want %v", query, got, messages)
		}
	}
}

func TestPagesShowEverythingOnce(t *testing.T) {
	t.Parallel()
	h := with(t)
	const messages = 23
	var b strings.Builder
	for i := range messages {
		fmt.Fprintf(&b, `,{"channel":"later","to":[{"user":"u%d"}],"content":{"text":"x"}}`, i)
	}
	h.must(202, "POST", "/v1/messages", `{"messages":[`+b.String()[1:]+`]}`)
	var users strings.Builder
	for i := range messages {
		fmt.Fprintf(&users, `,{"id":"u%02d"}`, i)
	}
	h.must(200, "PUT", "/v1/users", `{"users":[`+users.String()[1:]+`]}`)
	for _, path := range []string{"messages", "deliveries", "users"} {
		whole, pages := h.listed("/v1/" + path + "?limit=1000")
		if len(whole) != messages || pages != 1 {
			t.Errorf("%s: got %d in %d pages, want %d in one", path, len(whole), pages, messages)
		}
		for _, size := range []int{1, 5, 23, 24} {
			got, pages := h.listed(fmt.Sprintf("/v1/%s?limit=%d", path, size))
			if want := (messages + size - 1) / size; !slices.Equal(got, whole) || pages != want {
				t.Errorf("%s by %d: got %d in %d pages, want %d in %d", path, size, len(got), pages, messages, want)
			}
		}
	}
}

func TestCursorsAreNotGuessed(t *testing.T) {
	t.Parallel()
	h := with(t)
	h.send("later", "u1", "u2")
	h.must(200, "PUT", "/v1/users", `{"users":[{"id":"a"},{"id":"b"}]}`)
	cursor := read[list[any]](t, h.must(200, "GET", "/v1/deliveries?limit=1", "")).Next
	changed := []byte(cursor)
	changed[3] ^= 1
	for _, path := range []string{
		"/v1/deliveries?cursor=" + url.QueryEscape(string(changed)), "/v1/deliveries?cursor=%ff", "/v1/deliveries?cursor=" + strings.Repeat("A", 5000),
		"/v1/messages?cursor=" + cursor, "/v1/users?cursor=" + cursor, "/v1/messages/" + posthouse.NewID() + "?limit=x",
	} {
		if got := read[fault](t, h.must(422, "GET", path, "")); len(got.Problems) != 1 {
			t.Errorf("%s: got %+v, want one problem", path, got)
		}
	}
}
