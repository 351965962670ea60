package draft_test

import (
	"strings"
	"testing"

	"github.com/posthouse/posthouse/internal/draft"
)

func TestAnAgentIsCalledAsPeopleLike(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"phone-1", "柜台手机", "phone 1", "a/b", "№ 7 (spare)", strings.Repeat("机", 64)} {
		if odd := draft.AgentID(id); odd != "" {
			t.Errorf("%q %s", id, odd)
		}
	}
	for _, id := range []string{"", " a", "a ", "a\tb", "a\x00", "a\u200bb", "\u202eabc", "a\u2028b", "\xff", "..", strings.Repeat("机", 65)} {
		if draft.AgentID(id) == "" {
			t.Errorf("%q is taken", id)
		}
	}
}
