package channel_test

import (
	"testing"

	"github.com/posthouse/posthouse/channel"
)

func TestBlankIsWhatShowsNothing(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"": true, " \n\u3000\u00a0": true, "\u200b": true, "\ufeff\u2060\u00ad\u200d": true, "\u3164\u115f\uffa0": true, "\u2800": true, "\ufe0f\u034f": true,
		"\u180e\U000e0020": true, "\u200ba": false, "字": false, "👨\u200d👩": false, ".": false,
	} {
		if got := channel.Blank(text); got != want {
			t.Errorf("%+q is blank: %t, want %t", text, got, want)
		}
	}
}
