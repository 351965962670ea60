package difference_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse/internal/console/difference"
)

// What two documents have otherwise is listed by path, limits as people write them.
func TestValues(t *testing.T) {
	t.Parallel()
	got := difference.Values([]byte(`{"name":"desk","limits":[{"max":20,"per":"1m"}],"config":{"url":"https://a","on":true},"gone":1}`),
		[]byte(`{"name":"desk","limits":[{"max":10,"per":"1m"},{"max":5,"per":"1s"}],"config":{"url":"https://b","on":true},"list":[1, 2]}`))
	want := []difference.Value{
		{Path: "config.url", From: difference.Said{Text: "https://a", Plain: true}, To: difference.Said{Text: "https://b", Plain: true}}, {Path: "gone", From: difference.Said{Text: "1"}},
		{Path: "limits", From: difference.Said{Text: "20/1m"}, To: difference.Said{Text: "10/1m, 5/1s"}}, {Path: "list", To: difference.Said{Text: "[1,2]"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := difference.Values(nil, []byte(`"x"`)); len(got) != 1 || got[0].To != (difference.Said{Text: "x", Plain: true}) {
		t.Errorf("of a text: %+v", got)
	}
}
