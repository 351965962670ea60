package remote

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCodesAreSetOneByOne(t *testing.T) {
	t.Parallel()
	codes := func(of map[string]any) map[string]any { return map[string]any{"url": "https://x", "codes": of} }
	for text, c := range map[string]struct{ config, want map[string]any }{
		"500=transient,E02=recipient": {map[string]any{"url": "https://x"}, codes(map[string]any{"500": "transient", "E02": "recipient"})},
		"E02=content":                 {codes(map[string]any{"500": "transient", "E02": "recipient"}), codes(map[string]any{"500": "transient", "E02": "content"})},
		"E02=":                        {codes(map[string]any{"500": "transient", "E02": "recipient"}), codes(map[string]any{"500": "transient"})},
		"500=":                        {codes(map[string]any{"500": "transient"}), map[string]any{"url": "https://x"}},
		"1=auth":                      {nil, map[string]any{"codes": map[string]any{"1": "auth"}}},
	} {
		got, err := recoded(c.config, text)
		if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v, (-want +got):\n%s", text, err, diff)
		}
	}
	for _, text := range []string{"500", "=transient", "1=auth,x"} {
		if got, err := recoded(nil, text); err == nil {
			t.Errorf("%s: got %v, want an error", text, got)
		}
	}
}
